// SPDX-License-Identifier: Apache-2.0
/* Rules of files whose contents are known, and of a JVM. */
#include "unwind/cfi.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <glob.h>

#include "common/str.h"
#include "lib/tap.h"

/* A seed of the fuzz target, made by tests/fuzz/cfi_seeds.sh. */
static struct cfi *open_fixture(const char *name)
{
	char *path = xasprintf("tests/fuzz/corpus/cfi/%s", name);
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct err err;
	struct cfi *c = cfi_open(fd, &err);

	ok(c != NULL, "%s", path);
	free(path);
	if (!c)
		exit(tap_done());
	return c;
}

#define BASE 0x7ffc12345678u

static const uint64_t words[64] = {
	0x1111, 0x2222, 0x3333, [16] = 0x6666, [20] = BASE + 0x4000, [21] = 0x5555};

static struct unwind_regs fixture_regs(uint64_t pc)
{
	struct unwind_regs r = {.exact = true};

	unwind_set(&r, UNWIND_PC, pc);
	unwind_set(&r, UNWIND_SP, BASE);
	return r;
}

static void steps_to(struct cfi *c, uint64_t offset, uint64_t pc, uint64_t sp)
{
	struct stack_copy stack = {.base = BASE, .p = (const uint8_t *)words, .len = sizeof(words)};
	struct unwind_regs r = fixture_regs(0x7f0000000000 + offset);

	ok(cfi_step(c, offset, false, &r, &stack) == CFI_OK, "a step from %#" PRIx64, offset);
	is_int(unwind_pc(&r), pc, "pc");
	is_int(unwind_sp(&r) - BASE, sp, "sp");
}

static void step_is(struct cfi *c, uint64_t offset, size_t len, enum cfi_result want)
{
	struct stack_copy stack = {.base = BASE, .p = (const uint8_t *)words, .len = len};
	struct unwind_regs r = fixture_regs(0x7f0000000000 + offset), before = r;

	ok(cfi_step(c, offset, false, &r, &stack) == want, "no step from %#" PRIx64, offset);
	ok(memcmp(&r, &before, sizeof(r)) == 0, "the registers are untouched");
}

/* Offsets are those of the code as objdump -d shows it. */
static void test_fixtures(void)
{
	CLEANUP(cfi_close) struct cfi *plt = open_fixture("plt.so");
	CLEANUP(cfi_close) struct cfi *frames = open_fixture("debug_frame.so");
	CLEANUP(cfi_close) struct cfi *no_index = open_fixture("no_index.so");
	CLEANUP(cfi_close) struct cfi *no_sections = open_fixture("no_sections.so");

	for (int warm = 0; warm < 2; warm++) {
		steps_to(plt, 0x330, 0x2222, 16); /* the linkage table's header */
		steps_to(plt, 0x336, 0x3333, 24); /* and after its push */
		steps_to(plt, 0x340, 0x1111, 8);  /* an entry: by an expression */
		steps_to(plt, 0x34b, 0x2222, 16); /* after its push */
		steps_to(plt, 0x380, 0x1111, 8);
		steps_to(plt, 0x431, 0x5555, 0x4000); /* a signal's frame, by expressions */
		step_is(plt, 0x438, sizeof(words), CFI_END);
		step_is(plt, 0x34b, 15, CFI_BAD);
		step_is(plt, 0x431, 21 * 8, CFI_BAD);
		step_is(plt, 0x396, sizeof(words), CFI_NONE); /* between functions */
		step_is(plt, 0x10, sizeof(words), CFI_NONE);
		step_is(plt, UINT64_MAX, sizeof(words), CFI_NONE);
	}
	steps_to(no_index, 0x3f1, 0x5555, 0x4000);
	step_is(no_index, 0x3f8, sizeof(words), CFI_END);
	steps_to(no_sections, 0x34b, 0x2222, 16);
	step_is(no_sections, 0x438, sizeof(words), CFI_END);
	steps_to(frames, 0x3f1, 0x5555, 0x4000);
	step_is(frames, 0x3f8, sizeof(words), CFI_END);
	step_is(frames, 0x360, sizeof(words), CFI_NONE); /* compiled without */
}

/* At a return after the pops, rules still tell where the registers had been saved. */
static void test_popped(void)
{
	CLEANUP(cfi_close) struct cfi *c = open_fixture("plt.so");
	struct stack_copy stack = {.base = BASE, .p = (const uint8_t *)words, .len = sizeof(words)};
	struct unwind_regs r = fixture_regs(0x7f0000000000 + 0x3e5);

	unwind_set(&r, 3, 77);
	unwind_set(&r, UNWIND_FP, 88);
	ok(cfi_step(c, 0x3e5, false, &r, &stack) == CFI_OK, "a step from a return");
	is_int(unwind_pc(&r), 0x1111, "pc");
	is_int(unwind_get(&r, 3), 77, "rbx has its value again");
	is_int(unwind_fp(&r), 88, "and so has rbp");

	/* The same rule right after the prologue: they are in memory. */
	r = fixture_regs(0x7f0000000000 + 0x3a5);
	unwind_set(&r, 3, 77);
	unwind_set(&r, UNWIND_FP, BASE + 8);
	ok(cfi_step(c, 0x3a5, false, &r, &stack) == CFI_OK, "a step from after the prologue");
	is_int(unwind_pc(&r), 0x3333, "pc");
	is_int(unwind_get(&r, 3), 0x1111, "rbx as saved");
	is_int(unwind_fp(&r), 0x2222, "rbp as saved");
	ok(!unwind_known(&r, 0), "rax is not known");
}

static void test_not_elf(void)
{
	static const char *const paths[] = {"/dev/null", "/proc/self/maps", "tests", "VERSION"};
	struct err err = {0};

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		CLEANUP(close_fd) int fd = open(paths[i], O_RDONLY | O_CLOEXEC);

		err.msg[0] = '\0';
		ok(!cfi_open(fd, &err) && err.msg[0], "%s: %s", paths[i], err.msg);
	}
	ok(!cfi_open(-1, &err) && err.code == EBADF, "no descriptor: %s", err.msg);
}

/* Almost every function of a JVM has rules at its entry and in its midst. */
static void test_libjvm(const char *path)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(cfi_close) struct cfi *c = NULL;
	struct stack_copy stack = {.base = BASE};
	unsigned count = 0, with = 0;
	Elf_Scn *scn = NULL, *table = NULL;
	struct err err;
	GElf_Shdr sh;
	GElf_Sym sym;
	Elf *elf;

	c = cfi_open(fd, &err);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	while (elf && (scn = elf_nextscn(elf, scn)) && gelf_getshdr(scn, &sh))
		if (sh.sh_type == SHT_SYMTAB || (sh.sh_type == SHT_DYNSYM && !table))
			table = scn;
	if (!ok(c && table, "%s", path))
		return;
	for (int i = 0; gelf_getsym(elf_getdata(table, NULL), i, &sym); i++) {
		struct unwind_regs r = fixture_regs(1);

		if (GELF_ST_TYPE(sym.st_info) != STT_FUNC || !sym.st_shndx || !sym.st_size)
			continue;
		/* Code is linked at its place in the file: so does GNU ld with these JVMs. */
		count++;
		with += cfi_step(c, sym.st_value, false, &r, &stack) == CFI_BAD &&
			cfi_step(c, sym.st_value + sym.st_size / 2, false, &r, &stack) == CFI_BAD;
	}
	ok(count > 100 && with * 100 >= count * 99, "%u of %u functions have rules", with, count);
	elf_end(elf);
}

int main(void)
{
	glob_t jvms;

	test_fixtures();
	test_popped();
	test_not_elf();
	if (glob("/usr/lib/jvm/*/lib/server/libjvm.so", 0, NULL, &jvms) == 0)
		test_libjvm(jvms.gl_pathv[0]);
	globfree(&jvms);
	return tap_done();
}
