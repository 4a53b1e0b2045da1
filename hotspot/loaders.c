// SPDX-License-Identifier: Apache-2.0
#include "hotspot/loaders.h"

#include "hotspot/name.h"

/* So many loaders in a row whose first class has the name it had: those behind them are older, and
 * need no proof. */
#define PROOF 8

void hs_loaders_begin(struct hs *hs, struct hs_loaders *l)
{
	l->count[!l->turn] = 0;
	l->passed = 0;
	l->kept = 0;
	l->proof = 0;
	l->gathered = 0;
	hs->mem.pieces.count = 0;
}

/* The place in the last list, behind those that have been passed; its end: there is none. */
static uint32_t place_of(const struct hs_loaders *l, uint64_t loader)
{
	const uint64_t *list = l->loader[l->turn];
	uint32_t i = l->passed;

	while (i < l->count[l->turn] && list[i] != loader)
		i++;
	return i;
}

/* The fields that tell a loader's classes and the next loader, of those in the last list from a
 * place on. */
static void gather(struct hs *hs, struct hs_loaders *l, uint32_t from)
{
	uint64_t klasses = hs->tables.field[HS_LOADER_KLASSES].place;
	uint64_t next = hs->tables.field[HS_LOADER_NEXT].place;
	uint64_t first = klasses < next ? klasses : next;
	struct hs_pieces *p = &hs->mem.pieces;
	size_t most = p->count ? 4 * p->count : 2 * PROOF; /* mostly no more are asked for */

	l->gathered = from;
	for (p->count = 0; p->count < HS_PIECES && p->count < most && from < l->count[l->turn];
	     from++)
		p->at[p->count++] = l->loader[l->turn][from] + first;
	hs_mem_gather(&hs->mem, (klasses < next ? next : klasses) - first + 8);
}

void hs_loaders_show(struct hs *hs, struct hs_loaders *l, uint64_t loader)
{
	uint32_t i = place_of(l, loader);

	if (i == l->count[l->turn])
		return;
	if (i < l->gathered || i - l->gathered >= hs->mem.pieces.count)
		gather(hs, l, i);
	hs_mem_show(&hs->mem, i - l->gathered);
}

/* Whether what was known of a loader is not of another one that was given the memory of both it and
 * its first class. */
static bool is_proved(struct hs *hs, struct hs_loaders *l, const struct hs_loader *known,
		      uint64_t klass)
{
	if (klass == 0 || known->klass != klass || l->proof == PROOF)
		return true;
	if (known->print != hs_name_hash(hs, klass))
		return l->proof = 0, false;
	l->proof++;
	return true;
}

struct hs_loader *hs_loaders_find(struct hs *hs, struct hs_loaders *l, uint64_t loader,
				  uint64_t klass)
{
	uint32_t old = place_of(l, loader), now = l->count[!l->turn];
	struct hs_loader *ret = &l->known[!l->turn][now];

	if (now == HS_LOADERS_MAX)
		return NULL;
	l->count[!l->turn]++;
	l->loader[!l->turn][now] = loader;
	*ret = (struct hs_loader){0};
	if (old < l->count[l->turn] && is_proved(hs, l, &l->known[l->turn][old], klass)) {
		*ret = l->known[l->turn][old];
		l->passed = old + 1;
		l->kept++;
	}
	return ret;
}

bool hs_loaders_rest(struct hs_loaders *l)
{
	uint32_t *now = &l->count[!l->turn], left = l->count[l->turn] - l->passed;

	if (l->proof < PROOF || left > HS_LOADERS_MAX - *now)
		return false;
	__builtin_memcpy(&l->loader[!l->turn][*now], &l->loader[l->turn][l->passed],
			 left * sizeof(l->loader[0][0]));
	__builtin_memcpy(&l->known[!l->turn][*now], &l->known[l->turn][l->passed],
			 left * sizeof(l->known[0][0]));
	*now += left;
	l->kept += left;
	l->passed += left;
	return true;
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
	l->turn = !l->turn;
}

void hs_loaders_forget(struct hs_loaders *l)
{
	l->count[0] = 0;
	l->count[1] = 0;
}
