// SPDX-License-Identifier: Apache-2.0
#include <elf.h>

#include "hotspot/hotspot.h"

#define PHDRS_MAX   64
#define DYNAMIC_MAX 256
#define CHAIN_MAX   4096 /* symbols compared for one name */

static bool elf_read(const struct hs_elf *elf, uint64_t addr, void *buf, size_t len)
{
	return elf->source->read(elf->source->arg, addr, buf, len) == (int64_t)len;
}

/* Returns the address in a dynamic entry: relocated in place by glibc, a link-time one in musl. */
static uint64_t elf_address(const struct hs_elf *elf, uint64_t value)
{
	return value >= elf->bias ? value : value + elf->bias;
}

static bool elf_read_dynamic(struct hs_elf *elf, uint64_t addr)
{
	Elf64_Dyn dyn;

	for (int i = 0; i < DYNAMIC_MAX; i++) {
		if (!elf_read(elf, addr + (uint64_t)i * sizeof(dyn), &dyn, sizeof(dyn)))
			return false;
		if (dyn.d_tag == DT_NULL)
			break;
		if (dyn.d_tag == DT_SYMTAB)
			elf->symtab = elf_address(elf, dyn.d_un.d_ptr);
		else if (dyn.d_tag == DT_STRTAB)
			elf->strtab = elf_address(elf, dyn.d_un.d_ptr);
		else if (dyn.d_tag == DT_STRSZ)
			elf->strsz = dyn.d_un.d_val;
		else if (dyn.d_tag == DT_GNU_HASH)
			elf->gnu_hash = elf_address(elf, dyn.d_un.d_ptr);
		else if (dyn.d_tag == DT_HASH)
			elf->hash = elf_address(elf, dyn.d_un.d_ptr);
	}
	return elf->symtab && elf->strtab && elf->strsz && (elf->gnu_hash || elf->hash);
}

/* Adds the range of a PT_LOAD, without the bias. */
static void span_add(struct hs_span *span, const Elf64_Phdr *ph)
{
	uint64_t end = ph->p_vaddr + ph->p_memsz;

	if (span->high == 0 || ph->p_vaddr < span->low)
		span->low = ph->p_vaddr;
	if (end > span->high)
		span->high = end;
}

static void span_move(struct hs_span *span, uint64_t bias)
{
	if (span->high == 0)
		return;
	span->low += bias;
	span->high += bias;
}

static bool elf_open(struct hs_elf *elf, const struct hs_source *source, uint64_t base)
{
	uint64_t dynamic = 0, first = UINT64_MAX;
	Elf64_Ehdr head;
	Elf64_Phdr ph;

	*elf = (struct hs_elf){.source = source};
	if (!elf_read(elf, base, &head, sizeof(head)) || head.e_ident[0] != 0x7f ||
	    head.e_ident[1] != 'E' || head.e_ident[2] != 'L' || head.e_ident[3] != 'F' ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(ph) ||
	    head.e_phnum > PHDRS_MAX)
		return false;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		if (!elf_read(elf, base + head.e_phoff + i * sizeof(ph), &ph, sizeof(ph)))
			return false;
		if (ph.p_type == PT_LOAD && first == UINT64_MAX)
			first = ph.p_vaddr - ph.p_offset;
		if (ph.p_type == PT_LOAD)
			span_add(&elf->image, &ph);
		if (ph.p_type == PT_LOAD && (ph.p_flags & PF_W))
			span_add(&elf->variables, &ph);
		if (ph.p_type == PT_DYNAMIC)
			dynamic = ph.p_vaddr;
	}
	if (first == UINT64_MAX || dynamic == 0)
		return false;
	elf->bias = base - first;
	span_move(&elf->image, elf->bias);
	span_move(&elf->variables, elf->bias);
	return elf_read_dynamic(elf, dynamic + elf->bias);
}

static bool elf_name_is(const struct hs_elf *elf, uint32_t offset, const char *name)
{
	char buf[64];
	size_t len = 0;

	while (name[len])
		len++;
	if (len + 1 > sizeof(buf) || offset > elf->strsz || len + 1 > elf->strsz - offset ||
	    !elf_read(elf, elf->strtab + offset, buf, len + 1))
		return false;
	for (size_t i = 0; i <= len; i++)
		if (buf[i] != name[i])
			return false;
	return true;
}

/* Returns the address of symbol i if it is defined and has this name, else 0. */
static uint64_t elf_match(const struct hs_elf *elf, uint32_t i, const char *name)
{
	Elf64_Sym sym;

	if (!elf_read(elf, elf->symtab + (uint64_t)i * sizeof(sym), &sym, sizeof(sym)) ||
	    sym.st_shndx == SHN_UNDEF || sym.st_value == 0 || !elf_name_is(elf, sym.st_name, name))
		return 0;
	return sym.st_value + elf->bias;
}

/* DT_GNU_HASH: header {buckets, first symbol, bloom words, shift}, bloom filter, buckets, and one
 * hash for each symbol, whose lowest bit ends a chain. */
static uint64_t elf_find_gnu(const struct hs_elf *elf, const char *name)
{
	uint32_t head[4], bucket, hash, want = 5381;
	uint64_t buckets, chain;

	for (const char *p = name; *p; p++)
		want = want * 33 + (uint8_t)*p;
	if (!elf_read(elf, elf->gnu_hash, head, sizeof(head)) || head[0] == 0)
		return 0;
	buckets = elf->gnu_hash + sizeof(head) + (uint64_t)head[2] * 8;
	chain = buckets + (uint64_t)head[0] * 4;
	if (!elf_read(elf, buckets + (uint64_t)(want % head[0]) * 4, &bucket, sizeof(bucket)) ||
	    bucket < head[1])
		return 0;
	for (uint32_t i = bucket, n = 0; n < CHAIN_MAX; i++, n++) {
		uint64_t found = 0;

		if (!elf_read(elf, chain + (uint64_t)(i - head[1]) * 4, &hash, sizeof(hash)))
			return 0;
		if ((hash | 1) == (want | 1))
			found = elf_match(elf, i, name);
		if (found || (hash & 1))
			return found;
	}
	return 0;
}

/* DT_HASH: {buckets, chains}, buckets, chains; 0 ends a chain. */
static uint64_t elf_find_sysv(const struct hs_elf *elf, const char *name)
{
	uint32_t head[2], i, want = 0;

	for (const char *p = name; *p; p++) {
		want = (want << 4) + (uint8_t)*p;
		want = (want ^ ((want & 0xf0000000) >> 24)) & 0x0fffffff;
	}
	if (!elf_read(elf, elf->hash, head, sizeof(head)) || head[0] == 0 ||
	    !elf_read(elf, elf->hash + 8 + (uint64_t)(want % head[0]) * 4, &i, sizeof(i)))
		return 0;
	for (uint32_t n = 0; i != 0 && i < head[1] && n < CHAIN_MAX; n++) {
		uint64_t found = elf_match(elf, i, name);

		if (found)
			return found;
		if (!elf_read(elf, elf->hash + 8 + ((uint64_t)head[0] + i) * 4, &i, sizeof(i)))
			return 0;
	}
	return 0;
}

uint64_t hs_elf_symbol(void *arg, const char *name)
{
	const struct hs_elf *elf = arg;

	return elf->gnu_hash ? elf_find_gnu(elf, name) : elf_find_sysv(elf, name);
}

bool hs_elf_open_jvm(struct hs_elf *elf, struct hs_source *source, uint64_t base)
{
	if (!elf_open(elf, source, base) || hs_elf_symbol(elf, "gHotSpotVMStructs") == 0)
		return false;
	source->image = elf->image;
	source->variables = elf->variables;
	return true;
}
