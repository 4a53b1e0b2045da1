// SPDX-License-Identifier: Apache-2.0
/* Stacks that events of other threads name. */
#include "profile/holders.h"

#include <string.h>

#include "common/str.h"
#include "lib/tap.h"

#define MANY 20000u /* more than there are places */

static bool is(const struct holder *h, const uint32_t *frames, size_t n)
{
	return h && h->count == n && (n == 0 || !memcmp(h->frames, frames, n * sizeof(*frames)));
}

static void test_kept(void)
{
	static const uint32_t frames[] = {7, 8, 9};
	static uint32_t deep[HOLDER_FRAMES + 3];
	struct holders *h = holders_new();

	ok(!holders_find(h, 5, 100) && !holders_find(NULL, 5, 100), "nothing is kept at first");
	ok(!holders_find(h, 0, 0) && !holders_find(h, 5, 0) && !holders_find(NULL, 0, 0),
	   "nor ever for time 0");
	holders_keep(h, 5, 7, 100, true, frames, 3);
	ok(is(holders_find(h, 5, 100), frames, 3) && holders_find(h, 5, 100)->to_root,
	   "a stack is kept");
	ok(!holders_find(h, 6, 100) && !holders_find(h, 5, 101) && !holders_find(h, 5, 99) &&
		   !holders_find(h, 5, 0),
	   "not for another process or time");
	holders_keep(h, 6, 7, 100, false, frames, 1);
	ok(is(holders_find(h, 6, 100), frames, 1) && !holders_find(h, 6, 100)->to_root &&
		   is(holders_find(h, 5, 100), frames, 3),
	   "one of another process has its own");
	holders_keep(h, 5, 7, 100, false, frames + 1, 2);
	ok(is(holders_find(h, 5, 100), frames + 1, 2), "one of the same time takes its place");
	holders_keep(h, 5, 7, 200, true, NULL, 0);
	ok(is(holders_find(h, 5, 200), NULL, 0), "a stack may have no frames");
	holders_keep(h, 5, 7, 0, true, frames, 3);
	ok(!holders_find(h, 5, 0), "one of time 0 is not found");
	for (uint32_t i = 0; i < ARRAY_LEN(deep); i++)
		deep[i] = i;
	holders_keep(h, 5, 7, 300, true, deep, HOLDER_FRAMES);
	ok(is(holders_find(h, 5, 300), deep, HOLDER_FRAMES) && holders_find(h, 5, 300)->to_root,
	   "there is room for a deep one");
	holders_keep(h, 5, 7, 301, true, deep, ARRAY_LEN(deep));
	ok(is(holders_find(h, 5, 301), deep + 3, HOLDER_FRAMES) &&
		   !holders_find(h, 5, 301)->to_root,
	   "of a deeper one the innermost frames are kept, and it does not reach its root");
	holders_free(h);
	holders_free(NULL);
}

/* Later ones take the places of earlier ones, and none is taken for another. */
static void test_many(void)
{
	struct holders *h = holders_new();
	unsigned wrong = 0, last = 0, all = 0;

	for (uint32_t i = 1; i <= MANY; i++) {
		holders_keep(h, 5, 7, 1000 * i, true, &i, 1);
		wrong += !is(holders_find(h, 5, 1000 * i), &i, 1);
	}
	is_int(wrong, 0, "each is there when it has been kept");
	for (uint32_t i = 1; i <= MANY; i++) {
		const struct holder *one = holders_find(h, 5, 1000 * i);

		wrong += one && !is(one, &i, 1);
		all += one != NULL;
		last += one && i > MANY - 400;
	}
	is_int(wrong, 0, "then, too, or it is not there");
	ok(all > 2000 && all < MANY && last > 360, "most of the last ones are: %u, %u of 400", all,
	   last);
	holders_free(h);
}

/* Those of many processes at one time take each other's places. */
static void test_processes(void)
{
	struct holders *h = holders_new();
	unsigned wrong = 0;

	for (uint32_t pid = 1; pid <= MANY; pid++) {
		const uint32_t before = pid / 2;
		const struct holder *one = holders_find(h, (pid_t)before, 1000);

		wrong += one && !is(one, &before, 1);
		holders_keep(h, (pid_t)pid, 7, 1000, true, &pid, 1);
	}
	is_int(wrong, 0, "none is taken for that of another process");
	holders_free(h);
}

int main(void)
{
	test_kept();
	test_processes();
	test_many();
	return tap_done();
}
