// SPDX-License-Identifier: Apache-2.0
#include "top/rows.h"

#include <math.h>

#include "format/text.h"
#include "top/screen.h"

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

void rows_share(struct str *out, uint64_t part, uint64_t whole)
{
	str_addf(out, "%5.1f %%", percent(part, whole));
}

/* Half the width of Wilson's 95 % interval where it is widest, at a half, as a share. */
static double margin(uint64_t samples)
{
	const double z2 = 1.959964 * 1.959964;

	return sqrt(z2 / ((double)samples + z2)) / 2;
}

void rows_title(struct str *out, const char *name, const struct moment *m, unsigned frequency)
{
	double seconds = (double)m->us / 1e6;

	str_addf(out, "%s · %.1f s", name, seconds);
	if (m->gap_us >= 100000)
		str_addf(out, ", %.1f s not recorded", (double)m->gap_us / 1e6);
	str_adds(out, " · ");
	text_amount(out, m->quality.samples, event_names[m->event].unit);
	if (m->event != EVENT_CPU) {
		str_adds(out, " · ");
		text_amount(out, seconds > 0 ? (uint64_t)((double)m->quality.samples / seconds) : 0,
			    event_names[m->event].unit);
		str_adds(out, " a second");
		return;
	}
	str_addf(out, " · %.2f processors",
		 seconds > 0 ? (double)m->quality.samples / seconds / frequency : 0);
	if (m->quality.samples)
		str_addf(out, " · ±%.1f %%", 100 * margin(m->quality.samples));
}

void rows_busy(struct str *out, const struct view *v)
{
	for (enum busy b = 0; b < BUSY_KINDS; b++)
		str_addf(out, "%s%s %.1f %%", b ? "   " : "", busy_name(b),
			 percent(v->busy[b], v->samples));
}

void rows_method_head(struct str *out, enum lens_order order)
{
	str_adds(out, order == ORDER_SELF ? "  SELF>   TOTAL  HOW     METHOD"
					  : "  SELF   >TOTAL  HOW     METHOD");
}

void rows_method(struct str *out, const struct row *r, uint64_t samples)
{
	rows_share(out, r->self, samples);
	str_addc(out, ' ');
	rows_share(out, r->total, samples);
	str_addf(out, "  %-*s  %s", ROWS_HOW, how_name(row_how(r)), r->name);
}

void rows_thread_head(struct str *out, enum event_kind event)
{
	str_adds(out, event == EVENT_CLOCK ? "  TOTAL  THREAD                          CAUSES"
					   : "  TOTAL  KERNEL  FOR          THREAD");
}

void rows_thread(struct str *out, const struct thread_row *t, uint64_t samples)
{
	enum busy most = BUSY_APPLICATION;

	if (wall_sum(t->causes) + t->causes[WALL_CAUSES]) {
		rows_share(out, t->total, samples);
		str_addf(out, "  %-30s  ", t->name);
		wall_add_causes(out, t->causes);
		return;
	}
	for (enum busy b = 0; b < BUSY_KERNEL; b++)
		if (t->busy[b] > t->busy[most])
			most = b;
	rows_share(out, t->total, samples);
	str_addc(out, ' ');
	rows_share(out, t->busy[BUSY_KERNEL], t->total);
	str_addf(out, "  %-11s  %s", busy_name(most), t->name);
}

/* ---- lists of lines ---- */

#define INDENT_MOST 20 /* levels; deeper names would be off the screen */

static void list_add(struct row_list *l, const char *text, const char *name, enum frame_kind kind)
{
	l->lines = grow(l->lines, l->count, &l->cap, sizeof(*l->lines));
	l->lines[l->count++] = (struct row_line){.text = xstrdup(text), .name = name, .kind = kind};
}

void row_line_cut(struct str *out, const struct row_line *line, size_t columns)
{
	size_t len = strlen(line->text), name = line->name ? strlen(line->name) : 0;

	if (text_columns(line->text, len) > columns && name && frame_is_java(line->kind)) {
		size_t package = text_package(line->name, name);

		str_add(out, line->text, len - name);
		str_add(out, line->name + package, name - package);
	} else {
		str_add(out, line->text, len);
	}
	if (text_columns(out->buf, out->len) <= columns)
		return;
	out->len = text_fit(out->buf, out->len, columns ? columns - 1 : 0);
	str_adds(out, "…");
}

static void list_methods(struct row_list *l, const struct view *v)
{
	CLEANUP(str_fini) struct str line = {0};

	for (size_t i = 0; i < v->row_count; i++) {
		str_clear(&line);
		rows_method(&line, &v->rows[i], v->samples);
		list_add(l, line.buf, v->rows[i].name, v->rows[i].kind);
		l->lines[l->count - 1].has_how = true;
		l->lines[l->count - 1].how = row_how(&v->rows[i]);
	}
}

static void list_threads(struct row_list *l, const struct view *v, const struct lens *lens)
{
	CLEANUP(name_filter_fini) struct name_filter filter;
	CLEANUP(str_fini) struct str line = {0};
	uint64_t all = 0;

	name_filter_make(&filter, lens->filter);
	for (size_t i = 0; i < v->thread_count; i++)
		all += v->threads[i].total;
	for (size_t i = 0; i < v->thread_count; i++) {
		if (!name_filter_passes(&filter, v->threads[i].name))
			continue;
		str_clear(&line);
		rows_thread(&line, &v->threads[i], all);
		list_add(l, line.buf, v->threads[i].name, FRAME_ROOT);
	}
}

/* Appends the ways the samples of the row ran, the most frequent first. */
static void add_hows(struct str *out, const struct row *r)
{
	uint64_t left[HOW_KINDS];

	memcpy(left, r->how, sizeof(left));
	for (unsigned n = 0; n < HOW_KINDS; n++) {
		enum how most = HOW_UNKNOWN;

		for (enum how h = 0; h < HOW_KINDS; h++)
			if (left[h] > left[most])
				most = h;
		if (!left[most])
			return;
		str_addf(out, "%s%s ", n ? ", " : "   ", how_name(most));
		rows_share(out, left[most], r->total);
		left[most] = 0;
	}
}

static void add_method(struct row_list *l, const struct calls *c, const struct view *v,
		       const char *method)
{
	CLEANUP(str_fini) struct str line = {0};

	list_add(l, method, NULL, FRAME_UNKNOWN);
	str_adds(&line, "self ");
	for (size_t i = 0; i < v->row_count; i++) {
		const struct row *r = &v->rows[i];

		if (strcmp(r->name, method) || r->total != c->total)
			continue;
		rows_share(&line, r->self, v->samples);
		str_adds(&line, ", total ");
		rows_share(&line, r->total, v->samples);
		add_hows(&line, r);
		break;
	}
	list_add(l, line.buf, NULL, FRAME_UNKNOWN);
}

static void add_calls(struct row_list *l, const char *head, const struct call *list, size_t count,
		      uint64_t total)
{
	CLEANUP(str_fini) struct str line = {0};

	list_add(l, "", NULL, FRAME_UNKNOWN);
	list_add(l, head, NULL, FRAME_UNKNOWN);
	for (size_t i = 0; i < count; i++) {
		unsigned depth = list[i].depth < INDENT_MOST ? list[i].depth : INDENT_MOST;

		str_clear(&line);
		rows_share(&line, list[i].samples, total);
		str_addf(&line, "  %*s%s", (int)depth * 2, "", list[i].name);
		list_add(l, line.buf, list[i].name, list[i].kind);
	}
	if (count == 0)
		list_add(l, "          none", NULL, FRAME_UNKNOWN);
}

static void list_calls(struct row_list *l, const struct calls *c, const struct view *v,
		       const char *method)
{
	add_method(l, c, v, method);
	add_calls(l, "  CALLERS", c->callers, c->caller_count, c->total);
	add_calls(l, "  CALLEES", c->callees, c->callee_count, c->total);
}

/* ---- the screen's table ---- */

#define CALLS_LEAST 100 /* omits lines with less than 1 % of the method's samples */

static const char *const help[] = {
	"Arrows  select a line; PgUp, PgDn, Home, End",
	"Enter   on a method: its callers and callees; on a thread: only its methods",
	"Esc     back; all threads; no filter",
	"/       filter by name or regular expression; Enter ends it",
	"f       pause/resume",
	"s       sort by self or total",
	"t       show threads or methods;  p  pools of threads, or each thread",
	"+ -     widen/narrow the time window",
	"w       save the current view as a flame graph",
	"q       quit",
	"",
	"SELF    time in the method itself        TOTAL   including what it calls",
	"HOW     C1, C2: compiled; inline: into its caller; interp: interpreted;",
	"        java: native method; native, jvm, stub, kernel: not Java; ?: unknown",
};

void screen_table_fini(struct screen_table *t)
{
	for (size_t i = 0; i < t->list.count; i++)
		free(t->list.lines[i].text);
	free(t->list.lines);
	t->list = (struct row_list){0};
	view_fini(&t->view);
	calls_fini(&t->calls);
}

void screen_table_make(const struct screen *s, struct screen_table *ret)
{
	struct lens lens = s->lens;

	*ret = (struct screen_table){0};
	if (s->mode == SCREEN_HELP)
		for (size_t i = 0; i < ARRAY_LEN(help); i++)
			list_add(&ret->list, help[i], NULL, FRAME_UNKNOWN);
	if (!s->shown.stacks)
		return;
	if (s->mode == SCREEN_CALLS)
		lens.filter = NULL;
	view_make(s->shown.stacks, &lens, &ret->view);
	if (s->mode == SCREEN_METHODS)
		list_methods(&ret->list, &ret->view);
	else if (s->mode == SCREEN_THREADS)
		list_threads(&ret->list, &ret->view, &lens);
	else if (s->mode == SCREEN_CALLS) {
		calls_make(s->shown.stacks, &lens, s->method, s->method_kind, CALLS_LEAST,
			   &ret->calls);
		list_calls(&ret->list, &ret->calls, &ret->view, s->method);
	}
	if (ret->list.count == 0) {
		CLEANUP(free)
		char *text = lens.filter ? xasprintf("no matches for \"%s\"", lens.filter)
					 : xstrdup("no samples");

		list_add(&ret->list, text, NULL, FRAME_UNKNOWN);
	}
}
