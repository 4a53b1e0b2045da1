/* SPDX-License-Identifier: Apache-2.0 */
/* A directory for files that nobody is to see later: <root>/top/<random>, mode 0700. It is locked
 * as long as its maker lives, so that those that were left behind can be told. */
#ifndef DFG_RECORD_TEMPDIR_H
#define DFG_RECORD_TEMPDIR_H

#include "common/err.h"

struct scratch {
	char *dir;
	int parentfd;
	int lock;
};

/* Also removes what makers that were killed have left. */
MUST_CHECK int scratch_make(const char *root, struct scratch *ret, struct err *err);

/* Removes it with all that is in it. */
void scratch_remove(struct scratch *s);

#endif
