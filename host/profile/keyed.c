// SPDX-License-Identifier: Apache-2.0
#include "keyed.h"

#include "dfg/str.h"

/* Merges a[lo, mid) and a[mid, hi); `spare` has room for the left part. */
static void merge(struct keyed *a, size_t lo, size_t mid, size_t hi, struct keyed *spare)
{
	size_t left = mid - lo, i = 0, j = mid, out = lo;

	memcpy(spare, a + lo, left * sizeof(*a));
	while (i < left && j < hi)
		a[out++] = a[j].key < spare[i].key ? a[j++] : spare[i++];
	memcpy(a + out, spare + i, (left - i) * sizeof(*a));
}

void keyed_sort(struct keyed *a, size_t n)
{
	CLEANUP(free) size_t *ends = NULL; /* of runs, exclusive */
	CLEANUP(free) struct keyed *spare = NULL;
	size_t runs = 0, cap = 0;

	for (size_t i = 1; i <= n; i++) {
		if (i < n && a[i - 1].key <= a[i].key)
			continue;
		ends = grow(ends, runs, &cap, sizeof(*ends));
		ends[runs++] = i;
	}
	if (runs < 2)
		return;
	spare = xrealloc(NULL, n, sizeof(*spare));
	/* Neighbours are merged pairwise until one run is left. */
	while (runs > 1) {
		size_t lo = 0, kept = 0;

		for (size_t r = 0; r < runs; r += 2) {
			size_t hi = ends[r + 1 < runs ? r + 1 : r];

			merge(a, lo, ends[r], hi, spare);
			ends[kept++] = hi;
			lo = hi;
		}
		runs = kept;
	}
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
