// SPDX-License-Identifier: Apache-2.0
/* The interval tree against a plain table. */
#include "jit/interval_tree.h"

#include "common/str.h"
#include "lib/tap.h"

static uint32_t seed = 7;

static uint32_t below(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(seed >> 8) * n >> 24);
}

/* Addresses are divided among lives anew at some times: all that is at an address at a time is one
 * life, and is found. */
static void test_tree(uint32_t addrs, uint32_t times)
{
	CLEANUP(free) struct life *lives = xcalloc((size_t)addrs * times, sizeof(*lives));
	CLEANUP(free) uint32_t *want = xcalloc((size_t)addrs * times, sizeof(*want));
	struct lifetree t = {0};
	uint32_t n = 0, found[3];
	bool same = true;

	for (uint32_t time = 0; time < times;) {
		uint32_t gone = time + 1 + below(times - time);

		for (uint32_t addr = 0; addr < addrs;) {
			uint32_t end = addr + 1 + below(addrs - addr < 9 ? addrs - addr : 9);

			if (below(4)) {
				lives[n] = (struct life){addr, end, time, gone, n};
				n++;
				for (uint32_t a = addr; a < end; a++)
					for (uint32_t k = time; k < gone; k++)
						want[a * times + k] = n;
			}
			addr = end;
		}
		time = gone;
	}
	lifetree_build(&t, TAKE_PTR(lives), n);
	for (uint32_t a = 0; a < addrs; a++)
		for (uint32_t k = 0; k < times; k++) {
			uint32_t number = want[a * times + k];
			size_t count = lifetree_find(&t, a, k, k, found);

			same = same && count == (number != 0) && (!count || found[0] + 1 == number);
		}
	ok(same, "%u lives at %u addresses and %u times", n, addrs, times);
	ok(lifetree_find(&t, 0, 0, 2, found) <= 3, "no more than one at a time");
	ok(!lifetree_find(&t, addrs, 0, times, found) && !lifetree_find(&t, 0, times, times, found),
	   "nothing outside");
	lifetree_fini(&t);
}

int main(void)
{
	struct lifetree none = {0};
	uint32_t found[1];

	test_tree(40, 1);
	test_tree(1, 40);
	test_tree(100, 60);
	test_tree(400, 30);
	lifetree_build(&none, NULL, 0);
	ok(!lifetree_find(&none, 1, 0, 0, found), "an empty tree");
	lifetree_fini(&none);
	return tap_done();
}
