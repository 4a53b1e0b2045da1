// SPDX-License-Identifier: Apache-2.0
/* Names of functions of files without .symtab. */
#include <lzma.h>

#include "lib/elfmake.h"
#include "lib/tap.h"
#include "lib/textfile.h"
#include "symbols/elfsym.h"

/* debug may be NULL. */
static struct elfsym *elfsym_of(const struct str *file, const struct str *debug, struct err *err)
{
	CLEANUP(close_fd) int fd = file_of(file->buf, file->len);
	CLEANUP(close_fd) int debug_fd = debug ? file_of(debug->buf, debug->len) : -1;

	return elfsym_open(fd, debug_fd, err);
}

static void is_named(const struct elfsym *es, uint64_t offset, const char *want)
{
	struct elf_symbol s = {.name = "nothing"};
	bool found = es && elfsym_find(es, offset, &s);

	ok(want ? found && strcmp(s.name, want) == 0 : !found, "%#llx: %s (%s)",
	   (unsigned long long)offset, want ? want : "nothing", s.name);
}

/* The file of functions as .gnu_debugdata has it. */
static void compress(const struct str *file, struct str *ret)
{
	size_t cap = lzma_stream_buffer_bound(file->len), len = 0;
	uint8_t *out = xmalloc(cap);

	if (lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, (const uint8_t *)file->buf,
				    file->len, out, &len, cap) != LZMA_OK)
		abort();
	str_clear(ret);
	str_add(ret, (const char *)out, len);
	free(out);
}

/* A library without .symtab: exported functions, a build id. */
static void start_stripped(struct elfmake *m)
{
	elfmake_start(m);
	elfmake_symbols(m, SHT_DYNSYM, "exported@1100+20 unsized@1200+0 alias@1100+20");
	elfmake_build_id(m, 7);
}

static void test_dynsym(void)
{
	CLEANUP(str_fini) struct str file = {0};
	CLEANUP(elfsym_close) struct elfsym *es = NULL;
	const uint32_t starts[] = {0x1100, 0x1180, 0x1200};
	uint64_t start = 0;
	struct elfmake m;
	struct err err;

	start_stripped(&m);
	elfmake_starts(&m, starts, 3, 3);
	elfmake_end(&m, &file);
	es = elfsym_of(&file, NULL, &err);
	is_named(es, 0x110f, "exported");
	is_named(es, 0x1120, NULL);
	is_named(es, 0x1190, NULL);
	is_named(es, 0x1204, NULL);
	ok(elfsym_start(es, 0x1190, &start) && start == 0x1180, "a function without name begins");
	ok(elfsym_start(es, 0x123f, &start) && start == 0x1200, "so does the last one");
	ok(!elfsym_start(es, 0x11c0, &start), "none between two");
	ok(!elfsym_start(es, 0x1240, &start), "none after the last");
	ok(!elfsym_start(es, 0x10ff, &start), "none before the first");
	ok(!elfsym_start(es, 0x5000, &start), "none outside");
}

static void test_starts_damaged(void)
{
	CLEANUP(str_fini) struct str file = {0};
	CLEANUP(elfsym_close) struct elfsym *es = NULL;
	const uint32_t starts[] = {0x1100};
	uint64_t start;
	struct elfmake m;
	struct err err;

	for (uint32_t claimed = 2; claimed; claimed = claimed == 2 ? UINT32_MAX : 0) {
		start_stripped(&m);
		elfmake_starts(&m, starts, 1, claimed);
		elfmake_end(&m, &file);
		elfsym_close(es);
		es = elfsym_of(&file, NULL, &err);
		ok(es && !elfsym_start(es, 0x1100, &start), "%u starts of one are none", claimed);
	}
	/* The description tells another start than the row. */
	start_stripped(&m);
	elfmake_starts(&m, starts, 1, 1);
	m.data.buf[m.sections[m.count - 2].sh_offset - ELFMAKE_HEADERS + 8] ^= 1;
	elfmake_end(&m, &file);
	elfsym_close(es);
	es = elfsym_of(&file, NULL, &err);
	ok(es && !elfsym_start(es, 0x1100, &start), "two starts of one are none");
}

static void test_mini(void)
{
	CLEANUP(str_fini) struct str file = {0}, inner = {0}, xz = {0};
	CLEANUP(elfsym_close) struct elfsym *es = NULL;
	struct elfmake m;
	struct err err;

	elfmake_start(&m);
	elfmake_symbols(&m, SHT_SYMTAB, "hidden@1180+40");
	elfmake_end(&m, &inner);
	compress(&inner, &xz);
	start_stripped(&m);
	elfmake_add(&m, ".gnu_debugdata", SHT_PROGBITS, xz.buf, xz.len);
	elfmake_end(&m, &file);
	es = elfsym_of(&file, NULL, &err);
	is_named(es, 0x1190, "hidden");
	is_named(es, 0x1110, "exported");
	is_named(es, 0x11c0, NULL);
}

static void try_mini(const struct str *xz, size_t len, const char *what)
{
	CLEANUP(str_fini) struct str file = {0};
	CLEANUP(elfsym_close) struct elfsym *es = NULL;
	struct elf_symbol s;
	struct elfmake m;
	struct err err;

	start_stripped(&m);
	elfmake_add(&m, ".gnu_debugdata", SHT_PROGBITS, xz->buf, len);
	elfmake_end(&m, &file);
	es = elfsym_of(&file, NULL, &err);
	ok(es && elfsym_find(es, 0x1110, &s) && !elfsym_find(es, 0x1190, &s), "%s", what);
}

static void test_mini_hostile(void)
{
	CLEANUP(str_fini) struct str inner = {0}, xz = {0};
	struct elfmake m;
	struct str zeros = {.len = 65u << 20};

	elfmake_start(&m);
	elfmake_symbols(&m, SHT_SYMTAB, "hidden@1180+40");
	elfmake_end(&m, &inner);
	compress(&inner, &xz);
	try_mini(&xz, xz.len - 1, "cut short");
	try_mini(&xz, 0, "empty");
	xz.buf[xz.len / 2] ^= 0x55;
	try_mini(&xz, xz.len, "damaged");
	try_mini(&inner, inner.len, "not compressed");
	zeros.buf = xcalloc(zeros.len, 1);
	compress(&zeros, &xz);
	free(zeros.buf);
	try_mini(&xz, xz.len, "65 MiB in some KiB");
}

static void test_debug_file(void)
{
	CLEANUP(str_fini) struct str file = {0}, debug = {0};
	struct elfmake m;
	struct err err;

	start_stripped(&m);
	elfmake_end(&m, &file);
	for (uint8_t id = 7; id < 9; id++) {
		CLEANUP(elfsym_close) struct elfsym *es = NULL;

		elfmake_start(&m);
		elfmake_symbols(&m, SHT_SYMTAB, "hidden@1180+40 exported@1100+20");
		elfmake_build_id(&m, id);
		elfmake_end(&m, &debug);
		es = elfsym_of(&file, &debug, &err);
		is_named(es, 0x1190, id == 7 ? "hidden" : NULL);
		is_named(es, 0x1110, "exported");
	}
}

int main(void)
{
	test_dynsym();
	test_starts_damaged();
	test_mini();
	test_mini_hostile();
	test_debug_file();
	return tap_done();
}
