// SPDX-License-Identifier: Apache-2.0
/* What is kept between snapshots of a JVM: its code, and which methods were written. */
#include "hotspot/state.h"

#include "hotspot/table.h"
#include "lib/tap.h"

#define BASE 0x7f0000000000ull

static struct hs_state *st;

/* A new state whose last snapshot has code at BASE + 0x10, 0x20 and 0x30, of fingerprints 1, 2, 3.
 */
static void begin(void)
{
	memset(st, 0, sizeof(*st));
	hs_state_begin(st, BASE);
	for (uint32_t i = 1; i < 4; i++)
		hs_state_add(st, BASE + 16 * i, i);
	hs_state_commit(st);
	hs_state_begin(st, BASE);
}

static void test_code(void)
{
	begin();
	ok(st->ready, "after the first snapshot there is a last one");
	is_int(hs_state_gone(st), 3, "code that the walk does not meet is gone");
	for (uint32_t i = 0; i < 3; i++)
		is_int(hs_state_gone_at(st, i), BASE + 16 * (i + 1), "gone code %u has its address",
		       i);
	begin();
	ok(hs_state_unchanged(st, BASE + 16, 1), "code with the same fingerprint is unchanged");
	ok(!hs_state_unchanged(st, BASE + 24, 1), "code in a new place is new");
	ok(!hs_state_unchanged(st, BASE + 32, 3), "code with another fingerprint has changed");
	ok(hs_state_unchanged(st, BASE + 48, 3), "code after it is unchanged");
	is_int(hs_state_gone(st), 1, "code that was replaced is gone");
	is_int(hs_state_gone_at(st, 0), BASE + 32, "it is the one that was replaced");
	is_int(hs_state_gone(st), 1, "no code is gone twice");
	hs_state_commit(st);
	hs_state_begin(st, BASE);
	ok(hs_state_unchanged(st, BASE + 16, 1) && hs_state_unchanged(st, BASE + 48, 3),
	   "unchanged code is known to the next snapshot, too");
	is_int(hs_state_gone(st), 0, "code that was not added is not known");
}

static void test_again(void)
{
	struct hs_known_code *known;

	begin();
	ok(!hs_state_unchanged(st, BASE + 8, 1), "code before all others is new");
	known = hs_state_add(st, BASE + 8, 0);
	ok(known, "code that is not whole yet is added");
	hs_state_add(st, BASE + 16, 1);
	hs_state_remove(hs_state_add(st, BASE + 32, 2));
	hs_state_add(st, BASE + 48, 3);
	hs_state_commit(st);
	hs_state_begin(st, BASE);
	ok(!hs_state_unchanged(st, BASE + 8, 0), "it is written again");
	ok(hs_state_unchanged(st, BASE + 16, 1), "what follows it is unchanged");
	ok(!hs_state_unchanged(st, BASE + 32, 2), "code that was removed is not known");
	ok(hs_state_unchanged(st, BASE + 48, 3), "code after what was removed is unchanged");
}

static void test_bounds(void)
{
	begin();
	ok(hs_state_add(st, BASE + UINT32_MAX - 1, 1), "code 4 GB above the base is added");
	ok(!hs_state_add(st, BASE + UINT32_MAX, 1), "code further away is not");
	ok(!hs_state_add(st, BASE - 16, 1), "nor is code below the base");
	st->count[!st->turn] = HS_STATE_CODES - 1;
	ok(hs_state_add(st, BASE + 16, 1), "the last entry can be used");
	ok(!hs_state_add(st, BASE + 32, 2), "there is none after it");
	ok(!hs_state_unchanged(st, BASE + 16, 1), "code without an entry is written each time");
	is_int(hs_state_gone(st), 3, "code that is written again counts as replaced");
}

static void test_reset(void)
{
	begin();
	st->threads.count = 1;
	st->threads.slot[5] = 1;
	st->loaders.count[0] = st->loaders.count[1] = 7;
	hs_written_add(&st->written, 99);
	hs_state_begin(st, BASE);
	ok(st->ready, "a walk from the same base knows the last snapshot");
	is_int(st->threads.count, 1, "it knows the threads' names");
	hs_state_begin(st, BASE + 4096);
	ok(!st->ready, "a JVM with another base has no last snapshot");
	is_int(hs_state_gone(st), 0, "nothing of it is gone");
	is_int(st->base, BASE + 4096, "it has the new base");
	ok(st->threads.count == 0 && st->threads.slot[5] == 0, "it has no names of threads");
	ok(st->loaders.count[0] == 0 && st->loaders.count[1] == 0, "it has no loaders");
	ok(!hs_written_has(&st->written, 99), "no method of it was written");
	begin();
	hs_state_add(st, BASE + 16, 1);
	hs_state_reset(st);
	ok(!st->ready, "after a failure there is no last snapshot");
	is_int(st->count[0] + st->count[1], 0, "and no code is known");
	st->threads.slot[5] = 1;
	hs_state_begin(st, BASE);
	is_int(st->threads.slot[5], 1, "memory that is zero already is not touched");
}

/* ---- methods ---- */

static void test_methods(void)
{
	struct hs_methods *m = malloc(sizeof(*m));
	uint64_t *slot;
	unsigned wrong = 0;

	memset(m, 0xa5, sizeof(*m));
	hs_methods_init(m);
	ok(!hs_methods_add(m, 0), "0 is no method");
	for (unsigned i = 1; i < 8; i++)
		wrong += hs_methods_add(m, BASE + i) != NULL;
	is_int(wrong, 0, "nor is an address that is not aligned");
	slot = hs_methods_add(m, BASE);
	ok(slot && *slot == BASE, "a method gets a slot");
	is_int(m->count, 1, "it is counted");
	is_int(m->order[0], slot - m->slot, "it is the first in order");
	*slot |= HS_METHOD_WRITTEN;
	is_int(hs_method_state(*slot), HS_METHOD_WRITTEN, "its state is kept");
	ok(hs_methods_add(m, BASE) == slot, "the same method has the same slot");
	is_int(m->count, 1, "and is counted once");
	for (uint64_t i = 1; i < HS_METHODS_MAX; i++)
		wrong += !hs_methods_add(m, BASE + 8 * i);
	is_int(wrong, 0, "there is room for as many as there may be");
	ok(!hs_methods_add(m, BASE + 8 * HS_METHODS_MAX), "but not for one more");
	ok(hs_methods_add(m, BASE) == slot, "those it has are found");
	for (uint64_t i = 0; i < HS_METHODS_MAX; i++)
		wrong += (m->slot[m->order[i]] & ~7ull) != BASE + 8 * i;
	is_int(wrong, 0, "they are in the order in which they came");
	free(m);
}

static void test_written(void)
{
	struct hs_written *w = calloc(1, sizeof(*w));
	unsigned wrong = 0;
	uint32_t size;

	ok(!hs_written_has(w, 5), "an empty set has nothing");
	hs_written_add(w, 0);
	ok(!hs_written_has(w, 0) && w->count == 0, "0 is never in the set");
	hs_written_add(w, 5);
	hs_written_add(w, 5);
	ok(hs_written_has(w, 5), "what was added is in the set");
	is_int(w->count, 1, "and counted once");
	ok(w->size <= HS_WRITTEN_SLOTS / 64, "a small set touches little memory");
	ok(!hs_written_has(w, 6), "another is not in it");
	for (uint64_t i = 1; i < HS_WRITTEN_MAX; i++)
		hs_written_add(w, 5 + i * HS_HASH);
	is_int(w->count, HS_WRITTEN_MAX, "there is room for as many as there may be");
	hs_written_add(w, 77);
	ok(!hs_written_has(w, 77), "but not for one more");
	for (uint64_t i = 0; i < HS_WRITTEN_MAX; i++)
		wrong += !hs_written_has(w, 5 + i * HS_HASH);
	is_int(wrong, 0, "all others are there");
	size = w->size;
	w->count = w->size = 0;
	hs_written_reset(w);
	w->size = size;
	ok(hs_written_has(w, 5), "a set of none is not cleared");
	w->count = 1;
	hs_written_reset(w);
	ok(!hs_written_has(w, 5) && w->count == 0, "a set that has something is cleared");
	hs_written_add(w, 5);
	ok(hs_written_has(w, 5) && !hs_written_has(w, 5 + HS_HASH), "and can be used again");
	free(w);
}

static void test_hash(void)
{
	static const uint64_t a[] = {1, 2}, b[] = {2, 1}, zero = 0;
	uint64_t slot[4] = {0};
	uint32_t at;

	ok(hs_hash(a, 2) != hs_hash(b, 2), "the order of numbers changes their hash");
	ok(hs_hash(a, 2) != hs_hash(a, 1), "so does their count");
	ok(hs_hash(&zero, 1) == 1, "a hash is never 0");
	at = hs_table_find(slot, 4, ~7ull, 64);
	slot[at] = 64 | 3;
	is_int(hs_table_find(slot, 4, ~7ull, 64), at, "a key is found whatever the other bits");
	for (uint64_t key = 8; key < 800; key += 8) {
		uint32_t i = hs_table_find(slot, 4, ~7ull, key);

		if (i >= 4 || (key != 64 && i == at))
			at = 9;
	}
	ok(at < 4, "another key gets another slot of the table, after its last one the first");
}

int main(void)
{
	st = calloc(1, sizeof(*st));
	test_code();
	test_again();
	test_bounds();
	test_reset();
	test_methods();
	test_written();
	test_hash();
	free(st);
	return tap_done();
}
