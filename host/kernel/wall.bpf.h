/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The wall clock: what each thread does all the time, by cause. A thread is in one state; each
 * switch of a processor, and each wake-up, ends one and begins another, whose time is added up. The
 * stacks of threads that begin to wait are walked, as many as there may be. Linux 5.17. */
#ifndef DFG_KERNEL_WALL_BPF_H
#define DFG_KERNEL_WALL_BPF_H

#include "kernel/cause.bpf.h"
#include "kernel/events.bpf.h"

/* Times before it do not count: it is set when the recording begins. */
volatile uint64_t wall_from = UINT64_MAX;

/* All threads that there were then have been looked at. */
volatile bool wall_looked = false;

/* What is known of a thread; a new one waits for a processor since then. */
static inline struct flat_thread *begin_thread(uint64_t task, uint32_t tgid, uint32_t tid,
					       uint32_t walker, uint64_t since)
{
	static const struct flat_thread none;
	struct flat_thread *t = bpf_map_lookup_elem(&threads, &task);

	if (t)
		return t;
	bpf_map_update_elem(&threads, &task, &none, BPF_NOEXIST);
	t = bpf_map_lookup_elem(&threads, &task);
	if (!t)
		return NULL;
	t->tgid = tgid;
	t->tid = tid;
	t->walker = walker;
	t->sent = since;
	t->cause = FLAT_RUNNABLE;
	t->since = since;
	return t;
}

/* The place of a thread's last wait; NULL: it has none. */
static inline struct flat_place *place_of(struct flat_thread *t)
{
	return t->place ? &t->places[(t->place - 1) & (FLAT_PLACES - 1)] : NULL;
}

/* Ends a thread's state, and begins another. */
static inline void go_into(struct flat_thread *t, enum flat_cause cause, uint64_t time)
{
	const uint64_t since = __sync_lock_test_and_set(&t->since, time); /* flush() sets it, too */
	const uint64_t ns = since && time > since ? time - since : 0;
	const uint32_t now = t->cause;
	struct flat_place *p = now >= FLAT_WAITS_FROM ? place_of(t) : NULL;

	if (p)
		p->ns += ns;
	else if (now < FLAT_CAUSES)
		t->ns[now] += ns;
	if (now >= FLAT_WAITS_FROM) {
		t->last = ns;
		t->ended = time;
	}
	t->cause = cause;
}

#define UNSENT_NS 500000000u /* after which times are sent */

/* Room in the ring for times of a thread; NULL: there is none. */
static inline struct flat_times *begin_times(const struct flat_thread *t, uint64_t time)
{
	struct flat_times *ret = bpf_ringbuf_reserve(&samples, sizeof(*ret), 0);

	if (!ret) {
		count_lost(FLAT_EVENT_WALL, t->walker);
		return NULL;
	}
	__builtin_memset(ret, 0, sizeof(*ret));
	ret->sample.time = time;
	ret->sample.tgid = t->tgid;
	ret->sample.tid = t->tid;
	ret->sample.walker = t->walker;
	ret->sample.event = FLAT_EVENT_WALL;
	ret->sample.end = FLAT_TIMES;
	return ret;
}

/* Sends what a thread's time was since the last time. */
static inline void send_times(struct flat_thread *t, uint64_t time)
{
	struct flat_times *times = begin_times(t, time);

	if (!times)
		return;
	times->thread = *t;
	bpf_ringbuf_submit(times, BPF_RB_NO_WAKEUP);
	__builtin_memset(t->ns, 0, sizeof(t->ns));
	for (uint32_t i = 0; i < FLAT_PLACES; i++)
		t->places[i].ns = 0;
	t->sent = time;
}

/* Sends the time of a wait that goes on. */
static inline void flush(struct flat_thread *t, uint64_t time)
{
	const uint64_t since = t->since;
	const uint32_t cause = t->cause;
	const struct flat_place *p = place_of(t);
	struct flat_times *times;

	if (cause < FLAT_WAITS_FROM || cause >= FLAT_CAUSES || !since || time <= since ||
	    __sync_val_compare_and_swap(&t->since, since, time) != since)
		return; /* it has just ended */
	times = begin_times(t, time);
	if (!times)
		return;
	times->thread.since = time;
	times->thread.tgid = t->tgid;
	times->thread.tid = t->tid;
	times->thread.place = t->place;
	__builtin_memcpy(times->thread.places, t->places, sizeof(t->places));
	for (uint32_t i = 0; i < FLAT_PLACES; i++)
		times->thread.places[i].ns = p && t->place == i + 1 ? time - since : 0;
	if (!p)
		times->thread.ns[cause] = time - since;
	bpf_ringbuf_submit(times, BPF_RB_NO_WAKEUP);
}

static inline bool is_dead(const struct task_struct___wall *task)
{
	return task->__state & DEAD;
}

static inline void end_thread(uint64_t task, struct flat_thread *t, uint64_t time)
{
	go_into(t, FLAT_RUNNING, time);
	send_times(t, time);
	bpf_map_delete_elem(&threads, &task);
}

#ifdef FLAT_ARM64
#define STACK_POINTER(r) ((r)->sp)
#define PROGRAM(r)	 ((r)->pc)
#else
#define STACK_POINTER(r) ((r)->rsp)
#define PROGRAM(r)	 ((r)->rip)
#endif

/* Begins an event with a copy of a sleeping thread's stack, whose registers are there. */
static inline void begin_copy(struct scratch *s, const struct flat_thread *t, uint64_t time)
{
	__builtin_memset(&s->sample, 0, sizeof(s->sample));
	__builtin_memset(&s->detail, 0, sizeof(s->detail));
	s->sample.time = time;
	s->sample.pc = PROGRAM(&s->regs);
	s->sample.sp = STACK_POINTER(&s->regs);
	s->sample.tgid = t->tgid;
	s->sample.tid = t->tid;
	s->sample.walker = t->walker;
	s->sample.event = FLAT_EVENT_WALL;
	s->sample.end = FLAT_NO_TABLES;
	s->detail.flags = FLAT_HOLDER;
}

/* A number for the place in the program where a wait begins. */
static inline uint64_t key_of(const struct system_call *c, enum flat_cause cause)
{
	const uint64_t key = (c->sp ^ c->arguments[0] << 24 ^ c->arguments[0] >> 40) * 16 + cause;

	return key ? key : 1;
}

/* Sends it, unless the thread has gone on meanwhile. */
static inline void send_asleep(struct scratch *s, struct flat_thread *t,
			       const struct system_call *c)
{
	uint32_t bytes = s->detail.copied;

	if (!bytes || bytes > FLAT_COPY || t->place || t->cause < FLAT_WAITS_FROM)
		return;
	if (bpf_ringbuf_output(&samples, &s->sample,
			       offsetof(struct scratch, stack) - offsetof(struct scratch, sample) +
				       bytes,
			       BPF_RB_NO_WAKEUP) == 0) {
		t->places[0].key = key_of(c, t->cause);
		t->places[0].stack = s->sample.time;
		t->places[0].cause = t->cause;
		t->places[0].copied = 1;
		t->place = t->next = 1;
	}
}

#define WAKER_NS 1000000u /* of a wait that may be listed, with its waker's stack */

static const struct shifts wall_shifts = {0, 16};

/* Decides whether the wait that has just ended is listed: the longest are, as many as there may be.
 */
static inline void list_wait(struct flat_thread *t, uint64_t time)
{
	const uint32_t at = flat_rate_at(FLAT_EVENT_CPU, t->walker); /* has no other use */
	struct flat_rate *r =
		t->last >= WAKER_NS && t->place ? bpf_map_lookup_elem(&rates, &at) : NULL;

	if (!r || !adapt(r, wall_shifts, time) || t->last < (uint64_t)WAKER_NS << (r->shift & 31))
		t->last = 0;
	else
		r->events++;
}

/* A thread gets a processor. */
static inline void resume(uint64_t task, uint64_t time)
{
	struct flat_thread *t = bpf_map_lookup_elem(&threads, &task);
	uint32_t before;

	if (!t)
		return;
	before = t->cause;
	go_into(t, FLAT_RUNNING, time);
	if (before >= FLAT_WAITS_FROM)
		list_wait(t, time);
	if (t->last || time - t->sent > UNSENT_NS)
		send_times(t, time);
	t->last = t->waker = 0;
}

/* Tells what interrupts the current thread of a processor: the kernel's own count of it is not to
 * be had everywhere. */
#define IN_TIMER   1u
#define IN_IRQ	   2u
#define IN_SOFTIRQ 4u
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint32_t);
} interrupts SEC(".maps");

static inline void interrupt(uint32_t set, uint32_t clear)
{
	const uint32_t zero = 0;
	uint32_t *in = bpf_map_lookup_elem(&interrupts, &zero);

	if (in)
		*in = (*in & ~clear) | set;
}

/* True if the current thread wakes another one itself: not a timer or a device that interrupts it,
 * nor what comes from the network, unless it sends just now. */
static inline bool wakes_itself(void)
{
	const uint32_t zero = 0, *in = bpf_map_lookup_elem(&interrupts, &zero);
	const struct task_struct___wall *task = (void *)bpf_get_current_task_btf();
	struct system_call c;

	return in && !(*in & (IN_TIMER | IN_IRQ)) &&
	       (!(*in & IN_SOFTIRQ) || cause_of_wait(task, &c) == FLAT_SOCKET);
}

/* Another thread, or an interrupt, wakes it: from now on it waits for a processor. True: the stack
 * of the current thread is wanted. */
static inline bool wake(const struct task_struct___wall *task, struct flat_thread *t, uint64_t time)
{
	if (t->cause < FLAT_WAITS_FROM)
		return false;
	go_into(t, is_throttled(task) ? FLAT_THROTTLED : FLAT_RUNNABLE, time);
	list_wait(t, time);
	return t->last && wakes_itself();
}

/* True if the stack of a wait is walked: of one in 2^n, at random, so that none of several that
 * begin at one place is preferred; of some more that begin where none is known. */
static inline bool may_walk(const struct flat_thread *t, bool known, uint64_t time)
{
	const uint32_t at = flat_rate_at(FLAT_EVENT_WALL, t->walker);
	struct flat_rate *r = bpf_map_lookup_elem(&rates, &at);

	if (!r || !adapt(r, wall_shifts, time))
		return false;
	if (r->begin == time)
		r->part.rest = 0;
	if (!(bpf_get_prandom_u32() & ((1u << (r->shift & 31)) - 1))) {
		r->events += 2; /* half as many as of other events */
		return true;
	}
	return !known && r->part.rest++ < WINDOW_MOST / 2;
}

/* Finds the place of the wait that the current thread begins. True: its stack is wanted, and the
 * place is another one's up to now. */
static inline bool find_place(const struct flat_thread *t, uint64_t key, uint64_t time,
			      uint32_t *ret)
{
	bool known = false;

	*ret = 0;
	for (uint32_t i = 0; i < FLAT_PLACES; i++)
		if (t->places[i].key == key) {
			*ret = i + 1;
			known = !t->places[i].copied;
		}
	return may_walk(t, known, time);
}

/* Gives the wait a place whose stack is walked now. */
static inline void take_place(struct flat_thread *t, uint64_t key, uint32_t place, uint64_t time)
{
	const uint32_t i = (place ? place - 1 : t->next++) & (FLAT_PLACES - 1);

	if (t->places[i].ns)
		send_times(t, time);
	t->places[i].key = key;
	t->places[i].stack = time;
	t->places[i].cause = t->cause;
	t->places[i].copied = 0;
	t->place = i + 1;
}

/* The current thread loses its processor. True: its stack is wanted; *ret_call is what it waits in.
 */
static inline bool suspend(const struct task_struct___wall *task, struct flat_thread *t,
			   bool preempted, uint64_t time, struct system_call *ret_call)
{
	enum flat_cause cause;
	uint32_t place;
	uint64_t key;
	bool wanted;

	if (preempted || !task->__state) {
		go_into(t, is_throttled(task) ? FLAT_THROTTLED : FLAT_PREEMPTED, time);
		return false;
	}
	cause = cause_of_wait(task, ret_call);
	key = key_of(ret_call, cause);
	wanted = find_place(t, key, time, &place);
	go_into(t, cause, time);
	if (wanted)
		take_place(t, key, place, time);
	else
		t->place = place;
	return wanted;
}

/* Begins the event of the stack with which the current thread waits. */
static inline void begin_stack(const struct task_struct___wall *task, const struct flat_thread *t,
			       const struct system_call *c, struct scratch *s)
{
	const struct flat_rate *r = rate_of(&s->walk.sample);

	begin_detail(s, FLAT_HOLDER | (t->cause == FLAT_FUTEX ? FLAT_FOR_LOCK : 0));
	s->detail.place = t->place - 1;
	s->may_copy = r && r->events < 2 * WINDOW_COPIES;
	if (t->cause == FLAT_SOCKET)
		take_peer(task, c, &s->detail);
}

#endif
