/* SPDX-License-Identifier: Apache-2.0 */
/* The last windows of a recording, and what they come to together. */
#ifndef DFG_TOP_HISTORY_H
#define DFG_TOP_HISTORY_H

#include "top/feed.h"

#define HISTORY_MOST 30 /* windows; older ones are forgotten */

/* One window or several of all containers. */
struct moment {
	struct stacks *stacks; /* NULL: nothing yet */
	struct quality quality;
	uint64_t us, gap_us;
	unsigned windows;
};

struct history {
	struct moment list[HISTORY_MOST]; /* a ring */
	size_t next;
	uint64_t seen;	      /* windows, ever */
	struct moment coming; /* parts of the next one */
};

/* Takes the stacks over. True when this was the last part of a window. */
bool history_add(struct history *h, const struct window *w, struct stacks *stacks);

/* The last `count` windows together, or as many as there are. Owned by the caller. */
void history_sum(const struct history *h, size_t count, struct moment *ret);

void history_fini(struct history *h);
void moment_fini(struct moment *m);

#endif
