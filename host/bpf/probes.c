// SPDX-License-Identifier: Apache-2.0
#include "bpf/probes.h"

#include <string.h>

#include "common/str.h"
#include "elf/elf_tables.h"
#include "elf/elfparts.h"

#define LONGEST 4 /* bytes of an endbr64, or of an instruction of arm64 */

/* Mangled names up to the parameters, which differ from release to release (allocTracer.hpp,
 * g1CollectedHeap.hpp). */
static const char *const names[FLAT_PROBE_COUNT] = {
	[FLAT_PROBE_TLAB] = "_ZN11AllocTracer27send_allocation_in_new_tlabE",
	[FLAT_PROBE_OUTSIDE] = "_ZN11AllocTracer28send_allocation_outside_tlabE",
	[FLAT_PROBE_HUMONGOUS] = "_ZN15G1CollectedHeap22humongous_obj_allocateE",
};

/* The offset in the file of an address as linked; 0: it is not in it. */
static uint64_t offset_of(const struct elfsegs *s, uint64_t addr)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct elfseg *seg = &s->list[i];

		if (seg->exec && addr >= seg->vaddr && addr - seg->vaddr < seg->size)
			return seg->offset + (addr - seg->vaddr);
	}
	return 0;
}

/* The first instruction from `offset` on that the kernel emulates (arch/x86/kernel/uprobes.c, Linux
 * 4.20): `push rbp` and the like, and nop, after an endbr64. Others are executed step by step,
 * which takes ten times as long. 0: there is none. */
static uint64_t cheap_place(Elf *elf, uint64_t offset)
{
	size_t size = 0;
	const uint8_t *file = (const void *)elf_rawfile(elf, &size);

	if (!file || size < LONGEST || offset >= size - LONGEST)
		return 0;
#if defined(__x86_64__)
	if (memcmp(file + offset, "\xf3\x0f\x1e\xfa", 4) == 0) /* endbr64 */
		offset += 4;
	return (file[offset] >= 0x50 && file[offset] <= 0x57) || file[offset] == 0x90 ? offset : 0;
#else
	return offset;
#endif
}

static void find(Elf *elf, struct flat_probes *ret)
{
	struct elffuncs funcs = {0};
	struct elfparts parts = {0};
	struct elfsegs segs = {0};

	elfparts_find(elf, &parts);
	elfparts_symtab(&parts, &funcs);
	elfsegs_read(elf, &segs);
	for (size_t i = 0; i < funcs.count; i++)
		for (unsigned k = 0; k < FLAT_PROBE_COUNT; k++) {
			uint64_t at;

			/* Parts of a function have a name with a '.'. */
			if (!has_prefix(funcs.list[i].name, names[k]) ||
			    strchr(funcs.list[i].name, '.'))
				continue;
			at = offset_of(&segs, funcs.list[i].start);
			ret->offset[k] = at ? cheap_place(elf, at) : 0;
		}
	elfsegs_fini(&segs);
	free(funcs.list);
}

void flat_find_probes(int fd, struct flat_probes *ret)
{
	Elf *elf;

	*ret = (struct flat_probes){0};
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return;
	find(elf, ret);
	elf_end(elf);
}
