// SPDX-License-Identifier: Apache-2.0
#include "hotspot/seen.h"

#include <stddef.h>

#include "hotspot/table.h"

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

void hs_written_add(struct hs_written *w, uint64_t fingerprint)
{
	uint32_t i = hs_table_find(w->slot, HS_WRITTEN_SLOTS, ~0ull, fingerprint);

	if (fingerprint == 0 || w->slot[i] || w->count == HS_WRITTEN_MAX)
		return;
	w->slot[i] = fingerprint;
	w->count++;
}

bool hs_written_has(const struct hs_written *w, uint64_t fingerprint)
{
	return fingerprint && w->slot[hs_table_find(w->slot, HS_WRITTEN_SLOTS, ~0ull, fingerprint)];
}

void hs_written_reset(struct hs_written *w)
{
	if (w->count > 0)
		__builtin_memset(w, 0, sizeof(*w));
}
