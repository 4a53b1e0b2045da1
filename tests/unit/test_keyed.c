// SPDX-License-Identifier: Apache-2.0
#include "calltree/keyed.h"

#include "common/str.h"
#include "lib/tap.h"

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Keys `mask` of random numbers: few or many bytes differ, and many keys are equal. */
static bool sorts(size_t n, uint64_t base, uint64_t mask)
{
	struct keyed *a = xcalloc(n, sizeof(*a));
	uint64_t state = 88172645463325252u;
	bool good = true;

	for (size_t i = 0; i < n; i++)
		a[i] = (struct keyed){.key = base + (next_random(&state) & mask), .value = i};
	keyed_sort(a, n);
	for (size_t i = 1; i < n; i++)
		good = good && (a[i - 1].key < a[i].key ||
				(a[i - 1].key == a[i].key && a[i - 1].value < a[i].value));
	free(a);
	return good;
}

static void test_upper(void)
{
	static const struct keyed a[] = {{1, 0}, {3, 0}, {3, 0}, {UINT64_MAX, 0}};

	is_int(keyed_upper(a, ARRAY_LEN(a), 0), 0, "none");
	is_int(keyed_upper(a, ARRAY_LEN(a), 2), 1, "one");
	is_int(keyed_upper(a, ARRAY_LEN(a), 3), 3, "equal keys");
	is_int(keyed_upper(a, ARRAY_LEN(a), UINT64_MAX), 4, "all");
	is_int(keyed_upper(NULL, 0, 1), 0, "of nothing");
}

int main(void)
{
	static const size_t counts[] = {0, 1, 2, 47, 48, 49, 1000, 10000};
	static const uint64_t masks[] = {0, 0x7, 0xff00, 0xffffff, 0xff000000000000ff, UINT64_MAX};

	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		for (size_t k = 0; k < ARRAY_LEN(masks); k++)
			ok(sorts(counts[i], k == 3 ? 0xffffffff81000000 : 0, masks[k]),
			   "%zu keys that differ in %#llx, equal ones as they were", counts[i],
			   (unsigned long long)masks[k]);
	test_upper();
	return tap_done();
}
