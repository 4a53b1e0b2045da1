// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/recording_parts.h"
#include "common/clock.h"
#include "common/str.h"

#define FRAMES_KEPT 1024u /* of a stack: the innermost */

/* A stack of a thread. */
struct clock_stack {
	struct flat_sample sample; /* time 0: none */
	uint64_t *frames;
	struct stack_event *copy; /* in place of frames; its stack is after it; NULL: none */
	struct str subject;	  /* a class, or an address; not clean; of waits */
	struct str thread;	  /* name of the virtual thread whose it is, not clean */
	/* Of a copy: time that it stands for, but that is not written yet; when it was last. */
	uint64_t unwritten, written;
	enum flat_cause cause;
};

/* A thread: stacks of the places where it waits, the last one that it ran with, and the time that
 * it has run since then. */
struct clock_thread {
	uint32_t tgid, tid;
	uint64_t ran;
	struct clock_stack runs, waits[FLAT_PLACES];
};

struct wall_clock {
	struct clock_thread *list;
	size_t count, cap;
	struct hash_table index;
};

static const char *const cause_names[FLAT_CAUSES] = {
	[FLAT_RUNNING] = "running",	[FLAT_RUNNABLE] = "runnable", [FLAT_PREEMPTED] = "runnable",
	[FLAT_THROTTLED] = "throttled", [FLAT_FUTEX] = "futex",	      [FLAT_SLEEP] = "sleep",
	[FLAT_SOCKET] = "socket",	[FLAT_EPOLL] = "epoll",	      [FLAT_FILE] = "file",
	[FLAT_FAULT] = "fault",		[FLAT_OTHER] = "other",
};

static struct clock_thread *thread_at(struct wall_clock *c, uint32_t tgid, uint32_t tid)
{
	const uint64_t hash = hash_mix((uint64_t)tgid << 32 | tid);

	for (struct hash_probe p = {.hash = hash}; hash_next(&c->index, &p);)
		if (c->list[p.index].tid == tid && c->list[p.index].tgid == tgid)
			return &c->list[p.index];
	c->list = grow(c->list, c->count, &c->cap, sizeof(*c->list));
	c->list[c->count] = (struct clock_thread){.tgid = tgid, .tid = tid};
	hash_add(&c->index, hash, (uint32_t)c->count);
	return &c->list[c->count++];
}

void recording_clock_begin(struct recorded *r)
{
	if (!(r->config->events & 1u << FLAT_EVENT_WALL))
		return;
	r->clock = xcalloc(1, sizeof(*r->clock));
	recording_virtual_begin(r);
	stack_recorder_begin_wall(r->recorder, r->began);
}

/* ---- while it records ---------------------------------------------------------------------- */

static void keep(struct clock_stack *to, const struct flat_sample *f, const uint64_t *frames)
{
	const uint32_t n = f->count < FRAMES_KEPT ? f->count : FRAMES_KEPT;

	to->sample = *f;
	to->sample.count = n;
	if (n < f->count)
		to->sample.end = FLAT_FULL;
	free(to->frames);
	to->frames = xmalloc((n + f->kernel + 1) * sizeof(*to->frames));
	memcpy(to->frames, frames, n * sizeof(*frames));
	memcpy(to->frames + n, frames + f->count, f->kernel * sizeof(*frames));
}

static void clock_stack_fini(struct clock_stack *s)
{
	free(s->frames);
	free(s->copy);
	str_fini(&s->subject);
	str_fini(&s->thread);
}

/* Writes whom a thread talks to: "10.0.0.5:5432", "[::1]:80", "port 80" of its own. */
static void add_peer(struct str *to, const struct flat_peer *p)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr six;
	bool mapped;

	memcpy(&six, p->address, sizeof(six));
	mapped = p->family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six);
	if (!p->port)
		str_addf(to, "port %u", p->own_port);
	else if (inet_ntop(mapped ? AF_INET : p->family, p->address + (mapped ? 12 : 0), text,
			   sizeof(text)))
		str_addf(to, strchr(text, ':') ? "[%s]:%u" : "%s:%u", text, p->port);
}

static void keep_subject(struct str *to, const struct stack_event *e)
{
	struct flat_peer peer;

	str_clear(to);
	if (!(e->flags & FLAT_PEER)) {
		str_add(to, e->name, e->name_len);
	} else if (e->name_len == sizeof(peer)) {
		memcpy(&peer, e->name, sizeof(peer));
		add_peer(to, &peer);
	}
}

/* Says what a thread did for some time, until `time`. */
struct clock_part {
	enum flat_cause cause;
	uint64_t ns, time;
	struct clock_stack *stack; /* NULL: it is not known where */
	bool one;		   /* wait, whole */
	uint64_t waker;		   /* time of the stack of who ended it; 0: not known */
};

#define COPIES_NS 200000000u /* from one sample to the next with the same copy: it is large */

/* Adds up what a copy stands for. Returns what its sample is to have now; 0: it is not due. */
static uint64_t take_copied(struct clock_stack *s, const struct clock_part *p)
{
	const uint64_t ns = s->unwritten + p->ns;

	s->cause = p->cause;
	s->unwritten = ns;
	if (s->written && p->time < s->written + COPIES_NS)
		return 0;
	s->written = p->time;
	s->unwritten = 0;
	return ns;
}

/* Writes a part as a sample of so many ns. */
static void write_sample(struct recorded *r, const struct clock_thread *t,
			 const struct clock_part *p, uint64_t ns)
{
	struct flat_sample f = {.tgid = t->tgid, .tid = t->tid, .end = FLAT_UNREAD};
	struct sample_detail d = {.event = FLAT_EVENT_WALL,
				  .amount = ns,
				  .holder = p->waker,
				  .flags = p->one && ns == p->ns ? PERFWRITE_WAIT : 0};
	CLEANUP(str_fini) struct str name = {0};
	const uint64_t none = 0;

	if (!ns)
		return;
	str_adds(&name, cause_names[p->cause]);
	if (p->stack && p->cause >= FLAT_WAITS_FROM && p->stack->subject.len)
		str_addf(&name, " %.*s", (int)p->stack->subject.len, p->stack->subject.buf);
	d.name = name.buf;
	d.name_len = name.len;
	if (p->stack && p->stack->sample.time)
		f = p->stack->sample;
	if (p->stack && p->stack->copy) {
		const struct stack_event *copy = p->stack->copy;

		d.regs = copy->regs;
		d.stack = (const uint8_t *)(copy + 1);
		d.stack_len = copy->stack_len < PERFWRITE_STACK ? copy->stack_len : PERFWRITE_STACK;
	}
	f.time = p->time;
	if (f.virtual)
		recording_name_virtual(r, &f, p->stack->thread.buf, p->stack->thread.len);
	recording_write(r, &f, f.count + f.kernel ? p->stack->frames : &none, &d);
}

static void write_part(struct recorded *r, const struct clock_thread *t, const struct clock_part *p)
{
	write_sample(r, t, p, p->stack && p->stack->copy ? take_copied(p->stack, p) : p->ns);
}

/* Writes what is left of the time that a copy stands for. */
static void write_unwritten(struct recorded *r, const struct clock_thread *t, struct clock_stack *s)
{
	const struct clock_part p = {.cause = s->cause, .time = s->written, .stack = s};

	write_sample(r, t, &p, s->unwritten);
	s->unwritten = s->written = 0;
}

void recording_clock_stack(struct recorded *r, const struct flat_sample *f, const uint64_t *frames,
			   const struct stack_event *e)
{
	struct clock_thread *t = thread_at(r->clock, f->tgid, f->tid);
	struct clock_stack *to = &t->waits[e->place % FLAT_PLACES];

	write_unwritten(r, t, to);
	keep(to, f, frames);
	keep_subject(&to->subject, e);
	str_clear(&to->thread);
	str_add(&to->thread, e->thread, e->thread_len);
	free(to->copy);
	to->copy = NULL;
	if (!e->stack)
		return;
	to->copy = xmalloc(sizeof(*to->copy) + e->stack_len);
	*to->copy = *e;
	memcpy(to->copy + 1, e->stack, e->stack_len);
}

/* Writes the time that a thread has run since its last sample, with that. */
static void write_run(struct recorded *r, struct clock_thread *t, uint64_t time)
{
	write_part(r, t,
		   &(struct clock_part){
			   .cause = FLAT_RUNNING, .ns = t->ran, .time = time, .stack = &t->runs});
	t->ran = 0;
}

void recording_clock_ran(struct recorded *r, const struct flat_sample *f, const uint64_t *frames)
{
	struct clock_thread *t = thread_at(r->clock, f->tgid, f->tid);

	write_run(r, t, f->time);
	keep(&t->runs, f, frames);
	str_clear(&t->runs.thread);
	str_add(&t->runs.thread, (const char *)(frames + f->count + f->kernel) + f->receiver,
		f->thread_len);
}

/* The stack of a place; NULL: it has not come. */
static struct clock_stack *find_stack(struct clock_thread *t, const struct flat_thread *from,
				      unsigned place)
{
	const uint64_t time = from->places[place].stack;

	return time && t->waits[place].sample.time == time ? &t->waits[place] : NULL;
}

/* Writes what a thread has waited at a place, the last wait there for itself if that is listed. */
static void write_place(struct recorded *r, struct clock_thread *t, const struct flat_thread *from,
			unsigned i)
{
	const struct flat_place *place = &from->places[i];
	const bool one = from->place == i + 1 && from->last && from->last <= place->ns;
	struct clock_part p = {.cause = place->cause < FLAT_CAUSES ? place->cause : FLAT_OTHER,
			       .ns = place->ns - (one ? from->last : 0),
			       .time = from->since,
			       .stack = find_stack(t, from, i)};

	write_part(r, t, &p);
	if (!one)
		return;
	p.ns = from->last;
	p.time = from->ended;
	p.one = true;
	p.waker = from->waker;
	write_part(r, t, &p);
}

/* The stack of a thread that waits for a processor, `last` of its last wait: since that, or since
 * it ran; NULL: of other waits, without a place, none is known. */
static struct clock_stack *stack_of(struct clock_thread *t, struct clock_stack *last,
				    unsigned cause)
{
	if (cause == FLAT_RUNNABLE)
		return last;
	return cause < FLAT_WAITS_FROM ? &t->runs : NULL;
}

void recording_clock_times(void *arg, const struct flat_thread *from)
{
	struct recorded *r = arg;
	struct clock_thread *t = thread_at(r->clock, from->tgid, from->tid);
	const bool known = from->place && from->place <= FLAT_PLACES;
	struct clock_stack *last = known ? find_stack(t, from, from->place - 1) : NULL;

	if (last && last->copy)
		last = NULL; /* its copy stands for waits */
	t->ran += from->ns[FLAT_RUNNING];
	for (unsigned i = FLAT_RUNNING + 1; i < FLAT_CAUSES; i++)
		write_part(r, t,
			   &(struct clock_part){.cause = i,
						.ns = from->ns[i],
						.time = from->since,
						.stack = stack_of(t, last, i)});
	for (unsigned i = 0; i < FLAT_PLACES; i++)
		write_place(r, t, from, i);
}

/* ---- the end ------------------------------------------------------------------------------- */

void recording_clock_flush(struct recorded *r)
{
	const struct stack_handler handler = {.frozen = recording_virtual_waits, .arg = r};

	stack_recorder_look(r->recorder);
	stack_recorder_frozen(r->recorder, clock_us() * 1000, &handler);
}

void recording_clock_end(struct recorded *r)
{
	const struct stack_handler handler = {
		.times = recording_clock_times, .frozen = recording_virtual_waits, .arg = r};
	const uint64_t end = r->end;

	if (!r->clock)
		return;
	stack_recorder_end_wall(r->recorder, end, &handler);
	stack_recorder_frozen(r->recorder, end, &handler);
	for (size_t i = 0; i < r->clock->count; i++) {
		struct clock_thread *t = &r->clock->list[i];

		write_run(r, t, end);
		clock_stack_fini(&t->runs);
		for (unsigned k = 0; k < FLAT_PLACES; k++) {
			write_unwritten(r, t, &t->waits[k]);
			clock_stack_fini(&t->waits[k]);
		}
	}
	recording_virtual_end(r);
	free(r->clock->list);
	hash_fini(&r->clock->index);
	free(r->clock);
	r->clock = NULL;
}
