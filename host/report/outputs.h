/* SPDX-License-Identifier: Apache-2.0 */
/* The files a run writes: opened before power is given up, named when they are whole. */
#ifndef DFG_REPORT_OUTPUTS_H
#define DFG_REPORT_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

#define OUTPUTS_MAX 16

struct outputs {
	int dirfd;
	const char *names[OUTPUTS_MAX];
	int fds[OUTPUTS_MAX];
	size_t count;
};

/* Opens `dir`, made with all above it if need be, and a file there for each name, which is
 * borrowed. They have other names yet. */
MUST_CHECK int outputs_open(const char *dir, const char *const *names, size_t count,
			    struct outputs *ret, struct err *err);

/* Whole files get their names; after a failure all are removed. */
MUST_CHECK int outputs_close(struct outputs *o, bool good, struct err *err);

#endif
