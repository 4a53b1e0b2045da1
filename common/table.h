/* SPDX-License-Identifier: Apache-2.0 */
/* The one hash index, sort and binary search of the tree. */
#ifndef DFG_COMMON_TABLE_H
#define DFG_COMMON_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- hash index ---------------------------------------------------------------------------- */

/* Hash index over an array that the caller owns: finds elements by the hash of their key. Entries
 * are never removed. All zero: empty.
 *
 *	for (struct hash_probe p = {.hash = h}; hash_next(&t, &p);)
 *		if (list[p.index].key == key)
 *			return p.index;
 *	hash_add(&t, h, count);
 */
struct hash_table {
	struct hash_slot {
		uint32_t hash;
		uint32_t number; /* index + 1, 0: empty */
	} * slots;
	size_t mask, count;
};

/* Search for the elements of a hash. Only `hash` is set by the caller. */
struct hash_probe {
	uint64_t hash;
	uint32_t index; /* of the element to compare */
	uint32_t step;
};

void hash_fini(struct hash_table *t);

static inline void cleanup_hash_fini(struct hash_table *t)
{
	hash_fini(t);
}

/* Adds element `index`. */
void hash_add(struct hash_table *t, uint64_t hash, uint32_t index);

/* Finds the next element of this hash. False: there is none. */
static inline bool hash_next(const struct hash_table *t, struct hash_probe *p)
{
	while (t->slots) {
		const struct hash_slot *slot = &t->slots[((uint32_t)p->hash + p->step++) & t->mask];

		if (!slot->number)
			return false;
		p->index = slot->number - 1;
		if (slot->hash == (uint32_t)p->hash)
			return true;
	}
	return false;
}

/* Prefetches the slot where the search for a hash begins. */
static inline void hash_prefetch(const struct hash_table *t, uint64_t hash)
{
	if (t->slots)
		__builtin_prefetch(&t->slots[(uint32_t)hash & t->mask]);
}

/* Spreads the bits of a number. */
static inline uint64_t hash_mix(uint64_t h)
{
	h ^= h >> 32;
	h *= 0x9e3779b97f4a7c15ull;
	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9ull;
	return h ^ (h >> 32);
}

/* Hash of bytes; `seed` takes in what else makes the key. */
uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t len);

/* ---- sorted arrays ------------------------------------------------------------------------- */

/* Counts the elements with a key <= `key` of a sorted array: the last of them is at the result - 1.
 * `first` is the key of the first element, `size` the size of an element. */
static inline size_t upper_bound(const uint64_t *first, size_t n, size_t size, uint64_t key)
{
	const char *at = (const char *)first;
	size_t lo = 0;

	while (n) {
		size_t half = n / 2;

		if (*(const uint64_t *)(const void *)(at + (lo + half) * size) <= key) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return lo;
}

/* A key and what it stands for. */
struct keyed {
	uint64_t key;
	uint64_t value;
};

/* Sorts by key, stable. What is sorted already, such as kallsyms, is only scanned. */
void keyed_sort(struct keyed *a, size_t n);

static inline size_t keyed_upper(const struct keyed *a, size_t n, uint64_t key)
{
	return n ? upper_bound(&a->key, n, sizeof(*a), key) : 0;
}

#endif
