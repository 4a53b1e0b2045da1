/* SPDX-License-Identifier: Apache-2.0 */
/* The host's end of the dump protocol (include/dfg/request.h): makes the output file, asks, waits
 * for the answer, and copies it. Everything in the share may have been tampered with by the
 * container: the host reads only through the descriptor of the file it made itself. */
#ifndef DFG_RECORD_SHARE_H
#define DFG_RECORD_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "dfg/request.h"
#include "discover/jvm.h"

struct share {
	int outfd, ctlfd;
	int lockfd;   /* held: one exchange at a time per container */
	uint32_t seq; /* of the last request */
};

/* What is asked for. */
struct dump_wish {
	uint32_t since; /* number of the answer that this one is to be a delta to; 0: whole */
	uint32_t keep;	/* seconds for which the agent is to remember it; 0: not at all */
};

struct dump {
	int fd;
	int watch; /* inotify: the agent closed the file */
	char name[64];
	uint32_t seq;
	struct dump_wish wish;
	int64_t clock_ahead; /* of the JVM's CLOCK_MONOTONIC, ns: see proc_clock_ahead */
};

/* What the trailer says. */
struct dump_answer {
	uint32_t seq;
	uint32_t status; /* enum dfg_dump_status, or a number of a later version */
	uint32_t entries, skipped;
	uint64_t bytes;
	uint64_t us;	 /* by the clock */
	uint64_t cpu_us; /* of a processor */
};

/* Opens the share of a container and waits for its lock, `wait_ms` at most. Fails with ENOENT
 * where the container has none. */
MUST_CHECK int share_open(const char *root, const char *id, unsigned wait_ms, struct share *ret,
			  struct err *err);
void share_close(struct share *s);

/* Makes the file for a dump of the process, owned by its user, and takes the next number. */
MUST_CHECK int dump_make(struct share *s, const struct jvm *j, const struct dump_wish *wish,
			 struct dump *ret, struct err *err);

/* Puts the request where the agent looks for it. */
MUST_CHECK int dump_request(struct share *s, const struct dump *d, const struct jvm *j,
			    struct err *err);

/* Waits for the whole answer and copies its records to `to`, without the trailer, its times by the
 * host's clock. pidfd: the JVM; when it ends, so does the wait. */
MUST_CHECK int dump_wait(const struct dump *d, int pidfd, unsigned ms, int to,
			 struct dump_answer *ret, struct err *err);

/* Removes request and file. */
void dump_done(struct share *s, struct dump *d, pid_t nspid);

/* The signal number a resident agent published, or 0. A hint: check SigCgt before using it. */
int share_agent_signal(const struct share *s, pid_t nspid);

/* Strict parser of the trailer line, newline included. Pure. */
bool answer_parse(const char *line, size_t len, struct dump_answer *ret);

/* Whether this is one whole snapshot: records that follow each other from SNAP_HEAD to SNAP_END.
 * Pure. */
bool answer_is_snapshot(const char *buf, size_t len);

/* Takes `ahead` ns off the times of a whole snapshot. Pure. */
void answer_set_clock(char *buf, size_t len, int64_t ahead);

const char *answer_status_text(uint32_t status);

#endif
