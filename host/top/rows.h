/* SPDX-License-Identifier: Apache-2.0 */
/* Formats views as lines of text, for a screen and for plain output. All functions append to `out`
 * without a newline. */
#ifndef DFG_TOP_ROWS_H
#define DFG_TOP_ROWS_H

#include "calltree/view.h"
#include "common/str.h"
#include "top/calls.h"
#include "top/history.h"

/* "web · 10.0 s · 1,973 samples · 1.99 processors · ±2.2 %"; `frequency` in Hz; of another
 * event "web · 10.0 s · 3.22 GB · 322 MB a second". */
void rows_title(struct str *out, const char *name, const struct moment *m, unsigned frequency);

/* "application 91.3 %   compiler 4.1 %   …" */
void rows_busy(struct str *out, const struct view *v);

/* The head of the columns, and a row. */
void rows_method_head(struct str *out, enum lens_order order);
#define ROWS_HOW_AT 17 /* column of HOW, and its width */
#define ROWS_HOW    6
void rows_method(struct str *out, const struct row *r, uint64_t samples);

void rows_thread_head(struct str *out, enum event_kind event);
void rows_thread(struct str *out, const struct thread_row *t, uint64_t samples);

/* "12.3 %", right-aligned in 7 columns. */
void rows_share(struct str *out, uint64_t part, uint64_t whole);

/* A line of the screen's table; it ends with `name`. */
struct row_line {
	char *text;
	const char *name; /* of the method or thread, borrowed; NULL: neither */
	enum frame_kind kind;
	bool has_how; /* a method's row: its HOW column is coloured */
	enum how how;
};

/* Appends as much of the line as fits into the columns: a Java method that is too long loses its
 * package; what is still too long is cut and ends with "…". `out` is empty. */
void row_line_cut(struct str *out, const struct row_line *line, size_t columns);

struct row_list {
	struct row_line *lines;
	size_t count, cap;
};

/* The table between the head and the bottom line of the screen. */
struct screen_table {
	struct row_list list;
	struct view view;   /* of the lens; empty before the first window */
	struct calls calls; /* owns the names of SCREEN_CALLS */
};

struct screen;
void screen_table_make(const struct screen *s, struct screen_table *ret);
void screen_table_fini(struct screen_table *t);

#endif
