/* SPDX-License-Identifier: Apache-2.0 */
/* The containers of a recording run: their processes and JVMs, and the directories of their
 * results. */
#ifndef DFG_RECORD_TARGETS_H
#define DFG_RECORD_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "discover/container.h"
#include "discover/jvm.h"
#include "record/config.h"
#include "session/session.h"

struct target {
	struct container container;
	pid_t *pids;
	size_t pid_count;
	struct jvms jvms;
	bool may_lack_jvm; /* another container of its pod has one */
	char *outdir;	   /* of the graphs */
	struct session session;
	bool has_session;
	struct poller *pollers; /* of its JVMs (jvm_poller.h) */
	size_t poller_count, poller_cap;
};

struct targets {
	struct target *list;
	size_t count;
	size_t cap;
};

enum record_result {
	RECORD_OK,
	RECORD_FAILED,
	RECORD_NO_CONTAINER,
	RECORD_NO_JVM,
};

/* Finds what the configuration names, with its processes and JVMs; each container once. Release
 * with targets_fini, also after a failure. */
MUST_CHECK enum record_result targets_find(const struct record_config *c, struct targets *ret,
					   struct err *err);
void targets_fini(struct targets *t);

/* Makes the directories of the results and a session in each. */
MUST_CHECK int targets_prepare(struct targets *t, const struct record_config *c, struct err *err);

/* Makes a directory, named after the time, for graphs of the container with that id: in the
 * configured output directory, or next to its other results. Returns its path, owned by the caller,
 * or NULL. */
char *target_new_graphs(const struct record_config *c, const char *id, struct err *err);

/* Removes what targets_prepare made. */
void target_discard(struct target *t);

/* Adds processes and JVMs that were started since, and copies the files they have mapped. */
void target_refresh(struct target *t);

/* All processes of all targets. Owned by the caller. */
void targets_pids(const struct targets *t, pid_t **ret, size_t *ret_count);

/* Copies the kernel's symbols and all mapped files into the sessions. Slow; may be done while perf
 * records. */
MUST_CHECK int targets_copy_files(struct targets *t, struct err *err);

/* Bytes of the stack to copy with each sample; 0 for frame pointers. */
unsigned targets_stack_bytes(const struct targets *t, const struct record_config *c);

#endif
