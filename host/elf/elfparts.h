/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of an ELF file that name functions: symbol tables, PLT, .gnu_debugdata, build id
 * (libelf). The file is untrusted: what lies outside of it or contradicts itself is skipped. */
#ifndef DFG_ELF_ELFPARTS_H
#define DFG_ELF_ELFPARTS_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limits of a file and, for those who read many, of all: libjvm of JDK 25 has 70 000;
 * each takes 60 bytes. */
#define ELF_FUNCS_MAX (1u << 20)
#define ELF_FUNCS_ALL (4u << 20)

struct elffunc {
	uint64_t start, end; /* addresses as linked; equal: size unknown */
	const char *name;    /* borrowed from the Elf */
	bool plt, typed, weak, global;
};

struct elffuncs {
	struct elffunc *list;
	size_t count, cap;
	bool cut; /* there were more */
};

/* NULL: the file has no such section. */
struct elfparts {
	Elf *elf;
	Elf_Scn *symtab, *dynsym, *plt_rel, *mini;
	GElf_Shdr symtab_sh, dynsym_sh, plt_rel_sh, mini_sh, plt, plt_sec;
	/* Borrowed from the Elf. */
	const uint8_t *build_id;
	size_t build_id_len;
	const char *debug_name; /* .gnu_debuglink: a plain file name, and that file's CRC-32 */
	uint32_t debug_crc;
};

void elfparts_find(Elf *elf, struct elfparts *ret);

/* Append the functions of .symtab, of .dynsym and of the PLT. Of .dynsym only those with a size: it
 * lacks local functions, so that one without a size would also cover those after it. */
void elfparts_symtab(const struct elfparts *p, struct elffuncs *to);
void elfparts_dynsym(const struct elfparts *p, struct elffuncs *to);
void elfparts_plt(const struct elfparts *p, struct elffuncs *to);

/* Decompresses the ELF file in .gnu_debugdata, for free(3); NULL: none, or larger than any real
 * one. It has a .symtab of what .dynsym lacks ("MiniDebugInfo" of GDB's manual). */
void *elfparts_mini(const struct elfparts *p, size_t *ret_len);

#endif
