/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF image in memory, made up: dynamic symbols in both hash tables. */
#ifndef DFG_LIB_ELFIMAGE_H
#define DFG_LIB_ELFIMAGE_H

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BASE	0x7f1200000000ull
#define VADDR	0x2000u /* of the image's first byte, before it is moved */
#define BIAS	(BASE - VADDR)
#define SYMBOLS 7u
#define BUCKETS 3u
#define LONGEST "a_name_of_sixty_three_characters_is_the_longest_that_is_compared"

enum { UNDEFINED = 4, AT_ZERO };

/* By their number; the names of a bucket of DT_GNU_HASH follow one another. */
static const char *name_of[SYMBOLS] = {
	"", "gHotSpotVMStructs", "gHotSpotVMTypes", &LONGEST[1], "undefined", "at_zero", "last"};

static struct {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[65];
	Elf64_Dyn dynamic[10];
	Elf64_Sym symbols[SYMBOLS];
	uint32_t sysv[2 + BUCKETS + SYMBOLS];
	uint32_t gnu_head[4];
	uint64_t bloom[2];
	uint32_t gnu_buckets[BUCKETS], gnu_chain[SYMBOLS];
	char names[256];
} image;

enum { DYN_SYMTAB, DYN_STRTAB, DYN_STRSZ, DYN_GNU, DYN_SYSV, DYN_END };

static int64_t image_read(void *arg, uint64_t addr, void *buf, size_t len)
{
	(void)arg;
	if (addr < BASE || addr >= BASE + sizeof(image))
		return -1;
	if (len > BASE + sizeof(image) - addr)
		len = BASE + sizeof(image) - addr;
	memcpy(buf, (const char *)&image + (addr - BASE), len);
	return (int64_t)len;
}

/* The two hashes as the gABI and its GNU extension print them. */
static uint32_t sysv_hash(const char *name)
{
	uint32_t h = 0;

	for (; *name; name++) {
		uint32_t g;

		h = h * 16 + (unsigned char)*name;
		g = h & 0xf0000000;
		if (g)
			h ^= g >> 24;
		h &= ~g;
	}
	return h;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = (h << 5) + h + (unsigned char)*name;
	return h;
}

static int by_bucket(const void *a, const void *b)
{
	uint32_t x = gnu_hash(*(const char *const *)a) % BUCKETS;
	uint32_t y = gnu_hash(*(const char *const *)b) % BUCKETS;

	return x < y ? -1 : x > y;
}

static void hashes_make(void)
{
	image.sysv[0] = BUCKETS;
	image.sysv[1] = SYMBOLS;
	image.gnu_head[0] = BUCKETS;
	image.gnu_head[1] = 1;
	image.gnu_head[2] = sizeof(image.bloom) / sizeof(*image.bloom);
	for (uint32_t i = SYMBOLS - 1; i > 0; i--) {
		uint32_t bucket = sysv_hash(name_of[i]) % BUCKETS, hash = gnu_hash(name_of[i]);

		image.sysv[2 + BUCKETS + i] = image.sysv[2 + bucket];
		image.sysv[2 + bucket] = i;
		bucket = hash % BUCKETS;
		image.gnu_chain[i - 1] = image.gnu_buckets[bucket] ? hash & ~1u : hash | 1;
		image.gnu_buckets[bucket] = i;
	}
}

static void image_make(void)
{
	static const int64_t tag[] = {DT_SYMTAB, DT_STRTAB, DT_STRSZ, DT_GNU_HASH, DT_HASH};
	const uint64_t value[] = {VADDR + (uint64_t)((char *)image.symbols - (char *)&image),
				  VADDR + (uint64_t)(image.names - (char *)&image), 0,
				  VADDR + (uint64_t)((char *)image.gnu_head - (char *)&image),
				  VADDR + (uint64_t)((char *)image.sysv - (char *)&image)};
	size_t used = 1;

	qsort(name_of + 1, SYMBOLS - 1, sizeof(*name_of), by_bucket);
	memset(&image, 0, sizeof(image));
	image.eh = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
				.e_phoff = (uint64_t)((char *)image.ph - (char *)&image),
				.e_phentsize = sizeof(*image.ph),
				.e_phnum = 5};
	image.ph[0] = (Elf64_Phdr){.p_type = PT_NOTE, .p_vaddr = 1, .p_memsz = 1 << 30};
	image.ph[1] = (Elf64_Phdr){.p_type = PT_LOAD,
				   .p_flags = PF_R | PF_X,
				   .p_vaddr = VADDR + 0x1000,
				   .p_offset = 0x1000,
				   .p_memsz = 0x700};
	image.ph[2] = (Elf64_Phdr){.p_type = PT_LOAD,
				   .p_flags = PF_R | PF_W,
				   .p_vaddr = 0x9000,
				   .p_offset = 0x100,
				   .p_memsz = 0x500};
	image.ph[3] = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = VADDR, .p_memsz = 0x300};
	image.ph[4] =
		(Elf64_Phdr){.p_type = PT_DYNAMIC,
			     .p_flags = PF_W,
			     .p_vaddr = VADDR + (uint64_t)((char *)image.dynamic - (char *)&image)};
	for (uint32_t i = 1; i < SYMBOLS; i++) {
		image.symbols[i] = (Elf64_Sym){.st_name = (uint32_t)used,
					       .st_shndx = i == UNDEFINED ? SHN_UNDEF : 1,
					       .st_value = i == AT_ZERO ? 0 : 0x9000 + i};
		strcpy(image.names + used, name_of[i]);
		used += strlen(name_of[i]) + 1;
	}
	for (size_t i = 0; i < DYN_END; i++)
		image.dynamic[i] = (Elf64_Dyn){tag[i], {value[i]}};
	image.dynamic[DYN_STRSZ].d_un.d_val = used;
	hashes_make();
}

#endif
