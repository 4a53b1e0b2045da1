// SPDX-License-Identifier: Apache-2.0
#include "report/compare_print.h"

#include <math.h>
#include <stdio.h>

#include "common/str.h"
#include "format/text.h"

/* ---- tables ------------------------------------------------------------------------------ */

static const struct compare_cost *cost_of(const struct compare_row *row,
					  enum compare_table_kind kind)
{
	return kind == TABLE_SELF ? &row->self : &row->total;
}

struct order {
	enum measure_kind measure;
	enum compare_table_kind kind;
};

/* Rows are in one array: the earlier of two equal ones comes first. */
static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct compare_row *x = *(const struct compare_row *const *)a;
	const struct compare_row *y = *(const struct compare_row *const *)b;
	const struct order *o = arg;
	double p = fabs(cost_of(x, o->kind)->by[o->measure].change);
	double q = fabs(cost_of(y, o->kind)->by[o->measure].change);

	return p == q ? (x > y) - (x < y) : (p < q) - (p > q);
}

static void table_sort(struct compare_table *t, const struct compare_view *v,
		       enum compare_table_kind kind)
{
	struct order o = {v->gate->measure, kind};

	if (t->count)
		qsort_r(t->rows, t->count, sizeof(struct compare_row *), compare_rows, &o);
}

static struct compare_table table_new(const struct compare_view *v)
{
	return (struct compare_table){
		.rows = xcalloc(v->result->row_count + 1, sizeof(struct compare_row *))};
}

void compare_table_fini(struct compare_table *t)
{
	free(t->rows);
	free(t->callers);
	free(t->of);
	*t = (struct compare_table){0};
}

/* ---- chains of calls --------------------------------------------------------------------- */

#define CHAIN 1024 /* rows */

static bool is_in(const struct compare_row *row, const struct compare_row *const *list, size_t n)
{
	while (n > 0)
		if (list[--n] == row)
			return true;
	return false;
}

/* Follows the calls that a row's change comes from, as long as they have most of it, each once:
 * methods may call each other. Returns how many rows follow it. */
static size_t chain_of(const struct compare_view *v, const struct compare_row *head,
		       const struct compare_row *ret[CHAIN])
{
	enum measure_kind m = v->gate->measure;
	const struct compare_row *row = head;
	size_t n = 0;

	while (n < CHAIN && row->via[m]) {
		row = &v->result->rows[row->via[m] - 1];
		if (row == head || is_in(row, ret, n) || !row->total.by[m].significant ||
		    row->total.by[m].change / head->total.by[m].change < DIFFERENCE_PASSED)
			break;
		ret[n++] = row;
	}
	return n;
}

/* Returns the row of the table that one of a chain belongs to; NULL: none. */
static const struct compare_row *owner_in(const struct compare_row *const *owner,
					  const struct compare_view *v,
					  const struct compare_row *const *chain, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (owner[chain[i] - v->result->rows])
			return owner[chain[i] - v->result->rows];
	return NULL;
}

/* Leaves the first row of each chain, and of the others notes which are its callers. */
static void table_fold(struct compare_table *t, const struct compare_view *v)
{
	size_t rows = v->result->row_count + 1, count = 0;
	CLEANUP(free) const struct compare_row **owner = xcalloc(rows, sizeof(*owner));
	const struct compare_row *chain[CHAIN];

	t->callers = xcalloc(rows, sizeof(*t->callers));
	t->of = xcalloc(rows, sizeof(*t->of));
	for (size_t i = 0; i < t->count; i++) {
		const struct compare_row *row = t->rows[i], *of;
		size_t n, at = (size_t)(row - v->result->rows);

		if (owner[at])
			continue;
		n = chain_of(v, row, chain);
		of = owner_in(owner, v, chain, n);
		owner[at] = of ? of : row;
		for (size_t k = 0; k < n; k++)
			if (!owner[chain[k] - v->result->rows])
				owner[chain[k] - v->result->rows] = owner[at];
		if (of) {
			t->of[t->caller_count] = of;
			t->callers[t->caller_count++] = row;
		} else {
			t->rows[count++] = row;
		}
	}
	t->count = count;
}

#define VIA_FIRST 6 /* names of a long chain */
#define VIA_LAST  10

void compare_add_via(struct str *out, const struct compare_view *v, const struct compare_row *row,
		     void (*add)(struct str *out, const char *name))
{
	const struct compare_row *chain[CHAIN];
	size_t n = chain_of(v, row, chain), left_out = 0;

	if (n > VIA_FIRST + VIA_LAST + 1)
		left_out = n - VIA_FIRST - VIA_LAST;
	for (size_t i = 0; i < n; i++) {
		const char *name = chain[i]->method;

		str_adds(out, i ? ", " : "");
		if (left_out && i == VIA_FIRST) {
			str_addf(out, "%zu others, ", left_out);
			i += left_out;
			name = chain[i]->method;
		}
		add(out, name + text_package(name, strlen(name)));
	}
}

void compare_add_callers(struct str *out, const struct compare_table *t, size_t i,
			 void (*add)(struct str *out, const char *name))
{
	size_t found = 0;

	for (size_t k = 0; k < t->caller_count; k++) {
		const char *name = t->callers[k]->method;

		if (t->of[k] != t->rows[i] || found++ >= VIA_FIRST)
			continue;
		str_adds(out, out->len ? ", " : "");
		add(out, name + text_package(name, strlen(name)));
	}
	if (found > VIA_FIRST)
		str_addf(out, ", %zu others", found - VIA_FIRST);
}

/* ---- which rows a table has -------------------------------------------------------------- */

struct compare_table compare_table_of(const struct compare_view *v, enum compare_table_kind kind)
{
	struct compare_table t = table_new(v);

	for (size_t i = 0; i < v->result->row_count; i++)
		if (cost_of(&v->result->rows[i], kind)->by[v->gate->measure].significant)
			t.rows[t.count++] = &v->result->rows[i];
	table_sort(&t, v, kind);
	if (kind == TABLE_TOTAL)
		table_fold(&t, v);
	return t;
}

struct compare_table compare_table_all(const struct compare_view *v)
{
	struct compare_table t = table_new(v);

	for (size_t i = 0; i < v->result->row_count; i++)
		t.rows[t.count++] = &v->result->rows[i];
	table_sort(&t, v, TABLE_TOTAL);
	return t;
}

struct compare_table compare_exceeding(const struct compare_view *v, const struct gate_limit *l)
{
	struct compare_table t = table_new(v), rest;
	size_t whole = gate_exceeds(v->gate, l, v->result, NULL);

	t.count = whole;
	for (size_t i = 0; i < v->result->row_count; i++)
		if (gate_exceeds(v->gate, l, v->result, &v->result->rows[i]))
			t.rows[t.count++] = &v->result->rows[i];
	rest = (struct compare_table){.rows = t.rows + whole, .count = t.count - whole};
	table_sort(&rest, v, TABLE_TOTAL);
	return t;
}

#define EXCEEDING_NAMED 3

void compare_add_exceeding(struct str *out, const struct compare_view *v,
			   const struct compare_table *t,
			   void (*add)(struct str *out, const char *name))
{
	for (size_t i = 0; i < t->count && i < EXCEEDING_NAMED; i++) {
		const struct compare_row *row = t->rows[i];

		str_adds(out, i ? ", " : "");
		if (row)
			add(out, row->method);
		else
			str_adds(out, "the whole");
		str_addf(out, " %+.2f%%",
			 gate_percent(v->gate, v->result, row ? &row->total : &v->result->whole));
	}
	if (t->count > EXCEEDING_NAMED)
		str_addf(out, " and %zu more", t->count - EXCEEDING_NAMED);
}

void compare_verdict(struct str *out, const struct compare_view *v)
{
	enum measure_kind m = v->gate->measure;
	size_t changed = 0;

	for (size_t i = 0; i < v->result->row_count; i++) {
		const struct compare_row *row = &v->result->rows[i];

		changed += row->self.by[m].significant || row->total.by[m].significant;
	}
	if (changed)
		str_addf(out, "%zu of %zu methods changed significantly", changed,
			 v->result->row_count);
	else
		str_addf(out, "no significant change in %zu methods", v->result->row_count);
}

/* ---- text -------------------------------------------------------------------------------- */

static void print_side(const char *name, const struct input *in, const struct compare_side *side)
{
	const struct session *s = input_session(in);
	CLEANUP(free) char *title = input_title(in);
	CLEANUP(str_fini) struct str quality = {0};
	CLEANUP(str_fini) struct str others = {0};

	draw_quality_of(&quality, &side->quality, event_names[in->event].unit);
	events_add_others(side->events, in->event, &others);
	if (s)
		printf("%-7s %s, %s, %s\n", name, title, s->started, in->path);
	else
		printf("%-7s %s\n", name, title);
	printf("        %s\n", quality.buf);
	if (others.len)
		printf("        other events, for --event: %s\n", others.buf);
}

/* Prints a change, in parentheses if it is not significant. */
static void print_change(const struct compare_change *c, double factor, int digits)
{
	char text[48];

	snprintf(text, sizeof(text), c->significant ? "%+.*f " : "(%+.*f)", digits,
		 factor * c->change);
	printf(" %9s", text);
}

static void print_cost(const struct compare_result *r, const struct compare_cost *c)
{
	printf(" %7.2f %7.2f", 100 * compare_value(&r->before, c->counts.before, MEASURE_SHARE),
	       100 * compare_value(&r->after, c->counts.after, MEASURE_SHARE));
	print_change(&c->by[MEASURE_SHARE], 100, 2);
	if (!compare_has_rates(r))
		return;
	printf(" %7.3f %7.3f", compare_value(&r->before, c->counts.before, MEASURE_RATE),
	       compare_value(&r->after, c->counts.after, MEASURE_RATE));
	print_change(&c->by[MEASURE_RATE], 1, 3);
}

#define VIA_INDENT 10
#define VIA_WIDTH  90

/* Breaks the line after a comma where it would become too long. */
static void print_names(const char *word, const struct str *names)
{
	size_t column = 0;

	if (!names->len)
		return;
	printf("%*s%-4s", VIA_INDENT, "", word);
	for (const char *p = names->buf, *end; *p; p = end + strspn(end, " ")) {
		end = strstr(p, ", ");
		end = end ? end + 1 : p + strlen(p);
		if (column && column + (size_t)(end - p) > VIA_WIDTH) {
			printf("\n%*s", VIA_INDENT + 4, "");
			column = 0;
		}
		printf(" %.*s", (int)(end - p), p);
		column += (size_t)(end - p) + 1;
	}
	printf("\n");
}

static void print_chain(const struct compare_view *v, const struct compare_table *t, size_t i)
{
	CLEANUP(str_fini) struct str via = {0};
	CLEANUP(str_fini) struct str callers = {0};

	compare_add_via(&via, v, t->rows[i], str_adds);
	compare_add_callers(&callers, t, i, str_adds);
	print_names("via", &via);
	print_names("from", &callers);
}

static void print_table(const struct compare_view *v, enum compare_table_kind kind)
{
	CLEANUP(compare_table_fini) struct compare_table t = compare_table_of(v, kind);
	bool rates = compare_has_rates(v->result);

	if (!v->tables[kind] || !t.count)
		return;
	printf("\n%s\n", kind == TABLE_SELF ? "By self: methods without what they call"
					    : "By total: methods with what they call");
	printf("    %% of %s%s\n",
	       v->in->event == EVENT_CPU ? "samples" : event_names[v->in->event].text,
	       rates ? "             processors" : "");
	printf("  before   after    change %s method\n", rates ? " before   after    change " : "");
	for (size_t i = 0; i < t.count && i < v->rows; i++) {
		print_cost(v->result, cost_of(t.rows[i], kind));
		printf(" %s\n", t.rows[i]->method);
		if (kind == TABLE_TOTAL)
			print_chain(v, &t, i);
	}
	if (t.count > v->rows)
		printf("  ... %zu more (--rows)\n", t.count - v->rows);
}

static void print_whole(const struct compare_result *r)
{
	const struct compare_change *c = &r->whole.by[MEASURE_RATE];
	double before = compare_value(&r->before, r->before.samples, MEASURE_RATE);

	if (!compare_has_rates(r))
		return;
	printf("whole   %.3f -> %.3f processors", before,
	       compare_value(&r->after, r->after.samples, MEASURE_RATE));
	if (before > 0)
		printf(c->significant ? ", %+.1f%%" : ", (%+.1f%%)", 100 * c->change / before);
	printf("\n");
}

static void print_gate(const struct compare_view *v)
{
	for (size_t i = 0; i < v->gate->count; i++) {
		const struct gate_limit *l = &v->gate->limits[i];
		CLEANUP(compare_table_fini) struct compare_table t = compare_exceeding(v, l);
		CLEANUP(str_fini) struct str names = {0};

		compare_add_exceeding(&names, v, &t, str_adds);
		printf("%-7s %s%s%s\n", t.count ? "failed" : "passed", l->text, t.count ? ": " : "",
		       t.count ? names.buf : "");
	}
}

void compare_print(const struct compare_view *v)
{
	const struct compare_result *r = v->result;
	const struct compare_options *o = v->options;
	CLEANUP(str_fini) struct str verdict = {0};

	print_side("before", &v->in->list[0], &r->before);
	print_side("after", &v->in->list[1], &r->after);
	print_whole(r);
	compare_verdict(&verdict, v);
	printf("verdict %s\n", verdict.buf);
	print_gate(v);
	print_table(v, TABLE_TOTAL);
	print_table(v, TABLE_SELF);
	if (!has_prefix(verdict.buf, "no "))
		printf("\nChanges in (parentheses) are not statistically significant.\n");
	printf("\n");
	for (size_t i = 0; i < o->formats.count; i++)
		printf("%-7s %s/%s\n", o->formats.list[i]->name, o->outdir->path,
		       o->formats.list[i]->difference_file);
	fflush(stdout);
}
