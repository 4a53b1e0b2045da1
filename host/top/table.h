/* SPDX-License-Identifier: Apache-2.0 */
/* What stands between the head and the bottom of the screen. */
#ifndef DFG_TOP_TABLE_H
#define DFG_TOP_TABLE_H

#include "top/paper.h"
#include "top/screen.h"

struct table {
	struct paper paper;
	struct view view;   /* of the lens; empty without a window */
	struct calls calls; /* own the names of SCREEN_CALLS */
};

void table_make(const struct screen *s, struct table *ret);
void table_fini(struct table *t);

#endif
