// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "bpf/recording_parts.h"
#include "common/clock.h"
#include "common/str.h"

#define STACKS 8192u /* a power of 2 */
#define LOOKED 8u    /* places where a thread's stack may be */

/* The stack with which a virtual thread began to wait. */
struct frozen_stack {
	uint64_t thread; /* FLAT_FROZEN_KEY; 0: none */
	uint64_t since;	 /* it waits, but for what has been written */
	struct flat_sample sample;
	uint64_t *frames;
	struct str subject, name; /* not clean */
};

/* Each wait costs the program's thread some 3 µs, in two hits of probes. */
#define WAITS_MOST 20000u /* a second, on a processor on average */
#define BOUND_NS   500000000u

struct virtual_threads {
	uint64_t looked;	      /* ns, when waits were counted last */
	uint64_t waits[FLAT_WALKERS]; /* then */
	uint64_t *named;	      /* whose names the file has */
	size_t named_count, named_cap;
	struct hash_table by_thread;
	struct frozen_stack stacks[STACKS];
};

void recording_virtual_begin(struct recorded *r)
{
	r->virtual = xcalloc(1, sizeof(*r->virtual));
}

void recording_virtual_forget(struct recorded *r)
{
	if (!r->virtual)
		return;
	hash_fini(&r->virtual->by_thread);
	r->virtual->by_thread = (struct hash_table){0};
	r->virtual->named_count = 0;
}

void recording_virtual_end(struct recorded *r)
{
	for (size_t i = 0; i < STACKS; i++) {
		free(r->virtual->stacks[i].frames);
		str_fini(&r->virtual->stacks[i].subject);
		str_fini(&r->virtual->stacks[i].name);
	}
	recording_virtual_forget(r);
	free(r->virtual->named);
	free(r->virtual);
	r->virtual = NULL;
}

/* ---- their cost ---------------------------------------------------------------------------- */

static void stop_following(struct recorded *r, size_t target)
{
	for (size_t i = 0; i < r->count; i++) {
		struct followed *p = &r->processes[i];

		if (p->target != target || !p->virtual)
			continue;
		stack_probes_close(p->virtual);
		p->virtual = NULL;
		r->counts[target].too_often++;
	}
}

void recording_virtual_bound(struct recorded *r)
{
	const uint64_t now = clock_us() * 1000;
	struct virtual_threads *v = r->virtual;
	const uint64_t ns = v ? now - v->looked : 0;

	if (ns < BOUND_NS)
		return;
	for (uint32_t i = FLAT_NO_WALKER + 1;
	     i < FLAT_WALKERS && stack_recorder_walker(r->recorder, i); i++) {
		const uint64_t waits = stack_recorder_frozen_count(r->recorder, i);

		if (v->looked && (double)(waits - v->waits[i]) * 1e9 > WAITS_MOST * (double)ns)
			stop_following(r, r->targets[i]);
		v->waits[i] = waits;
	}
	v->looked = now;
}

/* ---- names --------------------------------------------------------------------------------- */

/* Keeps that the file has a thread's name. False: it was known. */
static bool name_is_new(struct virtual_threads *v, uint64_t thread)
{
	const uint64_t hash = hash_mix(thread);

	for (struct hash_probe p = {.hash = hash}; hash_next(&v->by_thread, &p);)
		if (v->named[p.index] == thread)
			return false;
	v->named = grow(v->named, v->named_count, &v->named_cap, sizeof(*v->named));
	hash_add(&v->by_thread, hash, (uint32_t)v->named_count);
	v->named[v->named_count++] = thread;
	return true;
}

void recording_name_virtual(struct recorded *r, struct flat_sample *f, const char *name, size_t len)
{
	CLEANUP(str_fini) struct str text = {0};

	_Static_assert(FLAT_VIRTUAL == PERFWRITE_VIRTUAL, "the same numbers");
	f->tid = f->virtual;
	if (!name_is_new(r->virtual, FLAT_FROZEN_KEY(f->tgid, f->virtual)))
		return;
	if (len)
		str_add_clean(&text, name, len);
	else
		str_addf(&text, "virtual-%u", f->virtual & ~FLAT_VIRTUAL);
	perf_writer_comm(r->writer, (pid_t)f->tgid, (pid_t)f->tid, text.buf);
}

/* ---- stacks -------------------------------------------------------------------------------- */

/* Returns one of the LOOKED places where a thread's stack may be. */
static struct frozen_stack *place_at(struct recorded *r, uint64_t thread, size_t i)
{
	return &r->virtual->stacks[(hash_mix(thread) + i) % STACKS];
}

/* Finds the place of a thread's stack; if it has none, a free one, or that of a thread that has
 * gone on since. NULL: there is none. */
static struct frozen_stack *place_for(struct recorded *r, uint64_t thread)
{
	struct frozen_stack *ret = NULL;

	for (size_t i = 0; i < LOOKED; i++) {
		struct frozen_stack *s = place_at(r, thread, i);

		if (s->thread == thread)
			return s;
		if (!ret && (!s->thread || !stack_recorder_is_frozen(r->recorder, s->sample.walker,
								     s->thread, s->since)))
			ret = s;
	}
	return ret;
}

/* Counts the innermost frames, which are the JVM's functions that take the thread off. */
static uint32_t count_native(const struct flat_sample *f, const uint64_t *frames)
{
	uint32_t n = 0;

	while (n < f->count && frames[n] >> 60 == FLAT_FRAME_NATIVE)
		n++;
	return n;
}

static void keep(struct recorded *r, const struct flat_sample *f, const uint64_t *frames,
		 const struct stack_event *e)
{
	const uint32_t native = count_native(f, frames), n = f->count - native;
	const uint64_t thread = FLAT_FROZEN_KEY(f->tgid, f->virtual);
	struct frozen_stack *to = place_for(r, thread);

	if (!to)
		return;
	to->thread = thread;
	to->since = f->time;
	to->sample = *f;
	to->sample.kernel = 0;
	free(to->frames);
	to->sample.count = n;
	to->frames = xmalloc((n + 1) * sizeof(*to->frames));
	memcpy(to->frames, frames + native, n * sizeof(*frames));
	str_clear(&to->subject);
	str_add(&to->subject, e->name, e->name_len);
	str_clear(&to->name);
	str_add(&to->name, e->thread, e->thread_len);
}

static struct frozen_stack *find_stack(struct recorded *r, uint64_t thread, uint64_t since)
{
	for (size_t i = 0; i < LOOKED; i++) {
		struct frozen_stack *s = place_at(r, thread, i);

		if (s->thread == thread && s->since == since)
			return s;
	}
	return NULL;
}

/* ---- waits --------------------------------------------------------------------------------- */

static void write_wait(struct recorded *r, struct flat_sample f, const uint64_t *frames,
		       const struct stack_event *e)
{
	CLEANUP(str_fini) struct str name = {0};
	struct sample_detail d = {.event = FLAT_EVENT_WALL,
				  .amount = e->amount,
				  .flags = e->flags & FLAT_ONE ? PERFWRITE_WAIT : 0};

	str_adds(&name, "unmounted");
	if (e->name_len)
		str_addf(&name, " %.*s", (int)e->name_len, e->name);
	d.name = name.buf;
	d.name_len = name.len;
	recording_name_virtual(r, &f, e->thread, e->thread_len);
	recording_write(r, &f, frames, &d);
}

void recording_unmounted(struct recorded *r, const struct flat_sample *f, const uint64_t *frames,
			 const struct stack_event *e)
{
	if (e->flags & FLAT_FREEZES)
		keep(r, f, frames, e);
	else
		write_wait(r, *f, frames, e);
}

void recording_virtual_waits(void *arg, uint64_t thread, uint64_t since, uint64_t time)
{
	struct recorded *r = arg;
	struct frozen_stack *s = find_stack(r, thread, since);
	struct flat_sample f = {
		.tgid = (uint32_t)(thread >> 32), .virtual = (uint32_t)thread, .end = FLAT_UNREAD};
	const struct followed *p = recording_find(r, (pid_t)f.tgid);
	const uint64_t begin = since > r->began ? since : r->began, none = 0;
	struct stack_event e = {.amount = time > begin ? time - begin : 0, .flags = FLAT_ONE};

	/* Ends are not seen any more of a process that is gone, or not followed. */
	if (!e.amount || !p || !p->virtual)
		return;
	if (s) {
		f = s->sample;
		e.name = s->subject.buf;
		e.name_len = s->subject.len;
		e.thread = s->name.buf;
		e.thread_len = s->name.len;
		s->since = time;
	}
	f.time = time;
	write_wait(r, f, s ? s->frames : &none, &e);
}
