// SPDX-License-Identifier: Apache-2.0
#include "elf/elfparts.h"

#include <lzma.h>

#include "common/str.h"
#include "dfg/bytes.h"

#define SYMBOLS_MAX (16u << 20) /* of any type, that are looked at */
#define MINI_MAX    (64u << 20) /* bytes, and for the decoder's dictionary */

/* A string table up to its last NUL. */
struct string_table {
	const char *p;
	size_t len;
};

/* Returns a section's contents, NULL unless they are plain bytes in the file. */
static Elf_Data *contents(Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *d;

	if (sh->sh_type == SHT_NOBITS || sh->sh_flags & SHF_COMPRESSED)
		return NULL;
	d = elf_getdata(scn, NULL);
	return d && d->d_buf && d->d_size ? d : NULL;
}

static struct string_table read_names(Elf *elf, size_t section)
{
	Elf_Scn *scn = elf_getscn(elf, section);
	GElf_Shdr sh;
	Elf_Data *d;
	const char *end;

	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type != SHT_STRTAB)
		return (struct string_table){0};
	d = contents(scn, &sh);
	end = d ? memrchr(d->d_buf, 0, d->d_size) : NULL;
	if (!end)
		return (struct string_table){0};
	return (struct string_table){.p = d->d_buf,
				     .len = (size_t)(end - (const char *)d->d_buf) + 1};
}

static void add_func(struct elffuncs *to, const struct elffunc *f)
{
	to->cut |= to->count >= ELF_FUNCS_MAX;
	if (to->cut)
		return;
	to->list = grow(to->list, to->count, &to->cap, sizeof(*to->list));
	to->list[to->count++] = *f;
}

static bool in_code(Elf *elf, size_t section)
{
	Elf_Scn *scn = elf_getscn(elf, section);
	GElf_Shdr sh;

	return scn && gelf_getshdr(scn, &sh) && sh.sh_flags & SHF_EXECINSTR;
}

static void read_symbols(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, struct elffuncs *to)
{
	struct string_table names = read_names(elf, sh->sh_link);
	Elf_Data *d = contents(scn, sh);
	size_t n = d && sh->sh_entsize ? d->d_size / sh->sh_entsize : 0;
	bool whole = sh->sh_type == SHT_SYMTAB;
	GElf_Sym s;

	for (size_t i = 0; i < n && i < SYMBOLS_MAX && gelf_getsym(d, (int)i, &s); i++) {
		unsigned char type = GELF_ST_TYPE(s.st_info), bind = GELF_ST_BIND(s.st_info);
		struct elffunc f = {.start = s.st_value,
				    .end = s.st_value + s.st_size,
				    .typed = type != STT_NOTYPE,
				    .weak = bind == STB_WEAK,
				    .global = bind == STB_GLOBAL};

		if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
			continue;
		if (s.st_shndx == SHN_UNDEF || s.st_shndx == SHN_ABS || s.st_name >= names.len ||
		    !names.p[s.st_name] || f.end < f.start || (!whole && f.end == f.start))
			continue;
		/* Untyped assembler symbols: only in code, and no mapping symbols like ARM's "$x".
		 */
		if (!f.typed && (names.p[s.st_name] == '$' || !in_code(elf, s.st_shndx)))
			continue;
		f.name = names.p + s.st_name;
		add_func(to, &f);
	}
}

void elfparts_symtab(const struct elfparts *p, struct elffuncs *to)
{
	if (p->symtab)
		read_symbols(p->elf, p->symtab, &p->symtab_sh, to);
}

void elfparts_dynsym(const struct elfparts *p, struct elffuncs *to)
{
	if (p->dynsym)
		read_symbols(p->elf, p->dynsym, &p->dynsym_sh, to);
}

static void read_build_id(struct elfparts *ret, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *d = contents(scn, sh);
	size_t at = 0, name, desc;
	GElf_Nhdr note;

	while (d && at < d->d_size && (at = gelf_getnote(d, at, &note, &name, &desc)) > 0)
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
		    memcmp((const char *)d->d_buf + name, "GNU", sizeof("GNU")) == 0) {
			ret->build_id = (const uint8_t *)d->d_buf + desc;
			ret->build_id_len = note.n_descsz;
		}
}

/* Reads a name, padded to a multiple of 4, and a checksum (GDB's manual, "Separate Debug Files").
 */
static void read_debuglink(struct elfparts *ret, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *d = contents(scn, sh);
	struct bytes b = bytes_of(d ? d->d_buf : NULL, d ? d->d_size : 0);
	const char *name = bytes_cstr(&b);
	size_t len = name ? strlen(name) : 0;
	uint32_t crc;

	bytes_take(&b, -(len + 1) & 3);
	crc = bytes_u32(&b);
	if (b.bad || len == 0 || name[0] == '.' || strchr(name, '/'))
		return;
	ret->debug_name = name;
	ret->debug_crc = crc;
}

static void add_section(struct elfparts *ret, Elf_Scn *scn, const GElf_Shdr *sh, const char *name)
{
	if (sh->sh_type == SHT_SYMTAB) {
		ret->symtab = scn;
		ret->symtab_sh = *sh;
	} else if (sh->sh_type == SHT_DYNSYM) {
		ret->dynsym = scn;
		ret->dynsym_sh = *sh;
	} else if (sh->sh_type == SHT_NOTE) {
		read_build_id(ret, scn, sh);
	} else if (sh->sh_type == SHT_RELA && strcmp(name, ".rela.plt") == 0) {
		ret->plt_rel = scn;
		ret->plt_rel_sh = *sh;
	} else if (strcmp(name, ".gnu_debuglink") == 0) {
		read_debuglink(ret, scn, sh);
	} else if (strcmp(name, ".gnu_debugdata") == 0) {
		ret->mini = scn;
		ret->mini_sh = *sh;
	} else if (strcmp(name, ".plt") == 0) {
		ret->plt = *sh;
	} else if (strcmp(name, ".plt.sec") == 0) {
		ret->plt_sec = *sh;
	}
}

void elfparts_find(Elf *elf, struct elfparts *ret)
{
	Elf_Scn *scn = NULL;
	size_t strings = 0;
	GElf_Shdr sh;

	*ret = (struct elfparts){.elf = elf};
	if (elf_getshdrstrndx(elf, &strings) != 0)
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;

		if (!gelf_getshdr(scn, &sh))
			continue;
		name = elf_strptr(elf, strings, sh.sh_name);
		add_section(ret, scn, &sh, name ? name : "");
	}
}

/* Entry i of the PLT belongs to relocation i. On x86-64 and aarch64 an entry has 16
 * bytes; .plt begins with a header of one or two entries, .plt.sec (x86 with IBT) has none. */
void elfparts_plt(const struct elfparts *s, struct elffuncs *to)
{
	const uint64_t each = 16;
	GElf_Ehdr eh;
	uint64_t header;
	struct string_table names;
	Elf_Data *rel, *sym;
	GElf_Rela r;
	GElf_Sym target;

	if (!s->plt_rel || !s->dynsym || !gelf_getehdr(s->elf, &eh) ||
	    (eh.e_machine != EM_X86_64 && eh.e_machine != EM_AARCH64))
		return;
	header = eh.e_machine == EM_AARCH64 ? 2 * each : each;
	names = read_names(s->elf, s->dynsym_sh.sh_link);
	rel = contents(s->plt_rel, &s->plt_rel_sh);
	sym = contents(s->dynsym, &s->dynsym_sh);
	for (int i = 0; rel && sym && i < (int)ELF_FUNCS_MAX && gelf_getrela(rel, i, &r); i++) {
		uint64_t at = (uint64_t)i * each;
		struct elffunc entry = {.plt = true, .typed = true};

		if (!gelf_getsym(sym, (int)(GELF_R_SYM(r.r_info) & INT32_MAX), &target) ||
		    target.st_name >= names.len || !names.p[target.st_name])
			continue;
		entry.name = names.p + target.st_name;
		if (s->plt.sh_size >= header + each && at <= s->plt.sh_size - header - each) {
			entry.start = s->plt.sh_addr + header + at;
			entry.end = entry.start + each;
			add_func(to, &entry);
		}
		if (s->plt_sec.sh_size >= each && at <= s->plt_sec.sh_size - each) {
			entry.start = s->plt_sec.sh_addr + at;
			entry.end = entry.start + each;
			add_func(to, &entry);
		}
	}
}

/* Decompresses; false: damaged, or more than MINI_MAX. */
static bool decode(lzma_stream *z, uint8_t **buf, size_t *len)
{
	size_t cap = 0;
	lzma_ret rc = LZMA_OK;

	while (rc == LZMA_OK) {
		if (z->avail_out == 0) {
			if (cap == MINI_MAX)
				return false;
			cap = cap ? cap * 2 : 64u << 10;
			*buf = xrealloc(*buf, cap, 1);
			z->next_out = *buf + *len;
			z->avail_out = cap - *len;
		}
		rc = lzma_code(z, LZMA_FINISH);
		*len = cap - z->avail_out;
	}
	return rc == LZMA_STREAM_END;
}

void *elfparts_mini(const struct elfparts *p, size_t *ret_len)
{
	Elf_Data *d = p->mini ? contents(p->mini, &p->mini_sh) : NULL;
	lzma_stream z = LZMA_STREAM_INIT;
	uint8_t *buf = NULL;
	size_t len = 0;
	bool whole;

	if (!d || lzma_stream_decoder(&z, MINI_MAX, 0) != LZMA_OK)
		return NULL;
	z.next_in = d->d_buf;
	z.avail_in = d->d_size;
	whole = decode(&z, &buf, &len);
	lzma_end(&z);
	if (!whole) {
		free(buf);
		return NULL;
	}
	*ret_len = len;
	return buf;
}
