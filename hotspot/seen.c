// SPDX-License-Identifier: Apache-2.0
#include "hotspot/seen.h"

#include <stddef.h>

#include "hotspot/table.h"

#define HS_WRITTEN_LEAST 1024u /* slots of the first table */

void hs_methods_init(struct hs_methods *m)
{
	m->count = 0;
	__builtin_memset(m->slot, 0, sizeof(m->slot));
}

uint64_t *hs_methods_add(struct hs_methods *m, uint64_t method)
{
	uint32_t i;

	/* Method is aligned to words. */
	if (method == 0 || (method & 7) != 0)
		return NULL;
	i = hs_table_find(m->slot, HS_METHODS_SLOTS, ~7ull, method);
	if (!m->slot[i]) {
		if (m->count == HS_METHODS_MAX)
			return NULL;
		m->order[m->count++] = i;
		m->slot[i] = method;
	}
	return &m->slot[i];
}

/* Moves the set into the next table, which is empty. */
static void written_grow(struct hs_written *w)
{
	const uint32_t size = w->size;

	w->size = size ? 2 * size : HS_WRITTEN_LEAST;
	w->count = 0;
	for (uint32_t i = size; i < 2 * size; i++)
		hs_written_add(w, w->slot[i]);
}

void hs_written_add(struct hs_written *w, uint64_t fingerprint)
{
	uint64_t *slot;

	if (fingerprint == 0 || w->count == HS_WRITTEN_MAX)
		return;
	if (w->count == w->size / 4 * 3)
		written_grow(w);
	slot = w->slot + w->size;
	slot += hs_table_find(slot, w->size, ~0ull, fingerprint);
	w->count += !*slot;
	*slot = fingerprint;
}

bool hs_written_has(const struct hs_written *w, uint64_t fingerprint)
{
	const uint64_t *slot = w->slot + w->size;

	return fingerprint && w->size && slot[hs_table_find(slot, w->size, ~0ull, fingerprint)];
}

void hs_written_reset(struct hs_written *w)
{
	__builtin_memset(w->slot, 0, 2 * w->size * sizeof(*w->slot));
	w->count = w->size = 0;
}
