/* SPDX-License-Identifier: Apache-2.0 */
/* Directories of results, by descriptor: what root writes stays in the directory that it opened,
 * whatever others rename or link meanwhile.
 *
 * Under sudo, what is made in a directory of the user who called it, or in a sticky one like /tmp,
 * belongs to that user: the place where the user could have made it. */
#ifndef DFG_COMMON_OUTDIR_H
#define DFG_COMMON_OUTDIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

struct outdir {
	int fd;
	char *path; /* absolute, for messages only: sanitised; NULL: not open */
};

/* Opens a directory and makes its missing parts (`mode`, umask). For root, every part of the path
 * must belong to root or to the user who called sudo, and nobody else may be able to rename
 * entries: not writable by group or others, or sticky. Links on the way are followed under the same
 * conditions. Other users may use any path. */
MUST_CHECK int outdir_open(const char *path, mode_t mode, struct outdir *ret, struct err *err);

/* Makes a new directory (0700) in another one, whose mode and owner nobody else can have changed.
 * Fails with EEXIST where the name is taken. */
MUST_CHECK int outdir_make(const struct outdir *in, const char *name, struct outdir *ret,
			   struct err *err);

/* Under sudo, opens the working directory, where it is one of outdir_open in which the user who
 * called it could have made a file, and root can: elsewhere, and without sudo, it returns false. */
bool outdir_open_here(struct outdir *ret);

/* Sets the ids of the user who called sudo. False: it is not root of its own, or not under sudo. */
bool outdir_caller(uint32_t *ret_uid, uint32_t *ret_gid);

/* True under sudo. */
bool outdir_has_caller(void);

void outdir_close(struct outdir *o);

static inline void cleanup_outdir_close(struct outdir *o)
{
	outdir_close(o);
}

/* Gives an open file that was made in the directory to the user who called sudo. Best effort. */
void outdir_give(const struct outdir *in, int fd);

/* The same for a directory of ours (0700), with all that it holds. */
void outdir_give_tree(const struct outdir *in, int dirfd);

#endif
