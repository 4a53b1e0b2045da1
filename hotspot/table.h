/* SPDX-License-Identifier: Apache-2.0 */
/* Hash table with open addressing: slots of 64 bits, of which `mask` selects the key; a slot of 0
 * is empty. The caller limits how many slots are filled. */
#ifndef HS_TABLE_H
#define HS_TABLE_H

#include <stdint.h>

#define HS_HASH 0x9e3779b97f4a7c15ull

/* Hashes the numbers into one; not 0. */
static inline uint64_t hs_hash(const uint64_t *numbers, unsigned count)
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < count; i++) {
		hash = (hash ^ numbers[i]) * HS_HASH;
		hash ^= hash >> 32;
	}
	return hash ? hash : 1;
}

/* Finds the slot of a key, else the empty slot where it belongs. `slots` is a power of two, and at
 * least one slot is empty. */
static inline uint32_t hs_table_find(const uint64_t *slot, uint32_t slots, uint64_t mask,
				     uint64_t key)
{
	uint32_t i = (uint32_t)(key * HS_HASH >> 32) & (slots - 1);

	while (slot[i] && (slot[i] & mask) != key)
		i = (i + 1) & (slots - 1);
	return i;
}

#endif
