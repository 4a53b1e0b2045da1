// SPDX-License-Identifier: Apache-2.0
#include "jfr/jfr.h"

#include "common/table.h"
#include "jfr/chunk.h"

#define NODES_MAX (1u << 26)	      /* of the call tree: a few bytes can stand for many frames */
#define KEPT_MAX  (UINT64_C(1) << 27) /* samples that are kept one by one */

/* ---- the events that are read -------------------------------------------------------------- */

enum { EVENT_START, EVENT_TRACE, EVENT_THREAD, EVENT_CLASS, EVENT_AMOUNT };

/* The types of events of each kind. Those of the first rank that has events count: the same may be
 * recorded in two ways. */
static const struct source {
	enum event_kind kind;
	unsigned rank;
	const char *type, *amount, *class;
	bool ticks; /* the amount is a time in ticks */
} sources[] = {
	{EVENT_CPU, 0, "jdk.CPUTimeSample", NULL, NULL, false},
	{EVENT_CPU, 1, "jdk.ExecutionSample", NULL, NULL, false},
	{EVENT_NATIVE, 0, "jdk.NativeMethodSample", NULL, NULL, false},
	{EVENT_WALL, 0, "profiler.WallClockSample", "samples", NULL, false},
	{EVENT_ALLOC, 0, "jdk.ObjectAllocationInNewTLAB", "tlabSize", "objectClass", false},
	{EVENT_ALLOC, 0, "jdk.ObjectAllocationOutsideTLAB", "allocationSize", "objectClass", false},
	{EVENT_ALLOC, 1, "jdk.ObjectAllocationSample", "weight", "objectClass", false},
	{EVENT_LOCK, 0, "jdk.JavaMonitorEnter", "duration", "monitorClass", true},
	{EVENT_LOCK, 0, "jdk.ThreadPark", "duration", "parkedClass", true},
};
#define SOURCES ARRAY_LEN(sources)

struct loader {
	struct profile *profile;
	struct err *err;
	enum event_kind kind;
	unsigned rank;
	uint64_t counts[SOURCES]; /* events in the recording */
	size_t types;		  /* likewise */
	uint32_t origin, first_thread;
	struct frames *thread_keys;
	struct sample *kept; /* times are not relative yet */
	size_t kept_count, kept_cap;
	uint32_t *stack;
	size_t stack_cap;
	uint64_t sum;
};

/* Calls `fn` for each chunk, which it may change. Bytes that are no chunk are damaged; without any
 * chunk it fails. */
static int for_chunks(struct loader *l, struct bytes rest,
		      int (*fn)(struct loader *l, struct jfr_chunk *c))
{
	uint64_t cut = 0;
	bool first = true;
	int rc = 0;

	while ((rest.len || first) && rc == 0) {
		struct jfr_chunk c;
		struct err err;

		if (jfr_chunk_open(&rest, &c, first ? l->err : &err) == 0)
			rc = fn(l, &c);
		else if (first)
			rc = -1;
		else
			cut = rest.len, rest.len = 0;
		cut += c.cut;
		jfr_chunk_close(&c);
		first = false;
	}
	l->profile->cut += cut;
	return rc;
}

/* ---- counting ------------------------------------------------------------------------------ */

/* Returns the source of a type, or SOURCES. */
static size_t source_of(const struct jfr_chunk *c, uint64_t type_id)
{
	uint32_t type = jfr_type_by_id(c, type_id);
	size_t i = 0;

	while (i < SOURCES &&
	       (type == JFR_NONE || strcmp(c->types[type].name, sources[i].type) != 0))
		i++;
	return i;
}

static int count_events(struct loader *l, struct jfr_chunk *c)
{
	struct bytes at = jfr_records(c);
	struct jfr_record r;

	l->types += c->type_count;
	while (jfr_next(c, &at, &r)) {
		size_t i = r.type_id > 1 ? source_of(c, r.type_id) : SOURCES;

		if (i < SOURCES)
			l->counts[i]++;
	}
	return 0;
}

static unsigned rank_of(const struct loader *l, enum event_kind kind)
{
	unsigned ret = UINT32_MAX;

	for (size_t i = 0; i < SOURCES; i++)
		if (sources[i].kind == kind && l->counts[i] && sources[i].rank < ret)
			ret = sources[i].rank;
	return ret;
}

static void tell_counts(struct loader *l)
{
	for (size_t i = 0; i < SOURCES; i++)
		if (sources[i].rank == rank_of(l, sources[i].kind))
			l->profile->events[sources[i].kind] += l->counts[i];
	l->rank = rank_of(l, l->kind);
}

/* ---- adding -------------------------------------------------------------------------------- */

/* The fields of one source's events in a chunk. */
struct event_reader {
	const struct source *source;
	uint64_t type_id; /* UINT64_MAX: the chunk has none */
	struct jfr_picks picks;
};

static uint64_t nanoseconds(const struct jfr_chunk *c, uint64_t ticks)
{
	unsigned __int128 ns = (unsigned __int128)ticks * 1000000000u;

	ns /= c->ticks_per_second ? c->ticks_per_second : 1000000000u;
	return ns < UINT64_MAX ? (uint64_t)ns : UINT64_MAX;
}

static void prepare(const struct jfr_chunk *c, const struct source *s, struct event_reader *ret)
{
	const struct jfr_wish wishes[] = {{"startTime", NULL},
					  {"stackTrace", "jdk.types.StackTrace"},
					  {"sampledThread", "java.lang.Thread"},
					  {s->class ? s->class : "", "java.lang.Class"},
					  {s->amount ? s->amount : "", NULL}};
	const struct jfr_wish thread = {"eventThread", "java.lang.Thread"};
	uint32_t type = jfr_type_by_name(c, s->type);
	struct jfr_picks other;

	*ret = (struct event_reader){.source = s, .type_id = UINT64_MAX};
	if (type == JFR_NONE)
		return;
	ret->type_id = c->types[type].id;
	jfr_pick(c, type, wishes, ARRAY_LEN(wishes), &ret->picks);
	jfr_pick(c, type, &thread, 1, &other);
	if (ret->picks.field[EVENT_THREAD] == JFR_NONE)
		ret->picks.field[EVENT_THREAD] = other.field[0];
}

/* The innermost frame comes first in a trace, and last in a stack. */
static size_t build_stack(struct loader *l, const struct jfr_trace *t, uint32_t thread,
			  uint32_t class)
{
	size_t n = 0, most = (size_t)t->count + 3;

	if (l->stack_cap < most) {
		l->stack_cap = 2 * most;
		l->stack = xrealloc(l->stack, l->stack_cap, sizeof(*l->stack));
	}
	l->stack[n++] = thread;
	for (uint32_t i = t->count; i-- > 0;)
		l->stack[n++] = t->frames[i];
	if (!t->count)
		l->stack[n++] = stacks_intern(l->profile->stacks, "[unknown]", strlen("[unknown]"),
					      FRAME_UNKNOWN);
	if (class != JFR_NONE)
		l->stack[n++] = class;
	return n;
}

static void count_quality(struct profile *p, const struct jfr_trace *t, uint64_t amount)
{
	struct quality *q = &p->quality;

	q->samples += amount;
	if (t->java) {
		q->java_samples += amount;
		q->java_complete += t->truncated ? 0 : amount;
	}
	q->truncated += t->truncated ? amount : 0;
	q->frames += t->count + !t->count;
	q->frames_unknown += t->unknown + !t->count;
	q->java_frames += t->java;
	p->excess += (double)amount * (double)(amount - 1);
}

/* A sample that counts more than 1, as those of a clock may, is kept as often. */
static void keep_samples(struct loader *l, uint64_t time, uint32_t node, uint32_t thread,
			 uint64_t count)
{
	while (count-- > 0) {
		l->kept = grow(l->kept, l->kept_count, &l->kept_cap, sizeof(*l->kept));
		l->kept[l->kept_count++] =
			(struct sample){.time = time, .node = node, .thread = thread};
	}
}

/* Returns 0 for an event that was added, 1 for a damaged one. */
static int add_event(struct loader *l, struct jfr_names *n, const struct event_reader *r,
		     struct bytes b)
{
	const struct jfr_chunk *c = n->chunk;
	bool single = l->kind <= EVENT_WALL;
	struct jfr_value v[JFR_PICKS];
	struct jfr_thread thread;
	struct jfr_trace trace;
	uint64_t amount = 1;
	uint32_t class = JFR_NONE, node;
	size_t depth;

	if (!jfr_read_fields(c, &b, &r->picks, v) ||
	    !jfr_trace_of(n, v[EVENT_TRACE].number, &trace) ||
	    !jfr_thread_of(n, v[EVENT_THREAD].number, &thread))
		return 1;
	if (r->source->amount)
		amount = v[EVENT_AMOUNT].number;
	if (r->source->ticks)
		amount = nanoseconds(c, amount);
	if (amount == 0)
		return 0;
	if (amount > (single && l->profile->samples ? KEPT_MAX : COUNT_MAX) - l->sum)
		return err_set(l->err, 0, "too many samples");
	l->sum += amount;
	if (r->source->class)
		class = jfr_class_of(n, v[EVENT_CLASS].number);
	depth = build_stack(l, &trace, thread.frame, class);
	node = stacks_add(l->profile->stacks, l->stack, depth, amount);
	if (stacks_node_count(l->profile->stacks) > NODES_MAX)
		return err_set(l->err, 0, "more than %u different stacks", NODES_MAX);
	count_quality(l->profile, &trace, amount);
	if (single && l->profile->samples)
		keep_samples(l,
			     c->start_ns + nanoseconds(c, v[EVENT_START].number) -
				     nanoseconds(c, c->start_ticks),
			     node, thread.thread, amount);
	return 0;
}

static int add_events(struct loader *l, struct jfr_chunk *c)
{
	struct jfr_names names = {.chunk = c,
				  .profile = l->profile,
				  .origin = l->origin,
				  .first_thread = l->first_thread,
				  .thread_keys = l->thread_keys};
	struct event_reader readers[SOURCES];
	struct bytes at = jfr_records(c);
	struct jfr_record r;
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < SOURCES; i++)
		if (sources[i].kind == l->kind && sources[i].rank == l->rank)
			prepare(c, &sources[i], &readers[n++]);
	jfr_find_constants(c);
	jfr_names_start(&names);
	while (rc >= 0 && jfr_next(c, &at, &r))
		for (size_t i = 0; i < n && rc >= 0; i++)
			if (r.type_id == readers[i].type_id) {
				rc = add_event(l, &names, &readers[i], r.body);
				c->cut += rc > 0 ? r.size : 0;
			}
	jfr_names_end(&names);
	return rc < 0 ? -1 : 0;
}

/* Events are in the order of the threads' buffers. */
static void add_samples(struct loader *l)
{
	CLEANUP(free) struct keyed *order = xcalloc(l->kept_count + 1, sizeof(*order));

	for (size_t i = 0; i < l->kept_count; i++)
		order[i] = (struct keyed){.key = l->kept[i].time, .value = i};
	keyed_sort(order, l->kept_count);
	for (size_t i = 0; i < l->kept_count; i++) {
		const struct sample *s = &l->kept[order[i].value];

		samples_add(l->profile->samples, s->time - order[0].key, s->node, s->thread);
	}
}

int jfr_read(struct profile *p, const void *data, size_t len, enum event_kind kind, struct err *err)
{
	static const struct origin nowhere = {"", "", "", "", "", ""};
	struct loader l = {.profile = p, .err = err, .kind = kind};
	struct bytes all = bytes_of(data, len);
	uint64_t cut = p->cut;
	int rc = for_chunks(&l, all, count_events);

	p->cut = cut;
	if (rc < 0)
		return -1;
	if (!l.types)
		return err_set(err, 0, "a JFR recording that was cut off before its metadata");
	tell_counts(&l);
	if (p->samples) {
		l.origin = samples_add_origin(p->samples, &nowhere);
		l.first_thread = (uint32_t)p->samples->thread_count;
	}
	l.thread_keys = frames_new();
	rc = for_chunks(&l, all, add_events);
	if (rc == 0 && p->samples)
		add_samples(&l);
	frames_free(l.thread_keys);
	free(l.kept);
	free(l.stack);
	return rc;
}
