// SPDX-License-Identifier: Apache-2.0
/* Its own file is one of the things it reads: symbols of known names at known places. */
#include "symbols/elfsym.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>

#include "common/fs.h"
#include "lib/elfmake.h"
#include "lib/tap.h"
#include "lib/textfile.h"

#define SPIN "tests/golden/perf/spin"

void known_function(void);
__attribute__((noinline, used)) void known_function(void)
{
	__asm__ volatile("nop");
}

__attribute__((noinline, used)) static int known_static(int x)
{
	__asm__ volatile("nop");
	return x + 1;
}

/* Assembler without type or size, as in many libraries. */
void plain_label(void);
__asm__(".pushsection .text\n.globl plain_label\nplain_label:\n\tnop\n\tnop\n.popsection\n");

static int find_code(struct dl_phdr_info *info, size_t size, void *arg)
{
	uint64_t *offset_from = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X)
			*offset_from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr -
				       info->dlpi_phdr[i].p_offset;
	return 1; /* the first is the program itself */
}

static struct elfsym *elfsym_in(const void *p, size_t len, struct err *err)
{
	CLEANUP(close_fd) int fd = file_of(p, len);

	return elfsym_open(fd, -1, err);
}

static void is_at(const struct elfsym *es, uint64_t offset, const char *want)
{
	struct elf_symbol s = {.name = ""};
	bool found = elfsym_find(es, offset, &s);

	ok(want ? found && strcmp(s.name, want) == 0 : !found, "%#llx is %s (%s)",
	   (unsigned long long)offset, want ? want : "nothing", s.name);
}

static void test_own(void)
{
	CLEANUP(close_fd) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CLEANUP(elfsym_close) struct elfsym *es = NULL;
	uint64_t from = 0;
	struct err err;

	es = elfsym_open(fd, -1, &err);
	dl_iterate_phdr(find_code, &from);
	if (!ok(es != NULL, "reads its own program"))
		return;
	is_at(es, (uint64_t)(uintptr_t)known_function - from, "known_function");
	is_at(es, (uint64_t)(uintptr_t)known_static - from, "known_static");
	is_at(es, (uint64_t)(uintptr_t)plain_label - from, "plain_label");
	is_at(es, (uint64_t)(uintptr_t)plain_label + 1 - from, "plain_label");
	is_at(es, UINT64_MAX, NULL);
	ok(known_static(1) == 2, "and they are there");
}

static void test_library(void)
{
	struct elf_symbol s = {.name = "nothing"};
	struct err err;
	Dl_info info;
	int fd;
	struct elfsym *es;
	struct link_map *map = NULL;
	const uint8_t *id;
	uint64_t offset;

	if (!ok(dladdr1((void *)(uintptr_t)dlopen, &info, (void **)&map, RTLD_DL_LINKMAP) && map,
		"the C library"))
		return;
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	es = elfsym_open(fd, -1, &err);
	close(fd);
	ok(es != NULL, "%s: its symbols, also after its file is closed", info.dli_fname);
	/* Its code is linked at its file offset, as in every library of Debian. */
	offset = (uint64_t)(uintptr_t)dlopen - map->l_addr;
	ok(elfsym_find(es, offset, &s) && s.start <= offset && offset < s.end, "dlopen is %s",
	   s.name);
	ok(elfsym_build_id(es, &id) > 0, "its build id");
	elfsym_close(es);
}

static void test_small(void)
{
	CLEANUP(str_fini) struct str file = {0};
	CLEANUP(elfsym_close) struct elfsym *es = NULL;
	const uint8_t *id;
	struct err err;

	if (!ok(fs_read_file(AT_FDCWD, SPIN, 1 << 20, &file, &err) == 0, SPIN))
		return;
	es = elfsym_in(file.buf, file.len, &err);
	if (!ok(es != NULL, "in memory"))
		return;
	is_int(elfsym_build_id(es, &id), 20, "its build id has 20 bytes");
	is_at(es, 0, NULL);
	is_at(es, 0x100f, "spin");
	is_at(es, 0x100e, "_start");
	is_at(es, file.len * 2, NULL);
}

/* Each prefix, and each byte of the headers changed: nothing is read that is not there. Case 66. */
static void test_damaged(void)
{
	CLEANUP(str_fini) struct str file = {0};
	struct elf_symbol s;
	struct err err;
	int opened = 0;

	if (!ok(fs_read_file(AT_FDCWD, SPIN, 1 << 20, &file, &err) == 0, SPIN))
		return;
	for (size_t len = 0; len < file.len; len += len < 1024 ? 1 : 97) {
		char *copy = xmalloc(len);
		struct elfsym *es;

		memcpy(copy, file.buf, len);
		es = elfsym_in(copy, len, &err);
		if (es) {
			elfsym_find(es, 0x1100, &s);
			opened++;
		}
		elfsym_close(es);
		free(copy);
	}
	ok(opened > 0, "prefixes of a file");
	for (size_t at = 0; at < 64 + 5 * 56; at++) {
		struct elfsym *es;
		char old = file.buf[at];

		file.buf[at] = (char)~old;
		es = elfsym_in(file.buf, file.len, &err);
		if (es)
			elfsym_find(es, 0x1100, &s);
		elfsym_close(es);
		file.buf[at] = old;
	}
	ok(elfsym_in("no ELF file", 11, &err) == NULL, "%s", err.msg);
	ok(elfsym_in("", 0, &err) == NULL, "%s", err.msg);
	ok(elfsym_open(-1, -1, &err) == NULL, "%s", err.msg);
}

/* A made file with these tables and this build id; "" and 0: none. */
static int made(const char *symtab, const char *dynsym, uint8_t id)
{
	static const uint32_t starts[] = {0x1010, 0x1200};
	CLEANUP(str_fini) struct str file = {0};
	struct elfmake m;

	elfmake_start(&m);
	if (*symtab)
		elfmake_symbols(&m, SHT_SYMTAB, symtab);
	if (*dynsym)
		elfmake_symbols(&m, SHT_DYNSYM, dynsym);
	if (id)
		elfmake_build_id(&m, id);
	elfmake_starts(&m, starts, 2, 2);
	elfmake_end(&m, &file);
	while (file.len < 0x3000)
		str_addc(&file, 0);
	return file_of(file.buf, file.len);
}

/* "start-end name" at an offset, or "". */
static const char *found_at(const struct elfsym *es, uint64_t offset)
{
	static char buf[128];
	struct elf_symbol s;

	buf[0] = '\0';
	if (elfsym_find(es, offset, &s))
		snprintf(buf, sizeof(buf), "%llx-%llx %.40s%s", (unsigned long long)s.start,
			 (unsigned long long)s.end, s.name, s.plt ? "@plt" : "");
	return buf;
}

/* Checks which symbol has an address, and where it ends. */
static void test_ranges(void)
{
	static const struct {
		const char *symbols, *want, *what;
		uint64_t offset;
	} t[] = {
		{"a@1010+10", "1010-1020 a", "the first byte of a function is its own", 0x1010},
		{"a@1010+10", "1010-1020 a", "the last byte of a function is its own", 0x101f},
		{"a@1010+10", "", "the byte after a function is nobody's", 0x1020},
		{"a@1010+10", "", "the byte before a function is nobody's", 0x100f},
		{"b@1020+10 a@1010+10", "1010-1020 a", "symbols need no order", 0x101f},
		{"b@1020+10 a@1010+10", "1020-1030 b", "the next function begins there", 0x1020},
		{"a@1010+0 b@1020+10", "1010-1020 a", "one without a size ends at the next",
		 0x101f},
		{"a@1010+0", "1010-2000 a", "the last without a size ends with its page", 0x1fff},
		{"a@1fff+0", "1fff-2000 a", "the last byte of a page has its symbol", 0x1fff},
		{"a@1010+100 b@1020+10", "1020-1030 b", "the nearest function counts", 0x1025},
		{"a@1010+100 b@1020+10", "1010-1110 a", "a longer one goes on after it", 0x1030},
		{"aa@1010+10 a@1010+20", "1010-1020 aa", "of one address the better one counts",
		 0x1010},
		{"a@1010+20 aa@1010+10", "1010-1020 aa", "the order does not matter to that",
		 0x1010},
		{"a@1010+10", "", "an offset outside of all segments has none", 0x2000},
	};
	uint64_t start = 0;

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(close_fd) int fd = made(t[i].symbols, "", 0);
		CLEANUP(elfsym_close) struct elfsym *es = NULL;
		struct err err;

		es = elfsym_open(fd, -1, &err);
		if (!es)
			abort();
		is_str(found_at(es, t[i].offset), t[i].want, "%s", t[i].what);
		ok(elfsym_start(es, 0x1018, &start) && start == 0x1010,
		   "its function begins at 0x1010");
		ok(elfsym_start(es, 0x1208, &start) && start == 0x1200,
		   "the other begins at 0x1200");
		ok(!elfsym_start(es, 0x2000, &start), "outside of all segments none begins");
	}
}

/* A symbol that extends over many others is found over so many of them only. */
static void test_look_back(void)
{
	for (unsigned between = 62; between <= 65; between++) {
		CLEANUP(str_fini) struct str symbols = {0};
		CLEANUP(close_fd) int fd = -1;
		CLEANUP(elfsym_close) struct elfsym *es = NULL;
		struct err err;

		str_adds(&symbols, "long@1010+800");
		for (unsigned i = 0; i < between; i++)
			str_addf(&symbols, " s@%x+4", 0x1020 + 8 * i);
		fd = made(symbols.buf, "", 0);
		es = elfsym_open(fd, -1, &err);
		is_str(found_at(es, 0x1700), between < 64 ? "1010-1810 long" : "",
		       "a function over %u others", between);
	}
}

/* Checks which of the tables count. */
static void test_tables(void)
{
	static const struct {
		const char *symtab, *dynsym, *debug, *want, *what;
		uint8_t id, debug_id;
	} t[] = {
		{"a@1010+10", "b@1010+20", "c@1010+30", "1010-1020 a", "all symbols come first", 1,
		 1},
		{"", "b@1010+20", "c@1010+30", "1010-1040 c", "then those of the debug file", 1, 1},
		{"", "b@1010+20", "c@1010+30", "1010-1030 b",
		 "a debug file of another build is no use", 1, 2},
		{"", "b@1010+20", "c@1010+30", "1010-1030 b", "one without a build id is no use", 1,
		 0},
		{"", "b@1010+20", "c@1010+30", "1010-1040 c",
		 "without a build id any debug file counts", 0, 2},
		{"", "b@1010+20", "c@1010+30", "1010-1040 c", "without two build ids it counts", 0,
		 0},
		{"", "b@1010+20", "", "1010-1030 b", "an empty debug file leaves what is exported",
		 1, 1},
		{"", "", "", "", "a file without symbols has none", 1, 1},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(close_fd) int fd = made(t[i].symtab, t[i].dynsym, t[i].id);
		CLEANUP(close_fd) int debug = made(t[i].debug, "", t[i].debug_id);
		CLEANUP(elfsym_close) struct elfsym *es = NULL;
		const uint8_t *id = NULL;
		struct err err;
		size_t len;

		es = elfsym_open(fd, debug, &err);
		if (!es)
			abort();
		is_str(found_at(es, 0x1010), t[i].want, "%s", t[i].what);
		len = elfsym_build_id(es, &id);
		ok(t[i].id ? len == 20 && id[0] == t[i].id && id[19] == t[i].id : len == 0,
		   "the build id is the file's own");
	}
}

int main(void)
{
	test_own();
	test_library();
	test_small();
	test_damaged();
	test_ranges();
	test_look_back();
	test_tables();
	elfsym_close(NULL);
	return tap_done();
}
