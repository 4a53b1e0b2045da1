// SPDX-License-Identifier: Apache-2.0
#include "unwind/return_cache.h"

#include "lib/tap.h"

static const struct snapfile_code code = {.first = 1, .gone = 5};

/* The code stands at addresses that end with 1. */
static void keep(struct returns *r, uint64_t addr)
{
	struct returns_answer *a = returns_slot(r, addr);

	a->count = (uint8_t)(addr % 100);
	a->codes[0] = &code;
	a->known = true;
}

/* Counts the addresses up to `last` that are known with the values that were set. */
static uint64_t known(struct returns *r, uint64_t last)
{
	uint64_t n = 0;

	for (uint64_t addr = 1; addr <= last; addr++) {
		const struct returns_answer *a = returns_slot(r, addr);

		n += a->known && a->addr == addr && a->count == addr % 100;
	}
	return n;
}

int main(void)
{
	struct snapfile_span one = {0, 1, 0}, other = {1, 2, 0}, later = {2, 4, 0},
			     latest = {4, 5, 0};
	struct returns *r = returns_new();

	returns_at(r, one);
	ok(!returns_slot(r, 7)->known, "nothing is known at first");
	for (uint64_t addr = 1; addr <= 5000; addr++)
		keep(r, addr);
	is_int((int64_t)known(r, 5000), 5000, "answers are kept while the table grows");
	returns_at(r, one);
	is_int((int64_t)known(r, 5000), 5000, "and while the snapshots are the same");
	returns_at(r, other);
	is_int((int64_t)known(r, 5000), 50, "of others, where one code is there all the time");
	returns_at(r, later);
	is_int((int64_t)known(r, 5000), 50, "as long as it is there");
	returns_at(r, latest);
	is_int((int64_t)known(r, 5000), 0, "and no longer");
	for (uint64_t addr = 1; addr <= 1u << 20; addr++)
		keep(r, addr << 12);
	ok(!returns_slot(r, 1u << 12)->known, "there is an end to what is kept");
	ok(returns_slot(r, 1ull << 32)->known, "the latest is there");
	returns_free(r);
	return tap_done();
}
