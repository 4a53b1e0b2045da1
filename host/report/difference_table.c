// SPDX-License-Identifier: Apache-2.0
#include "report/difference_table.h"

#include <jansson.h>
#include <stdio.h>

#include "common/str.h"

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

/* ---- for a person ------------------------------------------------------------------------ */

/* A change that may be chance stands in brackets. */
static void print_change(const struct compare_result *r, const struct compare_change *c)
{
	char text[32];

	snprintf(text, sizeof(text), c->significant ? "%+.2f " : "(%+.2f)", 100 * c->change);
	printf(" %7.2f %7.2f %9s", percent(c->counts.before, r->before_samples),
	       percent(c->counts.after, r->after_samples), text);
}

static void print_side(const char *name, const struct input *in, const struct quality *q)
{
	CLEANUP(free) char *title = input_title(in);
	CLEANUP(str_fini) struct str quality = {0};

	draw_quality(&quality, q);
	printf("%-7s %s\n        %s\n", name, title, quality.buf);
}

void difference_table_print(const struct inputs *in, const struct compare_options *o,
			    const struct compare_result *r)
{
	unsigned shown = 0;

	print_side("before", &in->list[0], &r->before);
	print_side("after", &in->list[1], &r->after);
	printf("\n    self, %% of samples         with what it calls\n"
	       "  before   after    change  before   after    change  method\n");
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
		printf("%-7s %s/%s\n", o->formats.list[i]->name, o->outdir,
		       o->formats.list[i]->difference_file);
	fflush(stdout);
}

/* ---- for a program ----------------------------------------------------------------------- */

static json_t *change_json(const struct compare_result *r, const struct compare_change *c)
{
	return json_pack("{sf sf sI sI sf sf sb}", "before",
			 percent(c->counts.before, r->before_samples) / 100, "after",
			 percent(c->counts.after, r->after_samples) / 100, "before_samples",
			 (json_int_t)c->counts.before, "after_samples", (json_int_t)c->counts.after,
			 "change", c->change, "z", c->z, "significant", c->significant);
}

static json_t *side_json(const struct input *in, uint64_t samples, const struct quality *q)
{
	CLEANUP(free) char *title = input_title(in);

	return json_pack("{ss ss sI sI}", "input", in->path, "title", title, "samples",
			 (json_int_t)samples, "lost", (json_int_t)q->lost);
}

static json_t *graphs_json(const struct compare_options *o)
{
	json_t *graphs = json_object();

	for (size_t i = 0; i < o->formats.count; i++) {
		CLEANUP(free)
		char *path = xasprintf("%s/%s", o->outdir, o->formats.list[i]->difference_file);

		json_object_set_new(graphs, o->formats.list[i]->name, json_string(path));
	}
	return graphs;
}

void difference_table_json(const struct inputs *in, const struct compare_options *o,
			   const struct compare_result *r)
{
	json_t *methods = json_array(), *all;

	for (unsigned i = 0; i < r->row_count; i++)
		json_array_append_new(methods,
				      json_pack("{ss so so}", "method", r->rows[i].method, "self",
						change_json(r, &r->rows[i].self), "total",
						change_json(r, &r->rows[i].total)));
	all = json_pack("{so so so sI so}", "before",
			side_json(&in->list[0], r->before_samples, &r->before), "after",
			side_json(&in->list[1], r->after_samples, &r->after), "graphs",
			graphs_json(o), "method_count", (json_int_t)r->methods, "methods", methods);
	json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	putchar('\n');
	fflush(stdout);
	json_decref(all);
}
