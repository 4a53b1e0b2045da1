/* SPDX-License-Identifier: Apache-2.0 */
/* Runs `perf record`. perf opens no file of a container (-B -N: no build ids, no copies: it would
 * follow a container's paths as root); it only writes down what the kernel reports. */
#ifndef DFG_RECORD_PERF_H
#define DFG_RECORD_PERF_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/child.h"
#include "common/err.h"
#include "common/str.h"

/* Locked memory of each processor: perf's default of 512 KiB holds only a few large samples. */
#define PERF_BUFFER "4M"

/* Defaults of the commands. */
#define PERF_FREQUENCY 99 /* Hz */
#define PERF_SECONDS   30

/* Desired upper limit of a recording's size (perf_stack_bytes). */
#define PERF_BYTES (4ull << 30)

/* Bytes of the stack to copy with each sample. 32 KiB hold nearly all stacks, but perf writes them
 * in full with each sample: fewer where `cpus` that are busy all the time would make the recording
 * larger than PERF_BYTES. At least 16 KiB: half as much truncates every fifth to third stack. */
unsigned perf_stack_bytes(size_t cpus, unsigned frequency, unsigned seconds);

/* perf -p opens an event per thread and processor, which needs so many descriptors. */
struct perf_events {
	size_t threads, cpus;
	size_t files; /* descriptors perf needs for them */
	size_t limit; /* RLIMIT_NOFILE, to which perf raises its own */
};
void perf_count_events(const pid_t *pids, size_t count, struct perf_events *ret);

/* True if an event per processor is needed instead, and a recording that is cut afterwards
 * (split.h): there are too many threads for perf's descriptors, or a process so young that perf
 * would miss threads. */
bool perf_needs_whole_machine(const pid_t *pids, size_t count);

/* Bytes that a recording in this directory may take of its disk, where snapshots, libraries and
 * pictures need room, too; 0: unknown. `is_split`: it will be copied. */
uint64_t perf_room_for(int dirfd, bool is_split);

struct perf_config {
	const char *program; /* NULL: the system's */
	int dirfd;	     /* perf.data and perf.log are made in it */
	unsigned frequency;
	const char *event;    /* NULL: the processors' time */
	uint64_t period;      /* of it: a sample is so many events (perf_event_period) */
	unsigned stack_bytes; /* copied with each sample, with the registers; 0: frame pointers */
	const pid_t *pids;
	size_t count;
	bool whole_machine;   /* not these processes alone */
	char *const *cgroups; /* of a whole machine only these, by their paths below the mount of
				 perf_event's hierarchy; not in windows */
	size_t cgroup_count;
	bool is_split; /* its recording will be copied (perf/split.h): half of the disk */
	bool windows;  /* one file after another: perf_switch */
	/* The end of the wait for perf's events: clock_ms(), and when it is set; may be NULL. */
	uint64_t begin_deadline;
	const volatile sig_atomic_t *stop;
};

/* perf_event.c. Counts the event of the processes for 0.2 s, by `perf stat`. Returns of how many
 * events one is to be a sample, so that there are `frequency` a second on each processor: perf's
 * own choice, by -F, is off by a factor of 100 for events of software that come in bursts
 * (perf 6.1). Fails where the kernel or the machine lacks the event; the message is perf's. */
MUST_CHECK int perf_event_period(const struct perf_config *c, uint64_t *ret, struct err *err);

struct perf {
	struct child child;
	int control;	    /* commands to perf and its answers; -1: none */
	uint64_t max_bytes; /* room on the disk; 0: unknown, or in windows */
	bool ended;	    /* perf got the signal to end */
	bool begun;	    /* it has enabled its events */
	int status;	    /* of its end, once it has ended by itself (wait(2)) */
	bool whole_machine;
	int dirfd;
	int data;   /* perf.data; -1: windows */
	char *path; /* of the recording, for perf */
};

/* Returns once perf has enabled its events, or has ended, in windows at once. perf opens an event
 * per thread and lists all mappings first, which takes seconds on a busy machine; a signal before
 * that would end it without a recording. */
MUST_CHECK int perf_start(const struct perf_config *c, struct perf *ret, struct err *err);

/* 1 when perf has ended by itself (all processes have ended, the disk is full, or it failed), else
 * 0 after `ms` or a signal. */
int perf_wait(struct perf *p, int ms);

/* True when the recording ended because the disk is full. */
bool perf_is_full(const struct perf *p);

/* Appends "perf ended with status 255: …" with its message, where it has ended by itself and is not
 * full; nothing else. */
void perf_add_failure(const struct perf *p, struct str *out);

/* Tells perf to end; no sample is later, but those of an old perf or of one that does not answer
 * within 2 s. Does not wait until it has written everything. */
void perf_end(struct perf *p);

/* Waits until perf has ended, after perf_end if need be, and kills it at the deadline (clock_ms).
 * Fails with perf's own message where there is no recording, or perf failed before it began. */
MUST_CHECK int perf_stop(struct perf *p, uint64_t deadline, struct err *err);

/* Of a recording in windows: asks perf to go on in a new file. The file before is a whole recording
 * and is found by perf_next_window. The request is lost while perf is not ready or still busy with
 * the last one: repeat it after some time. */
void perf_switch(struct perf *p);

/* Moves the oldest whole window into a directory, as its perf.data. 1, 0 when there is none, -1. */
MUST_CHECK int perf_next_window(struct perf *p, int dirfd, struct err *err);

/* Kills perf if it still runs, and frees what perf_start made. */
void perf_abort(struct perf *p);

#endif
