/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits of virtual threads, for the wall clock: from when their frames are put into the heap until
 * they are on a stack again. One sample for each interval of time, adapted, which is taken at the
 * end: the frames are still in the heap then, all of them. Stacks of some that begin to wait are
 * sent, too, for those that do not go on. */
#ifndef DFG_KERNEL_VIRTUAL_BPF_H
#define DFG_KERNEL_VIRTUAL_BPF_H

#include "kernel/wall.bpf.h"

static const struct shifts virtual_shifts = {10, 40}; /* about 1 µs; 1 100 s */

INNER(inner_frozen, sizeof(uint64_t), sizeof(uint64_t));
OUTER(frozen, inner_frozen);

/* True if the stack is wanted. */
static inline bool begin_frozen(struct scratch *s, void *all, struct flat_rate *r, uint64_t key)
{
	r->seen++;
	if (bpf_map_update_elem(all, &key, &s->walk.sample.time, BPF_ANY)) {
		count_lost(FLAT_EVENT_WALL, s->walk.sample.walker);
		return false;
	}
	s->detail.flags = FLAT_FREEZES;
	if (!adapt(r, virtual_shifts, s->walk.sample.time) || r->events >= WINDOW_MOST / 2)
		return false;
	r->events++;
	return true;
}

/* Takes how long the thread has waited. False: that is no sample. */
static inline bool end_frozen(struct scratch *s, void *all, struct flat_rate *r, uint64_t key)
{
	const uint64_t *begin = bpf_map_lookup_elem(all, &key), now = s->walk.sample.time;
	uint64_t since, ns;

	if (!begin)
		return false;
	since = *begin > wall_from ? *begin : wall_from;
	bpf_map_delete_elem(all, &key);
	ns = now > since ? now - since : 0;
	s->detail.amount = take_amount(s, r, virtual_shifts, &r->part, ns);
	s->detail.flags = FLAT_UNMOUNTED | (s->detail.amount == ns ? FLAT_ONE : 0);
	return s->detail.amount;
}

/* FreezeBase::_thread, after the table of its functions (JDK 21 to 27). */
#define FREEZE_THREAD 8u

/* The JavaThread of a probe's function, or of its object's. */
static inline uint64_t thread_of(const bpf_user_pt_regs_t *r, uint64_t probe)
{
	const uint64_t first = ARGUMENT(r, 0);

	return probe == FLAT_PROBE_THAW ? first : word_at(first, FREEZE_THREAD);
}

/* Takes what a virtual thread has waited, or begins to, for what, and who it is. False: it is not
 * sent. */
static inline bool take_unmounted(const bpf_user_pt_regs_t *r, struct scratch *s, uint64_t probe)
{
	const struct flat_objects *o = &s->walk.process.objects;
	const uint64_t thread = mounted_on(o, thread_of(r, probe));
	const uint32_t walker = s->walk.sample.walker, at = flat_rate_at(FLAT_RATE_VIRTUAL, walker);
	void *all = bpf_map_lookup_elem(&frozen, &walker);
	struct flat_rate *rate = bpf_map_lookup_elem(&rates, &at);
	const uint64_t id = thread ? word_at(thread, o->virtual.thread_id) : 0;
	const uint64_t key = FLAT_FROZEN_KEY(s->walk.sample.tgid, FLAT_VIRTUAL_TID(id));
	uint64_t class;

	if (!id || !all || !rate)
		return false;
	if (probe != FLAT_PROBE_THAW) {
		if (!begin_frozen(s, all, rate, key))
			return false;
	} else if (ARGUMENT(r, 1) & 0xff || s->walk.sample.time < wall_from ||
		   !end_frozen(s, all, rate, key)) {
		return false; /* at the barrier, more frames of a thread that runs come */
	}
	s->may_copy = false;
	class = class_of(o, object_in(o, thread, o->park_blocker));
	if (class)
		take_class(s, class);
	take_virtual(s, thread);
	return true;
}

#endif
