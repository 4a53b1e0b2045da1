// SPDX-License-Identifier: Apache-2.0
#include "hotspot/flags.h"

#define FLAGS_MAX  8192u
#define NAME_MAX   96u
#define STRIDE_MAX 256u

struct flags {
	uint64_t array, count, stride, name, addr;
};

static bool text_is(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static bool flags_read(struct hs *hs, struct flags *f)
{
	bool old = !hs_has(hs, HS_FLAGS);
	enum hs_field_id array = old ? HS_FLAGS_8 : HS_FLAGS;
	enum hs_field_id count = old ? HS_FLAG_COUNT_8 : HS_FLAG_COUNT;
	enum hs_field_id name = old ? HS_FLAG_NAME_8 : HS_FLAG_NAME;
	enum hs_field_id addr = old ? HS_FLAG_ADDR_8 : HS_FLAG_ADDR;

	/* numFlags has a type, size_t, that not every release lists. */
	if (!hs_has(hs, name) || !hs_has(hs, addr) || !hs_has(hs, count) ||
	    !hs_get(hs, 0, array, &f->array) || f->array == 0 ||
	    !hs_mem_ptr(&hs->mem, hs_inside(hs, 0, count), &f->count) || f->count > FLAGS_MAX)
		return false;
	f->stride = hs->tables.size[old ? HS_TYPE_FLAG_8 : HS_TYPE_FLAG];
	f->name = hs->tables.field[name].place;
	f->addr = hs->tables.field[addr].place;
	return f->stride > 0 && f->stride <= STRIDE_MAX;
}

bool hs_flag(struct hs *hs, const char *name, uint64_t *ret_addr, uint8_t *ret_value)
{
	char text[NAME_MAX];
	struct flags f;

	if (!flags_read(hs, &f))
		return false;
	for (uint64_t i = 0; i < f.count; i++) {
		uint64_t flag = f.array + i * f.stride, at;

		/* The last one of the table has no name. */
		if (!hs_mem_ptr(&hs->mem, flag + f.name, &at) || at == 0 ||
		    hs_mem_text(&hs->mem, at, text, sizeof(text)) <= 0 || !text_is(text, name))
			continue;
		if (!hs_mem_ptr(&hs->mem, flag + f.addr, &at) || at == 0 ||
		    !hs_mem_read(&hs->mem, at, ret_value, 1))
			return false;
		*ret_addr = at;
		return true;
	}
	return false;
}

bool hs_find_flag(const struct hs_source *source, void *work, const char *name, uint64_t *ret_addr,
		  uint8_t *ret_value)
{
	struct hs *hs = work;

	_Static_assert(sizeof(*hs) <= HS_WORK_BYTES, "the work memory holds a reader");
	hs_mem_init(&hs->mem, source, NULL, 0);
	return hs_tables_read(hs) && hs_flag(hs, name, ret_addr, ret_value);
}
