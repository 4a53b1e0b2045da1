/* SPDX-License-Identifier: Apache-2.0 */
/* The output file of a dump: whole lines from offset 0, and the trailer behind them.
 *
 * The file may turn out too small at any byte. The last lines written are kept in memory, so that
 * the trailer can take the place of some of them: a cut map ends with a whole line and a trailer,
 * and zeros behind it, as a whole one does. */
#ifndef AGENT_OUTPUT_H
#define AGENT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTPUT_CHUNK (64u << 10)
#define OUTPUT_KEEP  (4u << 10) /* more than the longest line and a trailer */
#define TRAILER_MAX  192

struct output {
	int fd;
	bool full; /* a write failed: nothing more is written but the trailer */
	uint32_t lines;
	uint64_t at;	/* file offset of buf[0] */
	size_t used;	/* bytes in buf */
	size_t written; /* how many of them are in the file */
	char buf[OUTPUT_CHUNK + OUTPUT_KEEP];
};

struct trailer {
	uint32_t seq;
	int status;
	uint32_t skipped;
	uint64_t since_us;     /* CLOCK_MONOTONIC at the wake-up */
	uint64_t since_cpu_us; /* the thread's processor time then */
};

/* The text of a trailer: at most TRAILER_MAX bytes. Returns its length. */
size_t trailer_make(const struct trailer *trailer, int status, uint64_t bytes, uint32_t entries,
		    char *buf);

/* Writes len bytes at an offset; returns how many got there. */
size_t output_write_at(int fd, const char *p, size_t len, uint64_t at);

/* The descriptor stays the caller's. */
void output_init(struct output *out, int fd);

/* Whole lines only, each shorter than OUTPUT_KEEP / 2. Fits hs_sink. False: no room. */
bool output_write(void *out, const char *text, size_t len);

/* Writes what is buffered, and the trailer. False: there is no room even for that. */
bool output_end(struct output *out, const struct trailer *trailer);

/* A trailer alone, where there is no memory for an output. */
void output_refuse(int fd, const struct trailer *trailer);

#endif
