/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of the screen's table, each of which may stand for a method or a thread. */
#ifndef DFG_PAPER_H
#define DFG_PAPER_H

#include "calls.h"
#include "view.h"

struct paper_line {
	char *text;
	const char *name; /* of what it stands for, borrowed; NULL: nothing */
	enum frame_kind kind;
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

/* Bytes of the beginning of a text that fills so many columns at most. */
size_t paper_fit(const char *text, size_t columns);

#endif
