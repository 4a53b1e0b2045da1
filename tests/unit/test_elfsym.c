// SPDX-License-Identifier: Apache-2.0
/* Its own file is one of the things it reads: symbols of known names at known places. */
#include "symbols/elfsym.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>

#include "common/fs.h"
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

/* Each prefix, and each byte of the headers changed: nothing is read that is not there. */
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

int main(void)
{
	test_own();
	test_library();
	test_small();
	test_damaged();
	return tap_done();
}
