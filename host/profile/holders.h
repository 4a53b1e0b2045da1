/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of threads that held locks, for the samples of those who waited for them: a few thousand,
 * of which a later one may take an earlier one's place. */
#ifndef DFG_PROFILE_HOLDERS_H
#define DFG_PROFILE_HOLDERS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

#define HOLDER_FRAMES 256u /* that are kept: the innermost */

struct holders;

struct holders *holders_new(void);
void holders_free(struct holders *h); /* NULL is fine */

/* Keeps the frames of a process's sample of this time, outermost first. They are copied. */
void holders_keep(struct holders *h, pid_t pid, uint64_t time, const uint32_t *frames, size_t n);

/* Borrowed until the next one is kept; NULL: they are not known. */
const uint32_t *holders_find(const struct holders *h, pid_t pid, uint64_t time, size_t *ret_n);

#endif
