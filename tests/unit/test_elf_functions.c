// SPDX-License-Identifier: Apache-2.0
/* Symbols, linkage tables, notes and segments of ELF files, each as good and as bad as it can be.
 */
#include "elf/elf_tables.h"
#include "elf/elfparts.h"

#include "lib/elfmake.h"
#include "lib/tap.h"

struct opened {
	struct str file;
	Elf *elf;
	struct elfparts parts;
	struct elffuncs funcs;
};

/* Uses m up. */
static void open_made(struct elfmake *m, struct opened *ret)
{
	*ret = (struct opened){0};
	elfmake_end(m, &ret->file);
	elf_version(EV_CURRENT);
	ret->elf = elf_memory(ret->file.buf, ret->file.len);
	if (!ret->elf)
		abort();
	elfparts_find(ret->elf, &ret->parts);
}

static void close_made(struct opened *o)
{
	elf_end(o->elf);
	str_fini(&o->file);
	free(o->funcs.list);
}

static void add_section_of(struct elfmake *m, const char *name, uint32_t type, const void *p,
			   size_t len, uint32_t link, uint64_t each)
{
	uint16_t at = elfmake_add(m, name, type, p, len);

	m->sections[at].sh_link = link;
	m->sections[at].sh_entsize = each;
}

#define TEXT 1 /* section .text of elfmake.h */
#define DATA 2

/* A file with code, a section of data and a table of one symbol. */
static void make_symbol(struct elfmake *m, uint32_t type, Elf64_Sym s, const char *names,
			size_t names_len)
{
	elfmake_start(m);
	elfmake_add(m, ".data", SHT_PROGBITS, "12345678", 8);
	add_section_of(m, "table", type, &s, sizeof(s), m->count + 1u, sizeof(s));
	elfmake_add(m, "names", SHT_STRTAB, names, names_len);
}

static void test_symbols(void)
{
	static const char names[] = "\0f\0$x\0_cut";
	static const struct {
		const char *what;
		uint32_t name;
		unsigned char type;
		uint16_t section;
		uint64_t size;
		bool all, dynamic; /* it is a function in .symtab, in .dynsym */
	} t[] = {
		{"a function", 1, STT_FUNC, TEXT, 16, true, true},
		{"a function that its start chooses", 1, STT_GNU_IFUNC, TEXT, 16, true, true},
		{"a function without a size", 1, STT_FUNC, TEXT, 0, true, false},
		{"a symbol of the assembler in code", 1, STT_NOTYPE, TEXT, 16, true, true},
		{"a symbol of the assembler in data", 1, STT_NOTYPE, DATA, 16, false, false},
		{"a symbol of the assembler in no section", 1, STT_NOTYPE, 99, 16, false, false},
		{"a function in data", 1, STT_FUNC, DATA, 16, true, true},
		{"a mapping symbol", 3, STT_NOTYPE, TEXT, 16, false, false},
		{"a function with the name of a mapping symbol", 3, STT_FUNC, TEXT, 16, true, true},
		{"a variable", 1, STT_OBJECT, TEXT, 16, false, false},
		{"a file", 1, STT_FILE, TEXT, 16, false, false},
		{"a function of another file", 1, STT_FUNC, SHN_UNDEF, 16, false, false},
		{"a number", 1, STT_FUNC, SHN_ABS, 16, false, false},
		{"one without a name", 0, STT_FUNC, TEXT, 16, false, false},
		{"one whose name does not end", 6, STT_FUNC, TEXT, 16, false, false},
		{"one whose name is outside", 1000, STT_FUNC, TEXT, 16, false, false},
		{"one that ends before it begins", 1, STT_FUNC, TEXT, UINT64_MAX, false, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		Elf64_Sym s = {.st_name = t[i].name,
			       .st_info = (unsigned char)ELF64_ST_INFO(STB_LOCAL, t[i].type),
			       .st_shndx = t[i].section,
			       .st_value = 0x1100,
			       .st_size = t[i].size};

		for (int dynamic = 0; dynamic < 2; dynamic++) {
			struct elfmake m;
			struct opened o;

			make_symbol(&m, dynamic ? SHT_DYNSYM : SHT_SYMTAB, s, names,
				    sizeof(names) - 1);
			open_made(&m, &o);
			elfparts_symtab(&o.parts, &o.funcs);
			is_int(o.funcs.count, !dynamic && t[i].all, "%s in .symtab", t[i].what);
			elfparts_dynsym(&o.parts, &o.funcs);
			is_int(o.funcs.count, dynamic ? t[i].dynamic : t[i].all, "%s in %s",
			       t[i].what, dynamic ? ".dynsym" : ".symtab alone");
			close_made(&o);
		}
	}
}

static void test_attributes(void)
{
	static const struct {
		unsigned char bind, type;
		bool weak, global, typed;
	} t[] = {
		{STB_LOCAL, STT_FUNC, false, false, true},
		{STB_GLOBAL, STT_FUNC, false, true, true},
		{STB_WEAK, STT_FUNC, true, false, true},
		{STB_GLOBAL, STT_NOTYPE, false, true, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		Elf64_Sym s = {.st_name = 1,
			       .st_info = (unsigned char)ELF64_ST_INFO(t[i].bind, t[i].type),
			       .st_shndx = TEXT,
			       .st_value = 0x1100,
			       .st_size = 32};
		const struct elffunc *f;
		struct elfmake m;
		struct opened o;

		make_symbol(&m, SHT_SYMTAB, s, "\0f", 3);
		open_made(&m, &o);
		elfparts_symtab(&o.parts, &o.funcs);
		f = o.funcs.list;
		ok(o.funcs.count == 1 && f->start == 0x1100 && f->end == 0x1120 &&
			   strcmp(f->name, "f") == 0 && !f->plt,
		   "a function has its place and name");
		ok(o.funcs.count == 1 && f->weak == t[i].weak && f->global == t[i].global &&
			   f->typed == t[i].typed,
		   "binding %u and type %u are known", t[i].bind, t[i].type);
		close_made(&o);
	}
}

/* Sections that lie about each other. */
static void test_tables_damaged(void)
{
	static const struct {
		const char *what;
		uint32_t type, link;
		uint64_t each, flags, further; /* than the section is */
	} t[] = {
		{"names that are no names", SHT_PROGBITS, 4, sizeof(Elf64_Sym), 0, 0},
		{"names in no section", SHT_STRTAB, 77, sizeof(Elf64_Sym), 0, 0},
		{"symbols of no size", SHT_STRTAB, 4, 0, 0, 0},
		{"symbols that are compressed", SHT_STRTAB, 4, sizeof(Elf64_Sym), SHF_COMPRESSED,
		 0},
		{"symbols outside of the file", SHT_STRTAB, 4, sizeof(Elf64_Sym), 0, 1u << 30},
	};
	const Elf64_Sym s = {.st_name = 1,
			     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			     .st_shndx = TEXT,
			     .st_value = 0x1100,
			     .st_size = 32};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct elfmake m;
		struct opened o;

		make_symbol(&m, SHT_SYMTAB, s, "\0f", 3);
		m.sections[3].sh_link = t[i].link;
		m.sections[3].sh_entsize = t[i].each;
		m.sections[3].sh_flags = t[i].flags;
		m.sections[3].sh_offset += t[i].further;
		m.sections[4].sh_type = t[i].type;
		open_made(&m, &o);
		elfparts_symtab(&o.parts, &o.funcs);
		is_int(o.funcs.count, 0, "%s name no function", t[i].what);
		close_made(&o);
	}
}

/* ---- linkage tables ---- */

#define PLT	0x1400u
#define PLT_SEC 0x1800u
#ifdef __aarch64__
#define PLT_HEADER 32u
#else
#define PLT_HEADER 16u
#endif

/* Relocations of these symbols, of a table of "open" (1), one without a name (2), "read" (3). */
static void make_plt(struct elfmake *m, const uint32_t *symbols, size_t n, uint64_t plt_size,
		     uint64_t sec_size)
{
	static const Elf64_Sym table[] = {{0}, {.st_name = 1}, {0}, {.st_name = 6}};
	Elf64_Rela rel[8];

	elfmake_start(m);
	add_section_of(m, ".dynsym", SHT_DYNSYM, table, sizeof(table), 3, sizeof(*table));
	elfmake_add(m, ".dynstr", SHT_STRTAB, "\0open\0read", 11);
	for (size_t i = 0; i < n; i++)
		rel[i] = (Elf64_Rela){.r_info = ELF64_R_INFO((uint64_t)symbols[i], 7)};
	add_section_of(m, ".rela.plt", SHT_RELA, rel, n * sizeof(*rel), 2, sizeof(*rel));
	elfmake_add(m, ".plt", SHT_NOBITS, "", 0);
	m->sections[5].sh_addr = PLT;
	m->sections[5].sh_size = plt_size;
	elfmake_add(m, ".plt.sec", SHT_NOBITS, "", 0);
	m->sections[6].sh_addr = PLT_SEC;
	m->sections[6].sh_size = sec_size;
}

/* The entries as "name@start", blanks between them. */
static void list_plt(struct elfmake *m, struct str *ret)
{
	struct opened o;

	open_made(m, &o);
	elfparts_plt(&o.parts, &o.funcs);
	str_clear(ret);
	str_adds(ret, "");
	for (size_t i = 0; i < o.funcs.count; i++) {
		const struct elffunc *f = &o.funcs.list[i];

		ok(f->plt && f->typed && f->end - f->start == 16,
		   "an entry is a function of 16 bytes");
		str_addf(ret, "%s%s@%llx", i ? " " : "", f->name,
			 (unsigned long long)(f->start < PLT_SEC ? f->start - PLT_HEADER
								 : f->start));
	}
	close_made(&o);
}

static void test_plt(void)
{
	static const struct {
		const char *what;
		uint32_t symbols[3];
		size_t n;
		uint64_t plt, sec; /* sizes, .plt's without its header */
		const char *want;
	} t[] = {
		{"each relocation has an entry", {1, 3}, 2, 32, 0, "open@1400 read@1410"},
		{"a second table has entries of its own",
		 {1, 3},
		 2,
		 32,
		 32,
		 "open@1400 open@1800 read@1410 read@1810"},
		{"a table alone", {3, 1}, 2, 0, 32, "read@1800 open@1810"},
		{"entries end with their table",
		 {1, 3, 1},
		 3,
		 32,
		 16,
		 "open@1400 open@1800 read@1410"},
		{"one byte less is an entry less", {1, 3}, 2, 31, 31, "open@1400 open@1800"},
		{"one without a name is passed over", {1, 2, 3}, 3, 48, 0, "open@1400 read@1420"},
		{"a symbol that the table lacks is passed over",
		 {1, 9, 3},
		 3,
		 48,
		 0,
		 "open@1400 read@1420"},
		{"no relocation, no entry", {0}, 0, 48, 48, ""},
		{"a table of nothing but its header", {1}, 1, 0, 0, ""},
		{"a table without its whole header", {1}, 1, UINT64_MAX, 0, ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(str_fini) struct str got = {0};
		struct elfmake m;

		make_plt(&m, t[i].symbols, t[i].n, PLT_HEADER + t[i].plt, t[i].sec);
		list_plt(&m, &got);
		is_str(got.buf, t[i].want, "linkage table: %s", t[i].what);
	}
}

static void test_plt_missing(void)
{
	static const char *const what[] = {"another section of relocations", "no table of symbols",
					   "names that are no names"};

	for (size_t i = 0; i < ARRAY_LEN(what); i++) {
		CLEANUP(str_fini) struct str got = {0};
		struct elfmake m;

		make_plt(&m, (const uint32_t[]){1}, 1, 64, 64);
		if (i == 0)
			m.names.buf[m.sections[4].sh_name + 1] = 'x';
		else
			m.sections[i + 1].sh_type = SHT_PROGBITS;
		list_plt(&m, &got);
		is_str(got.buf, "", "there is no linkage table with %s", what[i]);
	}
}

/* ---- what tells of other files ---- */

static void test_build_id(void)
{
	static const struct {
		const char *what;
		uint8_t note[48];
		size_t len;
		const char *want;
	} t[] = {
		{"a note",
		 {4, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 'i', 'd'},
		 20,
		 "id"},
		{"the last of two",
		 {4, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0,	  'i', 'd', 0,
		  0, 4, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0,   'G', 'N', 'U', 0,   'j', 'e'},
		 40,
		 "je"},
		{"one after another's",
		 {4, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 'G', 'N', 'U', 0,	  'x', 'x', 0,
		  0, 4, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0,   'G', 'N', 'U', 0,   'i', 'd'},
		 40,
		 "id"},
		{"a note of another type",
		 {4, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 'G', 'N', 'U', 0, 'i', 'd'},
		 20,
		 ""},
		{"a note of another owner",
		 {4, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'X', 0, 'i', 'd'},
		 20,
		 ""},
		{"an owner whose name goes on",
		 {8, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 'X', 0, 0, 0, 'i', 'd'},
		 24,
		 ""},
		{"a note that is cut",
		 {4, 0, 0, 0, 9, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 'i', 'd'},
		 20,
		 ""},
		{"nothing", {0}, 0, ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct elfmake m;
		struct opened o;

		elfmake_start(&m);
		elfmake_add(&m, "", SHT_NOTE, t[i].note, t[i].len);
		m.sections[2].sh_addralign = 4;
		open_made(&m, &o);
		ok(o.parts.build_id_len == strlen(t[i].want) &&
			   (!o.parts.build_id_len ||
			    memcmp(o.parts.build_id, t[i].want, o.parts.build_id_len) == 0),
		   "build id: %s", t[i].what);
		close_made(&o);
	}
}

static void test_debuglink(void)
{
	static const struct {
		const char *what, *link;
		size_t len;
		const char *want;
	} t[] = {
		{"a name and a checksum", "ab\0\0\1\2\3\4", 8, "ab"},
		{"a name that fills its words", "abc\0\1\2\3\4", 8, "abc"},
		{"a name of one more byte", "abcd\0\0\0\0\1\2\3\4", 12, "abcd"},
		{"no name", "\0\0\0\0\1\2\3\4", 8, NULL},
		{"a hidden file", ".b\0\0\1\2\3\4", 8, NULL},
		{"a path", "a/b\0\1\2\3\4", 8, NULL},
		{"no checksum", "ab\0\0\1\2\3", 7, NULL},
		{"a name that does not end", "abcdefgh", 8, NULL},
		{"nothing", "", 0, NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct elfmake m;
		struct opened o;

		elfmake_start(&m);
		elfmake_add(&m, ".gnu_debuglink", SHT_PROGBITS, t[i].link, t[i].len);
		open_made(&m, &o);
		is_str(o.parts.debug_name, t[i].want, "debug link: %s", t[i].what);
		is_int(o.parts.debug_crc, t[i].want ? 0x04030201 : 0, "its checksum");
		close_made(&o);
	}
}

/* ---- addresses ---- */

static void test_segments(void)
{
	static struct elfseg list[] = {
		{.offset = 0, .size = 0x1200, .vaddr = 0x400000},
		{.offset = 0x1234, .size = 0x1000, .vaddr = 0x401234, .exec = true},
		{.offset = 0x2e00, .size = 0x100, .vaddr = 0x803e00},
	};
	static const struct elfsegs segs = {.list = list, .count = ARRAY_LEN(list)};
	static const struct {
		const char *what;
		uint64_t offset;
		bool found;
		uint64_t want;
	} t[] = {
		{"the first byte", 0, true, 0x400000},
		{"code", 0x1300, true, 0x401300},
		{"the first byte of code", 0x1234, true, 0x401234},
		{"the last byte of code", 0x2233, true, 0x402233},
		{"after code", 0x2234, false, 0},
		{"before code on its page, which data has, too", 0x1000, true, 0x401000},
		{"before that page", 0xfff, true, 0x400fff},
		{"data", 0x2e00, true, 0x803e00},
		{"the last byte of data", 0x2eff, true, 0x803eff},
		{"before data on its page", 0x2dff, false, 0},
		{"after all", 0x2f00, false, 0},
		{"far away", UINT64_MAX, false, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		uint64_t got = 0;

		ok(elfsegs_address(&segs, t[i].offset, &got) == t[i].found && got == t[i].want,
		   "the address of an offset in the file: %s (%#llx)", t[i].what,
		   (unsigned long long)got);
	}
}

static void test_segments_read(void)
{
	struct elfsegs segs = {0};
	struct elfmake m;
	struct opened o;

	elfmake_start(&m);
	m.frames =
		(Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0x5000, .p_filesz = 9};
	open_made(&m, &o);
	elfsegs_read(o.elf, &segs);
	ok(segs.count == 2 && segs.list[0].exec && segs.list[0].offset == ELFMAKE_CODE &&
		   segs.list[0].vaddr == ELFMAKE_CODE && segs.list[0].size == ELFMAKE_CODE_LEN,
	   "a segment of code is read");
	ok(segs.count == 2 && !segs.list[1].exec && segs.list[1].offset == 0 &&
		   segs.list[1].vaddr == 0x5000 && segs.list[1].size == 9,
	   "so is one of data");
	elfsegs_fini(&segs);
	close_made(&o);
	elfmake_start(&m);
	m.frames = (Elf64_Phdr){.p_type = PT_NOTE, .p_vaddr = 0x5000, .p_filesz = 9};
	open_made(&m, &o);
	elfsegs_read(o.elf, &segs);
	is_int(segs.count, 1, "only what is loaded is a segment");
	elfsegs_fini(&segs);
	close_made(&o);
}

/* Changes one byte of .eh_frame_hdr. */
static void test_starts_read(void)
{
	static const struct {
		const char *what;
		size_t at;
		uint8_t byte;
		uint64_t want;
	} t[] = {
		{"as linkers write it", 0, 1, 2},
		{"another version", 0, 2, 0},
		{"an address of .eh_frame in 4 bytes of another kind", 1, 0x0b, 2},
		{"an address of .eh_frame in 8 bytes", 1, 0x1c, 0},
		{"a number of rows in 8 bytes", 2, 0x04, 0},
		{"rows of 8 bytes", 3, 0x3c, 0},
		{"rows relative to themselves", 3, 0x1b, 0},
		{"more rows than there are", 8, 3, 0},
		{"fewer rows", 8, 1, 1},
	};
	static const uint32_t starts[] = {0x1100, 0x1180};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct ehtable table;
		struct elfmake m;
		struct opened o;
		uint64_t start;

		elfmake_start(&m);
		elfmake_starts(&m, starts, 2, 2);
		m.data.buf[m.sections[m.count - 1].sh_offset - ELFMAKE_HEADERS + t[i].at] =
			(char)t[i].byte;
		open_made(&m, &o);
		ehtable_read(o.elf, &table);
		is_int(table.count, t[i].want, "starts of functions: %s", t[i].what);
		is_int(ehtable_find(&table, 0x1101, &start), t[i].want > 0,
		       "the first is found if there are any");
		is_int(ehtable_find(&table, 0x1180, &start), t[i].want > 1,
		       "the second is found if there are two");
		close_made(&o);
	}
}

int main(void)
{
	test_symbols();
	test_attributes();
	test_tables_damaged();
	test_plt();
	test_plt_missing();
	test_build_id();
	test_debuglink();
	test_segments();
	test_segments_read();
	test_starts_read();
	return tap_done();
}
