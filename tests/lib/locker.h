/* SPDX-License-Identifier: Apache-2.0 */
/* A process that waits for locks as a JVM does: it has functions of the names that probes look for,
 * and calls them with monitors, threads and Java objects, whose fields are at places of no real
 * release, in each of the layouts that objects can have. It measures how long it waits, too short
 * (`inner`) and too long (`outer`). */
#ifndef DFG_LIB_LOCKER_H
#define DFG_LIB_LOCKER_H

#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/lockercode.h"
#include "lib/lockerheap.h"
#include "lib/servant.h"

#define LOCKER_FLOOD 10000u /* locks that are made up */
#define LOCKER_TURNS 20000u /* of each thread, that are many */
#define LOCKER_TURN  2000u  /* ns */

/* An order. Those that wait are threads of their own; they begin, are left by a holder, and go on,
 * in so many orders, or all of it is one. */
enum locker_what {
	LOCKER_BEGIN = 'b',  /* all threads wait when it is done */
	LOCKER_LEAVE = 'l',  /* the first thread leaves all locks; nobody goes on */
	LOCKER_OTHER = 'o',  /* another thread does */
	LOCKER_FINISH = 'f', /* all go on, and end */
	LOCKER_MANY = 'm',   /* very many short waits, while a holder leaves again and again */
	LOCKER_FORGED = 'x', /* what no JVM does */
	LOCKER_LOCKS = 'n',  /* one thread waits for LOCKER_FLOOD locks */
	LOCKER_TWICE = 't',  /* the first thread begins a wait twice, and ends the second one */
};

struct locker_order {
	uint8_t what;  /* enum locker_what */
	uint8_t kind;  /* enum locker_kind */
	uint8_t class; /* number of a name */
	uint8_t threads, locks;
	uint8_t sleepers; /* LOCKER_MANY: further threads, that wait until the others have ended */
	bool parks;	  /* java.util.concurrent, not monitors */
	bool reenters;
	bool foreign; /* parks are called with what is no thread's JNIEnv */
	bool nothing; /* or for nothing */
	bool moved;   /* the objects are being moved */
};

/* Memory that both processes see. */
struct locker_shared {
	uint32_t tid[LOCKER_THREADS], holder, other;
	/* ns, of all waits of the thread since the last LOCKER_BEGIN; when the last one began. */
	uint64_t inner[LOCKER_THREADS], outer[LOCKER_THREADS], begin[LOCKER_THREADS];
};

struct locker {
	pid_t pid;
	int sock;
	struct locker_shared *shared;
};

static struct locker_shared *locker_said;
static struct locker_order locker_now;
static pthread_t locker_waiters[LOCKER_THREADS];
static __thread unsigned locker_self;
static unsigned locker_blocked;
static bool locker_go;
static pthread_mutex_t locker_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t locker_changed = PTHREAD_COND_INITIALIZER;

static uint64_t locker_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- threads that wait --------------------------------------------------------------------- */

static void locker_sleep(void)
{
	pthread_mutex_lock(&locker_mutex);
	locker_blocked++;
	pthread_cond_broadcast(&locker_changed);
	while (!locker_go)
		pthread_cond_wait(&locker_changed, &locker_mutex);
	pthread_mutex_unlock(&locker_mutex);
}

/* Is called by EnterI, ReenterI and Unsafe_Park (lockercode.h). */
__attribute__((used)) static void locker_block(void)
{
	const uint64_t begin = locker_ns();

	locker_said->begin[locker_self] = begin;
	if (locker_now.what == LOCKER_BEGIN || locker_self >= locker_now.threads)
		locker_sleep();
	while (locker_now.what == LOCKER_MANY && locker_ns() - begin < LOCKER_TURN)
		;
	locker_said->inner[locker_self] += locker_ns() - begin;
}

/* Waits as the order says. */
static void locker_wait(unsigned n)
{
	struct locker_thread *thread = &locker_threads[n];
	struct locker_monitor *monitor = &locker_monitors[n % locker_now.locks];
	/* One that is too far above the thread. */
	void *env = locker_now.foreign ? (char *)thread + 0x2000 : (char *)thread->env;
	const uint64_t begin = locker_ns();

	if (locker_now.parks)
		locker_native(env, NULL, 0, 0, thread);
	else if (locker_now.reenters)
		locker_monitor_wait(monitor, thread, 0);
	else
		locker_enter(monitor, thread, 0);
	locker_said->outer[n] += locker_ns() - begin;
}

static void *locker_run(void *arg)
{
	locker_self = (unsigned)(uintptr_t)arg;
	locker_said->tid[locker_self] = (uint32_t)gettid();
	if (locker_now.what == LOCKER_MANY && locker_self < locker_now.threads)
		for (unsigned i = 1; i < LOCKER_TURNS; i++)
			locker_wait(locker_self);
	locker_wait(locker_self);
	return NULL;
}

static void locker_start_waiters(void)
{
	memset(locker_said, 0, sizeof(*locker_said));
	locker_said->holder = (uint32_t)gettid();
	locker_go = false;
	locker_blocked = 0;
	locker_make((enum locker_kind)locker_now.kind, locker_now.class, locker_now.nothing,
		    locker_now.moved, locker_now.locks);
	for (unsigned i = 0; i < locker_now.threads + locker_now.sleepers; i++)
		if (pthread_create(&locker_waiters[i], NULL, locker_run, (void *)(uintptr_t)i) != 0)
			abort();
}

static void locker_join(unsigned first, unsigned count)
{
	for (unsigned i = first; i < first + count; i++)
		pthread_join(locker_waiters[i], NULL);
}

static void locker_wait_until_blocked(unsigned count)
{
	pthread_mutex_lock(&locker_mutex);
	while (locker_blocked < count)
		pthread_cond_wait(&locker_changed, &locker_mutex);
	pthread_mutex_unlock(&locker_mutex);
}

static void locker_wake(void)
{
	pthread_mutex_lock(&locker_mutex);
	locker_go = true;
	pthread_cond_broadcast(&locker_changed);
	pthread_mutex_unlock(&locker_mutex);
}

/* ---- holders ------------------------------------------------------------------------------- */

/* Leaves all locks: each to the first thread that waits for it. The handle of a thread may have a
 * tag. */
static void locker_leave(void)
{
	for (unsigned i = 0; i < locker_now.locks; i++) {
		const void *slot = &locker_handles[i];

		if (locker_now.parks)
			locker_unpark(NULL, NULL, (const char *)slot + i % 3);
		else
			locker_exit(&locker_monitors[i], &locker_threads[i]);
	}
}

static void *locker_leave_as_other(void *arg)
{
	(void)arg;
	locker_said->other = (uint32_t)gettid();
	locker_leave();
	return NULL;
}

static void locker_other(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, locker_leave_as_other, NULL) != 0)
		abort();
	pthread_join(thread, NULL);
}

static bool locker_is_busy;

static void *locker_leave_often(void *arg)
{
	(void)arg;
	while (__atomic_load_n(&locker_is_busy, __ATOMIC_RELAXED))
		locker_leave();
	return NULL;
}

static void locker_many(void)
{
	pthread_t holder;

	locker_is_busy = true;
	if (pthread_create(&holder, NULL, locker_leave_often, NULL) != 0)
		abort();
	locker_start_waiters();
	locker_wait_until_blocked(locker_now.sleepers);
	locker_join(0, locker_now.threads);
	locker_wake();
	locker_join(locker_now.threads, locker_now.sleepers);
	__atomic_store_n(&locker_is_busy, false, __ATOMIC_RELAXED);
	pthread_join(holder, NULL);
}

/* ---- what no JVM does ---------------------------------------------------------------------- */

static void locker_forged(void)
{
	const void *const bad[] = {NULL, (void *)8, (void *)0xffffffff81000000,
				   (void *)0xdead00000000beef, (void *)~0ull};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		locker_exit(bad[i], bad[i]);
		locker_enter(bad[i], bad[i], 1);
		locker_monitor_wait(bad[i], bad[i], 1);
		locker_unpark(bad[i], bad[i], bad[i]);
		locker_enter(bad[i], bad[i], 0);
		locker_native(bad[i], bad[i], 0, 0, bad[i]);
		locker_exit(bad[i], bad[i]);
	}
	locker_enter_internal(&locker_monitors[0], &locker_threads[0]); /* it is never left */
}

static void locker_flood(void)
{
	static char made[LOCKER_FLOOD * 2];

	for (unsigned i = 0; i < LOCKER_FLOOD; i++) {
		locker_enter(&made[2 * (size_t)i], &locker_threads[0], 0);
		locker_native(locker_threads[0].env, NULL, 0, 0, &locker_threads[0]);
	}
	for (unsigned i = 0; i < LOCKER_FLOOD; i++)
		locker_exit(&made[2 * (size_t)i], &locker_threads[0]);
}

static void locker_twice(void)
{
	memset(locker_said, 0, sizeof(*locker_said));
	locker_said->tid[0] = (uint32_t)gettid();
	locker_now.threads = locker_now.locks = 1;
	locker_make((enum locker_kind)locker_now.kind, 0, false, false, 1);
	locker_enter_internal(&locker_monitors[1], &locker_threads[0]);
	usleep(50000);
	locker_wait(0);
}

/* ---- orders -------------------------------------------------------------------------------- */

static void locker_obey(void)
{
	switch ((enum locker_what)locker_now.what) {
	case LOCKER_BEGIN:
		locker_start_waiters();
		locker_wait_until_blocked(locker_now.threads);
		break;
	case LOCKER_LEAVE:
		locker_leave();
		break;
	case LOCKER_OTHER:
		locker_other();
		break;
	case LOCKER_FINISH:
		locker_wake();
		locker_join(0, locker_now.threads);
		break;
	case LOCKER_MANY:
		locker_many();
		break;
	case LOCKER_FORGED:
		locker_forged();
		break;
	case LOCKER_LOCKS:
		locker_flood();
		break;
	case LOCKER_TWICE:
		locker_twice();
		break;
	}
}

static struct locker locker_start(void)
{
	struct locker l = {.shared = servant_memory(sizeof(*l.shared))};

	locker_said = l.shared;
	l.pid = servant_start(&locker_now, sizeof(locker_now), locker_obey, &l.sock);
	return l;
}

/* Returns when it is done. */
static void locker_do(const struct locker *l, struct locker_order order)
{
	servant_do(l->sock, &order, sizeof(order));
}

static void locker_end(const struct locker *l)
{
	servant_end(l->pid, l->sock);
	munmap(l->shared, sizeof(*l->shared));
}

#endif
