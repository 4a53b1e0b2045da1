/* SPDX-License-Identifier: Apache-2.0 */
/* Events that a recorder gives of a process that waits for locks (locker.h), compared with
 * what that one has measured. */
#ifndef DFG_LIB_LOCKWATCH_H
#define DFG_LIB_LOCKWATCH_H

#include <stdio.h>

#include "bpf/probe_events.h"
#include "common/str.h"
#include "lib/locker.h"
#include "lib/ownprobes.h"
#include "lib/stackmappings.h"

#define SLACK 100000u /* ns: intervals that are not full, on all processors */
#define ROWS  8192u

struct row {
	uint32_t tgid, tid, flags, end, count;
	uint64_t time, amount, holder, innermost;
	bool copied;
	char name[FLAT_NAME_MAX];
};

static struct seen {
	struct row rows[ROWS];
	size_t count;
	uint64_t sum, largest; /* of the amounts of all, also of those that found no row */
	unsigned all, samples, others;
} seen;

static struct err err;
static struct locker child;
static struct own_probes own;

/* ---- what a recorder gives ----------------------------------------------------------------- */

static void take_event(void *arg, const struct flat_sample *s, const uint64_t *frames,
		       const struct stack_event *e)
{
	struct row *r = &seen.rows[seen.count < ROWS ? seen.count++ : ROWS - 1];

	(void)arg;
	seen.all++;
	seen.sum += e->amount;
	seen.largest = e->amount > seen.largest ? e->amount : seen.largest;
	*r = (struct row){.tgid = s->tgid,
			  .tid = s->tid,
			  .flags = e->flags,
			  .end = s->end,
			  .count = s->count,
			  .time = s->time,
			  .amount = e->amount,
			  .holder = e->holder,
			  .innermost = s->count ? frames[0] : 0,
			  .copied = e->stack != NULL};
	memcpy(r->name, e->name, e->name_len < FLAT_NAME_MAX ? e->name_len : 0);
	seen.others += s->event != FLAT_EVENT_LOCK;
}

/* Adds what has come since the last call. */
static void take(const struct watched *w)
{
	seen.samples += watched_read(w, take_event);
}

static void forget(void)
{
	memset(&seen, 0, sizeof(seen));
}

static const struct stack_recorder_config config = {
	.frequency = 1, .stack_bytes = 8192, .probes = true, .locks = true, .no_samples = true};

static void probe(const struct watched *w, const struct locker *l, struct stack_probes **ret)
{
	watched_probe(w, l->pid, &own, FLAT_EVENT_LOCK, ret);
}

/* Has the program look at a process of this layout. */
static void look(const struct filled_recorder *f, const struct flat_process *p,
		 const struct flat_objects *objects, const struct locker *l)
{
	struct flat_process there = *p;

	there.objects = *objects;
	if (filled_recorder_add(f, (uint32_t)l->pid, &there, &err) < 0)
		abort();
}

static void look_at_kind(const struct watched *w, const struct flat_process *p,
			 enum locker_kind kind)
{
	const struct flat_objects o = locker_layout(kind);

	look(&w->f, p, &o, &child);
}

static void watch(struct watched *w, struct flat_tables *t)
{
	watched_open(w, &config, t, child.pid, NULL, &own, FLAT_EVENT_LOCK);
}

static uint64_t lost_events(const struct watched *w)
{
	return stack_recorder_events_lost(w->f.recorder, FLAT_EVENT_LOCK, w->f.walker);
}

/* ---- waits --------------------------------------------------------------------------------- */

static void order(struct locker_order o, enum locker_what what)
{
	o.what = (uint8_t)what;
	locker_do(&child, o);
}

/* All threads wait, the first one leaves, all go on. */
static void wait_once(const struct watched *w, struct locker_order o)
{
	order(o, LOCKER_BEGIN);
	usleep(4000);
	order(o, LOCKER_LEAVE);
	order(o, LOCKER_FINISH);
	take(w);
}

static bool is_holder(const struct row *r)
{
	return r->flags & FLAT_HOLDER;
}

/* The sum of the amounts of a thread. */
static uint64_t sum_of(uint32_t tid)
{
	uint64_t ret = 0;

	for (size_t i = 0; i < seen.count; i++)
		ret += seen.rows[i].tid == tid ? seen.rows[i].amount : 0;
	return ret;
}

/* True if a thread's events are what it has waited for. */
static bool is_sum(const struct locker *l, unsigned n)
{
	const struct locker_shared *s = l->shared;
	const uint64_t sum = sum_of(s->tid[n]);

	if (s->inner[n] && sum + SLACK > s->inner[n] && sum < s->outer[n] + SLACK)
		return true;
	printf("# thread %u: %llu, not in %llu to %llu\n", n, (unsigned long long)sum,
	       (unsigned long long)s->inner[n], (unsigned long long)s->outer[n]);
	return false;
}

static bool are_sums(const struct locker *l, unsigned threads)
{
	bool ret = true;

	for (unsigned n = 0; n < threads; n++)
		ret &= is_sum(l, n);
	return ret;
}

static unsigned count_holders(uint32_t tid)
{
	unsigned ret = 0;

	for (size_t i = 0; i < seen.count; i++)
		ret += is_holder(&seen.rows[i]) && seen.rows[i].tid == tid &&
		       seen.rows[i].amount == 0 && seen.rows[i].holder == 0;
	return ret;
}

static const struct row *find_holder(size_t before, uint64_t time)
{
	for (size_t i = 0; i < before; i++)
		if (is_holder(&seen.rows[i]) && seen.rows[i].time == time)
			return &seen.rows[i];
	return NULL;
}

/* Counts the waits of threads that name a holder; *ret_strange: those who name what is none. */
static unsigned count_held(unsigned *ret_strange)
{
	unsigned ret = 0;

	*ret_strange = 0;
	for (size_t i = 0; i < seen.count; i++) {
		const struct row *r = &seen.rows[i], *holder = find_holder(i, r->holder);

		if (is_holder(r) || !r->holder)
			continue;
		ret++;
		*ret_strange += !holder || holder->tgid != r->tgid || holder->tid == r->tid;
	}
	return ret;
}

static unsigned count_misnamed(const char *name)
{
	unsigned ret = 0;

	for (size_t i = 0; i < seen.count; i++)
		ret += strcmp(seen.rows[i].name, is_holder(&seen.rows[i]) ? "" : name) != 0;
	return ret;
}

#endif
