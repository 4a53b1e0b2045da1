/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of configuration files: planned, shown, then applied. */
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
	unsigned own_dirs; /* number of parent directories that are deleted with it if empty */
};

struct changes {
	struct change *list; /* in the order in which they are made */
	size_t count, cap;
};

/* Adds our part to a text, and removes it. */
struct edit {
	const void *context; /* for the functions */

	/* An empty text: there is no file yet. */
	int (*add)(struct str *text, const void *context, struct err *err);

	/* `before`: the copy that was kept when the part was added, or NULL. A text without the
	 * part stays as it is. */
	int (*remove)(struct str *text, const struct str *before, const void *context,
		      struct err *err);
};

/* Appends the text of the file; returns 1, 0 if there is no file, -1. */
MUST_CHECK int change_read(int rootfd, const char *path, struct str *ret, struct err *err);

/* Plans that our part is in the file, in its current form, or that it is removed.
 *
 * Removal is the exact inverse of addition. If the edit alone cannot ensure that, a copy of the
 * original file is kept beside it (".before-dfg") until then. If others changed the file meanwhile,
 * only our part is removed. */
MUST_CHECK int change_plan(struct changes *c, int rootfd, const char *path, const struct edit *e,
			   bool install, struct err *err);

/* Plans that the file has this text or, with NULL, that it is deleted. */
MUST_CHECK int change_plan_whole(struct changes *c, int rootfd, const char *path, const char *text,
				 unsigned own_dirs, struct err *err);

/* Moves the plan for this file to the front; deletes the last plan. */
void changes_put_first(struct changes *c, const char *path);
void changes_drop_last(struct changes *c);

/* Prints them as diff -u does, for patch(1) and for people. */
void changes_print(const struct changes *c);

/* Applies them in order, each atomically and with the owner and mode of the old file. Stops at the
 * first that fails. */
MUST_CHECK int changes_apply(const struct changes *c, int rootfd, struct err *err);

void changes_fini(struct changes *c);

#endif
