/* SPDX-License-Identifier: Apache-2.0 */
/* Runs `perf record`. It is told to open nothing of the containers (-B -N: no build ids, no copies:
 * perf would follow a container's paths as root), only to write down what the kernel reports. */
#ifndef DFG_RECORD_PERF_H
#define DFG_RECORD_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/child.h"
#include "common/err.h"

/* Of each processor, locked memory: perf's usual 512 KiB hold a few large samples only. */
#define RECORD_BUFFER "4M"

/* Unless told otherwise. */
#define RECORD_FREQUENCY 99 /* Hz */
#define RECORD_SECONDS	 30

/* What a recording should not pass (record_stack_bytes). */
#define RECORD_BYTES (4ull << 30)

/* 32 KiB hold nearly all stacks (docs/measurements.md), but perf writes them in full with each
 * sample: where all of `cpus` may be busy for the whole recording, no more than makes it
 * RECORD_BYTES. At least 16 KiB: half as much cuts every fifth to third stack. */
unsigned record_stack_bytes(size_t cpus, unsigned frequency, unsigned seconds);

/* perf -p opens an event per thread and processor. Where these are more than the descriptors it may
 * have, the whole machine is recorded, an event per processor, and cut down when read. */
struct record_events {
	size_t threads, cpus;
	size_t files; /* descriptors perf needs for them */
	size_t limit; /* RLIMIT_NOFILE, to which perf raises its own */
};
void record_count_events(const pid_t *pids, size_t count, struct record_events *ret);

struct record_options {
	const char *dir; /* of the session: perf.data and perf.log are made in it */
	unsigned frequency;
	unsigned stack_bytes; /* of each sample's stack to copy, with the registers; 0: frame
				 pointers */
	const pid_t *pids;
	size_t count;
	bool windows; /* into one file after another: record_switch */
};

struct recording {
	struct child perf;
	uint64_t most;	    /* bytes: what the disk has room for; 0: not known, or in windows */
	bool ended;	    /* perf was told to */
	bool whole_machine; /* too many threads for one event each, or too young: all was recorded
			     */
	char *dir;
};

MUST_CHECK int record_start(const struct record_options *o, struct recording *ret, struct err *err);

/* 1 when perf has ended by itself (all processes are gone, the disk is full, or it failed), else 0
 * after `ms`. */
int record_wait(struct recording *r, int ms);

/* Whether perf is about to record: it takes some time until its events are open, a second where it
 * comes from a slow disk, and then writes the head of its file (linux 6.1, __cmd_record). A signal
 * before that would end it with nothing. */
bool record_has_begun(const struct recording *r);

/* Whether it ended because the disk has no more room. */
bool record_is_full(const struct recording *r);

/* Tells perf to end the recording; does not wait until it has written all. */
void record_end(struct recording *r);

/* Ends the recording and checks that there is something: fails with perf's own words. */
MUST_CHECK int record_stop(struct recording *r, struct err *err);

/* A recording in windows, for as long as wanted: perf goes on in a new file, and what was recorded
 * up to now is a whole recording, as `path`, once record_take finds it. Asking for it may be in
 * vain (perf was not ready yet, or still busy with the last one): ask again after some time. */
void record_switch(struct recording *r);

/* Takes the oldest window that is whole and not yet taken, as the file `path` (replaced). 1, 0 when
 * there is none, -1. */
MUST_CHECK int record_take(struct recording *r, const char *path, struct err *err);

/* Kills perf, if it still runs. */
void record_abort(struct recording *r);

#endif
