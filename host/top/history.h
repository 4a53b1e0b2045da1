/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the last windows of a recording and adds them up. */
#ifndef DFG_TOP_HISTORY_H
#define DFG_TOP_HISTORY_H

#include "top/window.h"

#define HISTORY_MOST 30 /* windows that are kept */

/* The sum of one or several windows of all containers. */
struct moment {
	enum event_kind event;
	struct stacks *stacks; /* NULL: no window yet */
	struct quality quality;
	uint64_t us, gap_us;
	unsigned windows;
};

struct history {
	enum event_kind event; /* of all windows */
	/* Applied by history_sum: pools instead of threads, one frame for those that start a thread
	 * (calltree/thread_root.h). */
	bool pools, fold_start;
	struct moment list[HISTORY_MOST]; /* a ring */
	size_t next;
	uint64_t seen;	      /* windows added in all */
	struct moment coming; /* parts of the next window */
};

/* Adds a part of a window and takes over the stacks. True if it was the last part. */
bool history_add(struct history *h, const struct window *w, struct stacks *stacks);

/* Adds up the last `count` windows, or all if there are fewer. Owned by the caller. */
void history_sum(const struct history *h, size_t count, struct moment *ret);

void history_fini(struct history *h);
void moment_fini(struct moment *m);

#endif
