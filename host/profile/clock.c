// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "calltree/thread_root.h"
#include "calltree/view.h"
#include "common/str.h"
#include "elf/names.h"
#include "perf/perfwrite.h"
#include "profile/holders.h"
#include "profile/reader.h"

/* Kinds of what a frame says of a wait. */
enum says {
	SAYS_CAUSE, /* a function of HotSpot below which a thread waits; the innermost one counts */
	SAYS_METHOD, /* the same of a virtual thread; what stands first here tells more */
	SAYS_IDLE,   /* below it a thread waits for something to do */
	SAYS_ENTER,  /* it runs a virtual thread, */
	SAYS_YIELD,  /* and takes it off its carrier */
};

/* By the beginnings of names, the first that fits. JDK 8 to 27: runtime/objectMonitor.cpp,
 * synchronizer.cpp, prims/unsafe.cpp, jvm.cpp, runtime/safepoint.cpp, vmThread.cpp. */
static const struct known_frame {
	const char *name;
	enum says says;
	enum wall_cause cause;
} known_frames[] = {
	{"ObjectMonitor::wait", SAYS_CAUSE, WALL_WAIT},
	{"ObjectMonitor::", SAYS_CAUSE, WALL_MONITOR},
	{"ObjectSynchronizer::wait", SAYS_CAUSE, WALL_WAIT},
	{"ObjectSynchronizer::", SAYS_CAUSE, WALL_MONITOR},
	{"SharedRuntime::complete_monitor_locking", SAYS_CAUSE, WALL_MONITOR},
	{"Unsafe_Park", SAYS_CAUSE, WALL_PARK},
	{"Parker::park", SAYS_CAUSE, WALL_PARK},
	{"JVM_Sleep", SAYS_CAUSE, WALL_SLEEP},
	{"JavaThread::sleep", SAYS_CAUSE, WALL_SLEEP},
	{"os::sleep", SAYS_CAUSE, WALL_SLEEP},
	{"SafepointSynchronize::", SAYS_CAUSE, WALL_SAFEPOINT},
	{"SafepointMechanism::", SAYS_CAUSE, WALL_SAFEPOINT},
	{"VMThread::execute", SAYS_CAUSE, WALL_SAFEPOINT},
	{"java.lang.VirtualThread.sleepNanos", SAYS_METHOD, WALL_SLEEP},
	{"sun.nio.ch.Poller.poll", SAYS_METHOD, WALL_SOCKET},
	{"java.lang.VirtualThread.tryYield", SAYS_METHOD, WALL_RUNNABLE},
	{"java.lang.VirtualThread.park", SAYS_METHOD, WALL_PARK},
	{"java.lang.Object.wait", SAYS_METHOD, WALL_WAIT},
	{"java.util.concurrent.ThreadPoolExecutor.getTask", SAYS_IDLE, 0},
	{"org.apache.tomcat.util.threads.ThreadPoolExecutor.getTask", SAYS_IDLE, 0},
	{"org.apache.catalina.core.StandardServer.await", SAYS_IDLE, 0},
	{"java.util.concurrent.ForkJoinPool.awaitWork", SAYS_IDLE, 0},
	{"java.util.concurrent.DelayScheduler.loop", SAYS_IDLE, 0},
	{"java.lang.VirtualThread.takeVirtualThreadListToUnblock", SAYS_IDLE, 0},
	{"java.util.TimerThread.mainLoop", SAYS_IDLE, 0},
	{"java.lang.ref.ReferenceQueue.remove", SAYS_IDLE, 0},
	{"java.lang.ref.Reference.waitForReferencePendingList", SAYS_IDLE, 0},
	{"java.lang.ref.Reference$ReferenceHandler.run", SAYS_IDLE, 0},
	{"java.net.ServerSocket.accept", SAYS_IDLE, 0},
	{"java.net.PlainSocketImpl.socketAccept", SAYS_IDLE, 0},
	{"sun.nio.ch.ServerSocketChannelImpl.accept", SAYS_IDLE, 0},
	{"sun.nio.ch.EPoll.wait", SAYS_IDLE, 0},
	{"sun.nio.ch.EPollArrayWrapper.epollWait", SAYS_IDLE, 0},
	{"sun.nio.ch.Poller.subPollerLoop", SAYS_IDLE, 0},
	{"jdk.internal.misc.Signal.run", SAYS_IDLE, 0},
	{"jni_DestroyJavaVM", SAYS_IDLE, 0},
	{"NotificationThread::", SAYS_IDLE, 0},
	{"ContinueInNewThread", SAYS_IDLE, 0}, /* libjli: the process's first thread */
	{"jdk.internal.vm.Continuation.enter0", SAYS_ENTER, 0},
	{"java.lang.VirtualThread.yieldContinuation", SAYS_YIELD, 0},
};

#define SAYS_NOTHING (ARRAY_LEN(known_frames) + 1)

static uint8_t number_of(const char *name)
{
	for (size_t k = 0; k < ARRAY_LEN(known_frames); k++)
		if (has_prefix(name, known_frames[k].name))
			return (uint8_t)(k + 1);
	return SAYS_NOTHING;
}

/* Returns what a frame says; NULL: nothing. Names are compared once for each frame: in all samples
 * they took a third of the time of a replay. */
static const struct known_frame *look_up(struct reader *r, uint32_t frame)
{
	if (frame >= r->known_cap) {
		const size_t cap = 2 * stacks_frame_count(r->stacks);

		r->known = xrealloc(r->known, cap, sizeof(*r->known));
		memset(r->known + r->known_cap, 0, cap - r->known_cap);
		r->known_cap = cap;
	}
	if (!r->known[frame])
		r->known[frame] = number_of(frame_of(r, frame)->name);
	return r->known[frame] == SAYS_NOTHING ? NULL : &known_frames[r->known[frame] - 1];
}

/* The outermost frame that says so; r->ctx.used: there is none. */
static size_t find_frame(struct reader *r, enum says says)
{
	for (size_t i = 0; i < r->ctx.used - r->ctx.above; i++) {
		const struct known_frame *k = look_up(r, first_frame(&r->ctx)[i]);

		if (k && k->says == says)
			return i;
	}
	return r->ctx.used;
}

/* The cause of a wait for a futex. */
static enum wall_cause cause_of_stack(struct reader *r)
{
	for (size_t i = r->ctx.used - r->ctx.above; i-- > 0;) {
		const struct known_frame *k = look_up(r, first_frame(&r->ctx)[i]);

		if (k && k->says == SAYS_CAUSE)
			return k->cause;
	}
	return WALL_OTHER;
}

/* The cause of a virtual thread's wait; `otherwise`: no method tells it. */
static enum wall_cause cause_of_methods(struct reader *r, enum wall_cause otherwise)
{
	const struct known_frame *best = NULL;

	for (size_t i = 0; i < r->ctx.used - r->ctx.above; i++) {
		const struct known_frame *k = look_up(r, first_frame(&r->ctx)[i]);

		if (k && k->says == SAYS_METHOD && (!best || k < best))
			best = k;
	}
	return best ? best->cause : otherwise;
}

/* The cause as the recorder has it is before a blank, after which there may be what was waited for.
 */
static size_t cause_len(const struct perf_sample *s)
{
	const char *blank = memchr(s->name, ' ', s->name_len);

	return blank ? (size_t)(blank - s->name) : s->name_len;
}

static bool is_cause(const struct perf_sample *s, const char *name)
{
	return cause_len(s) == strlen(name) && memcmp(s->name, name, cause_len(s)) == 0;
}

void reader_add_cause_subject(struct str *to, const struct perf_sample *s)
{
	const size_t begin = cause_len(s) + 1;

	if (begin >= s->name_len)
		return;
	if (is_cause(s, wall_names[WALL_SOCKET]))
		str_add_clean(to, s->name + begin, s->name_len - begin);
	else
		symname_add_class(to, s->name + begin, s->name_len - begin);
}

static bool is_virtual(pid_t tid)
{
	return (uint32_t)tid >= PERFWRITE_VIRTUAL;
}

static enum wall_cause cause_of(struct reader *r)
{
	const struct perf_sample *s = r->ctx.sample;
	enum wall_cause c;

	for (c = 0; c < WALL_CAUSES; c++)
		if (is_cause(s, wall_names[c]))
			return c;
	/* No frame in the heap tells that a thread waits for a monitor. */
	if (is_cause(s, "unmounted"))
		return cause_of_methods(r, r->ctx.unwound_to_root ? WALL_MONITOR : WALL_PARK);
	c = cause_of_stack(r); /* "futex" */
	return c == WALL_PARK && is_virtual(r->ctx.tid) ? cause_of_methods(r, c) : c;
}

/* True if a thread waits for something to do. The JVM's own always do, but for what its functions
 * say. */
static bool is_idle(struct reader *r, enum wall_cause cause, const char *thread)
{
	if (cause < WALL_MONITOR || cause == WALL_FILE || cause == WALL_FAULT)
		return false;
	if (busy_thread(thread) != BUSY_APPLICATION)
		return cause != WALL_MONITOR;
	return find_frame(r, SAYS_IDLE) < r->ctx.used;
}

static void add_outermost(struct reader *r, const char *name)
{
	struct sample_ctx *c = &r->ctx;

	if (c->used == FRAMES_MAX)
		return;
	c->used++;
	*first_frame(c) = stacks_intern(r->stacks, name, strlen(name), FRAME_STUB);
}

/* Takes away n of the thread's own frames, the innermost ones. */
static void remove_inner(struct reader *r, size_t n)
{
	struct sample_ctx *c = &r->ctx;

	memmove(first_frame(c) + n, first_frame(c), (c->used - c->above - n) * sizeof(*c->frames));
	c->used -= n;
}

/* Takes away what runs a virtual thread: the carrier's frames, and those that take it off. */
static void remove_scheduler(struct reader *r)
{
	struct sample_ctx *c = &r->ctx;
	const size_t enter = find_frame(r, SAYS_ENTER);
	size_t yield;

	c->used -= enter < c->used ? enter + 1 : 0;
	yield = find_frame(r, SAYS_YIELD);
	if (yield < c->used)
		remove_inner(r, c->used - c->above - yield);
}

/* Takes away the kernel's functions that switch to another thread, and our program, which has no
 * name. */
static void remove_switch(struct reader *r)
{
	struct sample_ctx *c = &r->ctx;

	for (size_t at = c->used - c->above; at-- > 0;) {
		const struct frame *f = frame_of(r, first_frame(c)[at]);

		if (f->kind != FRAME_KERNEL && f->kind != FRAME_UNKNOWN)
			return;
		if (!strcmp(f->name, "__schedule")) {
			remove_inner(r, c->used - c->above - at);
			return;
		}
	}
}

/* Takes away the outermost frames that start a thread. */
static void remove_start(struct reader *r)
{
	struct sample_ctx *c = &r->ctx;
	size_t start = 0;

	while (start < c->used) {
		const struct frame *f = frame_of(r, first_frame(c)[start]);

		if (!f->start && !thread_is_start(f))
			break;
		start++;
	}
	c->used -= start;
}

struct wall_part reader_add_cause(struct reader *r, const struct perf_record *rec,
				  const char *thread)
{
	const enum wall_cause cause = cause_of(r);
	const uint64_t began = r->in->began ? r->in->began : r->begin, ns = rec->sample.period;
	const uint64_t end = rec->time > began ? rec->time - began : 0;
	const struct holder *waker =
		holders_find(r->holders, r->ctx.process->pid, rec->sample.holder);
	struct wall_part p = {.cause = (uint8_t)cause,
			      .idle = is_idle(r, cause, thread),
			      .begin = end > ns ? end - ns : 0,
			      .waker = waker ? waker->tid : 0};

	p.thread = wall_add(r->wall, thread, rec->pid, rec->tid, cause, ns, p.idle);
	p.ns = rec->sample.flags & PERFWRITE_WAIT ? ns : 0;
	if (cause != WALL_RUNNING)
		remove_switch(r);
	if (is_virtual(rec->tid))
		remove_scheduler(r);
	remove_start(r);
	if (p.idle)
		add_outermost(r, WALL_IDLE);
	add_outermost(r, wall_names[cause]);
	return p;
}
