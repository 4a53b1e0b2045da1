// SPDX-License-Identifier: Apache-2.0
#include "ehtable.h"

#include <dwarf.h>

#include "dfg/bytes.h"

#define HEADERS_MAX 256
#define ROW	    8 /* address and place of the description, both 4 bytes from the section's start */

/* The only form that linkers write. */
static bool read_rows(struct bytes b, struct ehtable *ret)
{
	uint8_t version = bytes_u8(&b), frame = bytes_u8(&b), count = bytes_u8(&b),
		rows = bytes_u8(&b);

	bytes_u32(&b); /* the place of .eh_frame */
	ret->count = bytes_u32(&b);
	ret->rows = b.p;
	return !b.bad && version == 1 && (frame & 0x0f) == DW_EH_PE_sdata4 &&
	       count == DW_EH_PE_udata4 && rows == (DW_EH_PE_datarel | DW_EH_PE_sdata4) &&
	       ret->count <= b.len / ROW;
}

void ehtable_read(Elf *elf, struct ehtable *ret)
{
	size_t n = 0;
	GElf_Phdr ph;

	*ret = (struct ehtable){0};
	if (elf_getphdrnum(elf, &n) != 0)
		return;
	for (size_t i = 0; i < n && i < HEADERS_MAX; i++) {
		struct ehtable t = {0};
		Elf_Data *d;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_GNU_EH_FRAME)
			continue;
		d = elf_getdata_rawchunk(elf, (int64_t)ph.p_offset, ph.p_filesz, ELF_T_BYTE);
		t.addr = ph.p_vaddr;
		if (d && d->d_buf && read_rows(bytes_of(d->d_buf, d->d_size), &t))
			*ret = t;
		return;
	}
}

static uint64_t start_of(const struct ehtable *t, uint64_t i)
{
	struct bytes b = bytes_of(t->rows + i * ROW, ROW);

	return t->addr + (uint64_t)(int64_t)(int32_t)bytes_u32(&b);
}

bool ehtable_find(const struct ehtable *t, uint64_t addr, uint64_t *ret_start)
{
	uint64_t lo = 0, n = t->count;

	while (n) {
		uint64_t half = n / 2;

		if (start_of(t, lo + half) <= addr) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	if (lo)
		*ret_start = start_of(t, lo - 1);
	return lo > 0 && *ret_start <= addr;
}
