// SPDX-License-Identifier: Apache-2.0
#include "jit/codelist.h"

#include "elf/names.h"
#include "jit/ordset.h"
#include "jit/snapfile_inside.h"

static int by_start(const void *a, const void *b)
{
	const struct snapfile_code *x = *(const struct snapfile_code *const *)a;
	const struct snapfile_code *y = *(const struct snapfile_code *const *)b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

struct rank {
	uint32_t gone, place; /* in the order of addresses */
};

/* The last to go first. */
static int by_gone(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->gone != y->gone)
		return x->gone > y->gone ? -1 : 1;
	return (x->place < y->place) - (x->place > y->place);
}

static const struct snapfile_code **list_codes(const struct snapfile *sf, size_t *ret_count)
{
	const struct snapfile_code **list = xcalloc(sf->code_count + 1, sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < sf->code_count; i++)
		if (sf->codes[i].first < sf->codes[i].gone)
			list[n++] = &sf->codes[i];
	qsort(list, n, sizeof(*list), by_start);
	*ret_count = n;
	return list;
}

/* Whether nothing that is kept has a byte of it: kept ones do not overlap, so the neighbours tell.
 */
static bool is_free(const struct ordset *kept, const struct snapfile_code **list, size_t place)
{
	size_t before = ordset_before(kept, place), next = ordset_next(kept, place);

	return (before == ORDSET_NONE || list[before]->end <= list[place]->start) &&
	       (next == ORDSET_NONE || list[next]->start >= list[place]->end);
}

static void keep_last(struct ordset *kept, const struct snapfile_code **list, size_t count)
{
	CLEANUP(free) struct rank *ranks = xcalloc(count + 1, sizeof(*ranks));

	for (size_t i = 0; i < count; i++)
		ranks[i] = (struct rank){.gone = list[i]->gone, .place = (uint32_t)i};
	qsort(ranks, count, sizeof(*ranks), by_gone);
	for (size_t i = 0; i < count; i++)
		if (is_free(kept, list, ranks[i].place))
			ordset_add(kept, ranks[i].place);
}

static void add_line(struct str *out, uint64_t start, uint64_t end, const char *name, size_t len)
{
	if (start == end)
		return;
	str_addf(out, "%llx %llx ", (unsigned long long)start, (unsigned long long)(end - start));
	symname_add_clean(out, name, len);
	str_addc(out, '\n');
}

/* A method; or a blob with its stubs, in whose name is what lies between them. */
static void add_lines(struct str *out, const struct snapfile *sf, const struct snapfile_code *c)
{
	struct snapfile_method m = {.name = c->name, .name_len = c->record->name_len};
	uint64_t at = c->start;
	bool is_method = snapfile_code_method(c, &m);

	for (size_t i = 0; !is_method && i < sf->stub_count; i++) {
		const struct snapfile_stub *stub = &sf->stubs[i];

		if (stub->start < at || stub->end > c->end)
			continue;
		add_line(out, at, stub->start, m.name, m.name_len);
		add_line(out, stub->start, stub->end, stub->name, stub->name_len);
		at = stub->end;
	}
	add_line(out, at, c->end, m.name, m.name_len);
}

void codelist_text(const struct snapfile *sf, struct str *ret)
{
	size_t count;
	CLEANUP(free) const struct snapfile_code **list = list_codes(sf, &count);
	CLEANUP(ordset_fini) struct ordset kept = {0};

	ordset_init(&kept, count + 1);
	keep_last(&kept, list, count);
	for (size_t i = ordset_next(&kept, 0); i != ORDSET_NONE; i = ordset_next(&kept, i + 1))
		add_lines(ret, sf, list[i]);
}
