// SPDX-License-Identifier: Apache-2.0
/* Symbols of separate debug files: which file it is, whether it belongs, what is copied. */
#include "record/debug_files.h"

#include <fcntl.h>
#include <lzma.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "common/fs.h"
#include "common/log.h"
#include "lib/elfmake.h"
#include "lib/scratch.h"
#include "lib/sessionmake.h"
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

	if (debug_symbols_copy(&c, 1, UINT64_MAX, &done, &err) < 0)
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

/* Build ids and names of all lengths; others than a link can hold are none. */
static void test_link_lengths(void)
{
	static const struct {
		uint8_t len, want;
	} ids[] = {{1, 0}, {2, 2}, {8, 8}, {32, 32}, {33, 0}};
	static const size_t names[] = {1, 63, 64};

	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		uint8_t note[16 + 36] = {4, 0, 0, 0,   ids[i].len, 0,	0, 0, NT_GNU_BUILD_ID,
					 0, 0, 0, 'G', 'N',	   'U', 0};
		CLEANUP(str_fini) struct str file = {0};
		struct debug_link l;
		struct elfmake m;

		memset(note + 16, 0xaa, ids[i].len);
		elfmake_start(&m);
		elfmake_add(&m, ".note.gnu.build-id", SHT_NOTE, note,
			    16 + (ids[i].len + 3u) / 4 * 4);
		elfmake_end(&m, &file);
		l = link_of(&file);
		is_int(l.id_len, ids[i].want, "of a build id with %u bytes %u are read", ids[i].len,
		       ids[i].want);
		ok(!l.id_len || l.id[l.id_len - 1] == 0xaa, "to the last one");
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CLEANUP(free) char *name = xasprintf("%0*d", (int)names[i], 7);
		CLEANUP(str_fini) struct str file = {0};
		struct debug_link l;
		struct elfmake m;

		elfmake_start(&m);
		elfmake_debuglink(&m, name, 5);
		elfmake_end(&m, &file);
		l = link_of(&file);
		is_str(l.name, names[i] < sizeof(l.name) ? name : "", "a name of %zu bytes is %s",
		       names[i], names[i] < sizeof(l.name) ? "read" : "none");
		is_int(l.crc, names[i] < sizeof(l.name) ? 5 : 0, "so is its checksum");
	}
}

/* Either says that a file belongs, the build id first. */
static void test_belongs(void)
{
	CLEANUP(str_fini) struct str debug = {0}, got = {0};
	struct debug_link l = {.name = "x.debug", .id_len = 20};
	struct elfmake m;

	make_debug(&debug, 7, 600000); /* more than is read at once for the checksum */
	l.crc = lzma_crc32((const uint8_t *)debug.buf, debug.len, 0);
	memset(l.id, 8, sizeof(l.id));
	ok(!copy(&l, &debug, &got), "with another build id the checksum does not count");
	l.id_len = 0;
	ok(copy(&l, &debug, &got), "without one in the link it does");
	l.id_len = 19;
	memset(l.id, 7, sizeof(l.id));
	ok(!copy(&l, &debug, &got), "a part of a build id is another one");
	l.id_len = 20;
	l.id[19] = 6;
	ok(!copy(&l, &debug, &got), "so is one whose last byte differs");
	elfmake_start(&m);
	elfmake_build_id(&m, 7);
	elfmake_end(&m, &debug);
	l.id[19] = 7;
	ok(!copy(&l, &debug, &got), "a file without symbols is no debug file");
	is_int((int64_t)got.len, 0, "nothing of it is written");
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

/* Each byte of the headers changed, each prefix: no crash, nothing larger than it was. Case 66. */
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

/* ---- what a copy has ---- */

static Elf64_Shdr section(const struct str *file, size_t i)
{
	Elf64_Ehdr eh;
	Elf64_Shdr sh;

	memcpy(&eh, file->buf, sizeof(eh));
	memcpy(&sh, file->buf + eh.e_shoff + i * sizeof(sh), sizeof(sh));
	return sh;
}

/* The sections of a copy: a letter for each, s symbols, t text, n note, b no contents, 0 none. */
static void test_sections(void)
{
	CLEANUP(str_fini) struct str debug = {0}, got = {0}, kinds = {0};
	struct debug_link l = {.id_len = 20};
	Elf64_Ehdr eh, old;

	memset(l.id, 7, sizeof(l.id));
	make_debug(&debug, 7, 1000);
	ok(copy(&l, &debug, &got), "a debug file with symbols and lines is copied");
	memcpy(&eh, got.buf, sizeof(eh));
	memcpy(&old, debug.buf, sizeof(old));
	is_int(eh.e_shnum, old.e_shnum, "the copy has as many sections");
	is_int(eh.e_shoff, sizeof(Elf64_Ehdr), "their headers come first");
	is_int(eh.e_shentsize, sizeof(Elf64_Shdr), "each has the size of a header");
	is_int(eh.e_ehsize, sizeof(Elf64_Ehdr), "so has the file's");
	is_int(eh.e_phoff + eh.e_phnum + eh.e_shstrndx, 0, "it has no segments and no names");
	for (size_t i = 0; i < eh.e_shnum; i++) {
		Elf64_Shdr sh = section(&got, i), before = section(&debug, i);

		str_addc(&kinds, sh.sh_type == SHT_SYMTAB   ? 's'
				 : sh.sh_type == SHT_STRTAB ? 't'
				 : sh.sh_type == SHT_NOTE   ? 'n'
				 : sh.sh_type == SHT_NOBITS ? 'b'
							    : '0');
		is_int(sh.sh_name, 0, "section %zu has no name", i);
		is_int(sh.sh_link, before.sh_link, "its link is kept");
		is_int(sh.sh_addr, before.sh_addr, "so is its address");
		if (sh.sh_type == SHT_NOBITS)
			continue;
		is_int(sh.sh_size, before.sh_size, "its contents are whole");
		is_int(sh.sh_offset % 8, 0, "they begin at a multiple of 8");
		ok(sh.sh_offset + sh.sh_size <= got.len, "they are in the file");
		ok(!memcmp(got.buf + sh.sh_offset, debug.buf + before.sh_offset, sh.sh_size),
		   "they are as they were");
	}
	is_str(kinds.buf, "0bbstnb", "symbols, their names and the build id have contents");
}

/* A debug file whose symbols are compressed, or larger than any, is not copied in part. */
static void test_odd_sections(void)
{
	CLEANUP(str_fini) struct str debug = {0}, got = {0};
	struct debug_link l = {.id_len = 20};
	Elf64_Ehdr eh;
	Elf64_Shdr sh;
	size_t at = 0;

	memset(l.id, 7, sizeof(l.id));
	make_debug(&debug, 7, 10);
	memcpy(&eh, debug.buf, sizeof(eh));
	while (section(&debug, at).sh_type != SHT_NOTE)
		at++;
	sh = section(&debug, at - 1);
	sh.sh_flags |= SHF_COMPRESSED;
	memcpy(debug.buf + eh.e_shoff + (at - 1) * sizeof(sh), &sh, sizeof(sh));
	if (copy(&l, &debug, &got))
		is_int(section(&got, at - 1).sh_type, SHT_NOBITS,
		       "a compressed section has no contents in a copy");
	make_debug(&debug, 7, 10);
	debug.buf[EI_CLASS] = ELFCLASS32;
	ok(!copy(&l, &debug, &got), "a 32-bit file is not copied");
	debug.buf[EI_CLASS] = ELFCLASS64;
	debug.buf[EI_DATA] = ELFDATA2MSB;
	ok(!copy(&l, &debug, &got), "nor is one of another byte order");
	debug.buf[EI_DATA] = ELFDATA2LSB;
	ok(copy(&l, &debug, &got), "nothing else was wrong with it");
}

/* Several at once: each has its own result. */
static void test_several(void)
{
	CLEANUP(str_fini) struct str right = {0}, wrong = {0};
	struct debug_link l = {.id_len = 20}, none = {0};
	struct debug_link links[3];
	struct debug_copy c[3];
	bool done[3] = {true, true, true};
	int fds[3];
	struct err err;

	memset(l.id, 7, sizeof(l.id));
	make_debug(&right, 7, 10);
	make_debug(&wrong, 8, 10);
	for (int i = 0; i < 3; i++)
		c[i] = (struct debug_copy){.link = i == 1 ? &none : &l,
					   .from = i ? file_of(right.buf, right.len)
						     : file_of(wrong.buf, wrong.len),
					   .to = memfd_create("to", MFD_CLOEXEC)};
	is_int(debug_symbols_copy(c, 3, UINT64_MAX, done, &err), 0,
	       "three files are looked at at once");
	ok(!done[0] && !done[1] && done[2], "the third one belongs to its link");
	is_int(debug_symbols_copy(c, 3, 100, done, &err), 0, "with room for 100 bytes");
	ok(!done[2], "its symbols are not written");
	fds[0] = c[0].from;
	fds[1] = -1;
	fds[2] = c[2].from;
	is_int(debug_links_read(fds, 3, links, &err), 0, "links of three files are read");
	ok(links[0].whole && links[2].whole, "files with symbols are whole");
	is_int(links[0].id[0], 8, "each has its build id");
	is_int(links[2].id[0], 7, "the third, too");
	ok(!links[1].whole && !links[1].id_len && !links[1].name[0],
	   "a file that is missing has none");
	for (int i = 0; i < 3; i++) {
		close(c[i].from);
		close(c[i].to);
	}
}

/* ---- where they are searched ---- */

static void opens(const char *path, const struct debug_link *l, const char *want, const char *check)
{
	CLEANUP(close_fd) int rootfd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(close_fd) int fd = debug_file_open(path, l, rootfd);
	char got[64] = "";

	if (fd >= 0 && read(fd, got, sizeof(got) - 1) < 0)
		abort();
	is_str(got, want, "%s", check);
}

static void test_paths(void)
{
	struct debug_link by_id = {.id_len = 3, .id = {0xab, 0x01, 0xff}};
	struct debug_link by_name = {.name = "l.debug"};
	struct debug_link both = {.id_len = 3, .id = {0xab, 0x01, 0xff}, .name = "l.debug"};
	struct debug_link none = {0};

	opens("/opt/x/l.so", &both, "", "without a file nothing is opened");
	put_text("opt/x/.debug/l.debug", 0644, "hidden");
	opens("/opt/x/l.so", &by_name, "hidden", "a file in .debug beside the library is found");
	opens("/opt/x/l.so", &by_id, "", "but not by a build id");
	opens("/opt/y/l.so", &by_name, "", "nor for a library of another directory");
	put_text("opt/x/l.debug", 0644, "beside");
	opens("/opt/x/l.so", &by_name, "beside", "a file beside the library goes before it");
	put_text("usr/lib/debug/opt/x/l.debug", 0644, "global");
	opens("/opt/x/l.so", &by_name, "global", "one below /usr/lib/debug goes before that");
	put_text("usr/lib/debug/.build-id/ab/01ff.debug", 0644, "id");
	opens("/opt/x/l.so", &by_id, "id", "the build id names a file");
	opens("/opt/x/l.so", &both, "id", "which goes before all others");
	opens("/opt/x/l.so", &none, "", "a library without a link has no debug file");
	opens("l.so", &by_name, "", "a path without a directory is looked for at the top");
	put_text("usr/lib/debug/l.debug", 0644, "top");
	opens("l.so", &by_name, "top", "where it may be");
	is_int(debug_file_open("/opt/x/l.so", &by_name, -1), -1,
	       "on the host the library's own directory is not searched");
}

/* Case 66. */
static void test_odd_paths(void)
{
	CLEANUP(free) char *fifo = path_of("fifo/l.debug");
	CLEANUP(free) char *dir = path_of("dir/l.debug");
	CLEANUP(free) char *link = path_of("link/l.debug");
	struct debug_link by_name = {.name = "l.debug"};

	put_text("fifo/x", 0644, "");
	put_text("dir/l.debug/x", 0644, "");
	put_text("link/x", 0644, "");
	put_text("./real", 0644, "real");
	if (mkfifo(fifo, 0644) < 0 || symlink("/real", link) < 0 || access(dir, F_OK) < 0)
		abort();
	opens("/fifo/l.so", &by_name, "", "a pipe is not opened");
	opens("/dir/l.so", &by_name, "", "nor is a directory");
	opens("/link/l.so", &by_name, "real", "a link leads to a file in the same root");
}

/* ---- files of a session ---- */

static void add_file(struct session *s, const char *path, const char *name, const struct str *text)
{
	struct err err;

	if (fs_replace_file(s->elffd, name, 0600, text->buf, text->len, &err) < 0)
		abort();
	session_add_elf(s, 1, path, name, NULL);
}

static void put_debug(const char *path, uint8_t id)
{
	CLEANUP(str_fini) struct str debug = {0};

	make_debug(&debug, id, 5000);
	put_bytes(path, 0644, debug.buf, debug.len);
}

/* Makes a library with a build id and the name of a debug file. */
static void make_library(struct str *ret, uint8_t id, bool symbols)
{
	struct elfmake m;

	elfmake_start(&m);
	if (symbols)
		elfmake_symbols(&m, SHT_SYMTAB, "own@1180+40");
	elfmake_build_id(&m, id);
	elfmake_debuglink(&m, "s.debug", 1);
	elfmake_end(&m, ret);
}

static void test_session(void)
{
	CLEANUP(free) char *dir = path_of("session");
	CLEANUP(close_fd) int rootfd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(str_fini) struct str library = {0};
	struct session s;
	struct stat st = {0};
	struct err err;

	if (sessionmake(dir, &s, &err) < 0)
		abort();
	make_library(&library, 0x21, false);
	add_file(&s, "/s/before.so", "before", &library);
	add_file(&s, "/s/one.so", "one", &library);
	make_library(&library, 0x22, false);
	add_file(&s, "/s/wrong.so", "wrong", &library);
	make_library(&library, 0x23, true);
	add_file(&s, "/s/whole.so", "whole", &library);
	str_clear(&library);
	str_adds(&library, "no ELF file");
	add_file(&s, "/s/text", "text", &library);
	for (int i = 0; i < 70; i++) {
		CLEANUP(free) char *name = xasprintf("many%d", i);
		CLEANUP(free) char *path = xasprintf("/many%d/l.so", i);

		make_library(&library, 0x24, false);
		add_file(&s, path, name, &library);
	}
	put_debug("s/s.debug", 0x21);
	put_debug("many69/.debug/s.debug", 0x24);
	put_debug("many3/s.debug", 0x24);
	debug_files_copy(&s, 1, rootfd);
	ok(!s.elfs[0].debug, "files before the first are not looked at");
	is_str(s.elfs[1].debug, "one.debug", "a file gets the symbols of its debug file");
	ok(fstatat(s.elffd, "one.debug", &st, 0) == 0 && (st.st_mode & 07777) == 0600,
	   "the copy is for root only");
	ok(st.st_size > 0 && st.st_size < 4096, "it has symbols only: %d bytes", (int)st.st_size);
	ok(!s.elfs[2].debug, "one with another build id is not taken");
	ok(faccessat(s.elffd, "wrong.debug", F_OK, 0) < 0, "and leaves nothing");
	ok(!s.elfs[3].debug, "a file with symbols of its own needs none");
	ok(!s.elfs[4].debug, "what is no ELF file has none");
	is_str(s.elfs[5 + 3].debug, "many3.debug", "a debug file of many is found");
	is_str(s.elfs[5 + 69].debug, "many69.debug", "also after the first 64 files");
	ok(!s.elfs[5 + 68].debug, "the one before it has none");
	debug_files_copy(&s, 0, -1);
	ok(!s.elfs[0].debug, "without the container's root its files are not searched");
	is_str(s.elfs[1].debug, "one.debug", "what was found is kept");
	debug_files_copy(&s, s.elf_count, rootfd);
	session_fini(&s);
}

/* ---- on the host ---- */

static void put_at(const char *dir, const char *name, const void *bytes, size_t len)
{
	struct err err;
	CLEANUP(close_fd) int fd = fs_make_dirs(dir, 0755, &err);

	if (fs_replace_file(fd, name, 0644, bytes, len, &err) < 0)
		abort();
}

static void host_opens(const struct debug_link *l, const char *want, const char *check)
{
	CLEANUP(free) char *path = path_of("host/l.so");
	CLEANUP(close_fd) int fd = debug_file_open(path, l, -1);
	char got[64] = "";

	if (fd >= 0 && read(fd, got, sizeof(got) - 1) < 0)
		abort();
	is_str(got, want, "%s", check);
}

static void test_host_session(void)
{
	CLEANUP(free) char *dir = path_of("host-session");
	CLEANUP(str_fini) struct str file = {0};
	struct session s;
	struct err err;

	if (sessionmake(dir, &s, &err) < 0)
		abort();
	make_library(&file, 0x31, false);
	add_file(&s, "/s/one.so", "one", &file);
	make_library(&file, 0x32, false);
	add_file(&s, "/s/two.so", "two", &file);
	make_debug(&file, 0x31, 5000);
	put_at("/usr/lib/debug/.build-id/31", "31313131313131313131313131313131313131.debug",
	       file.buf, file.len);
	make_debug(&file, 0x32, 5000);
	put_at("/usr/lib/debug/s", "s.debug", file.buf, file.len);
	debug_files_copy(&s, 0, -1);
	is_str(s.elfs[0].debug, "one.debug", "a file of the host is found by a build id");
	is_str(s.elfs[1].debug, "two.debug", "or by a name");
	session_fini(&s);
}

/* In a mount namespace of its own, for good. */
static void test_host(void)
{
	CLEANUP(free) char *dir = path_of("host");
	CLEANUP(free) char *below = xasprintf("/usr/lib/debug%s", dir);
	struct debug_link by_id = {.id_len = 3, .id = {0xab, 0x01, 0xff}};
	struct debug_link by_name = {.name = "l.debug"};

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/usr/lib/debug", "tmpfs", 0, NULL) < 0) {
		ok(true, "the host's debug files # SKIP that needs a mount on /usr/lib/debug");
		return;
	}
	put_at(dir, "l.debug", "beside", 6);
	host_opens(&by_name, "", "on the host a file beside the library is not taken");
	put_at(below, "l.debug", "below", 5);
	host_opens(&by_name, "below", "but one below /usr/lib/debug");
	host_opens(&by_id, "", "a build id has a file of its own");
	put_at("/usr/lib/debug/.build-id/ab", "01ff.debug", "id", 2);
	host_opens(&by_id, "id", "which is found there, too");
	test_host_session();
}

int main(void)
{
	scratch_make();
	log_quiet(true);
	test_sections();
	test_odd_sections();
	test_several();
	test_paths();
	test_odd_paths();
	test_session();
	test_host();
	scratch_remove();
	test_links();
	test_link_lengths();
	test_belongs();
	test_copy();
	test_checksum();
	test_damaged();
	return tap_done();
}
