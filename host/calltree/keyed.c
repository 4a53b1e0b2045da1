// SPDX-License-Identifier: Apache-2.0
#include "calltree/keyed.h"

#include <string.h>

#include "common/str.h"

#define FEW   48 /* up to this many are sorted where they are */
#define BYTES sizeof(uint64_t)

/* The bits in which keys differ from the first one; 0: they are in order. */
static uint64_t find_disorder(const struct keyed *a, size_t n)
{
	uint64_t differ = 0;
	bool sorted = true;

	for (size_t i = 1; i < n; i++) {
		differ |= a[i].key ^ a[0].key;
		sorted = sorted && a[i - 1].key <= a[i].key;
	}
	return sorted ? 0 : differ;
}

static void insert_each(struct keyed *a, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct keyed next = a[i];
		size_t to = i;

		for (; to && a[to - 1].key > next.key; to--)
			a[to] = a[to - 1];
		a[to] = next;
	}
}

/* Stable: from `a` to `to` by one byte of the keys. */
static void deal(const struct keyed *a, size_t n, unsigned shift, struct keyed *to)
{
	size_t start[257] = {0};

	for (size_t i = 0; i < n; i++)
		start[(a[i].key >> shift & 0xff) + 1]++;
	for (unsigned i = 1; i < 256; i++)
		start[i] += start[i - 1];
	for (size_t i = 0; i < n; i++)
		to[start[a[i].key >> shift & 0xff]++] = a[i];
}

void keyed_sort(struct keyed *a, size_t n)
{
	uint64_t differ = find_disorder(a, n);
	CLEANUP(free) struct keyed *spare = NULL;
	struct keyed *from = a, *to;

	if (!differ)
		return;
	if (n <= FEW) {
		insert_each(a, n);
		return;
	}
	spare = to = xrealloc(NULL, n, sizeof(*spare));
	for (unsigned shift = 0; shift < 8 * BYTES; shift += 8) {
		struct keyed *dealt = to;

		if (!(differ >> shift & 0xff))
			continue;
		deal(from, n, shift, to);
		to = from;
		from = dealt;
	}
	if (from != a)
		memcpy(a, from, n * sizeof(*a));
}

size_t keyed_upper(const struct keyed *a, size_t n, uint64_t key)
{
	size_t lo = 0;

	while (n) {
		size_t half = n / 2;

		if (a[lo + half].key <= key) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return lo;
}
