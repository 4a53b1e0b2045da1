/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a run writes: opened before the sandbox starts, renamed when they are complete. */
#ifndef DFG_REPORT_OUTPUTS_H
#define DFG_REPORT_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/outdir.h"

#define OUTPUTS_MAX 16

struct outputs {
	const struct outdir *dirs[OUTPUTS_MAX];
	const char *names[OUTPUTS_MAX];
	int fds[OUTPUTS_MAX];
	size_t count;
};

/* Opens a file with a temporary name for each of the names. Names and directory are borrowed. */
MUST_CHECK int outputs_open(const struct outdir *dir, const char *const *names, size_t count,
			    struct outputs *ret, struct err *err);

/* Adds one, of another directory. After a failure none is open any more. */
MUST_CHECK int outputs_add(struct outputs *o, const struct outdir *dir, const char *name,
			   struct err *err);

/* Renames the files, or removes them if not `good` or after a failure. */
MUST_CHECK int outputs_close(struct outputs *o, bool good, struct err *err);

#endif
