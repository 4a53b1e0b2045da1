/* SPDX-License-Identifier: Apache-2.0 */
/* The output file of a dump: units (lines of a map, records of a snapshot) from offset 0, then the
 * trailer (request.h).
 *
 * The file may run full at any byte. Each write therefore includes room for an end record and a
 * trailer, so that they always fit after the last unit of the write before it. */
#ifndef AGENT_WRITER_H
#define AGENT_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WRITER_CHUNK (64u << 10)
#define WRITER_TAIL  256u /* SNAP_END and a trailer */
#define TRAILER_MAX  192

/* A position between two units, and the units before it. */
struct writer_mark {
	uint64_t at;
	uint32_t entries; /* lines, or CODE records */
	uint32_t methods; /* METHOD records */
};

struct dump_writer {
	int fd;
	bool is_map;
	bool full;		 /* a write failed: only the end is still written */
	bool has_tail;		 /* the file has room for an end and a trailer after `safe` */
	uint64_t at;		 /* file offset of buf[0] */
	uint64_t reach;		 /* end of the bytes written */
	size_t used;		 /* bytes in buf */
	struct writer_mark now;	 /* after the last whole unit */
	struct writer_mark safe; /* the same for what is in the file */
	uint8_t buf[WRITER_CHUNK + WRITER_TAIL];
};

struct trailer {
	uint32_t seq;
	int status;
	uint32_t skipped;
	uint64_t since_us;     /* CLOCK_MONOTONIC at the wake-up */
	uint64_t since_cpu_us; /* CPU time of the thread then */
};

/* The caller keeps the descriptor. */
void writer_init(struct dump_writer *w, int fd, bool is_map);

/* Writes one whole line or record. Fits hs_sink. False: the file is full. */
bool writer_write(void *writer, const char *unit, size_t len);

/* Flushes, then writes SNAP_END if the snapshot is cut or lacks it (`ended` is false), the trailer,
 * and zeros up to the end of what was written. False: the file has no room even for these. */
bool writer_end(struct dump_writer *w, const struct trailer *trailer, bool ended);

/* Writes a trailer alone, when there is no memory for a writer. */
void writer_refuse(int fd, const struct trailer *trailer);

#endif
