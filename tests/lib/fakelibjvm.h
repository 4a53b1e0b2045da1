/* SPDX-License-Identifier: Apache-2.0 */
/* The head of an ELF file that makes hsimage.h's HotSpot a library libjvm.so. Without headers for
 * files: the agent's tests have the kernel's. */
#ifndef DFG_LIB_FAKELIBJVM_H
#define DFG_LIB_FAKELIBJVM_H

#include <elf.h>
#include <stddef.h>

#include "lib/hsimage.h"

/* The ELF file's head is before the image: headers, dynamic section, symbols, names, hash table. */
#define FAKEJVM_HEAD 65536u

struct fakejvm_head {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[2];
	Elf64_Dyn dynamic[5];
	Elf64_Sym symbols[17];
	uint32_t hash[2 + 1 + 17];
	char names[1024];
};

/* The symbols are those of the image, in one chain of DT_HASH. */
static inline void fakejvm_head_make(const struct image *im, struct fakejvm_head *h)
{
	size_t used = 1, at = offsetof(struct fakejvm_head, dynamic);

	*h = (struct fakejvm_head){0};
	h->eh = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
			     .e_phoff = offsetof(struct fakejvm_head, ph),
			     .e_phentsize = sizeof(*h->ph),
			     .e_phnum = 2};
	h->ph[0] = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_memsz = FAKEJVM_HEAD + IMAGE_BYTES};
	h->ph[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC, .p_vaddr = at};
	h->dynamic[0] = (Elf64_Dyn){DT_SYMTAB, {offsetof(struct fakejvm_head, symbols)}};
	h->dynamic[1] = (Elf64_Dyn){DT_STRTAB, {offsetof(struct fakejvm_head, names)}};
	h->dynamic[2] = (Elf64_Dyn){DT_STRSZ, {sizeof(h->names)}};
	h->dynamic[3] = (Elf64_Dyn){DT_HASH, {offsetof(struct fakejvm_head, hash)}};
	h->hash[0] = 1;
	h->hash[1] = im->symbols + 1;
	h->hash[2] = 1;
	for (unsigned i = 0; i < im->symbols; i++) {
		h->symbols[i + 1] =
			(Elf64_Sym){.st_name = (uint32_t)used,
				    .st_shndx = 1,
				    .st_value = im->symbol[i].addr - IMAGE_BASE + FAKEJVM_HEAD};
		h->hash[3 + i + 1] = i + 1 < im->symbols ? i + 2 : 0;
		strcpy(h->names + used, im->symbol[i].name);
		used += strlen(im->symbol[i].name) + 1;
	}
}

#endif
