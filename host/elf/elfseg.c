// SPDX-License-Identifier: Apache-2.0
#include "elf/elfseg.h"

#include "common/str.h"

#define SEGMENTS_MAX 256
#define PAGE	     4096u

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

/* A mapping begins at a page: bytes before a segment on its first page belong to it, if it is the
 * one with code. */
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
