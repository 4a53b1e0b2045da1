// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_tables.h"

#include <dwarf.h>

#include "common/str.h"

#define SEGMENTS_MAX 256
#define PAGE	     4096u
#define ROW	     8 /* address and position of the description: 4 bytes each, section-relative */

void elfsegs_read(Elf *elf, struct elfsegs *ret)
{
	GElf_Phdr ph;
	size_t n = 0;

	if (elf_getphdrnum(elf, &n) != 0)
		return;
	for (size_t i = 0; i < n && i < SEGMENTS_MAX; i++) {
		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD)
			continue;
		ret->list = grow(ret->list, ret->count, &ret->cap, sizeof(*ret->list));
		ret->list[ret->count++] = (struct elfseg){.offset = ph.p_offset,
							  .size = ph.p_filesz,
							  .vaddr = ph.p_vaddr,
							  .exec = ph.p_flags & PF_X};
	}
}

void elfsegs_fini(struct elfsegs *s)
{
	free(s->list);
	*s = (struct elfsegs){0};
}

/* Mappings begin at a page boundary: bytes before a segment on its first page belong to it if the
 * segment is executable. */
bool elfsegs_address(const struct elfsegs *s, uint64_t offset, uint64_t *ret)
{
	for (int exec = 1; exec >= 0; exec--)
		for (size_t i = 0; i < s->count; i++) {
			const struct elfseg *g = &s->list[i];
			uint64_t before = exec ? g->offset & (PAGE - 1) : 0;

			if (g->exec != exec || offset < g->offset - before ||
			    (offset >= g->offset && offset - g->offset >= g->size))
				continue;
			*ret = g->vaddr + (offset - g->offset);
			return true;
		}
	return false;
}

/* Accepts the only encoding that linkers write. */
static bool read_rows(struct bytes b, struct ehtable *ret)
{
	uint8_t version = bytes_u8(&b), frame = bytes_u8(&b), count = bytes_u8(&b),
		rows = bytes_u8(&b);

	bytes_u32(&b); /* address of .eh_frame */
	ret->count = bytes_u32(&b);
	ret->rows = b.p;
	return !b.bad && version == 1 && (frame & 0x0f) == DW_EH_PE_sdata4 &&
	       count == DW_EH_PE_udata4 && rows == (DW_EH_PE_datarel | DW_EH_PE_sdata4) &&
	       ret->count <= b.len / ROW;
}

void ehtable_read(Elf *elf, struct ehtable *ret)
{
	size_t n = 0, size = 0;
	const char *file = elf_rawfile(elf, &size);
	GElf_Phdr ph;

	*ret = (struct ehtable){0};
	if (!file || elf_getphdrnum(elf, &n) != 0)
		return;
	for (size_t i = 0; i < n && i < SEGMENTS_MAX; i++) {
		struct ehtable t = {.file = bytes_of(file, size)};
		struct bytes table = t.file;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_GNU_EH_FRAME)
			continue;
		bytes_take(&table, ph.p_offset);
		t.addr = ph.p_vaddr;
		t.offset = ph.p_offset;
		if (read_rows(bytes_sub(&table, ph.p_filesz), &t))
			*ret = t;
		return;
	}
}

static int64_t row_word(const struct ehtable *t, uint64_t i, size_t word)
{
	struct bytes b = bytes_of(t->rows + i * ROW + word * 4, 4);

	return (int32_t)bytes_u32(&b);
}

uint64_t ehtable_start(const struct ehtable *t, uint64_t i)
{
	return t->addr + (uint64_t)row_word(t, i, 0);
}

uint64_t ehtable_entry(const struct ehtable *t, uint64_t i)
{
	return t->offset + (uint64_t)row_word(t, i, 1);
}

/* Reads the function's length from its FDE. The CIE defines how addresses are encoded; compilers
 * use 4 bytes relative to the field, which is checked: the FDE must give the same start as the row.
 */
static uint32_t length_of(const struct ehtable *t, uint64_t i)
{
	uint64_t from = (uint64_t)row_word(t, i, 1);
	struct bytes b = t->file;
	int64_t begin;
	uint32_t len;

	bytes_take(&b, t->offset + from);
	bytes_take(&b, 8); /* length of the FDE, and offset of its CIE */
	begin = (int32_t)bytes_u32(&b);
	len = bytes_u32(&b);
	return !b.bad && t->addr + from + 8 + (uint64_t)begin == ehtable_start(t, i) ? len : 0;
}

bool ehtable_find(const struct ehtable *t, uint64_t addr, uint64_t *ret_start)
{
	uint64_t lo = 0, n = t->count;

	while (n) {
		uint64_t half = n / 2;

		if (ehtable_start(t, lo + half) <= addr) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	if (!lo || addr - ehtable_start(t, lo - 1) >= length_of(t, lo - 1))
		return false;
	*ret_start = ehtable_start(t, lo - 1);
	return true;
}
