/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compilations: ns, by method and level; code that is not entered any more. Compiled code that
 * cannot go on and is left to the interpreter (uncommon traps), by reason. What code is made, and
 * when classes are unloaded. */
#ifndef DFG_KERNEL_COMPILE_BPF_H
#define DFG_KERNEL_COMPILE_BPF_H

#include "kernel/events.bpf.h"

static const struct shifts compile_shifts = {10, 40}; /* about 1 µs; 1 100 s */

#define PART_MAX 128u /* bytes of the name of a class, and of a method, with what is after it */

/* Tasks that compiler threads work on. */
struct task {
	uint64_t address, begin;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* is set before loading */
	__type(key, uint32_t);	/* tid */
	__type(value, struct task);
} tasks SEC(".maps");

/* Takes the name of a method, "java/lang/String.hashCode". */
static inline void take_method(struct scratch *s, uint64_t method)
{
	const struct flat_objects *o = &s->walk.process.objects;
	const struct flat_layout *l = &s->walk.process.layout;
	uint64_t constants = word_at(method, o->method_const);
	uint64_t pool = word_at(constants, o->const_pool);
	uint64_t class = word_at(pool, o->pool_holder);
	uint16_t index = 0;
	uint32_t n, more;

	if (!method || !constants || !pool || o->const_name == FLAT_NONE)
		return;
	(void)bpf_probe_read_user(&index, sizeof(index), (const void *)(constants + o->const_name));
	n = copy_symbol(l, word_at(class, l->class_name), s->detail.name, PART_MAX);
	n &= PART_MAX - 1;
	s->detail.name[n] = '.';
	more = copy_symbol(l, word_at(pool, o->pool_symbols + index * sizeof(uint64_t)),
			   &s->detail.name[n + 1], PART_MAX);
	s->detail.name_len = n && more ? n + 1 + more : 0;
}

/* The compiler is done with the thread's task. */
static inline bool end_task(struct scratch *s)
{
	const struct task *found = bpf_map_lookup_elem(&tasks, &s->walk.sample.tid);
	struct flat_rate *r = rate_of(&s->walk.sample);
	struct task t;

	if (!found || !r)
		return false;
	t = *found;
	bpf_map_delete_elem(&tasks, &s->walk.sample.tid);
	s->detail.amount =
		take_amount(s, r, compile_shifts, &r->part, s->walk.sample.time - t.begin);
	if (!s->detail.amount)
		return false;
	s->detail.level = (uint32_t)word_at(t.address, s->walk.process.objects.task_level) & 0xff;
	take_method(s, word_at(t.address, s->walk.process.objects.task_method));
	return true;
}

#define STATE_MASK 0xffu /* of nmethod::_state, a signed char; 0: in use */

/* Code is made not entrant, which more than one thread may ask for. */
static inline bool take_discard(struct scratch *s, uint64_t code)
{
	const struct flat_objects *o = &s->walk.process.objects;
	struct flat_rate *r = rate_of(&s->walk.sample);

	if (!r || o->code_state == FLAT_NONE || word_at(code, o->code_state) & STATE_MASK)
		return false;
	if (!adapt(r, compile_shifts, s->walk.sample.time)) {
		r->lost++;
		return false;
	}
	r->events++;
	s->may_copy = false;
	s->detail.flags = FLAT_DISCARDED;
	s->detail.level = (uint32_t)word_at(code, o->code_level) & 0xff;
	take_method(s, word_at(code, o->code_method));
	return true;
}

/* Takes what an event of this probe says. False: it is not sent. A task is freed by the caller of
 * the function, after that has returned. */
static inline bool take_compilation(const bpf_user_pt_regs_t *r, struct scratch *s, uint64_t probe)
{
	const struct task t = {.address = ARGUMENT(r, 0), .begin = s->walk.sample.time};

	if (probe == FLAT_PROBE_COMPILED)
		return end_task(s);
	if (probe == FLAT_PROBE_DISCARD)
		return take_discard(s, ARGUMENT(r, 0));
	bpf_map_update_elem(&tasks, &s->walk.sample.tid, &t, BPF_ANY);
	return false;
}

/* ---- uncommon traps ------------------------------------------------------------------------ */

/* A trap request is negative, and its bits are inverted: a reason after three bits of an action
 * (runtime/deoptimization.hpp, JDK 11 to 27). Others are of a class that is not loaded. */
#define REASON_SHIFT 3
#define REASON_MASK  31u
#define REASON_BYTES 64u
#define UNLOADED     "unloaded"

static const struct shifts deopt_shifts = {0, 40};

/* Takes what an event of this probe says. False: it is not sent. */
static inline bool take_trap(const bpf_user_pt_regs_t *r, struct scratch *s)
{
	const int32_t request = (int32_t)ARGUMENT(r, 1);
	const uint64_t names = s->walk.process.trap_reasons;
	struct flat_rate *rate = rate_of(&s->walk.sample);
	uint64_t name = 0;
	long n = 0;

	s->detail.amount = rate ? take_amount(s, rate, deopt_shifts, &rate->part, 1) : 0;
	if (!s->detail.amount)
		return false;
	if (request >= 0) {
		__builtin_memcpy(s->detail.name, UNLOADED, sizeof(UNLOADED));
		s->detail.name_len = sizeof(UNLOADED) - 1;
		return true;
	}
	if (names)
		name = word_at(names, (~request >> REASON_SHIFT & REASON_MASK) * sizeof(uint64_t));
	if (name)
		n = bpf_probe_read_user_str(s->detail.name, REASON_BYTES, (const void *)name);
	s->detail.name_len = n > 1 && n <= (long)REASON_BYTES ? (uint32_t)n - 1 : 0;
	return true;
}

/* ---- code and classes ---------------------------------------------------------------------- */

/* A ring for each walker, so that a container fills only its own. */
struct inner_made {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* another one is set before loading */
};
OUTER(made, inner_made);

/* When a process has unloaded its last class. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, uint32_t);
	__type(value, uint64_t);
} unloads SEC(".maps");

#define UNLOADS_NS 1000000u /* between two classes that are unloaded together, at most */

/* A class is unloaded. Returns the time with FLAT_UNLOADS; 0: others have been, just before. */
static uint64_t unload(uint32_t tgid)
{
	const uint64_t now = bpf_ktime_get_ns();
	const uint64_t *last = bpf_map_lookup_elem(&unloads, &tgid);
	const bool begins = !last || now - *last > UNLOADS_NS;

	bpf_map_update_elem(&unloads, &tgid, &now, BPF_ANY);
	return begins ? FLAT_UNLOADS | now : 0;
}

#endif
