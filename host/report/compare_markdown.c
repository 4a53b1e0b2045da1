// SPDX-License-Identifier: Apache-2.0
/* Markdown as GitHub reads it (GitHub Flavored Markdown 0.29, "Tables", "Code spans"). */
#include <stdio.h>

#include "common/str.h"
#include "format/text.h"
#include "report/compare_print.h"

/* Appends a text as a code span, longer than any run of '`' in it. */
static void add_code(struct str *out, const char *text)
{
	size_t run = 0, longest = 0;

	for (const char *p = text; *p; p++) {
		run = *p == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	for (size_t i = 0; i <= longest; i++)
		str_addc(out, '`');
	str_addf(out, longest ? " %s " : "%s", text);
	for (size_t i = 0; i <= longest; i++)
		str_addc(out, '`');
}

/* The same in a table's cell, which '|' ends there, too. A backslash before '|' would undo its
 * escape, and takes none itself: a similar character stands for it. */
static void add_cell(struct str *out, const char *text)
{
	CLEANUP(str_fini) struct str escaped = {0};

	str_adds(&escaped, "");
	for (const char *p = text; *p; p++) {
		if (*p == '|')
			str_adds(&escaped, "\\|");
		else if (*p == '\\')
			str_adds(&escaped, "\xe2\xa7\xb5"); /* U+29F5 REVERSE SOLIDUS OPERATOR */
		else
			str_addc(&escaped, *p);
	}
	add_code(out, escaped.buf);
}

static void print_cell(const char *text)
{
	CLEANUP(str_fini) struct str code = {0};

	add_cell(&code, text);
	fputs(code.buf, stdout);
}

static void print_gate(const struct compare_view *v)
{
	for (size_t i = 0; i < v->gate->count; i++) {
		struct compare_table t = compare_exceeding(v, &v->gate->limits[i]);
		CLEANUP(str_fini) struct str line = {0};

		str_addf(&line, "**%s** ", t.count ? "Failed" : "Passed");
		add_code(&line, v->gate->limits[i].text);
		str_adds(&line, t.count ? ": " : "");
		compare_add_exceeding(&line, v, &t, add_code);
		printf("%s\n\n", line.buf);
		compare_table_fini(&t);
	}
}

static void print_verdict(const struct compare_view *v)
{
	CLEANUP(str_fini) struct str verdict = {0};

	compare_verdict(&verdict, v);
	printf("### Profile: %s%s\n\n",
	       !v->gate->count			? ""
	       : gate_fails(v->gate, v->result) ? "**failed**, "
						: "passed, ",
	       verdict.buf);
	print_gate(v);
}

static void print_side(const char *name, const struct input *in, const struct compare_side *side)
{
	const struct session *s = input_session(in);
	CLEANUP(str_fini) struct str amount = {0};

	printf("| %s | ", name);
	print_cell(input_name(in));
	printf(" | ");
	if (s)
		print_cell(s->started);
	printf(" | ");
	print_cell(in->path);
	if (in->event == EVENT_CPU)
		str_addu(&amount, side->samples);
	else
		text_amount(&amount, side->samples, event_names[in->event].unit);
	printf(" | %s | ", amount.buf);
	if (side->busy > 0)
		printf("%.3f", compare_value(side, side->samples, MEASURE_RATE));
	printf(" |\n");
}

/* The change is bold if it is significant. */
static void print_measure(const struct compare_result *r, const struct compare_cost *c,
			  enum measure_kind measure)
{
	double factor = measure == MEASURE_SHARE ? 100 : 1;
	int digits = measure == MEASURE_SHARE ? 2 : 3;
	const char *bold = c->by[measure].significant ? "**" : "";

	printf(" %.*f | %.*f | %s%+.*f%s |", digits,
	       factor * compare_value(&r->before, c->counts.before, measure), digits,
	       factor * compare_value(&r->after, c->counts.after, measure), bold, digits,
	       factor * c->by[measure].change, bold);
}

static void print_chain(const struct compare_view *v, const struct compare_table *t, size_t i)
{
	CLEANUP(str_fini) struct str via = {0};
	CLEANUP(str_fini) struct str callers = {0};

	compare_add_via(&via, v, t->rows[i], add_cell);
	compare_add_callers(&callers, t, i, add_cell);
	if (via.len)
		printf("<br>via %s", via.buf);
	if (callers.len)
		printf("<br>from %s", callers.buf);
}

static void print_rows(const struct compare_view *v, const struct compare_table *t,
		       enum compare_table_kind kind)
{
	bool rates = compare_has_rates(v->result);

	printf("| %s | before, %% | after, %% | change |%s\n| :-- | --: | --: | --: |%s\n",
	       kind == TABLE_SELF ? "method" : "method, with what it calls",
	       rates ? " before, processors | after | change |" : "",
	       rates ? " --: | --: | --: |" : "");
	for (size_t i = 0; i < t->count && i < v->rows; i++) {
		const struct compare_row *row = t->rows[i];
		const struct compare_cost *c = kind == TABLE_SELF ? &row->self : &row->total;

		printf("| ");
		print_cell(row->method);
		if (kind == TABLE_TOTAL)
			print_chain(v, t, i);
		printf(" |");
		print_measure(v->result, c, MEASURE_SHARE);
		if (rates)
			print_measure(v->result, c, MEASURE_RATE);
		printf("\n");
	}
	if (t->count > v->rows)
		printf("\n%zu more\n", t->count - v->rows);
}

static void print_table(const struct compare_view *v, enum compare_table_kind kind)
{
	struct compare_table t = compare_table_of(v, kind);

	if (v->tables[kind] && t.count) {
		printf("\n<details%s><summary>%s</summary>\n\n", kind == TABLE_SELF ? "" : " open",
		       kind == TABLE_SELF ? "By self" : "By total");
		print_rows(v, &t, kind);
		printf("\n</details>\n");
	}
	compare_table_fini(&t);
}

static void print_quality(const char *name, const struct input *in, const struct compare_side *side)
{
	CLEANUP(str_fini) struct str quality = {0};
	CLEANUP(str_fini) struct str others = {0};

	draw_quality_of(&quality, &side->quality, event_names[in->event].unit);
	events_add_others(side->events, in->event, &others);
	printf("\n<sub>%s: %s%s%s</sub>\n", name, quality.buf,
	       others.len ? " · other events: " : "", others.len ? others.buf : "");
}

void compare_markdown(const struct compare_view *v)
{
	const struct compare_result *r = v->result;

	print_verdict(v);
	printf("| | recording | started | input | %s | processors |\n"
	       "| :-- | :-- | :-- | :-- | --: | --: |\n",
	       v->in->event == EVENT_CPU ? "samples" : event_names[v->in->event].text);
	print_side("before", &v->in->list[0], &r->before);
	print_side("after", &v->in->list[1], &r->after);
	print_table(v, TABLE_TOTAL);
	print_table(v, TABLE_SELF);
	print_quality("before", &v->in->list[0], &r->before);
	print_quality("after", &v->in->list[1], &r->after);
	printf("\n<sub>Bold changes are statistically significant.</sub>\n");
	fflush(stdout);
}
