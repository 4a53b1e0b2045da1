// SPDX-License-Identifier: Apache-2.0
#include "report/gate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/str.h"

/* Parses "2%" or "0.5%". */
static bool parse_percent(const char *text, double *ret)
{
	size_t len = strspn(text, "0123456789.");
	char *end;

	if (len == 0 || len > 20 || strcmp(text + len, "%"))
		return false;
	*ret = strtod(text, &end);
	return end == text + len;
}

/* Takes the name before the last ':' if there is one. Returns the rest, NULL if it is too long. */
static const char *parse_method(const char *text, struct gate_limit *l)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;

	if (len >= sizeof(l->method))
		return NULL;
	memcpy(l->method, text, len);
	if (len && l->method[len - 1] == '*') {
		l->method[len - 1] = '\0';
		l->any_rest = true;
	}
	return colon ? colon + 1 : text;
}

int gate_add(struct gate *g, const char *text, struct err *err)
{
	struct gate_limit l = {.text = text, .more = true, .less = true};
	const char *rest = parse_method(text, &l);

	if (rest && (*rest == '+' || *rest == '-')) {
		l.more = *rest == '+';
		l.less = *rest == '-';
		rest++;
	}
	if (!rest || !parse_percent(rest, &l.percent))
		return err_set(err, 0, "--fail-on %s: must be like +2%% or NAME:+2%%", text);
	if (g->count == GATE_LIMITS)
		return err_set(err, 0, "--fail-on: more than %d limits", GATE_LIMITS);
	g->limits[g->count++] = l;
	return 0;
}

int gate_check_measure(const struct gate *g, struct err *err)
{
	for (size_t i = 0; i < g->count; i++)
		if (g->measure == MEASURE_SHARE && !strcmp(g->limits[i].method, GATE_WHOLE))
			return err_set(err, 0,
				       "--fail-on %s: the share of the whole never changes; give "
				       "--per second",
				       g->limits[i].text);
	return 0;
}

int gate_check_inputs(const struct gate *g, const struct inputs *in, struct err *err)
{
	for (size_t i = 0; i < in->count && g->measure == MEASURE_RATE; i++)
		if (input_busy(in, i) <= 0)
			return err_set(
				err, 0,
				"--per second: %s has no duration; give sessions, and all of their "
				"time",
				in->list[i].path);
	return 0;
}

int gate_check_samples(const struct gate *g, const struct inputs *in,
		       const struct compare_result *r, struct err *err)
{
	if (g->count && (!r->before.samples || !r->after.samples))
		return err_set(err, 0, "--fail-on: %s has no samples to compare",
			       in->list[r->before.samples > 0].path);
	return 0;
}

/* A method that is new and has the limit's share is significant at about this |z|. */
#define NEEDED_Z 4.0

unsigned long long gate_samples_needed(const struct gate_limit *l, const struct compare_result *r)
{
	double before = r->before.worth, after = r->after.worth;
	double needed = NEEDED_Z * NEEDED_Z * 100 / fmax(l->percent, 0.01);

	return 2 / (1 / before + 1 / after) < needed ? (unsigned long long)ceil(needed) : 0;
}

double gate_percent(const struct gate *g, const struct compare_result *r,
		    const struct compare_cost *c)
{
	double whole = compare_value(&r->before, r->before.samples, g->measure);

	return whole > 0 ? 100 * c->by[g->measure].change / whole : 0;
}

static bool is_meant(const struct gate_limit *l, const char *method)
{
	if (!*l->method && !l->any_rest)
		return true;
	return l->any_rest ? has_prefix(method, l->method) : !strcmp(method, l->method);
}

bool gate_exceeds(const struct gate *g, const struct gate_limit *l, const struct compare_result *r,
		  const struct compare_row *row)
{
	const struct compare_cost *c = row ? &row->total : &r->whole;
	double percent = gate_percent(g, r, c);

	if (!is_meant(l, row ? row->method : GATE_WHOLE) || !c->by[g->measure].significant)
		return false;
	return (l->more && percent > l->percent) || (l->less && percent < -l->percent);
}

bool gate_fails(const struct gate *g, const struct compare_result *r)
{
	for (size_t i = 0; i < g->count; i++) {
		if (gate_exceeds(g, &g->limits[i], r, NULL))
			return true;
		for (size_t k = 0; k < r->row_count; k++)
			if (gate_exceeds(g, &g->limits[i], r, &r->rows[k]))
				return true;
	}
	return false;
}
