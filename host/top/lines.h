/* SPDX-License-Identifier: Apache-2.0 */
/* What is seen, as lines of text: the same on a screen and without one. All are appended to `out`
 * without a newline. */
#ifndef DFG_TOP_LINES_H
#define DFG_TOP_LINES_H

#include "common/str.h"
#include "top/history.h"
#include "top/view.h"

/* "web · 10.0 s · 1 973 samples · 1.99 processors": `frequency` in Hz. */
void lines_title(struct str *out, const char *name, const struct moment *m, unsigned frequency);

/* "application 91.3 %   compiler 4.1 %   …" */
void lines_busy(struct str *out, const struct view *v);

/* Columns of a row, behind their heads. */
void lines_row_head(struct str *out, enum lens_order order);
#define LINES_HOW_AT 17 /* column of how it ran, and its width */
#define LINES_HOW    6
void lines_row(struct str *out, const struct row *r, uint64_t samples);

void lines_thread_head(struct str *out);
void lines_thread(struct str *out, const struct thread_row *t, uint64_t samples);

/* "12.3 %", right-aligned in 7 columns. */
void lines_share(struct str *out, uint64_t part, uint64_t whole);

#endif
