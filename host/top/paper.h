/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of the screen's table, each of which may stand for a method or a thread. */
#ifndef DFG_TOP_PAPER_H
#define DFG_TOP_PAPER_H

#include "common/str.h"
#include "top/calls.h"
#include "top/view.h"

struct paper_line {
	char *text;
	const char *name; /* of what it stands for, borrowed; NULL: nothing */
	enum frame_kind kind;
	bool has_how; /* a method's, in the table: its column is coloured */
	enum how how;
};

struct paper {
	struct paper_line *lines;
	size_t count, cap;
};

void paper_add(struct paper *p, const char *text, const char *name, enum frame_kind kind);
void paper_methods(struct paper *p, const struct view *v);
void paper_threads(struct paper *p, const struct view *v, const struct lens *lens);

/* Shares are of the samples with the method. */
void paper_calls(struct paper *p, const struct calls *c, const struct view *v, const char *method);
void paper_fini(struct paper *p);

/* Appends what of a line fits into so many columns: where a Java method is too long, without its
 * package; where that is, too, its beginning and "…". `out` is empty. */
void paper_cut(struct str *out, const struct paper_line *line, size_t columns);

#endif
