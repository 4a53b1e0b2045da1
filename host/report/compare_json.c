// SPDX-License-Identifier: Apache-2.0
#include <jansson.h>
#include <stdio.h>

#include "common/str.h"
#include "report/compare_print.h"

static json_t *change_json(const struct compare_change *c)
{
	return json_pack("{sf sf sb}", "change", c->change, "z", c->z, "significant",
			 c->significant);
}

static json_t *rate_json(const struct compare_result *r, const struct compare_cost *c)
{
	json_t *o;

	if (!compare_has_rates(r))
		return json_null();
	o = change_json(&c->by[MEASURE_RATE]);
	json_object_set_new(o, "before",
			    json_real(compare_value(&r->before, c->counts.before, MEASURE_RATE)));
	json_object_set_new(o, "after",
			    json_real(compare_value(&r->after, c->counts.after, MEASURE_RATE)));
	return o;
}

static json_t *cost_json(const struct compare_result *r, const struct compare_cost *c)
{
	json_t *o = change_json(&c->by[MEASURE_SHARE]);

	json_object_set_new(o, "before",
			    json_real(compare_value(&r->before, c->counts.before, MEASURE_SHARE)));
	json_object_set_new(o, "after",
			    json_real(compare_value(&r->after, c->counts.after, MEASURE_SHARE)));
	json_object_set_new(o, "before_samples", json_integer((json_int_t)c->counts.before));
	json_object_set_new(o, "after_samples", json_integer((json_int_t)c->counts.after));
	json_object_set_new(o, "per_second", rate_json(r, c));
	return o;
}

static json_t *side_json(const struct input *in, const struct compare_side *side)
{
	CLEANUP(free) char *title = input_title(in);
	const struct session *s = input_session(in);
	json_t *o = json_pack("{ss ss sI sI so}", "input", in->path, "title", title, "samples",
			      (json_int_t)side->samples, "lost", (json_int_t)side->quality.lost,
			      "events", events_json(side->events));

	if (!s)
		return o;
	json_object_set_new(o, "name", json_string(s->label));
	json_object_set_new(o, "started", json_string(s->started));
	json_object_set_new(o, "duration", json_real(s->duration));
	json_object_set_new(o, "frequency", json_integer(s->frequency));
	return o;
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

static json_t *method_json(const struct compare_view *v, const struct compare_row *row)
{
	uint32_t via = row->via[v->gate->measure];

	return json_pack("{ss so so ss?}", "method", row->method, "self",
			 cost_json(v->result, &row->self), "total",
			 cost_json(v->result, &row->total), "via",
			 via ? v->result->rows[via - 1].method : NULL);
}

static json_t *methods_json(const struct compare_view *v)
{
	CLEANUP(compare_table_fini) struct compare_table t = compare_table_all(v);
	json_t *methods = json_array();

	for (size_t i = 0; i < t.count && i < v->rows; i++)
		json_array_append_new(methods, method_json(v, t.rows[i]));
	return methods;
}

static json_t *limits_json(const struct compare_view *v)
{
	json_t *limits = json_array();

	for (size_t i = 0; i < v->gate->count; i++) {
		const struct gate_limit *l = &v->gate->limits[i];
		CLEANUP(compare_table_fini) struct compare_table t = compare_exceeding(v, l);
		json_t *exceeding = json_array();

		for (size_t k = 0; k < t.count; k++) {
			const struct compare_row *row = t.rows[k];
			const struct compare_cost *c = row ? &row->total : &v->result->whole;

			json_array_append_new(exceeding,
					      json_pack("{ss? sf}", "method",
							row ? row->method : NULL, "percent",
							gate_percent(v->gate, v->result, c)));
		}
		json_array_append_new(
			limits, json_pack("{ss so}", "limit", l->text, "exceeding", exceeding));
	}
	return limits;
}

void compare_json(const struct compare_view *v)
{
	const struct compare_result *r = v->result;
	CLEANUP(str_fini) struct str verdict = {0};
	json_t *all;

	compare_verdict(&verdict, v);
	all = json_pack("{ss sb so ss ss ss so so so so sI so}", "verdict", verdict.buf, "failed",
			gate_fails(v->gate, r), "limits", limits_json(v), "per",
			v->gate->measure == MEASURE_RATE ? "second" : "sample", "event",
			event_names[v->in->event].name, "unit", event_names[v->in->event].unit,
			"before", side_json(&v->in->list[0], &r->before), "after",
			side_json(&v->in->list[1], &r->after), "whole", rate_json(r, &r->whole),
			"graphs", graphs_json(v->options), "method_count", (json_int_t)r->row_count,
			"methods", methods_json(v));
	json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	putchar('\n');
	fflush(stdout);
	json_decref(all);
}
