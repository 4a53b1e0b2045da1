/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Holds what events share (alloc, lock, safepoint, compile and wall.bpf.h): how many of
 * them become samples, what functions of the JVM are called with, and the names of classes. */
#ifndef DFG_KERNEL_EVENTS_BPF_H
#define DFG_KERNEL_EVENTS_BPF_H

#include "kernel/flat_objects.h"
#include "kernel/walk_state.h"

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

/* Begins the detail of an event of the current thread. */
static inline void begin_detail(struct scratch *s, uint32_t flags)
{
	__builtin_memset(&s->detail, 0, offsetof(struct flat_detail, name));
	s->detail.flags = flags;
	s->may_copy = false;
}

/* An argument of a USDT probe, by its place (probe/probes.h). */
static inline uint64_t argument_at(const bpf_user_pt_regs_t *r, uint32_t place)
{
	const uint32_t n = FLAT_ARGUMENT_REGISTER(place);
	uint64_t word = 0;

	if (n >= sizeof(*r) / sizeof(word) ||
	    bpf_probe_read_kernel(&word, sizeof(word), (const uint64_t *)r + n))
		return 0;
	return place & FLAT_IN_MEMORY ? word_at(word + FLAT_ARGUMENT_OFFSET(place), 0) : word;
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

#define TYPE_BYTE 8u /* BasicType, utilities/globalDefinitions.hpp (JDK 21 to 27) */

/* Appends the name of a thread, of Latin letters, to that of a class, which it may cut. */
static inline void take_thread_name(struct scratch *s, uint64_t thread)
{
	const struct flat_objects *o = &s->walk.process.objects;
	const struct flat_virtual *v = &o->virtual;
	const uint64_t string = object_in(o, thread, v->thread_name);
	const uint64_t array = object_in(o, string, v->string_value);
	const uint32_t layout = (uint32_t)word_at(class_of(o, array), v->class_layout);
	uint32_t len = (uint32_t)word_at(array, v->array_length);

	if (!array || word_at(string, v->string_coder) & 0xff || layout >> 30 != 3 ||
	    (layout >> 8 & 0xff) != TYPE_BYTE)
		return;
	if (s->detail.name_len >= FLAT_NAME_MAX / 2)
		s->detail.name_len = FLAT_NAME_MAX / 2 - 1;
	if (len >= FLAT_NAME_MAX / 2)
		len = FLAT_NAME_MAX / 2 - 1;
	len &= FLAT_NAME_MAX / 2 - 1;
	if (bpf_probe_read_user(&s->detail.name[s->detail.name_len & (FLAT_NAME_MAX / 2 - 1)], len,
				(const void *)(array + (layout >> 16 & 0xff))) == 0)
		s->walk.sample.thread_len = len;
}

/* Returns the virtual thread that runs on a JavaThread; 0: none. */
static inline uint64_t mounted_on(const struct flat_objects *o, uint64_t java)
{
	uint64_t current;

	if (!java || o->virtual.carrier == FLAT_NONE)
		return 0;
	current = object_of(o, java, o->thread_object);
	return current != object_of(o, java, o->virtual.carrier) ? current : 0;
}

/* Takes the number and the name of a virtual thread. */
static inline void take_virtual(struct scratch *s, uint64_t thread)
{
	const struct flat_objects *o = &s->walk.process.objects;

	if (!thread)
		return;
	s->walk.sample.virtual = FLAT_VIRTUAL_TID(word_at(thread, o->virtual.thread_id));
	take_thread_name(s, thread);
}

/* The collector moves objects, and uses their memory for others: a class counts only while the
 * object is where it was. */
static inline uint64_t class_of_monitor(const struct flat_objects *o, uint64_t monitor)
{
	uint64_t object = object_of(o, monitor, o->monitor_object);
	uint64_t class = class_of(o, object);

	return object_of(o, monitor, o->monitor_object) == object ? class : 0;
}

#endif
