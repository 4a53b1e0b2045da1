// SPDX-License-Identifier: Apache-2.0
#include "elfsym.h"

#include <gelf.h>

#include "dfg/str.h"
#include "elfseg.h"
#include "keyed.h"
#include "symname.h"

#define PAGE	    4096u
#define SYMBOLS_MAX (2u << 20)
#define LOOK_BACK   64 /* symbols before an address that may reach over those behind them */

struct symbol {
	uint64_t start, end;
	uint64_t reach; /* highest end of this and all before */
	const char *name;
	bool plt, typed, weak, global;
};

struct elfsym {
	Elf *elf; /* keeps the names */
	struct symbol *symbols;
	size_t count, cap;
	struct elfsegs segments;
	const uint8_t *build_id;
	size_t build_id_len;
};

/* A string table, cut behind its last NUL. */
struct names {
	const char *p;
	size_t len;
};

/* Any section's contents, NULL unless they are plain bytes in the file. */
static Elf_Data *contents(Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *d;

	if (sh->sh_type == SHT_NOBITS || sh->sh_flags & SHF_COMPRESSED)
		return NULL;
	d = elf_getdata(scn, NULL);
	return d && d->d_buf && d->d_size ? d : NULL;
}

static struct names read_names(Elf *elf, size_t section)
{
	Elf_Scn *scn = elf_getscn(elf, section);
	GElf_Shdr sh;
	Elf_Data *d;
	const char *end;

	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type != SHT_STRTAB)
		return (struct names){0};
	d = contents(scn, &sh);
	end = d ? memrchr(d->d_buf, 0, d->d_size) : NULL;
	if (!end)
		return (struct names){0};
	return (struct names){.p = d->d_buf, .len = (size_t)(end - (const char *)d->d_buf) + 1};
}

static void add_symbol(struct elfsym *es, const struct symbol *sym)
{
	if (es->count >= SYMBOLS_MAX)
		return;
	es->symbols = grow(es->symbols, es->count, &es->cap, sizeof(*es->symbols));
	es->symbols[es->count++] = *sym;
}

static bool in_code(Elf *elf, size_t section)
{
	Elf_Scn *scn = elf_getscn(elf, section);
	GElf_Shdr sh;

	return scn && gelf_getshdr(scn, &sh) && sh.sh_flags & SHF_EXECINSTR;
}

static void read_symbols(struct elfsym *es, Elf_Scn *scn, const GElf_Shdr *sh)
{
	struct names names = read_names(es->elf, sh->sh_link);
	Elf_Data *d = contents(scn, sh);
	size_t n = d && sh->sh_entsize ? d->d_size / sh->sh_entsize : 0;
	GElf_Sym s;

	for (size_t i = 0; i < n && i < SYMBOLS_MAX && gelf_getsym(d, (int)i, &s); i++) {
		unsigned char type = GELF_ST_TYPE(s.st_info), bind = GELF_ST_BIND(s.st_info);
		struct symbol sym = {.start = s.st_value,
				     .end = s.st_value + s.st_size,
				     .typed = type != STT_NOTYPE,
				     .weak = bind == STB_WEAK,
				     .global = bind == STB_GLOBAL};

		if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
			continue;
		if (s.st_shndx == SHN_UNDEF || s.st_shndx == SHN_ABS || s.st_name >= names.len ||
		    !names.p[s.st_name] || sym.end < sym.start)
			continue;
		/* Assembler without type: only in code, and no marks like ARM's "$x". */
		if (!sym.typed && (names.p[s.st_name] == '$' || !in_code(es->elf, s.st_shndx)))
			continue;
		sym.name = names.p + s.st_name;
		add_symbol(es, &sym);
	}
}

/* The sections of interest, found in one pass. */
struct sections {
	Elf_Scn *symtab, *dynsym, *plt_rel;
	GElf_Shdr symtab_sh, dynsym_sh, plt_rel_sh, plt, plt_sec;
};

static void read_build_id(struct elfsym *es, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *d = contents(scn, sh);
	size_t at = 0, name, desc;
	GElf_Nhdr note;

	while (d && at < d->d_size && (at = gelf_getnote(d, at, &note, &name, &desc)) > 0)
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
		    memcmp((const char *)d->d_buf + name, "GNU", sizeof("GNU")) == 0) {
			es->build_id = (const uint8_t *)d->d_buf + desc;
			es->build_id_len = note.n_descsz;
		}
}

static void find_sections(struct elfsym *es, struct sections *ret)
{
	Elf_Scn *scn = NULL;
	size_t strings = 0;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(es->elf, &strings) != 0)
		return;
	while ((scn = elf_nextscn(es->elf, scn))) {
		const char *name;

		if (!gelf_getshdr(scn, &sh))
			continue;
		name = elf_strptr(es->elf, strings, sh.sh_name);
		if (sh.sh_type == SHT_SYMTAB) {
			ret->symtab = scn;
			ret->symtab_sh = sh;
		} else if (sh.sh_type == SHT_DYNSYM) {
			ret->dynsym = scn;
			ret->dynsym_sh = sh;
		} else if (sh.sh_type == SHT_NOTE) {
			read_build_id(es, scn, &sh);
		} else if (sh.sh_type == SHT_RELA && name && strcmp(name, ".rela.plt") == 0) {
			ret->plt_rel = scn;
			ret->plt_rel_sh = sh;
		} else if (name && strcmp(name, ".plt") == 0) {
			ret->plt = sh;
		} else if (name && strcmp(name, ".plt.sec") == 0) {
			ret->plt_sec = sh;
		}
	}
}

/* Entry i of the linkage table belongs to relocation i. On x86-64 and aarch64 an entry has 16
 * bytes; .plt begins with a header of one or two entries, .plt.sec (x86 with IBT) has none. */
static void read_plt(struct elfsym *es, const struct sections *s)
{
	const uint64_t each = 16;
	GElf_Ehdr eh;
	uint64_t header;
	struct names names;
	Elf_Data *rel, *sym;
	GElf_Rela r;
	GElf_Sym target;

	if (!s->plt_rel || !s->dynsym || !gelf_getehdr(es->elf, &eh) ||
	    (eh.e_machine != EM_X86_64 && eh.e_machine != EM_AARCH64))
		return;
	header = eh.e_machine == EM_AARCH64 ? 2 * each : each;
	names = read_names(es->elf, s->dynsym_sh.sh_link);
	rel = contents(s->plt_rel, &s->plt_rel_sh);
	sym = contents(s->dynsym, &s->dynsym_sh);
	for (int i = 0; rel && sym && i < (int)SYMBOLS_MAX && gelf_getrela(rel, i, &r); i++) {
		uint64_t at = (uint64_t)i * each;
		struct symbol entry = {.plt = true, .typed = true};

		if (!gelf_getsym(sym, (int)(GELF_R_SYM(r.r_info) & INT32_MAX), &target) ||
		    target.st_name >= names.len || !names.p[target.st_name])
			continue;
		entry.name = names.p + target.st_name;
		if (s->plt.sh_size >= header + each && at <= s->plt.sh_size - header - each) {
			entry.start = s->plt.sh_addr + header + at;
			entry.end = entry.start + each;
			add_symbol(es, &entry);
		}
		if (s->plt_sec.sh_size >= each && at <= s->plt_sec.sh_size - each) {
			entry.start = s->plt_sec.sh_addr + at;
			entry.end = entry.start + each;
			add_symbol(es, &entry);
		}
	}
}

static struct symbol_rank rank_of(const struct symbol *s)
{
	return (struct symbol_rank){.name = s->name,
				    .size = s->end - s->start,
				    .typed = s->typed,
				    .weak = s->weak,
				    .global = s->global};
}

static bool better(const struct symbol *a, const struct symbol *b)
{
	struct symbol_rank x = rank_of(a), y = rank_of(b);

	return symname_better(&x, &y);
}

/* Sorts by address and leaves one symbol for each. */
static void order_symbols(struct elfsym *es)
{
	CLEANUP(free) struct keyed *order = xcalloc(es->count, sizeof(*order));
	struct symbol *sorted = xcalloc(es->count, sizeof(*sorted));
	size_t n = 0;

	for (size_t i = 0; i < es->count; i++)
		order[i] = (struct keyed){.key = es->symbols[i].start, .value = i};
	keyed_sort(order, es->count);
	for (size_t i = 0; i < es->count; i++) {
		const struct symbol *s = &es->symbols[order[i].value];

		if (!n || sorted[n - 1].start != s->start)
			sorted[n++] = *s;
		else if (better(&sorted[n - 1], s))
			sorted[n - 1] = *s;
	}
	free(es->symbols);
	es->symbols = sorted;
	es->count = n;
	for (size_t i = 0; i < n; i++) {
		struct symbol *s = &sorted[i];

		/* Without a size it goes to the next symbol, the last one to its page's end. */
		if (s->end == s->start)
			s->end = i + 1 < n ? s[1].start : (s->start | (PAGE - 1)) + 1;
		s->reach = i && s[-1].reach > s->end ? s[-1].reach : s->end;
	}
}

static struct elfsym *load(Elf *elf, struct err *err)
{
	struct elfsym *es = xcalloc(1, sizeof(*es));
	struct sections s = {0};

	es->elf = elf;
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		err_set(err, 0, "not an ELF file%s%s", elf ? "" : ": ", elf ? "" : elf_errmsg(-1));
		elfsym_close(es);
		return NULL;
	}
	elfsegs_read(es->elf, &es->segments);
	find_sections(es, &s);
	if (s.symtab)
		read_symbols(es, s.symtab, &s.symtab_sh);
	if (!es->count && s.dynsym)
		read_symbols(es, s.dynsym, &s.dynsym_sh);
	read_plt(es, &s);
	order_symbols(es);
	return es;
}

struct elfsym *elfsym_open(int fd, struct err *err)
{
	elf_version(EV_CURRENT);
	return load(elf_begin(fd, ELF_C_READ, NULL), err);
}

struct elfsym *elfsym_of(const void *p, size_t len, struct err *err)
{
	elf_version(EV_CURRENT);
	return load(elf_memory((char *)(uintptr_t)p, len), err);
}

void elfsym_close(struct elfsym *es)
{
	if (!es)
		return;
	elf_end(es->elf);
	free(es->symbols);
	elfsegs_fini(&es->segments);
	free(es);
}

size_t elfsym_count(const struct elfsym *es)
{
	return es->count;
}

bool elfsym_find(const struct elfsym *es, uint64_t offset, struct elf_symbol *ret)
{
	uint64_t addr;
	size_t lo = 0, n = es->count;

	if (!elfsegs_address(&es->segments, offset, &addr))
		return false;
	while (n) {
		size_t half = n / 2;

		if (es->symbols[lo + half].start <= addr) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	for (int steps = 0; lo > 0 && steps < LOOK_BACK && es->symbols[lo - 1].reach > addr;
	     steps++) {
		const struct symbol *s = &es->symbols[--lo];

		if (addr >= s->end)
			continue;
		*ret = (struct elf_symbol){.start = s->start,
					   .end = s->end,
					   .name = s->name,
					   .index = (uint32_t)lo,
					   .plt = s->plt};
		return true;
	}
	return false;
}

size_t elfsym_build_id(const struct elfsym *es, const uint8_t **ret)
{
	*ret = es->build_id;
	return es->build_id_len;
}
