/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Safepoints: ns that all Java threads of a JVM were stopped, by the VM operation, with the stack
 * of the thread that asked for it, and that of the last thread to arrive, if it was late. */
#ifndef DFG_KERNEL_SAFEPOINT_BPF_H
#define DFG_KERNEL_SAFEPOINT_BPF_H

#include "kernel/events.bpf.h"

#define LATE_NS 200000u /* after the begin: the stacks of earlier threads are not taken */

/* Used bytes of the heap's pools, as the JVM tells them one by one. */
struct heap {
	uint64_t first; /* address of the name of the pool that was told first; 0: none was */
	uint64_t used;
	uint64_t times; /* that this one was told */
};

/* A JVM's safepoint, from its begin on. */
struct stop {
	uint64_t begin, stopped; /* 0: not yet */
	uint64_t operation;	 /* address of its class's virtual table; 0: none */
	uint64_t asker, late;	 /* times of their samples; 0: none */
	uint32_t asker_tid, late_tid;
	uint32_t collections; /* of the JVM, at the begin */
	uint32_t pad;
	struct heap before, after; /* the first collection, and the last one */
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* is set before loading */
	__type(key, uint32_t);	/* tgid */
	__type(value, struct stop);
} pauses SEC(".maps");

/* Operations that threads have asked for, by their address. */
INNER(inner_asked, sizeof(uint64_t), sizeof(struct flat_asked));
OUTER(asked, inner_asked);

static inline struct stop *pause_of(const struct scratch *s)
{
	return bpf_map_lookup_elem(&pauses, &s->walk.sample.tgid);
}

/* True if the JVM waits for its threads to stop: a thread that runs is why. */
static inline bool is_stopping(const struct scratch *s)
{
	const struct stop *p = pause_of(s);

	return p && !p->stopped;
}

/* True if the window has room for one stack more, that of a thread which is named by an event.
 * Those of late threads, which may be very many, leave half of it to those that ask. */
static inline bool take_stack(struct scratch *s, uint32_t most)
{
	struct flat_rate *r = rate_of(&s->walk.sample);

	if (!r || !adapt(r, (struct shifts){0, 0}, s->walk.sample.time) || r->events >= most)
		return false;
	s->may_copy = r->events++ < WINDOW_COPIES;
	return true;
}

static inline bool ask(struct scratch *s, uint64_t operation)
{
	const struct flat_asked a = {.time = s->walk.sample.time, .tid = s->walk.sample.tid};
	void *all = bpf_map_lookup_elem(&asked, &s->walk.sample.walker);

	if (!all || !take_stack(s, WINDOW_MOST))
		return false;
	bpf_map_update_elem(all, &operation, &a, BPF_ANY);
	s->detail.flags = FLAT_HOLDER | FLAT_WHOLE;
	return true;
}

/* Counts the JVM's collections of garbage. */
static inline uint32_t collections_of(const struct scratch *s)
{
	const uint64_t at = s->walk.process.objects.collections;

	return at ? (uint32_t)word_at(at, 0) : 0;
}

static inline void begin_safepoint(const struct scratch *s)
{
	const struct stop p = {.begin = s->walk.sample.time, .collections = collections_of(s)};

	bpf_map_update_elem(&pauses, &s->walk.sample.tgid, &p, BPF_ANY);
}

/* A thread arrives. */
static inline bool arrive(struct scratch *s)
{
	struct stop *p = pause_of(s);

	if (!p || p->stopped || s->walk.sample.time - p->begin < LATE_NS)
		return false;
	p->late = 0;
	p->late_tid = s->walk.sample.tid;
	if (!take_stack(s, WINDOW_MOST / 2))
		return false;
	p->late = s->walk.sample.time;
	s->detail.flags = FLAT_HOLDER;
	return true;
}

/* All threads have stopped. */
static inline void stop(struct stop *p, uint64_t time)
{
	if (p && !p->stopped)
		p->stopped = time;
}

/* The operation runs. Without the probe before, of JDK 11, all have stopped by now. */
static inline void evaluate(const struct scratch *s, uint64_t operation)
{
	struct stop *p = pause_of(s);
	void *all = bpf_map_lookup_elem(&asked, &s->walk.sample.walker);
	const uint64_t key = of_process(s, operation);
	const struct flat_asked *a = all ? bpf_map_lookup_elem(all, &key) : NULL;

	stop(p, s->walk.sample.time);
	if (p && !p->operation) {
		p->operation = word_at(operation, 0);
		p->asker = a ? a->time : 0;
		p->asker_tid = a ? a->tid : 0;
	}
	if (a)
		bpf_map_delete_elem(all, &key);
}

/* True for a pool of Java objects. Others are "Metaspace", "Compressed Class Space", "CodeHeap
 * 'profiled nmethods'", "CodeCache" (memory/heap.hpp, services/memoryService.cpp; JDK 8 to 27). */
static inline bool is_of_heap(uint64_t name)
{
	char begin[4] = "";

	if (bpf_probe_read_user(begin, sizeof(begin), (const void *)name) != 0)
		return false;
	return !(begin[0] == 'M' && begin[1] == 'e') &&
	       !(begin[0] == 'C' && begin[1] == 'o' && (begin[2] == 'd' || begin[2] == 'm'));
}

/* The JVM tells what a pool has, before a collection or after it. */
static inline void take_pool(struct scratch *s, uint64_t cookie)
{
	const uint64_t name = argument_at(&s->regs, FLAT_COOKIE_FIRST(cookie));
	const bool before = FLAT_COOKIE_PROBE(cookie) == FLAT_PROBE_POOL_BEFORE;
	struct stop *p = pause_of(s);
	struct heap *h;

	if (!p)
		return;
	h = before ? &p->before : &p->after;
	if (!h->first)
		h->first = name;
	if (h->first == name)
		h->times++;
	if (before && h->times > 1)
		return;
	if (h->first == name)
		h->used = 0;
	if (is_of_heap(name))
		h->used += argument_at(&s->regs, FLAT_COOKIE_SECOND(cookie));
}

#define CAUSE_BYTES 64u

/* Takes why the JVM has collected garbage in the pause, if it has. */
static inline void take_cause(struct scratch *s, const struct stop *p)
{
	const uint64_t cause = s->walk.process.objects.gc_cause;
	long n;

	if (!cause || collections_of(s) == p->collections)
		return;
	n = bpf_probe_read_user_str(s->detail.name, CAUSE_BYTES, (const void *)cause);
	s->detail.name_len = n > 1 && n <= (long)CAUSE_BYTES ? (uint32_t)n - 1 : 0;
}

static inline bool end_safepoint(struct scratch *s)
{
	const struct stop *found = pause_of(s);
	struct stop p;

	if (!found)
		return false;
	p = *found;
	bpf_map_delete_elem(&pauses, &s->walk.sample.tgid);
	s->detail.amount = s->walk.sample.time - p.begin;
	s->detail.part = (p.stopped ? p.stopped : s->walk.sample.time) - p.begin;
	s->detail.operation = p.operation;
	s->detail.holder = p.late;
	s->detail.holder_tid = p.late_tid;
	s->detail.asker = p.asker;
	s->detail.asker_tid = p.asker_tid;
	if (p.before.first && p.after.first) {
		s->detail.heap_before = p.before.used;
		s->detail.heap_after = p.after.used;
	}
	take_cause(s, &p);
	return true;
}

/* Takes what an event of this probe says. False: it is not sent. */
static inline bool take_safepoint(const bpf_user_pt_regs_t *r, struct scratch *s, uint64_t cookie)
{
	switch (FLAT_COOKIE_PROBE(cookie)) {
	case FLAT_PROBE_EXECUTE:
		return ask(s, of_process(s, ARGUMENT(r, 0)));
	case FLAT_PROBE_BEGIN:
		begin_safepoint(s);
		return false;
	case FLAT_PROBE_BLOCK:
		return arrive(s);
	case FLAT_PROBE_STOPPED:
		stop(pause_of(s), s->walk.sample.time);
		return false;
	case FLAT_PROBE_EVALUATE:
		evaluate(s, ARGUMENT(r, 0));
		return false;
	case FLAT_PROBE_END:
		return end_safepoint(s);
	case FLAT_PROBE_POOL_BEFORE:
	case FLAT_PROBE_POOL_AFTER:
		s->regs = *r;
		take_pool(s, cookie);
		return false;
	}
	return false;
}

#endif
