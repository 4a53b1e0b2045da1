/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Locks that threads wait for: ns, by the lock's class, with the stack of the thread that held it.
 * When a holder leaves a lock, the time that others have waited for it since the last one left is
 * counted, and if that makes a sample, the holder's stack is taken. The time from then until a
 * thread has the lock is nobody's. What a thread's wait stands for is sent at its end. */
#ifndef DFG_KERNEL_LOCK_BPF_H
#define DFG_KERNEL_LOCK_BPF_H

#include "kernel/events.bpf.h"

static const struct shifts lock_shifts = {10, 40}; /* about 1 µs; 1 100 s */

/* Threads that wait, by tid; their tids, by the JVM's address of them; the locks, as in struct
 * flat_wait. */
INNER(inner_waits, sizeof(uint32_t), sizeof(struct flat_wait));
INNER(inner_tids, sizeof(uint64_t), sizeof(uint32_t));
INNER(inner_locks, sizeof(uint64_t), sizeof(struct flat_lock));
OUTER(waits, inner_waits);
OUTER(wait_tids, inner_tids);
OUTER(locks, inner_locks);

static inline struct flat_lock *lock_of(const struct scratch *s, uint64_t lock)
{
	void *all = bpf_map_lookup_elem(&locks, &s->walk.sample.walker);

	return all ? bpf_map_lookup_elem(all, &lock) : NULL;
}

static inline uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* ---- waits --------------------------------------------------------------------------------- */

/* Returns until when the wait is counted: it is no more one of its lock's. */
static inline uint64_t leave_queue(const struct scratch *s, const struct flat_wait *w)
{
	void *all = bpf_map_lookup_elem(&locks, &s->walk.sample.walker);
	struct flat_lock *l = all ? bpf_map_lookup_elem(all, &w->lock) : NULL;
	uint64_t until = l ? later(w->begin, l->left) : w->begin;

	if (!l)
		return until;
	__sync_fetch_and_add(&l->counted, -until);
	__sync_fetch_and_add(&l->waiting, -1);
	if (!l->waiting)
		bpf_map_delete_elem(all, &w->lock);
	return until;
}

static inline void begin_wait(struct scratch *s, uint64_t thread, uint64_t lock, uint64_t class)
{
	const struct flat_lock none = {0};
	const struct flat_wait w = {
		.thread = thread, .lock = lock, .class = class, .begin = s->walk.sample.time};
	void *threads = bpf_map_lookup_elem(&waits, &s->walk.sample.walker);
	void *all = bpf_map_lookup_elem(&locks, &s->walk.sample.walker);
	const struct flat_wait *before;
	struct flat_lock *l;

	if (!threads || !all)
		return;
	/* Its end was not seen: probes are set one after another. */
	before = bpf_map_lookup_elem(threads, &s->walk.sample.tid);
	if (before)
		(void)leave_queue(s, before);
	if (bpf_map_update_elem(threads, &s->walk.sample.tid, &w, BPF_ANY)) {
		count_lost(FLAT_EVENT_LOCK, s->walk.sample.walker);
		return;
	}
	bpf_map_update_elem(all, &lock, &none, BPF_NOEXIST);
	l = bpf_map_lookup_elem(all, &lock);
	if (!l)
		return;
	l->last = s->walk.sample.tid;
	__sync_fetch_and_add(&l->waiting, 1);
	__sync_fetch_and_add(&l->counted, w.begin);
}

/* Some part of an amount, each as likely. */
static inline uint64_t any_below(uint64_t amount)
{
	const uint64_t any = bpf_get_prandom_u32();

	return amount >> 32 ? (amount >> 16) * any >> 16 : amount * any >> 32;
}

/* Adds time to what a wait's sample stands for. Of several holders one is named, each as likely as
 * its part of the time. Meanwhile the wait may have ended, and its memory may be another thread's,
 * whom another processor writes into: the time of a holder's sample is kept with its lock, in one
 * word, so that with another lock it is the time of no sample. */
static inline void add_time(struct flat_wait *w, uint64_t ns, uint64_t holder, uint64_t lock)
{
	w->amount += ns;
	if (any_below(w->amount) < ns)
		w->holder = holder ? holder ^ lock : 0;
}

/* Counts time that was waited; returns how much of it is to be in samples. */
static inline uint64_t take_time(struct scratch *s, uint64_t ns)
{
	struct flat_rate *r = rate_of(&s->walk.sample);

	return r ? take_amount(s, r, lock_shifts, &r->part, ns) : 0;
}

/* Counts a sample that was decided on before. */
static inline void count_sample(struct scratch *s)
{
	struct flat_rate *r = rate_of(&s->walk.sample);

	s->may_copy = r && r->events++ < WINDOW_COPIES;
}

/* The thread has what it has waited for. */
static inline bool end_wait(struct scratch *s, bool is_monitor)
{
	void *threads = bpf_map_lookup_elem(&waits, &s->walk.sample.walker);
	void *tids = bpf_map_lookup_elem(&wait_tids, &s->walk.sample.walker);
	const struct flat_wait *found =
		threads ? bpf_map_lookup_elem(threads, &s->walk.sample.tid) : NULL;
	struct flat_wait w;
	uint64_t until, ns;

	if (!found || !(found->lock & 1) != is_monitor)
		return false;
	w = *found;
	bpf_map_delete_elem(threads, &s->walk.sample.tid);
	if (tids && !is_monitor)
		bpf_map_delete_elem(tids, &w.thread);
	until = leave_queue(s, &w);
	/* A holder may have left since this probe began: that one has counted all of it. */
	ns = s->walk.sample.time > until ? s->walk.sample.time - until : 0;
	ns = take_time(s, ns);
	if (!ns && w.amount)
		count_sample(s);
	add_time(&w, ns, 0, w.lock);
	if (!w.amount)
		return false;
	s->detail.amount = w.amount;
	s->detail.holder = w.holder ? w.holder ^ w.lock : 0;
	if (is_monitor)
		w.class = class_of_monitor(&s->walk.process.objects, of_process(s, w.lock));
	take_class(s, w.class);
	return true;
}

/* ---- holders ------------------------------------------------------------------------------- */

/* Shares out the time that threads have waited for a lock. */
struct shared_time {
	uint64_t lock, left, now;
	uint64_t time;	 /* of the sample of one thread, the holder's */
	uint64_t skip;	 /* ns of others before that thread */
	uint64_t amount; /* for that one; 0: each thread has its own time */
	bool done;
};

static long share_time(__attribute__((unused)) void *map,
		       __attribute__((unused)) const uint32_t *tid, struct flat_wait *w,
		       struct shared_time *t)
{
	uint64_t ns = t->now - later(w->begin, t->left);

	if (w->lock != t->lock || (int64_t)ns <= 0)
		return 0;
	if (t->amount && ns < t->skip) {
		t->skip -= ns;
		return 0;
	}
	add_time(w, t->amount ? t->amount : ns, t->now, t->lock);
	t->done = true;
	return t->amount != 0;
}

/* Goes through all threads that wait for any lock, unless one alone waits for this one. */
static inline void share_all(void *threads, const struct flat_lock *l, struct shared_time *t)
{
	uint32_t last = l->last;
	struct flat_wait *w = l->waiting == 1 ? bpf_map_lookup_elem(threads, &last) : NULL;

	if (w && w->lock == t->lock)
		share_time(threads, &last, w, t);
	else
		bpf_for_each_map_elem(threads, share_time, t, 0);
}

/* The holder leaves a lock that others wait for. True: its stack is wanted. */
static inline bool leave_lock(struct scratch *s, uint64_t lock)
{
	void *threads = bpf_map_lookup_elem(&waits, &s->walk.sample.walker);
	struct flat_lock *l = lock_of(s, lock);
	struct shared_time t = {.lock = lock, .now = s->walk.sample.time};
	uint64_t waiting, ns, amount;

	if (!l || !threads)
		return false;
	waiting = l->waiting;
	ns = waiting * t.now - l->counted;
	t.left = l->left;
	l->left = t.now;
	if (!waiting)
		return false;
	/* Is set, not added to, as what threads do at the same time may leave something in it.
	 * Where it shows each thread has its own time, which is right anyway. */
	l->counted = waiting * t.now;
	amount = (int64_t)ns < 0 ? ns : take_time(s, ns);
	if (!amount)
		return false;
	if (amount != ns) {
		t.amount = amount;
		t.skip = any_below(ns);
	}
	share_all(threads, l, &t);
	s->may_copy = false;
	s->detail.flags = FLAT_HOLDER;
	return t.done;
}

/* ---- java.util.concurrent ------------------------------------------------------------------ */

/* Not static: libbpf 1.1 tells the kernel wrong places of such data. */
const char locks_package[] = "java/util/concurrent/locks/";
const char semaphore[] = "java/util/concurrent/Semaphore$";
const char condition[] = "AbstractQueued"; /* …Synchronizer$ConditionObject, …LongSync… */

static inline bool begins(const char *name, const char *with, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		if (name[i] != with[i])
			return false;
	return true;
}

/* True if threads that park for this class wait for a lock: what they wait for with others, or what
 * idle threads of a pool wait for, is none. */
static inline bool is_lock(struct scratch *s, uint64_t class)
{
	const char *name = s->detail.name;

	take_class(s, class);
	if (s->detail.name_len < sizeof(semaphore))
		return false;
	return begins(name, semaphore, sizeof(semaphore) - 1) ||
	       (begins(name, locks_package, sizeof(locks_package) - 1) &&
		!begins(name + sizeof(locks_package) - 1, condition, sizeof(condition) - 1));
}

#define ENV_MOST 0x2000u /* bytes from a JavaThread to its JNIEnv, at most */

/* A thread parks; native methods are called with their JNIEnv, which is in the JavaThread. */
static inline void begin_park(const bpf_user_pt_regs_t *r, struct scratch *s)
{
	const struct flat_objects *o = &s->walk.process.objects;
	uint64_t thread = JAVA_THREAD(r);
	uint64_t blocker, class;
	void *tids;

	if (ARGUMENT(r, 0) - thread >= ENV_MOST || o->park_blocker == FLAT_NONE)
		return;
	blocker = object_in(o, object_of(o, thread, o->thread_object), o->park_blocker);
	class = class_of(o, blocker);
	if (!class || !is_lock(s, class))
		return;
	thread = of_process(s, thread);
	begin_wait(s, thread, of_process(s, blocker | 1), class);
	tids = bpf_map_lookup_elem(&wait_tids, &s->walk.sample.walker);
	if (tids)
		bpf_map_update_elem(tids, &thread, &s->walk.sample.tid, BPF_ANY);
}

/* A thread lets another one go on, which may have waited for a lock that this one had. The argument
 * of a native method is the place of an object's address, without colours, with a tag in the lowest
 * bits (runtime/jniHandles.hpp). */
static inline bool unpark(struct scratch *s, uint64_t argument)
{
	uint64_t object = word_at(argument & ~3ull, 0);
	uint64_t thread = of_process(s, word_at(object, s->walk.process.objects.thread_address));
	void *tids = bpf_map_lookup_elem(&wait_tids, &s->walk.sample.walker);
	void *threads = bpf_map_lookup_elem(&waits, &s->walk.sample.walker);
	const uint32_t *tid = object && tids ? bpf_map_lookup_elem(tids, &thread) : NULL;
	const struct flat_wait *w = threads && tid ? bpf_map_lookup_elem(threads, tid) : NULL;

	return w && w->thread == thread && w->lock & 1 && leave_lock(s, w->lock);
}

/* ---- memory -------------------------------------------------------------------------------- */

#define STALL	   2u /* instead of a lock: no monitor, nor an object plus 1, is there */
#define STALL_NAME "ZGC allocation stall"

/* A thread waits for the collector to free memory. */
static inline void begin_stall(struct scratch *s)
{
	const struct flat_wait w = {.lock = STALL, .begin = s->walk.sample.time};
	void *threads = bpf_map_lookup_elem(&waits, &s->walk.sample.walker);

	if (threads && bpf_map_update_elem(threads, &s->walk.sample.tid, &w, BPF_ANY))
		count_lost(FLAT_EVENT_LOCK, s->walk.sample.walker);
}

static inline bool end_stall(struct scratch *s)
{
	void *threads = bpf_map_lookup_elem(&waits, &s->walk.sample.walker);
	const struct flat_wait *w =
		threads ? bpf_map_lookup_elem(threads, &s->walk.sample.tid) : NULL;

	if (!w || w->lock != STALL)
		return false;
	s->detail.amount = take_time(s, s->walk.sample.time - w->begin);
	bpf_map_delete_elem(threads, &s->walk.sample.tid);
	__builtin_memcpy(s->detail.name, STALL_NAME, sizeof(STALL_NAME));
	s->detail.name_len = sizeof(STALL_NAME) - 1;
	return s->detail.amount != 0;
}

/* Takes what an event of this probe says. False: it is not sent. */
static inline bool take_lock(const bpf_user_pt_regs_t *r, struct scratch *s, uint64_t probe)
{
	const uint64_t monitor = of_process(s, ARGUMENT(r, 0) & ~1ull);

	switch (probe) {
	case FLAT_PROBE_ENTER:
	case FLAT_PROBE_REENTER:
	case FLAT_PROBE_CONTEND:
		begin_wait(s, ARGUMENT(r, 1), monitor, 0);
		return false;
	case FLAT_PROBE_EXIT:
		return leave_lock(s, monitor);
	case FLAT_PROBE_ENTERED:
	case FLAT_PROBE_REENTERED:
	case FLAT_PROBE_CONTENDED:
	case FLAT_PROBE_INFLATED:
		return end_wait(s, true);
	case FLAT_PROBE_PARK:
		begin_park(r, s);
		return false;
	case FLAT_PROBE_STALL:
	case FLAT_PROBE_STALL_X:
		begin_stall(s);
		return false;
	case FLAT_PROBE_STALLED:
	case FLAT_PROBE_STALLED_X:
		return end_stall(s);
	case FLAT_PROBE_UNPARK:
		return unpark(s, ARGUMENT(r, 2));
	case FLAT_PROBE_PARKED:
	case FLAT_PROBE_PARKED_2:
		return end_wait(s, false);
	}
	return false;
}

#endif
