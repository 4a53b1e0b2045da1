// SPDX-License-Identifier: Apache-2.0
#include "common/str.h"
#include "dfg/request.h"
#include "jit/snapfile_inside.h"

#define STUBS_MAX (1u << 16) /* a JVM has 200 */

void snapfile_add_stub(struct snapfile *sf, struct bytes b)
{
	const struct snap_stub *t = (const void *)bytes_take(&b, sizeof(*t));

	if (!t || !t->size || t->start + t->size < t->start || !t->name_len ||
	    t->name_len > b.len || t->name_len > DFG_NAME_MAX || sf->stub_count == STUBS_MAX)
		return;
	sf->stubs = grow(sf->stubs, sf->stub_count, &sf->stub_cap, sizeof(*sf->stubs));
	sf->stubs[sf->stub_count++] = (struct snapfile_stub){.start = t->start,
							     .end = t->start + t->size,
							     .name = (const char *)b.p,
							     .name_len = t->name_len};
}

static int by_start(const void *a, const void *b)
{
	const struct snapfile_stub *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Those written again, by a later whole snapshot, are the same. */
void snapfile_sort_stubs(struct snapfile *sf)
{
	size_t kept = 0;

	if (sf->stub_count)
		qsort(sf->stubs, sf->stub_count, sizeof(*sf->stubs), by_start);
	for (size_t i = 0; i < sf->stub_count; i++)
		if (!kept || sf->stubs[kept - 1].start != sf->stubs[i].start)
			sf->stubs[kept++] = sf->stubs[i];
	sf->stub_count = kept;
}

const struct snapfile_stub *snapfile_stub(const struct snapfile *sf, uint64_t addr)
{
	size_t low = 0, high = sf->stub_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sf->stubs[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && addr < sf->stubs[low - 1].end ? &sf->stubs[low - 1] : NULL;
}
