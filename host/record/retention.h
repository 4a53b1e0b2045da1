/* SPDX-License-Identifier: Apache-2.0 */
/* The results of recordings on the disk: lists them, and removes old ones. All that is looked at is
 * below dfg's own directory, named as dfg names results, after a time, and of whoever runs it. */
#ifndef DFG_RECORD_RETENTION_H
#define DFG_RECORD_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/config.h"
#include "session/session.h"

struct result {
	char *id;	/* of the container */
	char *name;	/* of the directory: the time */
	uint64_t bytes; /* on the disk */
	bool recorded;	/* it is being recorded */
};

struct results {
	struct result *list; /* the newest first */
	size_t count, cap;
};

/* Lists the results of all containers; none where there is no such directory. With `bytes` they are
 * measured. */
void results_list(const char *root, bool bytes, struct results *ret);
void results_fini(struct results *r);

static inline void cleanup_results_fini(struct results *r)
{
	results_fini(r);
}

/* The path of a result's directory. Owned by the caller. */
char *result_path(const char *root, const struct result *r);

/* Opens its session. */
MUST_CHECK int result_open(const char *root, const struct result *r, struct session *ret,
			   struct err *err);

/* Removes the results of the container `id` beyond keep->count, and those of all containers that
 * are too old or beyond keep->bytes. The one named `newest` of this container, and those that are
 * being recorded (session_create), stay. Best effort; returns how many were removed. */
size_t results_remove_old(const char *root, const char *id, const char *newest,
			  const struct retention *keep);

#endif
