/* SPDX-License-Identifier: Apache-2.0 */
/* One container of a run: what was found in it and where its results go. */
#ifndef DFG_RECORD_TARGETS_H
#define DFG_RECORD_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/command.h"
#include "cmd/options.h"
#include "common/err.h"
#include "discover/container.h"
#include "discover/jvm.h"
#include "session/session.h"

struct target {
	struct container container;
	pid_t *pids;
	size_t pid_count;
	struct jvms jvms;
	bool may_lack_jvm; /* its pod has one elsewhere */
	char *outdir;	   /* of the graphs */
	struct session session;
	bool has_session;
	struct watch *watches; /* of its JVMs (watches.h) */
	size_t watch_count, watch_cap;
};

struct targets {
	struct target *list;
	size_t count;
	size_t cap;
};

/* Finds what the options name, with its processes and JVMs; each container once. Returns EXIT_DONE,
 * or the status to exit with and err. */
MUST_CHECK enum exit_status targets_find(const struct options *o, struct targets *ret,
					 struct err *err);
void targets_fini(struct targets *t);

/* Makes the results' directories and the sessions in them. */
MUST_CHECK int targets_prepare(struct targets *t, const struct options *o, struct err *err);

/* A new directory, named after the time, for pictures of the container with that id: in --output,
 * or with its other results. Owned by the caller; NULL: err says why. */
char *target_new_graphs(const struct options *o, const char *id, struct err *err);

/* Takes back what targets_prepare made. */
void target_discard(struct target *t);

/* Looks again for processes and JVMs that came since. */
void target_refresh(struct target *t);

/* All their processes. Owned by the caller. */
void targets_pids(const struct targets *t, pid_t **ret, size_t *ret_count);

/* Copies the kernel's symbols and all mapped files into the sessions (files.h): slow, and can be
 * done while perf records. */
MUST_CHECK int targets_keep_files(struct targets *t, struct err *err);

/* How the stacks of these are to be recorded: bytes of the stack to copy with each sample, 0 for
 * frame pointers. */
unsigned targets_stack_bytes(const struct targets *t, const struct options *o);

#endif
