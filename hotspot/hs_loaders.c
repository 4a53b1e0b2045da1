// SPDX-License-Identifier: Apache-2.0
#include "hs_loaders.h"

#include "hs_name.h"

static void clear(struct hs_loaders *l, unsigned which)
{
	if (l->count[which] > 0)
		__builtin_memset(l->slot[which], 0, sizeof(l->slot[which]));
	l->count[which] = 0;
}

/* Where the loader is, or would be. */
static struct hs_loader *place_of(struct hs_loader *slot, uint64_t loader)
{
	uint32_t i = (uint32_t)(((loader >> 3) * 0x9e3779b97f4a7c15ull) >> 50);

	while (slot[i].loader && slot[i].loader != loader)
		i = (i + 1) % HS_LOADERS_SLOTS;
	return &slot[i];
}

_Static_assert(HS_LOADERS_SLOTS == 1u << (64 - 50), "the hash has as many bits as there are slots");

struct hs_loader *hs_loaders_find(struct hs *hs, struct hs_loaders *l, uint64_t loader,
				  uint64_t klass)
{
	struct hs_loader *old = place_of(l->slot[l->turn], loader);
	struct hs_loader *now = place_of(l->slot[!l->turn], loader);

	if (now->loader)
		return now;
	if (l->count[!l->turn] == HS_LOADERS_MAX)
		return NULL;
	l->count[!l->turn]++;
	*now = *old;
	now->loader = loader;
	/* Another one that was given the memory of both. */
	if (klass && now->klass == klass && now->print != hs_name_hash(hs, klass))
		now->klass = 0;
	else
		l->kept += old->loader != 0;
	return now;
}

void hs_loaders_seen(struct hs *hs, struct hs_loader *loader, uint64_t klass)
{
	if (loader->klass == klass)
		return;
	loader->klass = klass;
	loader->print = hs_name_hash(hs, klass);
}

bool hs_loaders_due(struct hs_loaders *l, uint64_t now)
{
	l->gone |= l->kept < l->count[l->turn];
	return l->gone && now - l->listed >= HS_LOADERS_LIST_NS;
}

void hs_loaders_listed(struct hs_loaders *l, uint64_t now)
{
	l->gone = false;
	l->listed = now;
}

void hs_loaders_commit(struct hs_loaders *l)
{
	clear(l, l->turn);
	l->turn = !l->turn;
	l->kept = 0;
}

void hs_loaders_forget(struct hs_loaders *l)
{
	clear(l, 0);
	clear(l, 1);
	l->kept = 0;
}
