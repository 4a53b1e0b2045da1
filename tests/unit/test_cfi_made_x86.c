// SPDX-License-Identifier: Apache-2.0
/* Call frame information of files made up: which files and sections are read, and very many rules.
 */
#include "unwind/cfi.h"

#include "lib/ehmake.h"
#include "lib/tap.h"
#include "lib/textfile.h"

#define SP   0x10000u
#define MANY 0x10000u /* offset and address of a second segment */

static const uint64_t words[] = {11, 0x5555, 0x6666, 0x7777};
static struct stack_copy stack = {.base = SP, .p = (const uint8_t *)words, .len = sizeof(words)};
static const uint8_t usual[] = {EH_USUAL};
static const uint8_t larger[] = {DW_CFA_def_cfa, UNWIND_SP, 24, DW_CFA_offset | UNWIND_RA, 1};
static const struct eh_function function = {ELFMAKE_CODE, usual, sizeof(usual)};

static struct cfi *open_text(const struct str *file, struct err *err)
{
	CLEANUP(close_fd) int fd = file_of(file->buf, file->len);

	return cfi_open(fd, err);
}

/* Uses m up. */
static struct cfi *open_made(struct elfmake *m)
{
	CLEANUP(str_fini) struct str file = {0};
	struct err err;
	struct cfi *c;

	elfmake_end(m, &file);
	c = open_text(&file, &err);
	if (!c)
		abort();
	return c;
}

static enum cfi_result step(struct cfi *c, uint64_t offset, bool at_return, struct unwind_regs *ret)
{
	*ret = (struct unwind_regs){.exact = !at_return};
	unwind_set(ret, UNWIND_PC, offset);
	unwind_set(ret, UNWIND_SP, SP);
	return cfi_step(c, offset, at_return, ret, &stack);
}

static void test_opened(void)
{
	static const struct {
		const char *what;
		size_t at;
		uint8_t byte;
		const char *want; /* NULL: it opens */
	} t[] = {
		{"a file of this machine", EI_CLASS, ELFCLASS64, NULL},
		{"a file of 32 bits", EI_CLASS, ELFCLASS32, "an ELF file of another architecture"},
		{"a file of the other byte order", EI_DATA, ELFDATA2MSB,
		 "an ELF file of another architecture"},
		{"a file of another machine", offsetof(Elf64_Ehdr, e_machine), EM_386,
		 "an ELF file of another architecture"},
		{"another file", 0, 'x', "not an ELF file"},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(str_fini) struct str file = {0};
		CLEANUP(cfi_close) struct cfi *c = NULL;
		struct elfmake m;
		struct err err = {0};

		elfmake_start(&m);
		eh_add(&m, &function, 1, UNWIND_RA, false);
		elfmake_end(&m, &file);
		file.buf[t[i].at] = (char)t[i].byte;
		c = open_text(&file, &err);
		ok(!c == !!t[i].want, "%s is read or not", t[i].what);
		is_str(c ? NULL : err.msg, t[i].want, "the error says why");
	}
}

static void test_places(void)
{
	static const struct {
		const char *what;
		uint64_t offset;
		bool at_return;
		enum cfi_result want;
	} t[] = {
		{"the first byte of a function", 0x1000, false, CFI_OK},
		{"the last byte of a function", 0x103f, false, CFI_OK},
		{"the byte after it", 0x1040, false, CFI_NONE},
		{"a return address after its last byte", 0x1040, true, CFI_OK},
		{"a return address at its first byte", 0x1000, true, CFI_NONE},
		{"no byte of the file", 0x9000, false, CFI_NONE},
		{"a return address at the start of the file", 0, true, CFI_NONE},
	};
	CLEANUP(cfi_close) struct cfi *c = NULL;
	struct elfmake m;

	elfmake_start(&m);
	eh_add(&m, &function, 1, UNWIND_RA, false);
	c = open_made(&m);
	for (unsigned again = 0; again < 2; again++)
		for (size_t i = 0; i < ARRAY_LEN(t); i++) {
			struct unwind_regs r;

			is_int(step(c, t[i].offset, t[i].at_return, &r), t[i].want,
			       "%s has a rule or none", t[i].what);
			is_int(unwind_pc(&r), t[i].want == CFI_OK ? 0x5555 : t[i].offset,
			       "its caller is found, or nothing is changed");
		}
}

/* .debug_frame has the same form, but for its mark of a CIE and addresses of a CIE. */
static void debug_frame(struct elfmake *m, const char *name, uint64_t start, const uint8_t *rules,
			size_t len)
{
	CLEANUP(str_fini) struct str all = {0};
	CLEANUP(str_fini) struct str cie = {0};
	CLEANUP(str_fini) struct str fde = {0};

	eh_number(&cie, UINT32_MAX, 4);
	eh_number(&cie, 1, 2); /* version, no augmentation */
	str_addc(&cie, 1);
	str_addc(&cie, 0x78); /* -8 */
	str_addc(&cie, UNWIND_RA);
	eh_entry(&all, &cie);
	eh_number(&fde, 0, 4);
	eh_number(&fde, start, 8);
	eh_number(&fde, ELFMAKE_FUNCTION, 8);
	str_add(&fde, (const char *)rules, len);
	eh_entry(&all, &fde);
	elfmake_add(m, name, SHT_PROGBITS, all.buf, all.len);
}

static void test_debug_frame(void)
{
	static const struct {
		const char *what, *name, *other;
		uint64_t flags;
		enum cfi_result want;
	} t[] = {
		{".debug_frame is read where .eh_frame has no rule", ".debug_frame", ".comment", 0,
		 CFI_OK},
		{"another section is not", ".debug_other", ".comment", 0, CFI_NONE},
		{"a file with a section of the old compression is not read", ".debug_frame",
		 ".zdebug_info", 0, CFI_NONE},
		{"a file with a compressed section is not read", ".debug_frame", ".comment",
		 SHF_COMPRESSED, CFI_NONE},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(cfi_close) struct cfi *c = NULL;
		struct unwind_regs r;
		struct elfmake m;
		uint16_t at;

		elfmake_start(&m);
		eh_add(&m, &function, 1, UNWIND_RA, false);
		debug_frame(&m, t[i].name, 0x1100, larger, sizeof(larger));
		at = elfmake_add(&m, t[i].other, SHT_PROGBITS, "1234567812345678", 16);
		m.sections[at].sh_flags = t[i].flags;
		c = open_made(&m);
		is_int(step(c, 0x1110, false, &r), t[i].want, "%s", t[i].what);
		is_int(unwind_pc(&r), t[i].want == CFI_OK ? 0x6666 : 0x1110,
		       "the caller is found by it, or nothing is changed");
		is_int(step(c, 0x1010, false, &r), CFI_OK, ".eh_frame is read all the same");
		is_int(unwind_pc(&r), 0x5555, "its caller is found");
	}
}

static void test_both(void)
{
	CLEANUP(cfi_close) struct cfi *c = NULL;
	struct unwind_regs r;
	struct elfmake m;

	elfmake_start(&m);
	eh_add(&m, &function, 1, UNWIND_RA, false);
	debug_frame(&m, ".debug_frame", ELFMAKE_CODE, larger, sizeof(larger));
	c = open_made(&m);
	is_int(step(c, 0x1010, false, &r), CFI_OK, "a function is in both");
	is_int(unwind_pc(&r), 0x5555, ".eh_frame comes first");
}

static void test_without(void)
{
	CLEANUP(cfi_close) struct cfi *c = NULL;
	struct unwind_regs r;
	struct elfmake m;

	elfmake_start(&m);
	c = open_made(&m);
	is_int(step(c, 0x1010, false, &r), CFI_NONE, "a file without rules opens, and has none");
}

/* More rules than are kept: each byte of code has its own. */
static void test_many(void)
{
	enum { FUNCTIONS = 1100, HEAD = 6, RULES = HEAD + ELFMAKE_FUNCTION * 5 };
	static const uint8_t head[HEAD] = {DW_CFA_def_cfa,  UNWIND_SP, 0,
					   DW_CFA_register, UNWIND_RA, UNWIND_RA};
	CLEANUP(free) struct eh_function *list = xcalloc(FUNCTIONS, sizeof(*list));
	CLEANUP(free) uint8_t *rules = xcalloc(FUNCTIONS, RULES);
	CLEANUP(cfi_close) struct cfi *c = NULL;
	uint64_t number = 0, right = 0;
	struct elfmake m;

	for (size_t i = 0; i < FUNCTIONS; i++) {
		uint8_t *p = rules + i * RULES;

		list[i] = (struct eh_function){.start = MANY + i * ELFMAKE_FUNCTION, .rules = p};
		memcpy(p, head, HEAD);
		for (size_t k = 0; k < ELFMAKE_FUNCTION; k++, number++) {
			const uint8_t one[] = {DW_CFA_def_cfa_offset, (uint8_t)(number | 0x80),
					       (uint8_t)(number >> 7 | 0x80),
					       (uint8_t)(number >> 14), DW_CFA_advance_loc | 1};

			memcpy(p + HEAD + k * sizeof(one), one, sizeof(one));
		}
		list[i].len = RULES;
	}
	elfmake_start(&m);
	eh_add(&m, list, FUNCTIONS, UNWIND_RA, false);
	m.frames = (Elf64_Phdr){.p_type = PT_LOAD,
				.p_flags = PF_X,
				.p_offset = MANY,
				.p_vaddr = MANY,
				.p_filesz = FUNCTIONS * ELFMAKE_FUNCTION};
	c = open_made(&m);
	for (unsigned again = 0; again < 2; again++)
		for (uint64_t i = 1; i < number; i++) {
			struct unwind_regs r;

			right += step(c, MANY + i, false, &r) == CFI_OK && unwind_sp(&r) == SP + i;
		}
	is_int(right, 2 * (number - 1), "70 400 places have each their own rule, time and again");
}

int main(void)
{
	test_opened();
	test_places();
	test_debug_frame();
	test_both();
	test_without();
	test_many();
	return tap_done();
}
