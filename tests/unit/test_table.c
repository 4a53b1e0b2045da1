// SPDX-License-Identifier: Apache-2.0
#include "common/table.h"

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

/* The hashes of different keys may be equal. */
static bool finds(size_t n, uint64_t (*hash)(uint64_t))
{
	CLEANUP(hash_fini) struct hash_table t = {0};
	size_t found = 0;

	for (uint32_t i = 0; i < n; i++)
		hash_add(&t, hash(i), i);
	for (uint32_t i = 0; i < n; i++)
		for (struct hash_probe p = {.hash = hash(i)}; hash_next(&t, &p);)
			found += p.index == i;
	for (struct hash_probe p = {.hash = hash(n)}; hash_next(&t, &p);)
		found += p.index >= n;
	return found == n && t.count == n;
}

static uint64_t hash_few(uint64_t key)
{
	return key % 3;
}

static uint64_t hash_high(uint64_t key)
{
	return UINT64_MAX - key;
}

static void test_hash(void)
{
	struct hash_probe p = {.hash = 1};

	ok(!hash_next(&(struct hash_table){0}, &p), "an empty hash table has no element");
	ok(finds(10000, hash_mix), "each element is found once by the hash of its key");
	ok(finds(10000, hash_high), "elements are found by hashes above 2^32");
	ok(finds(500, hash_few), "elements of equal hashes are told from each other");
	is_int(hash_bytes(1, "12345678", 8) == hash_bytes(1, "12345678\0", 9), 0,
	       "the length is part of the hash of bytes");
	is_int(hash_bytes(1, "12345678", 8) == hash_bytes(2, "12345678", 8), 0,
	       "the seed is part of the hash of bytes");
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
	test_hash();
	return tap_done();
}
