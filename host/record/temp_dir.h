/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary directory of a run, <root>/tmp/<random>, mode 0700. Its lock shows that the process
 * that made it still runs. */
#ifndef DFG_RECORD_TEMP_DIR_H
#define DFG_RECORD_TEMP_DIR_H

#include "common/err.h"

struct temp_dir {
	char *dir; /* its path; NULL: none */
	int parentfd;
	int lock;
};

/* Makes one, and removes those of processes that were killed. */
MUST_CHECK int temp_dir_make(const char *root, struct temp_dir *ret, struct err *err);

/* Removes it, if there is one. */
void temp_dir_remove(struct temp_dir *t);

#endif
