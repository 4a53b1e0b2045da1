/* SPDX-License-Identifier: Apache-2.0 */
/* The host's end of the dump protocol (include/dfg/request.h): creates the output file in the
 * container's share, writes the request, waits for the answer and copies it. The container may
 * tamper with everything in its share: the host reads only through the descriptor of the file that
 * it created itself. */
#ifndef DFG_RECORD_AGENT_SHARE_H
#define DFG_RECORD_AGENT_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "dfg/request.h"
#include "discover/jvm.h"

struct agent_share {
	int outfd, ctlfd;
	int lockfd;   /* held: one exchange at a time per container */
	uint32_t seq; /* of the last request */
};

struct dump {
	int fd;
	int closed; /* inotify: the agent closed the file */
	char name[64];
	bool is_map; /* text for stock perf, not a snapshot */
	uint32_t seq;
	uint32_t since;	     /* the answer to which this one is to be a delta; 0: whole */
	uint32_t keep;	     /* seconds for which the agent caches its state; 0: not at all */
	bool named;	     /* with the methods of older classes that have begun to run */
	int64_t clock_ahead; /* of the JVM's CLOCK_MONOTONIC, ns: see proc_clock_ahead */
};

/* The trailer's fields. */
struct dump_answer {
	uint32_t seq;
	uint32_t status; /* enum dfg_dump_status, or a number of a later version */
	uint32_t entries, skipped;
	uint64_t bytes;
	uint64_t us;	 /* elapsed */
	uint64_t cpu_us; /* of a processor */
};

/* Opens the share of a container and waits for its lock, `wait_ms` at most. Fails with ENOENT where
 * the container has none. */
MUST_CHECK int agent_share_open(const char *root, const char *id, unsigned wait_ms,
				struct agent_share *ret, struct err *err);
void agent_share_close(struct agent_share *s);

/* Removes the files of exchanges that were killed. Waits for one that runs, 2 s at most. */
void agent_share_sweep(const char *root, const char *id);

/* The signal number that a resident agent published, or 0. A hint: check SigCgt before using it. */
int agent_share_signal(const struct agent_share *s, pid_t nspid);

/* Creates the file for a dump of the process, owned by its user, and numbers the request. `wish`
 * has is_map, since, keep and named. */
MUST_CHECK int dump_create(struct agent_share *s, const struct jvm *j, const struct dump *wish,
			   struct dump *ret, struct err *err);

/* Writes the request for the agent. */
MUST_CHECK int dump_request(struct agent_share *s, const struct dump *d, const struct jvm *j,
			    struct err *err);

/* Waits for the whole answer and copies its records to `to`, without the trailer, with times of the
 * host's clock; a map's lines, unchecked. pidfd: the JVM; its end ends the wait. */
MUST_CHECK int dump_wait(const struct dump *d, int pidfd, unsigned ms, int to,
			 struct dump_answer *ret, struct err *err);

/* Removes request and file. */
void dump_remove(struct agent_share *s, struct dump *d, pid_t nspid);

const char *dump_status_text(uint32_t status);

/* Strict parser of the trailer line, newline included. Pure. */
bool answer_parse(const char *line, size_t len, struct dump_answer *ret);

/* True if this is one whole snapshot: records that follow each other from SNAP_HEAD to SNAP_END.
 * Pure. */
bool answer_is_snapshot(const char *buf, size_t len);

/* Subtracts `ahead` ns from the times of a whole snapshot. Pure. */
void answer_set_clock(char *buf, size_t len, int64_t ahead);

#endif
