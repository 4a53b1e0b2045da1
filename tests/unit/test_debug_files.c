// SPDX-License-Identifier: Apache-2.0
/* Symbols of separate debug files: which file it is, whether it belongs, what is copied. */
#include "record/debug_files.h"

#include <lzma.h>
#include <sys/mman.h>

#include "common/fs.h"
#include "lib/elfmake.h"
#include "lib/tap.h"
#include "lib/textfile.h"
#include "symbols/elfsym.h"

static struct debug_link link_of(const struct str *s)
{
	CLEANUP(close_fd) int fd = file_of(s->buf, s->len);
	struct debug_link l;
	struct err err;

	ok(debug_links_read(&fd, 1, &l, &err) == 0, "looked at");
	return l;
}

/* The copy of a debug file's symbols in ret, if it belongs to the link. */
static bool copy(const struct debug_link *l, const struct str *debug, struct str *ret)
{
	CLEANUP(close_fd) int from = file_of(debug->buf, debug->len);
	CLEANUP(close_fd) int to = memfd_create("copy", MFD_CLOEXEC);
	struct debug_copy c = {.link = l, .from = from, .to = to};
	bool done = false;
	struct err err;

	if (debug_symbols_copy(&c, 1, &done, &err) < 0)
		ok(false, "%s", err.msg);
	str_clear(ret);
	if (lseek(to, 0, SEEK_SET) < 0 || fs_read_all(to, 1 << 20, ret, &err) < 0)
		abort();
	return done;
}

static void make_debug(struct str *ret, uint8_t id, size_t ballast)
{
	CLEANUP(free) char *bytes = xcalloc(ballast + 1, 1);
	struct elfmake m;

	elfmake_start(&m);
	elfmake_add(&m, ".debug_info", SHT_PROGBITS, bytes, ballast);
	elfmake_symbols(&m, SHT_SYMTAB, "hidden@1180+40");
	if (id)
		elfmake_build_id(&m, id);
	elfmake_end(&m, ret);
}

static void test_links(void)
{
	CLEANUP(str_fini) struct str file = {0};
	struct debug_link l;
	struct elfmake m;

	elfmake_start(&m);
	elfmake_build_id(&m, 7);
	elfmake_debuglink(&m, "lib.so.debug", 0x12345678);
	elfmake_end(&m, &file);
	l = link_of(&file);
	ok(!l.whole && l.id_len == 20 && l.id[19] == 7, "a build id");
	is_str(l.name, "lib.so.debug", "the name of its debug file");
	is_int(l.crc, 0x12345678, "and its checksum");

	elfmake_start(&m);
	elfmake_symbols(&m, SHT_SYMTAB, "own@1180+40");
	elfmake_debuglink(&m, "../../etc/shadow", 1);
	elfmake_end(&m, &file);
	l = link_of(&file);
	ok(l.whole, "one with symbols of its own");
	is_str(l.name, "", "a name that leads elsewhere is none");
	str_clear(&file);
	str_adds(&file, "no ELF file");
	l = link_of(&file);
	ok(!l.whole && !l.id_len && !l.name[0], "no ELF file");
}

static void test_copy(void)
{
	CLEANUP(str_fini) struct str debug = {0}, got = {0}, file = {0};
	CLEANUP(close_fd) int fd = -1;
	CLEANUP(close_fd) int debug_fd = -1;
	CLEANUP(elfsym_close) struct elfsym *es = NULL;
	struct debug_link l = {.id_len = 20};
	struct elf_symbol s = {.name = "nothing"};
	struct elfmake m;
	struct err err;

	memset(l.id, 7, sizeof(l.id));
	make_debug(&debug, 8, 0);
	ok(!copy(&l, &debug, &got), "another build id");
	make_debug(&debug, 0, 0);
	ok(!copy(&l, &debug, &got), "no build id");
	make_debug(&debug, 7, 100000);
	ok(copy(&l, &debug, &got), "the same");
	ok(got.len < 4096, "%zu bytes of %zu are kept", got.len, debug.len);
	elfmake_start(&m);
	elfmake_build_id(&m, 7);
	elfmake_end(&m, &file);
	fd = file_of(file.buf, file.len);
	debug_fd = file_of(got.buf, got.len);
	es = elfsym_open(fd, debug_fd, &err);
	ok(es && elfsym_find(es, 0x1190, &s), "they name a function: %s", s.name);
}

static void test_checksum(void)
{
	CLEANUP(str_fini) struct str debug = {0}, got = {0};
	struct debug_link l = {.name = "x.debug"};

	make_debug(&debug, 0, 300000);
	l.crc = lzma_crc32((const uint8_t *)debug.buf, debug.len, 0);
	ok(copy(&l, &debug, &got), "the checksum of a link without build id");
	l.crc++;
	ok(!copy(&l, &debug, &got), "another one");
	l.name[0] = '\0';
	l.crc--;
	ok(!copy(&l, &debug, &got), "nothing that says so");
}

/* Each byte of the headers changed, each prefix: no crash, nothing larger than it was. */
static void test_damaged(void)
{
	CLEANUP(str_fini) struct str debug = {0}, got = {0};
	struct debug_link l = {.id_len = 20};
	size_t copied = 0, large = 0;

	memset(l.id, 7, sizeof(l.id));
	make_debug(&debug, 7, 0);
	for (size_t at = 0; at < ELFMAKE_HEADERS; at += 7) {
		debug.buf[at] = (char)~debug.buf[at];
		copied += copy(&l, &debug, &got);
		large += got.len > debug.len;
		debug.buf[at] = (char)~debug.buf[at];
	}
	for (size_t len = debug.len; len > 64; len -= 97, debug.len = len)
		large += copy(&l, &debug, &got) && got.len > debug.len;
	ok(copied > 0, "damage that does not matter: %zu", copied);
	is_int((int64_t)large, 0, "no copy is larger");
}

int main(void)
{
	test_links();
	test_copy();
	test_checksum();
	test_damaged();
	return tap_done();
}
