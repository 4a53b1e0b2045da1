/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DFG_CALLTREE_MIX_H
#define DFG_CALLTREE_MIX_H

#include <stdint.h>

/* Spreads the bits of a key over a hash. */
static inline uint64_t mix(uint64_t h)
{
	h ^= h >> 32;
	h *= 0x9e3779b97f4a7c15ull;
	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9ull;
	return h ^ (h >> 32);
}

#endif
