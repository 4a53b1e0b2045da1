// SPDX-License-Identifier: Apache-2.0
#include "common/table.h"

#include "common/str.h"

#define SLOTS_MIN 64

static void insert(struct hash_table *t, struct hash_slot new)
{
	size_t i = new.hash & t->mask;

	while (t->slots[i].number)
		i = (i + 1) & t->mask;
	t->slots[i] = new;
}

static void hash_grow(struct hash_table *t)
{
	struct hash_table old = *t;

	t->mask = old.slots ? old.mask * 2 + 1 : SLOTS_MIN - 1;
	t->slots = xcalloc(t->mask + 1, sizeof(*t->slots));
	for (size_t i = 0; old.slots && i <= old.mask; i++)
		if (old.slots[i].number)
			insert(t, old.slots[i]);
	free(old.slots);
}

void hash_add(struct hash_table *t, uint64_t hash, uint32_t index)
{
	if (++t->count > t->mask / 2)
		hash_grow(t);
	insert(t, (struct hash_slot){.hash = (uint32_t)hash, .number = index + 1});
}

void hash_fini(struct hash_table *t)
{
	free(t->slots);
	*t = (struct hash_table){0};
}

uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t len)
{
	const char *at = bytes;
	uint64_t h = hash_mix(seed ^ len), word;

	for (; len >= sizeof(word); len -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		h = hash_mix(h ^ word);
	}
	word = 0;
	memcpy(&word, at, len);
	return hash_mix(h ^ word);
}

/* Finds the bits in which keys differ; 0: they are sorted. */
static uint64_t unsorted_bits(const struct keyed *a, size_t n)
{
	uint64_t bits = 0;
	bool sorted = true;

	for (size_t i = 1; i < n; i++) {
		bits |= a[i].key ^ a[0].key;
		sorted = sorted && a[i - 1].key <= a[i].key;
	}
	return sorted ? 0 : bits;
}

/* Distributes elements by one byte of the key, stable. */
static void distribute(const struct keyed *a, size_t n, unsigned shift, struct keyed *to)
{
	size_t start[257] = {0};

	for (size_t i = 0; i < n; i++)
		start[(a[i].key >> shift & 0xff) + 1]++;
	for (unsigned i = 1; i < 256; i++)
		start[i] += start[i - 1];
	for (size_t i = 0; i < n; i++)
		to[start[a[i].key >> shift & 0xff]++] = a[i];
}

/* Sorts by bytes of the keys, lowest first (LSD radix sort). */
void keyed_sort(struct keyed *a, size_t n)
{
	uint64_t bits = unsorted_bits(a, n);
	CLEANUP(free) struct keyed *spare = bits ? xrealloc(NULL, n, sizeof(*spare)) : NULL;
	struct keyed *from = a, *to = spare;

	for (unsigned shift = 0; shift < 64; shift += 8) {
		struct keyed *done = to;

		if (!(bits >> shift & 0xff))
			continue;
		distribute(from, n, shift, to);
		to = from;
		from = done;
	}
	if (from != a)
		memcpy(a, from, n * sizeof(*a));
}
