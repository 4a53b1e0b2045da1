// SPDX-License-Identifier: Apache-2.0
#include "report/filter.h"

#include <ctype.h>
#include <regex.h>
#include <time.h>

#include "common/str.h"

#define NS	    UINT64_C(1000000000)
#define DAY	    (86400 * NS)
#define SECONDS_MAX (UINT64_C(366) * 86400)

enum time_kind {
	TIME_NONE,
	TIME_SINCE_START,
	TIME_OF_DAY,
	TIME_WHOLE,
};

struct filter_time {
	enum time_kind kind;
	uint64_t ns;
	char *text;
};

struct filter_regex {
	bool set;
	regex_t regex;
	char *text;
};

struct filter {
	struct filter_regex include, exclude;
	bool java_only;
	struct filter_time from, to;
};

struct filter *filter_new(void)
{
	return xcalloc(1, sizeof(struct filter));
}

static void regex_fini(struct filter_regex *r)
{
	if (r->set)
		regfree(&r->regex);
	free(r->text);
	*r = (struct filter_regex){0};
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	regex_fini(&f->include);
	regex_fini(&f->exclude);
	free(f->from.text);
	free(f->to.text);
	free(f);
}

/* ---- options ---- */

static int set_regex(struct filter_regex *ret, const char *option, const char *text,
		     struct err *err)
{
	CLEANUP(free) char *pattern = xstrdup(text);
	int flags = REG_EXTENDED | REG_NOSUB | REG_ICASE, rc;
	char why[128];

	for (char *p = pattern; *p; p++) {
		if (isupper((unsigned char)*p))
			flags &= ~REG_ICASE;
		if (*p == '/')
			*p = '.';
	}
	regex_fini(ret);
	if (!*text)
		return err_set(err, 0, "--%s: no regular expression given", option);
	rc = regcomp(&ret->regex, pattern, flags);
	if (rc != 0) {
		regerror(rc, &ret->regex, why, sizeof(why));
		return err_set(err, 0, "--%s %s: %s", option, text, why);
	}
	ret->set = true;
	ret->text = xstrdup(text);
	return 0;
}

int filter_include(struct filter *f, const char *regex, struct err *err)
{
	return set_regex(&f->include, "include", regex, err);
}

int filter_exclude(struct filter *f, const char *regex, struct err *err)
{
	return set_regex(&f->exclude, "exclude", regex, err);
}

void filter_java_only(struct filter *f)
{
	f->java_only = true;
}

/* Parses with strptime; what follows may be "Z" only. */
static bool parse_clock(const char *text, const char *form, struct tm *ret)
{
	const char *end = strptime(text, form, ret);

	return end && (!strcmp(end, "") || !strcmp(end, "Z"));
}

/* Parses up to nine decimal places. */
static bool parse_fraction(const char *digits, uint64_t *ret_ns)
{
	size_t len = strlen(digits);

	if (len > 9 || !parse_u64(digits, ret_ns))
		return false;
	for (; len < 9; len++)
		*ret_ns *= 10;
	return true;
}

/* "10", "21.5s", "2m", "1h" */
static bool parse_since(const char *text, uint64_t *ret_ns)
{
	static const char letters[] = "smh";
	static const unsigned factors[] = {1, 60, 3600};
	CLEANUP(free) char *number = xstrdup(text);
	size_t len = strlen(number);
	const char *unit = len ? strchr(letters, number[len - 1]) : NULL;
	char *point = strchr(number, '.');
	uint64_t seconds, factor, fraction = 0;

	if (unit)
		number[len - 1] = '\0';
	if (point)
		*point = '\0';
	factor = unit ? factors[unit - letters] : 1;
	if (!parse_u64(number, &seconds) || seconds > SECONDS_MAX / factor ||
	    (point && !parse_fraction(point + 1, &fraction)))
		return false;
	*ret_ns = (seconds * NS + fraction) * factor;
	return true;
}

static bool parse_time(const char *text, struct filter_time *ret)
{
	struct tm tm = {0};

	if (parse_since(text, &ret->ns)) {
		ret->kind = TIME_SINCE_START;
		return true;
	}
	if (parse_clock(text, "%Y-%m-%dT%H:%M:%S", &tm)) {
		ret->kind = TIME_WHOLE;
		ret->ns = (uint64_t)timegm(&tm) * NS;
		return true;
	}
	tm = (struct tm){0};
	if (!parse_clock(text, "%H:%M:%S", &tm)) {
		tm = (struct tm){0};
		if (!parse_clock(text, "%H:%M", &tm))
			return false;
	}
	ret->kind = TIME_OF_DAY;
	ret->ns = (uint64_t)(tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec) * NS;
	return true;
}

static int set_time(struct filter_time *ret, const char *option, const char *text, struct err *err)
{
	struct filter_time t = {0};

	if (!parse_time(text, &t))
		return err_set(err, 0,
			       "--%s %s: must be seconds since the start (10, 2.5s, 2m), a time of "
			       "day in UTC (14:05:30), or both (2026-11-21T14:05:30Z)",
			       option, text);
	free(ret->text);
	*ret = t;
	ret->text = xstrdup(text);
	return 0;
}

int filter_from(struct filter *f, const char *time, struct err *err)
{
	return set_time(&f->from, "from", time, err);
}

int filter_to(struct filter *f, const char *time, struct err *err)
{
	return set_time(&f->to, "to", time, err);
}

int filter_option(struct filter *f, int opt, const char *value, struct err *err)
{
	switch (opt) {
	case FILTER_INCLUDE:
		return filter_include(f, value, err);
	case FILTER_EXCLUDE:
		return filter_exclude(f, value, err);
	case FILTER_FROM:
		return filter_from(f, value, err);
	case FILTER_TO:
		return filter_to(f, value, err);
	}
	filter_java_only(f);
	return 0;
}

int filter_check(const struct filter *f, struct err *err)
{
	/* A time of day may be of the next day. */
	if (f->from.kind == f->to.kind && f->from.kind != TIME_NONE &&
	    f->from.kind != TIME_OF_DAY && f->from.ns >= f->to.ns)
		return err_set(err, 0, "--to %s is not after --from %s", f->to.text, f->from.text);
	return 0;
}

bool filter_is_empty(const struct filter *f)
{
	return !f || (!f->include.set && !f->exclude.set && !f->java_only && !filter_has_times(f));
}

bool filter_has_times(const struct filter *f)
{
	return f && (f->from.kind != TIME_NONE || f->to.kind != TIME_NONE);
}

static void add_part(struct str *out, const char *before, const char *text)
{
	str_addf(out, "%s%s", out->len ? ", " : "", before);
	str_add_clean(out, text, strlen(text));
}

char *filter_text(const struct filter *f)
{
	struct str out = {0};

	if (f->include.set)
		add_part(&out, "only ", f->include.text);
	if (f->exclude.set)
		add_part(&out, "not ", f->exclude.text);
	if (f->java_only)
		add_part(&out, "", "Java only");
	if (f->from.text)
		add_part(&out, "from ", f->from.text);
	if (f->to.text)
		add_part(&out, "to ", f->to.text);
	return out.buf ? out.buf : xstrdup("");
}

/* ---- filtering ---- */

/* The state of filtering a profile. */
struct passing {
	const struct filter *filter;
	const struct stacks *stacks;
	uint64_t from, to; /* ns since the recording began */
	bool *leaf;	   /* by node: samples that end there count */
	uint64_t *self;	   /* by node: of these */
	uint32_t *nodes;   /* by node: that of the new tree */
};

static void passing_fini(struct passing *p)
{
	free(p->leaf);
	free(p->self);
	free(p->nodes);
}

/* Nanoseconds since the recording began. A time of day is the first one after that, or up to half a
 * day before, when it is the beginning. */
static uint64_t ns_since(const struct filter_time *t, uint64_t began)
{
	uint64_t day = began / DAY * DAY, at = t->ns;

	if (t->kind == TIME_SINCE_START)
		return at;
	if (t->kind == TIME_OF_DAY) {
		at += day;
		if (at + DAY / 2 < began)
			at += DAY;
	}
	return at > began ? at - began : 0;
}

static int find_span(const struct filter *f, const char *started, struct passing *ret,
		     struct err *err)
{
	struct tm tm = {0};
	uint64_t began;

	ret->from = 0;
	ret->to = UINT64_MAX;
	if (!filter_has_times(f))
		return 0;
	if (!started || !parse_clock(started, "%Y-%m-%dT%H:%M:%S", &tm))
		return err_set(err, 0, "--from and --to: only recordings have times");
	began = (uint64_t)timegm(&tm) * NS;
	if (f->from.kind != TIME_NONE)
		ret->from = ns_since(&f->from, began);
	if (f->to.kind != TIME_NONE)
		ret->to = ns_since(&f->to, began);
	return 0;
}

static bool matches(const struct filter_regex *r, const char *name)
{
	return r->set && regexec(&r->regex, name, 0, NULL, 0) == 0;
}

#define SEEN_INCLUDED 1u
#define SEEN_EXCLUDED 2u
#define SEEN_JAVA     4u
#define SEEN	      8u /* the frame was looked at */

static unsigned look_at(const struct filter *f, const struct frame *frame)
{
	return SEEN | (matches(&f->include, frame->name) ? SEEN_INCLUDED : 0) |
	       (matches(&f->exclude, frame->name) ? SEEN_EXCLUDED : 0) |
	       (frame->java ? SEEN_JAVA : 0);
}

/* A node is made after its parent. */
static void find_leaves(struct passing *p)
{
	const size_t nodes = stacks_node_count(p->stacks);
	CLEANUP(free) uint8_t *frames = xcalloc(stacks_frame_count(p->stacks) + 1, 1);
	CLEANUP(free) uint8_t *seen = xcalloc(nodes, 1);
	const struct filter *f = p->filter;

	for (uint32_t n = 0; n < nodes; n++) {
		const struct stack_node *node = stacks_node(p->stacks, n);

		if (n && !frames[node->frame])
			frames[node->frame] =
				(uint8_t)look_at(f, stacks_frame(p->stacks, node->frame));
		seen[n] = n ? seen[node->parent] | frames[node->frame] : 0;
		p->leaf[n] = (!f->include.set || (seen[n] & SEEN_INCLUDED)) &&
			     !(seen[n] & SEEN_EXCLUDED) && (!f->java_only || (seen[n] & SEEN_JAVA));
	}
}

static bool sample_passes(const struct passing *p, const struct sample *s)
{
	return p->leaf[s->node] && s->time >= p->from && s->time < p->to;
}

static void count_selves(struct passing *p, const struct profile *from)
{
	if (filter_has_times(p->filter)) {
		for (size_t i = 0; i < from->samples->count; i++)
			if (sample_passes(p, &from->samples->list[i]))
				p->self[from->samples->list[i].node]++;
		return;
	}
	for (uint32_t n = 0; n < stacks_node_count(p->stacks); n++)
		p->self[n] = p->leaf[n] ? stacks_node(p->stacks, n)->self : 0;
}

/* Makes the nodes that have samples or lead to some, without frames that do not count. Returns the
 * samples. */
static uint64_t make_nodes(struct passing *p, struct stacks *to)
{
	const size_t nodes = stacks_node_count(p->stacks);
	CLEANUP(free) uint64_t *totals = xcalloc(nodes, sizeof(*totals));
	CLEANUP(free)
	uint32_t *frames = xcalloc(stacks_frame_count(p->stacks) + 1, sizeof(*frames));

	for (uint32_t n = (uint32_t)nodes; n-- > 0;) {
		totals[n] = count_add(totals[n], p->self[n]);
		if (n)
			totals[stacks_node(p->stacks, n)->parent] =
				count_add(totals[stacks_node(p->stacks, n)->parent], totals[n]);
	}
	for (uint32_t n = 1; n < nodes; n++) {
		const struct stack_node *node = stacks_node(p->stacks, n);
		const struct frame *frame = stacks_frame(p->stacks, node->frame);

		if (!totals[n])
			continue;
		p->nodes[n] = p->nodes[node->parent];
		if (!p->filter->java_only || frame->java || frame->kind == FRAME_ROOT) {
			if (!frames[node->frame])
				frames[node->frame] =
					stacks_copy_frame(to, p->stacks, node->frame) + 1;
			p->nodes[n] = stacks_child(to, p->nodes[n], frames[node->frame] - 1, 0);
		}
		stacks_count(to, p->nodes[n], p->self[n]);
	}
	return totals[0];
}

static void add_samples(const struct passing *p, const struct samples *from, struct samples *to)
{
	CLEANUP(free) uint32_t *threads = samples_add_threads(to, from);

	for (size_t i = 0; i < from->count; i++) {
		const struct sample *s = &from->list[i];

		if (sample_passes(p, s))
			samples_add(to, s->time, p->nodes[s->node], threads[s->thread]);
	}
}

/* Scales the counts, so that their shares stay; what was lost stays. */
static struct quality scale(const struct quality *q, uint64_t samples)
{
	const double factor = q->samples ? (double)samples / (double)q->samples : 0;
	struct quality ret = *q;
	uint64_t *counts = (uint64_t *)&ret;

	for (size_t i = 0; i < sizeof(ret) / sizeof(*counts); i++)
		counts[i] = (uint64_t)((double)counts[i] * factor + 0.5);
	ret.samples = samples;
	ret.lost = q->lost;
	return ret;
}

int filter_apply(const struct filter *f, const struct profile *from, const char *started,
		 struct profile *to, struct err *err)
{
	const size_t nodes = stacks_node_count(from->stacks);
	struct passing p = {.filter = f, .stacks = from->stacks};
	struct quality quality;

	if (find_span(f, started, &p, err) < 0)
		return -1;
	p.leaf = xcalloc(nodes, sizeof(*p.leaf));
	p.self = xcalloc(nodes, sizeof(*p.self));
	p.nodes = xcalloc(nodes, sizeof(*p.nodes));
	find_leaves(&p);
	count_selves(&p, from);
	quality = scale(&from->quality, make_nodes(&p, to->stacks));
	quality_add(&to->quality, &quality);
	to->cut += from->cut;
	to->nameless_files += from->nameless_files;
	if (to->samples && from->samples)
		add_samples(&p, from->samples, to->samples);
	passing_fini(&p);
	return 0;
}
