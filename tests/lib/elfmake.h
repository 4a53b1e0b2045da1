/* SPDX-License-Identifier: Apache-2.0 */
/* ELF files made up section by section: one loaded segment of code at CODE, whose file offset is
 * its address. Symbols are given as text: "name@start+size", blanks between them. */
#ifndef ELFMAKE_H
#define ELFMAKE_H

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/str.h"

#ifdef __aarch64__
#define ELFMAKE_MACHINE EM_AARCH64
#else
#define ELFMAKE_MACHINE EM_X86_64
#endif

#define ELFMAKE_CODE	 0x1000u
#define ELFMAKE_CODE_LEN 0x1000u
#define ELFMAKE_SECTIONS 16
#define ELFMAKE_FUNCTION 0x40u

struct elfmake {
	struct str names; /* .shstrtab */
	struct str data;  /* after the headers */
	Elf64_Shdr sections[ELFMAKE_SECTIONS];
	uint16_t count;
	Elf64_Phdr frames; /* PT_GNU_EH_FRAME, p_type 0: none */
};

#define ELFMAKE_HEADERS                                                                            \
	(sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr) + ELFMAKE_SECTIONS * sizeof(Elf64_Shdr))

static inline uint16_t elfmake_add(struct elfmake *m, const char *name, uint32_t type,
				   const void *p, size_t len)
{
	Elf64_Shdr *s = &m->sections[m->count];

	*s = (Elf64_Shdr){.sh_name = (uint32_t)m->names.len,
			  .sh_type = type,
			  .sh_offset = ELFMAKE_HEADERS + m->data.len,
			  .sh_size = len,
			  .sh_addralign = 1};
	/* `p` may be the names. */
	str_add(&m->data, p, len);
	while (m->data.len % 8)
		str_addc(&m->data, 0);
	str_add(&m->names, name, strlen(name) + 1);
	return m->count++;
}

static inline void elfmake_start(struct elfmake *m)
{
	*m = (struct elfmake){0};
	elfmake_add(m, "", SHT_NULL, "", 0);
	m->sections[0] = (Elf64_Shdr){0};
	elfmake_add(m, ".text", SHT_NOBITS, "", 0);
	m->sections[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	m->sections[1].sh_addr = ELFMAKE_CODE;
	m->sections[1].sh_size = ELFMAKE_CODE_LEN;
}

/* A table of functions, SHT_SYMTAB or SHT_DYNSYM, and its names. */
static inline void elfmake_symbols(struct elfmake *m, uint32_t type, const char *symbols)
{
	CLEANUP(str_fini) struct str table = {0};
	CLEANUP(str_fini) struct str names = {0};
	CLEANUP(free) char *copy = strdup(symbols);
	Elf64_Sym sym = {0};
	uint16_t at;

	str_add(&table, (const char *)&sym, sizeof(sym));
	str_addc(&names, 0);
	for (char *save = NULL, *s = strtok_r(copy, " ", &save); s;
	     s = strtok_r(NULL, " ", &save)) {
		char *value = strchr(s, '@');

		*value++ = '\0';
		sym = (Elf64_Sym){.st_name = (uint32_t)names.len,
				  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				  .st_shndx = 1,
				  .st_value = strtoull(value, &value, 16),
				  .st_size = strtoull(value + 1, NULL, 16)};
		str_add(&table, (const char *)&sym, sizeof(sym));
		str_add(&names, s, strlen(s) + 1);
	}
	at = elfmake_add(m, type == SHT_SYMTAB ? ".symtab" : ".dynsym", type, table.buf, table.len);
	m->sections[at].sh_entsize = sizeof(sym);
	m->sections[at].sh_link = at + 1u;
	elfmake_add(m, type == SHT_SYMTAB ? ".strtab" : ".dynstr", SHT_STRTAB, names.buf,
		    names.len);
}

static inline void elfmake_build_id(struct elfmake *m, uint8_t byte)
{
	uint8_t note[36] = {4, 0, 0, 0, 20, 0, 0, 0, NT_GNU_BUILD_ID, 0, 0, 0, 'G', 'N', 'U', 0};

	memset(note + 16, byte, 20);
	elfmake_add(m, ".note.gnu.build-id", SHT_NOTE, note, sizeof(note));
}

static inline void elfmake_debuglink(struct elfmake *m, const char *name, uint32_t crc)
{
	CLEANUP(str_fini) struct str link = {0};

	str_add(&link, name, strlen(name) + 1);
	while (link.len % 4)
		str_addc(&link, 0);
	str_add(&link, (const char *)&crc, sizeof(crc));
	elfmake_add(m, ".gnu_debuglink", SHT_PROGBITS, link.buf, link.len);
}

/* .eh_frame with functions of ELFMAKE_FUNCTION bytes, and .eh_frame_hdr with their starts. */
static inline void elfmake_starts(struct elfmake *m, const uint32_t *starts, uint32_t n,
				  uint32_t claimed)
{
	CLEANUP(str_fini) struct str frames = {0};
	CLEANUP(str_fini) struct str t = {0};
	const uint8_t head[8] = {1, 0x1b, 0x03, 0x3b};
	uint32_t first = (uint32_t)(ELFMAKE_HEADERS + m->data.len), base;
	uint16_t at;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t place = first + i * 16 + 8;
		uint32_t fde[4] = {12, 0, starts[i] - place, ELFMAKE_FUNCTION};

		str_add(&frames, (const char *)fde, sizeof(fde));
	}
	elfmake_add(m, ".eh_frame", SHT_PROGBITS, frames.buf, frames.len);
	base = (uint32_t)(ELFMAKE_HEADERS + m->data.len);
	str_add(&t, (const char *)head, sizeof(head));
	str_add(&t, (const char *)&claimed, 4);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t row[2] = {starts[i] - base, first + i * 16 - base};

		str_add(&t, (const char *)row, sizeof(row));
	}
	at = elfmake_add(m, ".eh_frame_hdr", SHT_PROGBITS, t.buf, t.len);
	m->frames = (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
				 .p_offset = m->sections[at].sh_offset,
				 .p_vaddr = base,
				 .p_filesz = t.len};
}

/* The file; m is used up. */
static inline void elfmake_end(struct elfmake *m, struct str *ret)
{
	Elf64_Phdr ph[2] = {{.p_type = PT_LOAD,
			     .p_flags = PF_R | PF_X,
			     .p_offset = ELFMAKE_CODE,
			     .p_vaddr = ELFMAKE_CODE,
			     .p_filesz = ELFMAKE_CODE_LEN},
			    m->frames};
	Elf64_Ehdr eh = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			 .e_type = ET_DYN,
			 .e_machine = ELFMAKE_MACHINE,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(eh),
			 .e_shoff = sizeof(eh) + sizeof(ph),
			 .e_ehsize = sizeof(eh),
			 .e_phentsize = sizeof(*ph),
			 .e_phnum = 2,
			 .e_shentsize = sizeof(Elf64_Shdr)};
	uint16_t names;

	str_add(&m->names, ".shstrtab", sizeof(".shstrtab"));
	names = elfmake_add(m, "", SHT_STRTAB, m->names.buf, m->names.len);
	m->sections[names].sh_name = 0;
	eh.e_shnum = m->count;
	eh.e_shstrndx = names;
	str_clear(ret);
	str_add(ret, (const char *)&eh, sizeof(eh));
	str_add(ret, (const char *)ph, sizeof(ph));
	str_add(ret, (const char *)m->sections, sizeof(m->sections));
	str_add(ret, m->data.buf, m->data.len);
	str_fini(&m->names);
	str_fini(&m->data);
}

#endif
