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

static int compare_keyed(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;
	int order = (x->key > y->key) - (x->key < y->key);

	return order ? order : (x->value > y->value) - (x->value < y->value);
}

void keyed_sort(struct keyed *a, size_t n)
{
	size_t sorted = 1;

	while (sorted < n && compare_keyed(&a[sorted - 1], &a[sorted]) <= 0)
		sorted++;
	if (sorted < n)
		qsort(a, n, sizeof(*a), compare_keyed);
}
