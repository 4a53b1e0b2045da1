// SPDX-License-Identifier: Apache-2.0
/* Events of a process that waits for locks as a JVM does (lib/locker.h). Needs the right to load
 * programs. */
#include <math.h>

#include "lib/lockwatch.h"
#include "lib/tap.h"

#define WINDOW_NS   100000000u /* as in host/bpf/event_state.h */
#define WINDOW_MOST 200u
#define SHIFTS	    30u /* from the least interval to the largest, bits */

/* Sums of some rounds. */
struct totals {
	unsigned rows, odd, wrong, holders, held, strange, misnamed, others;
};

/* `after`: where the wait ends. */
static void count_round(struct totals *t, uint64_t after)
{
	unsigned strange;

	for (size_t i = 0; i < seen.count; i++) {
		const struct row *r = &seen.rows[i];

		t->odd += r->end != FLAT_ROOT || r->count < 3 || r->copied ||
			  (!is_holder(r) && (r->innermost - after) % FLAT_PAGE != 0);
		t->rows += !is_holder(r);
	}
	t->wrong += !are_sums(&child, 3);
	t->holders += count_holders(child.shared->holder);
	t->held += count_held(&strange);
	t->strange += strange;
	t->misnamed += count_misnamed("java/lang/Object");
	t->others += seen.others + seen.samples;
}

static void test_monitors(struct flat_tables *t, const struct flat_process *p)
{
	struct watched w;

	watch(&w, t);
	look_at_kind(&w, p, LOCKER_PLAIN);
	for (unsigned reenters = 0; reenters < 2; reenters++) {
		const char *what = reenters ? "after Object.wait" : "synchronized";
		struct totals got = {0};

		for (unsigned i = 0; i < 8; i++) {
			forget();
			wait_once(&w, (struct locker_order){
					      .threads = 3, .locks = 1, .reenters = reenters});
			count_round(&got, own.at.offset[reenters ? FLAT_PROBE_REENTERED
								 : FLAT_PROBE_ENTERED]);
		}
		is_int(got.rows, 24, "%s: each wait is an event", what);
		is_int(got.odd, 0, "%s: with the stack from where the wait ends", what);
		is_int(got.others, 0, "%s: and nothing else", what);
		ok(got.wrong == 0 && lost_events(&w) == 0, "%s: of the ns that it took", what);
		is_int(got.holders, 8, "%s: the holder left 8 times", what);
		ok(got.held > 0 && got.strange == 0,
		   "%s: %u of 24 waits name one of these, before them", what, got.held);
		is_int(got.misnamed, 0, "%s: they have the class's name", what);
	}
	watched_close(&w);
}

/* Each order is a recording of its own, so that sums are those of one wait. */
static void test_layouts(struct flat_tables *t, const struct flat_process *p)
{
	struct watched w;

	watch(&w, t);
	for (unsigned i = 0; i < 2 * LOCKER_KINDS; i++) {
		const struct locker_order o = {.kind = (uint8_t)(i / 2),
					       .class = (uint8_t)(i % 2),
					       .parks = i % 2,
					       .threads = 4,
					       .locks = 2};
		unsigned strange;

		look_at_kind(&w, p, (enum locker_kind)o.kind);
		forget();
		wait_once(&w, o);
		ok(are_sums(&child, 4), "layout %u, %s: the ns of each thread", o.kind,
		   o.parks ? "parked" : "monitors");
		is_int(count_misnamed(locker_names[o.class]), 0, "  the class's name");
		is_int(count_holders(child.shared->holder), 2, "  the holder left two locks");
		count_held(&strange);
		is_int(strange, 0, "  which waits name");
	}
	watched_close(&w);
}

static void test_parked(struct flat_tables *t, const struct flat_process *p)
{
	struct watched w;

	watch(&w, t);
	look_at_kind(&w, p, LOCKER_HANDLES);
	for (uint8_t i = 0; i <= LOCKER_NAME_LAST; i++) {
		const bool is_lock = i >= LOCKER_LOCK_FIRST && i <= LOCKER_LOCK_LAST;
		const struct locker_order o = {.kind = LOCKER_HANDLES,
					       .class = i,
					       .parks = true,
					       .threads = 2,
					       .locks = 2};

		forget();
		wait_once(&w, o);
		ok(child.shared->inner[0] && (is_lock ? are_sums(&child, 2) : seen.count == 0),
		   "%s: \"%s\"", is_lock ? "a lock" : "no lock", locker_names[i]);
	}
	for (unsigned i = 0; i < 2; i++) {
		const struct locker_order o = {.kind = LOCKER_HANDLES,
					       .class = LOCKER_LOCK_FIRST,
					       .parks = true,
					       .foreign = i == 0,
					       .nothing = i == 1,
					       .threads = 2,
					       .locks = 2};

		forget();
		wait_once(&w, o);
		ok(child.shared->inner[0] && seen.count == 0, "nothing of a thread that %s",
		   i ? "parks for nothing" : "is not in the register");
	}
	watched_close(&w);
}

/* A layout that is not known, and objects that are being moved. */
static void test_unknown(struct flat_tables *t, const struct flat_process *p)
{
	const struct locker_order moved = {
		.kind = LOCKER_COMPACT, .moved = true, .threads = 2, .locks = 1};
	struct locker_order o = {.threads = 2, .locks = 1};
	struct flat_objects none;
	struct watched w;

	memset(&none, 0xff, sizeof(none));
	watch(&w, t);
	look(&w.f, p, &none, &child);
	forget();
	wait_once(&w, o);
	ok(are_sums(&child, 2) && count_misnamed("") == 0 && seen.count == 3,
	   "without a layout monitors are counted, without names");
	o.parks = true;
	o.class = LOCKER_LOCK_FIRST;
	forget();
	wait_once(&w, o);
	is_int((int64_t)seen.count, 0, "and java.util.concurrent is not");
	look_at_kind(&w, p, LOCKER_COMPACT);
	forget();
	wait_once(&w, moved);
	ok(are_sums(&child, 2) && count_misnamed("") == 0,
	   "an object that has been moved has no class");
	watched_close(&w);
}

/* ---- holders ------------------------------------------------------------------------------- */

/* Chances of the first holder, and what came of it. */
struct tossed {
	double expected, variance;
	unsigned first, second;
};

/* The time at which a holder left, on average. */
static double left_at(uint32_t tid)
{
	uint64_t first = 0, sum = 0;
	unsigned n = 0;

	for (size_t i = 0; i < seen.count; i++)
		if (is_holder(&seen.rows[i]) && seen.rows[i].tid == tid) {
			first = first ? first : seen.rows[i].time;
			sum += seen.rows[i].time - first;
			n++;
		}
	return n ? (double)first + (double)sum / n : 0;
}

static void count_tossed(struct tossed *t)
{
	const struct locker_shared *s = child.shared;
	const double left = left_at(s->holder);

	for (size_t i = 0; i < seen.count; i++) {
		const struct row *r = &seen.rows[i];
		const struct row *holder = r->holder ? find_holder(i, r->holder) : NULL;

		for (unsigned n = 0; n < LOCKER_THREADS; n++) {
			double p = (left - (double)s->begin[n]) / (double)r->amount;

			if (r->tid != s->tid[n])
				continue;
			t->expected += p;
			t->variance += p * (1 - p);
			t->first += holder && holder->tid == s->holder;
			t->second += holder && holder->tid == s->other;
		}
	}
}

/* Two threads hold locks after each other, ten and ninety parts of the time. */
static void test_shares(struct flat_tables *t, const struct flat_process *p)
{
	const struct locker_order o = {.threads = LOCKER_THREADS, .locks = LOCKER_THREADS};
	struct tossed tossed = {0};
	unsigned wrong = 0;
	struct watched w;
	double bound;

	watch(&w, t);
	look_at_kind(&w, p, LOCKER_PLAIN);
	for (unsigned i = 0; i < 24; i++) {
		forget();
		order(o, LOCKER_BEGIN);
		usleep(5000);
		order(o, LOCKER_LEAVE);
		usleep(45000);
		order(o, LOCKER_OTHER);
		order(o, LOCKER_FINISH);
		take(&w);
		count_tossed(&tossed);
		wrong += !are_sums(&child, LOCKER_THREADS) ||
			 count_holders(child.shared->holder) != LOCKER_THREADS ||
			 count_holders(child.shared->other) != LOCKER_THREADS;
	}
	bound = 6 * sqrt(tossed.variance) + 1;
	is_int(wrong, 0, "two holders that leave after each other have their samples");
	ok(fabs(tossed.first - tossed.expected) < bound && tossed.second > 0,
	   "each is named for its part of the time: %u, %.1f ± %.1f, and %u", tossed.first,
	   tossed.expected, bound, tossed.second);
	watched_close(&w);
}

/* Some threads have a lock and wait for it again and again, others wait all the time: there is
 * always one. */
static void test_many(struct flat_tables *t, const struct flat_process *p)
{
	enum { THREADS = 2, SLEEPERS = 12 };
	const struct locker_order o = {.threads = THREADS, .sleepers = SLEEPERS, .locks = 1};
	uint64_t least = 0, most = 0, slack, bound;
	struct watched w;

	watch(&w, t);
	look_at_kind(&w, p, LOCKER_PLAIN);
	forget();
	order(o, LOCKER_MANY);
	take(&w);
	for (unsigned n = 0; n < THREADS + SLEEPERS; n++) {
		least += child.shared->inner[n];
		most += child.shared->outer[n];
	}
	slack = 8 * seen.largest + least / 50;
	/* So many in a window, of which each larger interval begins one. */
	bound = (child.shared->outer[THREADS] / WINDOW_NS + SHIFTS) * WINDOW_MOST *
		(uint64_t)sysconf(_SC_NPROCESSORS_CONF);
	ok(seen.all > 100 && seen.all <= bound && lost_events(&w) == 0,
	   "of very many waits few are sent: %u of %u", seen.all, THREADS * LOCKER_TURNS);
	ok(seen.sum + slack > least && seen.sum < most + slack,
	   "they stand for all: %llu in %llu to %llu", (unsigned long long)seen.sum,
	   (unsigned long long)least, (unsigned long long)most);
	watched_close(&w);
}

/* ---- processes that lie, and others -------------------------------------------------------- */

static void test_forged(struct flat_tables *t, const struct flat_process *p)
{
	const struct locker_order o = {.threads = 3, .locks = 2};
	const struct locker_order parks = {
		.class = LOCKER_LOCK_FIRST, .parks = true, .threads = 2, .locks = 2};
	const struct flat_objects plain = locker_layout(LOCKER_PLAIN);
	struct locker first = child, other = locker_start();
	struct filled_recorder second = {0};
	struct stack_probes *probes;
	unsigned held, strange;
	struct watched w;

	watch(&w, t);
	look_at_kind(&w, p, LOCKER_PLAIN);
	second.recorder = w.f.recorder;
	if (filled_recorder_fill(&second, t, &err) < 0)
		abort();
	look(&second, p, &plain, &other);
	probe(&w, &other, &probes);
	child = other;
	order(o, LOCKER_BEGIN);
	child = first;
	order(o, LOCKER_FORGED);
	order(o, LOCKER_LOCKS);
	take(&w);
	ok(seen.all > 0, "a process that lies: %u events", seen.all);
	forget();
	child = other;
	usleep(2000);
	order(o, LOCKER_LEAVE);
	order(o, LOCKER_FINISH);
	take(&w);
	held = count_held(&strange);
	ok(are_sums(&other, 3) && count_misnamed("java/lang/Object") == 0,
	   "the waits of another container are as they were");
	ok(held > 0 && strange == 0 && count_holders(other.shared->holder) == 2,
	   "and their holders: %u", held);
	child = first;
	forget();
	wait_once(&w, o);
	ok(are_sums(&child, 3) && count_holders(child.shared->holder) == 2,
	   "so are its own, after that");
	forget();
	wait_once(&w, parks);
	ok(are_sums(&child, 2), "parked ones, too");
	forget();
	order(o, LOCKER_TWICE);
	take(&w);
	ok(seen.count <= 1 && seen.sum < child.shared->outer[0] + SLACK,
	   "of a wait without an end nothing is counted: %llu", (unsigned long long)seen.sum);
	stack_probes_close(probes);
	locker_end(&other);
	watched_close(&w);
}

/* The process has grown: it has another walker while its threads wait. */
static void test_replaced(struct flat_tables *t, const struct flat_process *p)
{
	struct watched w;

	watch(&w, t);
	for (unsigned i = 0; i < 2; i++) {
		const struct locker_order o = {
			.class = (uint8_t)i, .parks = i, .threads = 3, .locks = 1};
		const uint32_t before = w.f.walker;
		unsigned strange;

		look_at_kind(&w, p, LOCKER_PLAIN);
		forget();
		order(o, LOCKER_BEGIN);
		usleep(4000);
		if (filled_recorder_fill(&w.f, t, &err) < 0)
			abort();
		look_at_kind(&w, p, LOCKER_PLAIN);
		order(o, LOCKER_LEAVE);
		order(o, LOCKER_FINISH);
		take(&w);
		count_held(&strange);
		ok(w.f.walker != before && are_sums(&child, 3) && strange == 0 &&
			   count_holders(child.shared->holder) == 1,
		   "another walker goes on with the waits of the one before: %s",
		   i ? "parked" : "monitors");
	}
	watched_close(&w);
}

int main(void)
{
	CLEANUP(flat_tables_free) struct flat_tables *t = flat_tables_new();
	struct flat_process p;

	own_probes_require(&config);
	memset(&p, 0, sizeof(p));
	memset(&p.layout, 0xff, sizeof(p.layout));
	p.layout.class_name = offsetof(struct locker_class, name);
	p.layout.symbol_length = offsetof(struct locker_symbol, len);
	p.layout.symbol_body = offsetof(struct locker_symbol, body);
	child = locker_start();
	own_probes_find((uint64_t)(uintptr_t)locker_exit, &own);
	for (unsigned i = FLAT_PROBE_ENTER; i < FLAT_PROBE_PARKED_2; i++)
		ok(own.at.offset[i] != 0, "the place of probe %u is found", i);
	add_mappings(t, child.pid, &p);
	test_monitors(t, &p);
	test_layouts(t, &p);
	test_parked(t, &p);
	test_unknown(t, &p);
	test_shares(t, &p);
	test_many(t, &p);
	test_forged(t, &p);
	test_replaced(t, &p);
	locker_end(&child);
	return tap_done();
}
