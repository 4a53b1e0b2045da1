/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of configuration files: planned, shown, and only then made. */
#ifndef DFG_SETUP_CHANGE_H
#define DFG_SETUP_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/str.h"

#define CHANGE_FILE_MAX (8u << 20)

/* One file, as it is and as it will be. */
struct change {
	char *path; /* below the root */
	struct str now, then;
	bool is, will_be;
	unsigned own_dirs; /* so many directories above it go with it when they are empty */
};

struct changes {
	struct change *list; /* in the order in which they are made */
	size_t count, cap;
};

/* How a text takes our part, and gives it back. */
struct edit {
	const void *what; /* for the functions */

	/* An empty text: the file is not there, and is made. */
	int (*put)(struct str *text, const void *what, struct err *err);

	/* `before`: what a copy says that was kept when the part was put in, or NULL. A text
	 * without the part stays as it is. */
	int (*take)(struct str *text, const struct str *before, const void *what, struct err *err);
};

/* Appends the text of the file; returns 1, 0 when it is not there, -1. */
MUST_CHECK int change_read(int rootfd, const char *path, struct str *ret, struct err *err);

/* Plans that the file has our part, as `put` makes it now, or that it has not.
 *
 * Taking out is the exact inverse of putting in. Where the edit alone cannot be, a copy of the file
 * as it was is kept beside it (".before-dfg") until then. If the file was changed by others
 * meanwhile, only our part is taken out. */
MUST_CHECK int change_plan(struct changes *c, int rootfd, const char *path, const struct edit *e,
			   bool install, struct err *err);

/* Plans that the file has this text, or, with NULL, that it is gone. */
MUST_CHECK int change_plan_whole(struct changes *c, int rootfd, const char *path, const char *text,
				 unsigned own_dirs, struct err *err);

/* The plan for this file comes first; the last plan is dropped. */
void changes_put_first(struct changes *c, const char *path);
void changes_drop_last(struct changes *c);

/* A diff as of diff -u, for patch(1) and for people. */
void changes_print(const struct changes *c);

/* Makes them, each at once: the old file or the new one is there, whole, with the same owner and
 * mode. Stops at the first that fails. */
MUST_CHECK int changes_apply(const struct changes *c, int rootfd, struct err *err);

void changes_fini(struct changes *c);

#endif
