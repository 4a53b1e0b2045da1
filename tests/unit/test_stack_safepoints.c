// SPDX-License-Identifier: Apache-2.0
/* Safepoints of a process that stops its threads as a JVM does (lib/stopper.h). Needs the right to
 * load programs. */
#include <stdio.h>

#include "bpf/probe_events.h"
#include "bpf/recorder.h"
#include "common/str.h"
#include "lib/ownprobes.h"
#include "lib/stackmappings.h"
#include "lib/stopper.h"
#include "lib/tap.h"

#define ROWS	1024u
#define LATE_NS 200000u /* safepoint.bpf.h */

/* An event. */
struct row {
	uint32_t tid, flags, end, asker_tid, holder_tid;
	uint64_t time, amount, part, operation, asker, holder, before, after;
	char cause[80];
};

static struct seen {
	struct row rows[ROWS];
	size_t count;
	unsigned others;
} seen;

static struct err err;
static struct stopper child;
static struct own_probes own;

/* ---- what a recorder gives ----------------------------------------------------------------- */

static void take_event(void *arg, const struct flat_sample *s, const uint64_t *frames,
		       const struct stack_event *e)
{
	(void)arg;
	(void)frames;
	seen.rows[seen.count < ROWS ? seen.count++ : ROWS - 1] =
		(struct row){.tid = s->tid,
			     .flags = e->flags,
			     .end = s->end,
			     .time = s->time,
			     .amount = e->amount,
			     .part = e->part,
			     .operation = e->operation,
			     .asker = e->asker,
			     .asker_tid = e->asker_tid,
			     .holder = e->holder,
			     .holder_tid = e->holder_tid,
			     .before = e->heap_before,
			     .after = e->heap_after};
	snprintf(seen.rows[seen.count - 1].cause, sizeof(seen.rows[0].cause), "%.*s",
		 (int)e->name_len, e->name);
	seen.others +=
		s->tgid != (uint32_t)child.pid || s->event != FLAT_EVENT_SAFEPOINT || e->stack;
}

/* Has the child carry out an order, and reads what has come of it. */
static void order(const struct watched *w, const char *what)
{
	memset(&seen, 0, sizeof(seen));
	stopper_do(&child, what);
	seen.others += watched_read(w, take_event);
}

static const struct stack_recorder_config config = {.frequency = 1,
						    .stack_bytes = 8192,
						    .probes = true,
						    .safepoints = true,
						    .no_samples = true};

static void watch(struct watched *w, struct flat_tables *t, const struct flat_process *p)
{
	watched_open(w, &config, t, child.pid, p, &own, FLAT_EVENT_SAFEPOINT);
}

/* ---- checks -------------------------------------------------------------------------------- */

/* The n-th event, one of zeros where there are not so many. */
static const struct row *row(size_t n)
{
	static const struct row none;

	return n < seen.count ? &seen.rows[n] : &none;
}

/* True if the event ends the last safepoint, which was as long as the child says. */
static bool is_pause(const struct row *r)
{
	const uint64_t *t = child.shared->time;
	const bool ok = !r->flags && r->tid == child.shared->self && r->end == FLAT_ROOT &&
			r->amount >= t[4] - t[1] && r->amount <= t[5] - t[0] &&
			r->part >= t[2] - t[1] && r->part <= t[3] - t[0];

	if (!ok)
		printf("# %lu, %lu until all had stopped; %lu to %lu, %lu to %lu\n",
		       (unsigned long)r->amount, (unsigned long)r->part,
		       (unsigned long)(t[4] - t[1]), (unsigned long)(t[5] - t[0]),
		       (unsigned long)(t[2] - t[1]), (unsigned long)(t[3] - t[0]));
	return ok;
}

static bool is_asked(const struct row *r, unsigned operation, const struct row *asker)
{
	return r->operation == STOPPER_CLASS(operation) && r->asker == asker->time &&
	       r->asker_tid == asker->tid && asker->tid == child.shared->asker[operation] &&
	       asker->flags == (FLAT_HOLDER | FLAT_WHOLE) && asker->end == FLAT_ROOT &&
	       r->asker_tid != r->tid;
}

static bool is_nobody(const struct row *r)
{
	return !r->asker && !r->asker_tid && !r->holder && !r->holder_tid;
}

/* ---- the tests ----------------------------------------------------------------------------- */

/* The cause of a collection, told of the pause in which it was. */
static void test_causes(const struct watched *w)
{
	order(w, "()e$()eg$()e$");
	is_int((int64_t)seen.count, 3, "three safepoints");
	is_str(row(0)->cause, "", "one without a collection has no cause");
	is_str(row(1)->cause, "G1 Evacuation Pause", "one with it has");
	is_str(row(2)->cause, "", "the next one has not");
}

/* True if the event tells what these turns of the pools did; 0, 0: none. */
static bool is_heap(const struct row *r, unsigned before, unsigned after)
{
	const bool ok = r->before == (before ? STOPPER_HEAP + before : 0) &&
			r->after == (after ? STOPPER_HEAP + after : 0);

	if (!ok)
		printf("# %lu to %lu\n", (unsigned long)r->before, (unsigned long)r->after);
	return ok;
}

/* Checks what the heap has around the collections of a pause. */
static void test_pools(const struct watched *w)
{
	order(w, "()pgPe$()e$()pgpgPPe$");
	is_int((int64_t)seen.count, 3, "three safepoints");
	ok(is_heap(row(0), 1, 2), "what the pools of the heap have before and after");
	ok(is_heap(row(1), 0, 0), "is not known of one that does not tell");
	ok(is_heap(row(2), 3, 6), "of several collections before the first and after the last");
	order(w, "p()P$pP()p$()m$P()$");
	ok(seen.count == 4 && is_heap(row(0), 0, 0) && is_heap(row(1), 0, 0) &&
		   is_heap(row(2), 0, 0) && is_heap(row(3), 0, 0),
	   "nor by half, nor of a collection outside of it");
}

static void test_whole(const struct watched *w)
{
	order(w, "a(.l.)..e..$");
	ok(seen.count == 3 && is_pause(row(2)), "a safepoint is as long as it was: %zu",
	   seen.count);
	ok(is_asked(row(2), 0, row(0)), "with the operation, and the stack of who asked for it");
	ok(row(0)->time >= child.shared->asked && row(0)->time <= child.shared->time[0],
	   "which is of that time");
	ok(row(1)->flags == FLAT_HOLDER && row(1)->tid == child.shared->late &&
		   row(1)->end == FLAT_ROOT && row(2)->holder == row(1)->time &&
		   row(2)->holder_tid == row(1)->tid,
	   "and that of the thread that was late");
	ok(row(1)->time >= child.shared->time[1] && row(1)->time <= child.shared->time[2],
	   "while threads stopped");
	is_int(seen.others, 0, "nothing else comes");
	order(w, "(..)$");
	ok(seen.count == 1 && is_pause(row(0)) && !row(0)->operation && is_nobody(row(0)),
	   "one without an operation is a pause");
	order(w, "(.l.l.)$");
	ok(seen.count == 3 && row(2)->holder == row(1)->time && row(1)->time > row(0)->time,
	   "of threads that are late the last one counts");
	order(w, "().l.$");
	ok(seen.count == 1 && is_nobody(row(0)), "not one that comes when all have stopped");
	order(w, "l$a");
	ok(seen.count == 1 && row(0)->tid == child.shared->asker[0],
	   "outside of a safepoint nothing arrives, nor ends");
}

/* Threads that come at once are not late. A machine that is busy may take its time. */
static void test_early(const struct watched *w)
{
	unsigned early = 0;

	for (unsigned i = 0; i < 200 && !early; i++) {
		order(w, "(l)..$");
		if (child.shared->time[2] - child.shared->time[0] >= LATE_NS)
			continue;
		early++;
		ok(seen.count == 1 && is_pause(row(0)) && is_nobody(row(0)),
		   "a thread that arrives soon is not late");
	}
	if (!early)
		printf("# no thread arrived in %u ns\n", LATE_NS);
}

static void test_operations(const struct watched *w)
{
	order(w, "aA(.)E$");
	ok(seen.count == 3 && is_asked(row(2), 1, row(1)), "the operation that runs is meant");
	order(w, "(.)e$");
	ok(seen.count == 1 && row(0)->operation == STOPPER_CLASS(0) && row(0)->asker &&
		   row(0)->asker_tid,
	   "the other one is known until it runs");
	order(w, "(.)e$");
	ok(seen.count == 1 && row(0)->operation == STOPPER_CLASS(0) && is_nobody(row(0)),
	   "and then no more");
	order(w, "aA(.)eE$");
	ok(seen.count == 3 && is_asked(row(2), 0, row(0)),
	   "of two in a safepoint the first counts");
	order(w, "ae(.)e$");
	ok(seen.count == 2 && row(1)->operation == STOPPER_CLASS(0) && is_nobody(row(1)),
	   "one that has run without a safepoint is not asked for any more");
	order(w, "(.)n$");
	ok(seen.count == 1 && is_pause(row(0)) && !row(0)->operation && is_nobody(row(0)),
	   "an operation that is nowhere has no name");
	order(w, "(.)xe$");
	ok(seen.count == 1 && is_pause(row(0)) && row(0)->operation == STOPPER_CLASS(0),
	   "nor does one where nothing is mapped");
	order(w, "(.)..(.)e$");
	ok(seen.count == 1 && is_pause(row(0)), "a safepoint that begins again ends the first");
	order(w, "(.)e$$");
	is_int((int64_t)seen.count, 1, "it ends once");
}

/* However many ask, the stacks are bounded, and the pauses are all there. */
static void test_many(const struct watched *w)
{
	unsigned pauses = 0;
	uint64_t begin;

	nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	begin = stopper_ns();
	order(w, "q");
	/* In a window of 100 ms; a busy machine may need more than one. */
	ok(seen.count >= 200 && (seen.count == 200 || stopper_ns() - begin > 90000000),
	   "of many that ask some are taken: %zu of %u", seen.count, STOPPER_MANY);
	order(w, "q()e$()e$()e$()e$()e$()e$()e$()e$");
	for (size_t i = 0; i < seen.count; i++)
		pauses += !(seen.rows[i].flags & FLAT_HOLDER);
	is_int(pauses, 8, "all pauses are there");
	is_int((int64_t)stack_recorder_events_lost(w->f.recorder, FLAT_EVENT_SAFEPOINT,
						   w->f.walker),
	       0, "and none is lost");
}

static void test_unknown(struct flat_tables *t, const struct flat_process *p)
{
	struct watched w;

	watch(&w, t, NULL);
	order(&w, "a(.l.)e$");
	ok(seen.count == 0 && seen.others == 0, "of a process that was not added nothing is sent");
	if (filled_recorder_add(&w.f, (uint32_t)child.pid, p, &err) < 0)
		abort();
	order(&w, "a(.l.)e$");
	is_int((int64_t)seen.count, 3, "once it is added, its events come");
	stack_recorder_remove(w.f.recorder, (uint32_t)child.pid);
	order(&w, "a(.l.)e$");
	is_int((int64_t)seen.count, 0, "until it is removed");
	watched_close(&w);
}

static void find_text(void)
{
	own_probes_find((uint64_t)(uintptr_t)stopper_end, &own);
	ok(flat_has_event(&own.at, FLAT_EVENT_SAFEPOINT) && own.at.offset[FLAT_PROBE_EXECUTE] &&
		   own.at.offset[FLAT_PROBE_BLOCK] && own.at.offset[FLAT_PROBE_STOPPED] &&
		   own.at.offset[FLAT_PROBE_EVALUATE] && own.at.offset[FLAT_PROBE_POOL_BEFORE] &&
		   own.at.offset[FLAT_PROBE_POOL_AFTER],
	   "the functions are found in the file");
}

int main(void)
{
	CLEANUP(flat_tables_free) struct flat_tables *t = flat_tables_new();
	struct flat_process p = {0};
	struct watched w;

	own_probes_require(&config);
	child = stopper_start();
	find_text();
	add_mappings(t, child.pid, &p);
	memset(&p.layout, 0xff, sizeof(p.layout));
	p.objects.collections = (uint64_t)(uintptr_t)&stopper_collections;
	p.objects.gc_cause = (uint64_t)(uintptr_t)stopper_cause;
	watch(&w, t, &p);
	test_causes(&w);
	test_pools(&w);
	test_whole(&w);
	test_early(&w);
	test_operations(&w);
	test_many(&w);
	watched_close(&w);
	test_unknown(t, &p);
	stopper_stop(&child);
	return tap_done();
}
