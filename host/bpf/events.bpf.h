/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Holds what the events of probes share (alloc, lock, safepoint and compile.bpf.h): how many of
 * them become samples, what functions of the JVM are called with, and the names of classes. */
#ifndef DFG_BPF_EVENTS_BPF_H
#define DFG_BPF_EVENTS_BPF_H

#include "bpf/walk_state.h"

/* Maps of each walker's container: a container that lies fills its own. Not LRU: those give away
 * entries in use where there are many processors. */
#define INNER(name, key_bytes, value_bytes)                                                        \
	struct name {                                                                              \
		__uint(type, BPF_MAP_TYPE_HASH);                                                   \
		__uint(max_entries, FLAT_WAITS);                                                   \
		__uint(key_size, key_bytes);                                                       \
		__uint(value_size, value_bytes);                                                   \
	}
#define OUTER(name, inner)                                                                         \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);                                          \
		__uint(max_entries, FLAT_WALKERS);                                                 \
		__type(key, uint32_t);                                                             \
		__array(values, struct inner);                                                     \
	} name SEC(".maps")

/* A container may have several JVMs, with different things at the same address. Bit 0 stays. */
static inline uint64_t of_process(const struct scratch *s, uint64_t address)
{
	return address ^ (uint64_t)s->walk.sample.tgid << 42;
}

/* One sample for each 2^shift of what the event counts: so many that a processor sends some hundred
 * to some thousand of a container a second. */
#define WINDOW_NS     100000000u
#define WINDOW_MOST   200u
#define WINDOW_FEW    40u
#define WINDOW_COPIES 20u /* of stacks */

struct shifts {
	uint32_t least, most;
};

/* Adapts the interval; false: even the largest is too small. */
static inline bool adapt(struct flat_rate *r, struct shifts shifts, uint64_t time)
{
	bool over = time - r->begin >= WINDOW_NS;

	if (r->events >= WINDOW_MOST && !over && r->shift >= shifts.most)
		return false;
	if (r->events >= WINDOW_MOST && r->shift < shifts.most) {
		r->shift++;
		over = true;
	} else if (over && r->events < WINDOW_FEW && r->shift > shifts.least) {
		r->shift--;
	}
	if (over) {
		r->begin = time;
		r->events = 0;
	}
	if (r->shift < shifts.least)
		r->shift = shifts.least;
	return true;
}

/* Goes on with intervals of another size, or the first ones, as likely at one place in them as at
 * another: else the longer ones, of which each change would be the beginning, would have less than
 * all that is counted. */
static inline void change_interval(struct flat_part *p, uint64_t interval)
{
	uint64_t any = bpf_get_prandom_u32();

	if (interval > p->interval)
		p->rest |= any & (interval - 1) & ~(p->interval - 1);
	p->rest &= interval - 1;
	p->interval = interval;
}

/* Counts the amount of an event. One of a whole interval or more is a sample, of its amount;
 * smaller ones are added up, and that which fills an interval stands for it. So an event is taken
 * with the probability of its amount, and the sum is that of all. Returns what the sample stands
 * for; 0: there is none. */
static inline uint64_t take_amount(struct scratch *s, struct flat_rate *r, struct shifts shifts,
				   struct flat_part *p, uint64_t amount)
{
	uint64_t interval;

	if (!adapt(r, shifts, s->walk.sample.time)) {
		r->lost++;
		return 0;
	}
	interval = 1ull << (r->shift & 63);
	if (p->interval != interval)
		change_interval(p, interval);
	if (amount < interval) {
		p->rest += amount;
		amount = p->rest & ~(interval - 1);
		p->rest &= interval - 1;
	}
	s->may_copy = amount && r->events++ < WINDOW_COPIES;
	return amount;
}

static inline struct flat_rate *rate_of(const struct flat_sample *s)
{
	uint32_t at = flat_rate_at(s->event, s->walker);

	return bpf_map_lookup_elem(&rates, &at);
}

/* ---- the JVM's data ------------------------------------------------------------------------ */

#ifdef FLAT_ARM64
#define ARGUMENT(r, n) ((r)->regs[n])
#define JAVA_THREAD(r) ((r)->regs[28]) /* in compiled and native code, cpu/aarch64 */
#else
#define ARGUMENT(r, n)                                                                             \
	((n) == 0   ? (r)->rdi                                                                     \
	 : (n) == 1 ? (r)->rsi                                                                     \
	 : (n) == 2 ? (r)->rdx                                                                     \
	 : (n) == 3 ? (r)->rcx                                                                     \
		    : (r)->r8)
#define JAVA_THREAD(r) ((r)->r15) /* cpu/x86 */
#endif

static inline uint64_t word_at(uint64_t object, uint32_t place)
{
	uint64_t word = 0;

	if (place != FLAT_NONE)
		(void)bpf_probe_read_user(&word, sizeof(word), (const void *)(object + place));
	return word;
}

/* Copies a Symbol, cut to fewer bytes than `most`, a power of 2; returns how many it has then. */
static inline uint32_t copy_symbol(const struct flat_layout *l, uint64_t symbol, char *to,
				   const uint32_t most)
{
	uint16_t len = 0;
	uint32_t n;

	if (!symbol || l->symbol_length == FLAT_NONE || l->symbol_body == FLAT_NONE)
		return 0;
	(void)bpf_probe_read_user(&len, sizeof(len), (const void *)(symbol + l->symbol_length));
	n = len < most ? len : most - 1;
	n &= most - 1;
	return bpf_probe_read_user(to, n, (const void *)(symbol + l->symbol_body)) ? 0 : n;
}

/* Takes the name of a class that is alive. */
static inline void take_class(struct scratch *s, uint64_t class)
{
	const struct flat_layout *l = &s->walk.process.layout;

	s->detail.name_len =
		copy_symbol(l, word_at(class, l->class_name), s->detail.name, FLAT_NAME_MAX);
}

/* The object of a reference. Of generational ZGC's the lowest bits are colours, as many as tell the
 * four bits from 12 on (gc/z/zAddress.inline.hpp; on arm64 always 16). */
static inline uint64_t plain(const struct flat_objects *o, uint64_t reference)
{
	if (!(o->flags & FLAT_COLOURED))
		return reference;
#ifndef FLAT_ARM64
	switch (reference >> 12 & 15) {
	case 1:
		return reference >> 13;
	case 2:
		return reference >> 14;
	case 4:
		return reference >> 15;
	}
#endif
	return reference >> 16;
}

static inline uint64_t widen(uint64_t value, uint32_t bytes, uint64_t base, uint32_t shift)
{
	value = bytes == 4 ? (uint32_t)value : value;
	return value && bytes == 4 ? base + (value << (shift & 31)) : value;
}

/* The object that a field of another one refers to; 0: none. */
static inline uint64_t object_in(const struct flat_objects *o, uint64_t object, uint32_t place)
{
	return plain(o, widen(object ? word_at(object, place) : 0, o->ref_bytes, o->ref_base,
			      o->ref_shift));
}

/* The object that a field of the JVM's refers to. */
static inline uint64_t object_of(const struct flat_objects *o, uint64_t at, uint32_t place)
{
	uint64_t value = word_at(at, place);

	if (value && o->flags & FLAT_HANDLES)
		value = word_at(value, 0);
	return plain(o, value);
}

static inline uint64_t class_of(const struct flat_objects *o, uint64_t object)
{
	uint64_t word = object ? word_at(object, o->class_at) : 0;

	if (o->class_bytes == 0 && (word & FLAT_MARK_BITS) == FLAT_MARK_MOVED)
		return 0;
	if (o->class_bytes == 0)
		return widen(word >> FLAT_MARK_CLASS, 4, o->class_base, o->class_shift);
	return widen(word, o->class_bytes, o->class_base, o->class_shift);
}

#endif
