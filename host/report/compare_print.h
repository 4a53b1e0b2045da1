/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a comparison on stdout: text, JSON (docs/formats.md), or Markdown for a pull request. */
#ifndef DFG_REPORT_COMPARE_PRINT_H
#define DFG_REPORT_COMPARE_PRINT_H

#include "report/compare.h"
#include "report/gate.h"

enum compare_table_kind { TABLE_TOTAL, TABLE_SELF };

/* All borrowed. */
struct compare_view {
	const struct inputs *in;
	const struct compare_options *options;
	const struct compare_result *result;
	const struct gate
		*gate;	/* its measure also decides which rows are shown, and their order */
	unsigned rows;	/* at most, of each table; in JSON, of methods */
	bool tables[2]; /* those that text and Markdown have, by compare_table_kind */
};

/* Rows, the greatest change first; of equal ones callers mostly first. Owned by the caller. */
struct compare_table {
	const struct compare_row **rows;
	size_t count;
	const struct compare_row **callers; /* those that the table by total leaves out */
	size_t caller_count;
	const struct compare_row **of; /* by caller: the row that its change comes from */
};

void compare_table_fini(struct compare_table *t);

static inline void cleanup_compare_table_fini(struct compare_table *t)
{
	compare_table_fini(t);
}

/* Those whose cost of this kind changed significantly. Methods whose change is nearly all that
 * of one callee make a chain of calls; the table by total has only that with the greatest change,
 * which is mostly the first that has only this change. */
struct compare_table compare_table_of(const struct compare_view *v, enum compare_table_kind kind);

/* All rows, by total. */
struct compare_table compare_table_all(const struct compare_view *v);

/* Appends the rest of a row's chain, ", " between, without packages, through `add`; a long one is
 * cut in the middle. Nothing if there is none. */
void compare_add_via(struct str *out, const struct compare_view *v, const struct compare_row *row,
		     void (*add)(struct str *out, const char *name));

/* The same for the callers that row i of a table by total stands for, the nearest mostly first. */
void compare_add_callers(struct str *out, const struct compare_table *t, size_t i,
			 void (*add)(struct str *out, const char *name));

/* Appends "no significant change in 66 methods", or how many changed. */
void compare_verdict(struct str *out, const struct compare_view *v);

/* Those that exceed a limit; the whole is row NULL, the first. */
struct compare_table compare_exceeding(const struct compare_view *v, const struct gate_limit *l);

/* Appends "Work.slow +20.30%, Work.run +20.10% and 3 more" of such a table, names through `add`. */
void compare_add_exceeding(struct str *out, const struct compare_view *v,
			   const struct compare_table *t,
			   void (*add)(struct str *out, const char *name));

void compare_print(const struct compare_view *v);
void compare_json(const struct compare_view *v);
void compare_markdown(const struct compare_view *v);

#endif
