// SPDX-License-Identifier: Apache-2.0
#include "report/compare.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "common/str.h"
#include "report/merge.h"
#include "report/outputs.h"
#include "report/sandbox.h"

struct compare_job {
	const struct inputs *in;
	const struct compare_options *options;
	struct outputs outputs;
};

static void change_fill(struct compare_change *ret, const struct difference *d, struct counts c)
{
	*ret = (struct compare_change){.counts = c,
				       .change = difference_change(d, c),
				       .z = difference_z(d, c),
				       .significant = difference_is_significant(d, c)};
}

/* Cuts a long name between two characters. */
static void name_copy(char *ret, size_t size, const char *name)
{
	size_t len = strlen(name);

	if (len >= size)
		for (len = size - 1; len && ((unsigned char)name[len] & 0xc0) == 0x80;)
			len--;
	memcpy(ret, name, len);
	ret[len] = '\0';
}

static void rows_fill(struct compare_result *ret, const struct difference *d, unsigned most)
{
	CLEANUP(free) struct difference_method *methods = NULL;
	size_t count;

	methods = difference_methods(d, &count);
	ret->methods = count;
	ret->row_count = (unsigned)(count < most ? count : most);
	for (unsigned i = 0; i < ret->row_count; i++) {
		struct compare_row *row = &ret->rows[i];

		name_copy(row->method, sizeof(row->method),
			  stacks_frame(d->tree, methods[i].frame)->name);
		change_fill(&row->self, d, methods[i].self);
		change_fill(&row->total, d, methods[i].total);
	}
}

static int draw_all(const struct compare_job *j, const struct difference *d,
		    const struct compare_result *result, struct err *err)
{
	CLEANUP(free) char *before = input_title(&j->in->list[0]);
	CLEANUP(free) char *after = input_title(&j->in->list[1]);
	struct difference_picture p = {.before = before,
				       .after = after,
				       .before_quality = result->before,
				       .after_quality = result->after,
				       .normalize = j->options->normalize,
				       .unit = event_names[j->in->event].unit};

	for (size_t i = 0; i < j->options->formats.count; i++) {
		const struct format *f = j->options->formats.list[i];

		if (f->draw_difference(d, &p, j->outputs.fds[i], err) < 0)
			return err_wrap(err, "%s", f->difference_file);
	}
	return 0;
}

static int draw_sides(const struct compare_job *j, const struct gathered *before,
		      const struct gathered *after, struct compare_result *ret, struct err *err)
{
	struct difference d;
	int rc;

	difference_make(&d, before->profile.stacks, after->profile.stacks, j->options->kinds);
	d.before.worth = profile_worth(&before->profile);
	d.after.worth = profile_worth(&after->profile);
	memcpy(ret->before_events, before->profile.events, sizeof(ret->before_events));
	memcpy(ret->after_events, after->profile.events, sizeof(ret->after_events));
	ret->before = before->profile.quality;
	ret->after = after->profile.quality;
	ret->cut = before->profile.cut + after->profile.cut;
	ret->skipped = before->skipped + after->skipped;
	ret->before_samples = d.before.samples;
	ret->after_samples = d.after.samples;
	rows_fill(ret, &d, j->options->rows);
	rc = draw_all(j, &d, ret, err);
	difference_fini(&d);
	return rc;
}

/* Runs in the sandbox. */
static int draw(struct reading *r, void *arg, void *reply, struct err *err)
{
	const struct compare_job *j = arg;
	struct gathered before, after;
	int rc = gather(r, 1, j->options->roots, false, &before, err);

	if (rc == 0) {
		rc = gather(r, 1, j->options->roots, false, &after, err);
		if (rc == 0)
			rc = draw_sides(j, &before, &after, reply, err);
		gathered_fini(&after);
	}
	gathered_fini(&before);
	return rc;
}

static void check_change(struct compare_change *c)
{
	c->change = isfinite(c->change) ? c->change : 0;
	c->z = isfinite(c->z) ? c->z : 0;
	bool_clean(&c->significant);
}

static void check_result(void *reply)
{
	struct compare_result *r = reply;

	if (r->row_count > COMPARE_ROWS)
		r->row_count = 0;
	for (unsigned i = 0; i < r->row_count; i++) {
		str_clean(r->rows[i].method, sizeof(r->rows[i].method));
		check_change(&r->rows[i].self);
		check_change(&r->rows[i].total);
	}
}

int compare(const struct inputs *in, const struct compare_options *o, struct compare_result *ret,
	    struct err *err)
{
	CLEANUP(free) struct compare_result *result = xcalloc(1, sizeof(*result));
	struct compare_job j = {.in = in, .options = o};
	const struct reading_job job = {.fn = draw,
					.arg = &j,
					.outputs = j.outputs.fds,
					.output_count = o->formats.count,
					.check = check_result};
	const char *names[FORMATS_MAX];
	int rc;

	for (size_t i = 0; i < o->formats.count; i++)
		names[i] = o->formats.list[i]->difference_file;
	if (outputs_open(o->outdir, names, o->formats.count, &j.outputs, err) < 0)
		return -1;
	rc = reading_run(in, &job, result, sizeof(*result), err);
	if (outputs_close(&j.outputs, rc == 0, err) < 0)
		rc = -1;
	if (rc == 0)
		*ret = *result;
	return rc;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

/* ---- the summary as text ------------------------------------------------------------------------
 */

/* Prints a change, in brackets if it may be chance. */
static void print_change(const struct compare_result *r, const struct compare_change *c)
{
	char text[32];

	snprintf(text, sizeof(text), c->significant ? "%+.2f " : "(%+.2f)", 100 * c->change);
	printf(" %7.2f %7.2f %9s", percent(c->counts.before, r->before_samples),
	       percent(c->counts.after, r->after_samples), text);
}

static void print_side(const char *name, const struct input *in, const struct quality *q,
		       const uint64_t events[EVENT_KINDS])
{
	CLEANUP(str_fini) struct str others = {0};
	CLEANUP(free) char *title = input_title(in);
	CLEANUP(str_fini) struct str quality = {0};

	draw_quality_of(&quality, q, event_names[in->event].unit);
	printf("%-7s %s\n        %s\n", name, title, quality.buf);
	events_add_others(events, in->event, &others);
	if (others.len)
		printf("        other events, for --event: %s\n", others.buf);
}

void compare_print(const struct inputs *in, const struct compare_options *o,
		   const struct compare_result *r)
{
	unsigned shown = 0;

	print_side("before", &in->list[0], &r->before, r->before_events);
	print_side("after", &in->list[1], &r->after, r->after_events);
	printf("\n    self, %% of %-9s       with what it calls\n"
	       "  before   after    change  before   after    change  method\n",
	       event_names[in->event].unit);
	for (unsigned i = 0; i < r->row_count; i++) {
		const struct compare_row *row = &r->rows[i];

		if (!row->self.significant && !row->total.significant)
			continue;
		print_change(r, &row->self);
		print_change(r, &row->total);
		printf(" %s\n", row->method);
		shown++;
	}
	printf("%s%u of %llu methods; in brackets: may be chance\n\n",
	       shown ? "" : "  no change beyond chance\n", shown, (unsigned long long)r->methods);
	for (size_t i = 0; i < o->formats.count; i++)
		printf("%-7s %s/%s\n", o->formats.list[i]->name, o->outdir->path,
		       o->formats.list[i]->difference_file);
	fflush(stdout);
}

/* ---- the summary as JSON -----------------------------------------------------------------------
 */

static json_t *change_json(const struct compare_result *r, const struct compare_change *c)
{
	return json_pack("{sf sf sI sI sf sf sb}", "before",
			 percent(c->counts.before, r->before_samples) / 100, "after",
			 percent(c->counts.after, r->after_samples) / 100, "before_samples",
			 (json_int_t)c->counts.before, "after_samples", (json_int_t)c->counts.after,
			 "change", c->change, "z", c->z, "significant", c->significant);
}

static json_t *side_json(const struct input *in, uint64_t samples, const struct quality *q,
			 const uint64_t events[EVENT_KINDS])
{
	CLEANUP(free) char *title = input_title(in);

	return json_pack("{ss ss sI sI so}", "input", in->path, "title", title, "samples",
			 (json_int_t)samples, "lost", (json_int_t)q->lost, "events",
			 events_json(events));
}

static json_t *graphs_json(const struct compare_options *o)
{
	json_t *graphs = json_object();

	for (size_t i = 0; i < o->formats.count; i++) {
		CLEANUP(free)
		char *path =
			xasprintf("%s/%s", o->outdir->path, o->formats.list[i]->difference_file);

		json_object_set_new(graphs, o->formats.list[i]->name, json_string(path));
	}
	return graphs;
}

void compare_json(const struct inputs *in, const struct compare_options *o,
		  const struct compare_result *r)
{
	json_t *methods = json_array(), *all;

	for (unsigned i = 0; i < r->row_count; i++)
		json_array_append_new(methods,
				      json_pack("{ss so so}", "method", r->rows[i].method, "self",
						change_json(r, &r->rows[i].self), "total",
						change_json(r, &r->rows[i].total)));
	all = json_pack(
		"{ss ss so so so sI so}", "event", event_names[in->event].name, "unit",
		event_names[in->event].unit, "before",
		side_json(&in->list[0], r->before_samples, &r->before, r->before_events), "after",
		side_json(&in->list[1], r->after_samples, &r->after, r->after_events), "graphs",
		graphs_json(o), "method_count", (json_int_t)r->methods, "methods", methods);
	json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	putchar('\n');
	fflush(stdout);
	json_decref(all);
}
