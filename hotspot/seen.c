// SPDX-License-Identifier: Apache-2.0
#include "hotspot/seen.h"

/* Where it is, or would be. */
static uint32_t place_of(const struct hs_named *n, uint64_t print)
{
	uint32_t i = (uint32_t)(print % HS_NAMED_SLOTS);

	while (n->slot[i] && n->slot[i] != print)
		i = (i + 1) % HS_NAMED_SLOTS;
	return i;
}

void hs_named_add(struct hs_named *n, uint64_t print)
{
	uint32_t i = place_of(n, print);

	if (print == 0 || n->slot[i] || n->count == HS_NAMED_MAX)
		return;
	n->slot[i] = print;
	n->count++;
}

bool hs_named_has(const struct hs_named *n, uint64_t print)
{
	return print && n->slot[place_of(n, print)];
}

void hs_named_forget(struct hs_named *n)
{
	if (n->count > 0)
		__builtin_memset(n, 0, sizeof(*n));
}
