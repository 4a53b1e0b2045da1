/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Takes what JVMs allocate: bytes, by class. */
#ifndef DFG_KERNEL_ALLOC_BPF_H
#define DFG_KERNEL_ALLOC_BPF_H

#include "kernel/events.bpf.h"

static const struct shifts alloc_shifts = {17, 32}; /* TLABs are seldom smaller than 128 KiB */

/* A thread's allocations. */
struct allocated {
	uint64_t thread; /* the JVM's */
	uint64_t seen;	 /* of its counter */
	struct flat_part part;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* is set before loading */
	__type(key, uint32_t);	/* tid */
	__type(value, struct allocated);
} allocations SEC(".maps");

/* Threads that G1 gives regions for their next object. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* is set before loading */
	__type(key, uint32_t);	/* tid */
	__type(value, uint8_t);
} humongous SEC(".maps");

/* What is known of a thread; of a new one its counter was at `seen`. */
static inline struct allocated *allocated_of(uint32_t tid, uint64_t thread, uint64_t seen)
{
	struct allocated *a = bpf_map_lookup_elem(&allocations, &tid), first;

	if (a && a->thread == thread)
		return a;
	first = (struct allocated){.thread = thread, .seen = seen, .part.interval = 1};
	bpf_map_update_elem(&allocations, &tid, &first, BPF_ANY);
	return bpf_map_lookup_elem(&allocations, &tid);
}

static inline bool take_bytes(struct scratch *s, struct allocated *a, uint64_t bytes)
{
	struct flat_rate *r = rate_of(&s->walk.sample);

	s->detail.amount = r ? take_amount(s, r, alloc_shifts, &a->part, bytes) : 0;
	return s->detail.amount;
}

/* A thread gets a new buffer (TLAB): takes the bytes of the buffers before, and of the object at
 * the beginning of the new one, as the JVM's own counter has them. How much of them a thread's
 * first event is about is not known: at most a buffer's size, so that the part of it that is from
 * before makes up for the buffer that the recording's end cuts. */
static inline bool take_buffer(struct scratch *s, uint64_t thread, uint64_t buffer)
{
	const struct flat_layout *l = &s->walk.process.layout;
	uint64_t now = word_at(thread, l->allocated) + word_at(thread, l->tlab_top) -
		       word_at(thread, l->tlab_start);
	const bool known =
		l->allocated != FLAT_NONE && l->tlab_top != FLAT_NONE && l->tlab_start != FLAT_NONE;
	struct allocated *a = allocated_of(s->walk.sample.tid, thread, now);
	uint64_t bytes;

	if (!a)
		return false;
	if (!known)
		return take_bytes(s, a, buffer);
	bytes = a->seen < now ? now - a->seen : now < buffer ? now : buffer;
	a->seen = now;
	return take_bytes(s, a, bytes);
}

/* Takes an object outside of buffers, which the counter has, too. */
static inline bool take_object(struct scratch *s, uint64_t thread, uint64_t size)
{
	const struct flat_layout *l = &s->walk.process.layout;
	uint64_t now = word_at(thread, l->allocated);
	struct allocated *a = allocated_of(s->walk.sample.tid, thread, now - size);

	if (!a)
		return false;
	a->seen += size;
	s->detail.flags = FLAT_OUTSIDE;
	if (bpf_map_delete_elem(&humongous, &s->walk.sample.tid) == 0)
		s->detail.flags |= FLAT_HUMONGOUS;
	return take_bytes(s, a, size);
}

/* Takes what an event of this probe says. False: it is not sent. */
static inline bool take_allocation(const bpf_user_pt_regs_t *r, struct scratch *s, uint64_t probe)
{
	const uint8_t yes = 1;
	bool taken = false;

	if (probe == FLAT_PROBE_HUMONGOUS)
		bpf_map_update_elem(&humongous, &s->walk.sample.tid, &yes, BPF_ANY);
	else if (probe == FLAT_PROBE_TLAB)
		taken = take_buffer(s, ARGUMENT(r, 4), ARGUMENT(r, 2));
	else if (probe == FLAT_PROBE_OUTSIDE)
		taken = take_object(s, ARGUMENT(r, 3), ARGUMENT(r, 2));
	if (taken)
		take_class(s, ARGUMENT(r, 0));
	return taken;
}

#endif
