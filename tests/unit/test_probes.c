// SPDX-License-Identifier: Apache-2.0
/* Places of libjvm's functions that events are taken at: in files that are made up, and in that of
 * a JDK of this machine. */
#include "probe/probes.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "lib/elfmake.h"
#include "lib/tap.h"
#include "lib/textfile.h"

#define TLAB	"_ZN11AllocTracer27send_allocation_in_new_tlabE"
#define OUTSIDE "_ZN11AllocTracer28send_allocation_outside_tlabE"
#define BYTES	(ELFMAKE_CODE + ELFMAKE_CODE_LEN)

#ifdef __x86_64__
#define ENDBR	      "\xf3\x0f\x1e\xfa"
#define PUSH	      "\x55"
#define PLAIN(offset) 0 /* a place that begins with another instruction */
#define AFTER	      4 /* bytes of an endbr64 */
#else
#define ENDBR	      "\x5f\x24\x03\xd5"
#define PUSH	      "\xfd\x7b\xbe\xa9"
#define PLAIN(offset) (offset)
#define AFTER	      0
#endif

/* A function of the file: its first bytes. */
struct body {
	uint32_t at;
	const char *bytes;
};

/* Finds the probes in a file with a table of these symbols. `type`: SHT_SYMTAB or SHT_DYNSYM. */
static struct flat_probes find(uint32_t type, const char *symbols, const struct body *bodies,
			       size_t n, size_t len)
{
	CLEANUP(str_fini) struct str file = {0};
	CLEANUP(close_fd) int fd = -1;
	struct flat_probes ret = {.offset = {7, 7}};
	struct elfmake m;

	elfmake_start(&m);
	elfmake_symbols(&m, type, symbols);
	elfmake_end(&m, &file);
	while (file.len < BYTES)
		str_addc(&file, 0);
	for (size_t i = 0; i < n; i++)
		memcpy(file.buf + bodies[i].at, bodies[i].bytes, strlen(bodies[i].bytes));
	fd = file_of(file.buf, len);
	flat_find_probes(fd, -1, &ret);
	return ret;
}

static void test_made(void)
{
	static const struct body bodies[] = {{0x1100, ENDBR PUSH},     {0x1200, PUSH},
					     {0x1300, "\x48\x83\xec"}, {0x1400, ENDBR "\x48"},
					     {0x1500, "\x57"},	       {0x1600, "\x90"},
					     {0x1700, "\x58"},	       {0x1800, "\x4f"},
					     {0x1ffb, PUSH},	       {0x1fff, PUSH}};
	static const struct {
		const char *what, *symbols;
		uint64_t tlab, outside;
	} rows[] = {
		{"with and without an endbr64",
		 TLAB "P5KlassP8HeapWordmmP6Thread@1100+40 " OUTSIDE
		      "P5KlassP8HeapWordmP6Thread@1200+40",
		 0x1100 + AFTER, 0x1200},
		{"the other way round", TLAB "@1200+40 " OUTSIDE "@1100+40", 0x1200,
		 0x1100 + AFTER},
		{"one of them", OUTSIDE "@1200+40 _ZN11AllocTracer4nextE@1100+40", 0, 0x1200},
		{"another instruction", TLAB "@1300+40 " OUTSIDE "@1400+40", PLAIN(0x1300),
		 PLAIN(0x1400)},
		{"other pushes and nop", TLAB "@1500+40 " OUTSIDE "@1600+40", 0x1500, 0x1600},
		{"pop and a prefix", TLAB "@1700+40 " OUTSIDE "@1800+40", PLAIN(0x1700),
		 PLAIN(0x1800)},
		{"parts of a function",
		 TLAB "P5Klass.part.0@1100+40 " TLAB "P5Klass@1200+40 " OUTSIDE
		      "P5Klass.cold@1100+40 " OUTSIDE ".isra.0@1200+40",
		 0x1200, 0},
		{"the names of JDK 8",
		 "_ZN11AllocTracer33send_allocation_in_new_tlab_eventE11KlassHandle@1100+40 "
		 "_ZN11AllocTracer34send_allocation_outside_tlab_eventE11KlassHandle@1200+40",
		 0x1100 + AFTER, 0x1200},
		{"other names",
		 "_ZN11AllocTracer27send_allocation_in_new_tlab@1100+40 "
		 "x" OUTSIDE "@1200+40",
		 0, 0},
		{"outside of the executable segment", TLAB "@fff+40 " OUTSIDE "@2000+40", 0, 0},
		{"at the end of the file", TLAB "@1ffb+5 " OUTSIDE "@1fff+1", 0x1ffb, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct flat_probes p =
			find(SHT_SYMTAB, rows[i].symbols, bodies, ARRAY_LEN(bodies), BYTES);

		ok(p.offset[FLAT_PROBE_TLAB] == rows[i].tlab &&
			   p.offset[FLAT_PROBE_OUTSIDE] == rows[i].outside,
		   "%s: %lx, %lx", rows[i].what, (unsigned long)p.offset[FLAT_PROBE_TLAB],
		   (unsigned long)p.offset[FLAT_PROBE_OUTSIDE]);
	}
}

static void test_lacking(void)
{
	static const struct body body = {0x1100, ENDBR PUSH};
	static const char symbols[] = TLAB "@1100+40 " OUTSIDE "@1100+40";
	struct flat_probes p = find(SHT_SYMTAB, symbols, &body, 1, BYTES);
	CLEANUP(close_fd) int text = file_of("no ELF file", 11), empty = file_of("", 0);

	is_int(p.offset[FLAT_PROBE_TLAB], 0x1100 + AFTER, "a whole file has it");
	p = find(SHT_DYNSYM, symbols, &body, 1, BYTES);
	ok(!p.offset[FLAT_PROBE_TLAB] && !p.offset[FLAT_PROBE_OUTSIDE], "a stripped one has none");
	p = find(SHT_SYMTAB, symbols, &body, 1, 0x1000);
	ok(!p.offset[FLAT_PROBE_TLAB] && !p.offset[FLAT_PROBE_OUTSIDE],
	   "nor one that is cut before the code");
	p = (struct flat_probes){.offset = {7, 7, 7}};
	flat_find_probes(text, -1, &p);
	ok(!p.offset[FLAT_PROBE_TLAB] && !p.offset[FLAT_PROBE_OUTSIDE],
	   "nor a file that is no ELF file");
	p = (struct flat_probes){.offset = {7, 7, 7}};
	flat_find_probes(empty, -1, &p);
	ok(!p.offset[FLAT_PROBE_TLAB] && !p.offset[FLAT_PROBE_OUTSIDE], "nor an empty one");
	p = (struct flat_probes){.offset = {7, 7, 7}};
	flat_find_probes(-1, -1, &p);
	ok(!p.offset[FLAT_PROBE_TLAB] && !p.offset[FLAT_PROBE_OUTSIDE], "nor what is no file");
}

/* A segment whose addresses are not its offsets, and one that is not executable. */
static void test_segments(void)
{
	CLEANUP(str_fini) struct str file = {0};
	struct elfmake m;

	elfmake_start(&m);
	elfmake_symbols(&m, SHT_SYMTAB, TLAB "@1100+40 " OUTSIDE "@5100+40");
	elfmake_end(&m, &file);
	while (file.len < BYTES)
		str_addc(&file, 0);
	memcpy(file.buf + 0x1100, PUSH, sizeof(PUSH) - 1);
	for (unsigned i = 0; i < 3; i++) {
		static const uint64_t want[][2] = {{0x1100, 0}, {0, 0x1100}, {0, 0}};
		Elf64_Phdr ph;
		struct flat_probes p;
		CLEANUP(close_fd) int fd = -1;

		memcpy(&ph, file.buf + sizeof(Elf64_Ehdr), sizeof(ph));
		ph.p_vaddr = i ? 0x5000 : ELFMAKE_CODE;
		ph.p_flags = i < 2 ? PF_R | PF_X : PF_R;
		memcpy(file.buf + sizeof(Elf64_Ehdr), &ph, sizeof(ph));
		fd = file_of(file.buf, file.len);
		flat_find_probes(fd, -1, &p);
		ok(p.offset[FLAT_PROBE_TLAB] == want[i][0] &&
			   p.offset[FLAT_PROBE_OUTSIDE] == want[i][1],
		   "segment %u", i);
	}
}

#define FREEZE "_ZN10FreezeBase16freeze_fast_copyEP17stackChunkOopDesci"
#define SLOW   "_ZN10FreezeBase13finish_freezeERK5frameS2_"
#define THAW   "_ZN12Continuation12prepare_thawEP10JavaThreadb"

/* Virtual threads are followed only if all places are there. */
static void test_virtual(void)
{
	static const struct body bodies[] = {{0x1100, ENDBR PUSH}};
	static const struct {
		const char *what, *symbols;
		uint64_t freeze, slow, thaw;
	} rows[] = {
		{"of virtual threads all", FREEZE "@1100+40 " SLOW "@1200+40 " THAW "@1300+40",
		 0x1100 + AFTER, 0x1200, 0x1300},
		{"or none, without one", SLOW "@1200+40 " THAW "@1300+40", 0, 0, 0},
		{"or another", FREEZE "@1100+40 " THAW "@1300+40", 0, 0, 0},
		{"or the end", FREEZE "@1100+40 " SLOW "@1200+40", 0, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct flat_probes p =
			find(SHT_SYMTAB, rows[i].symbols, bodies, ARRAY_LEN(bodies), BYTES);

		ok(p.offset[FLAT_PROBE_FREEZE] == rows[i].freeze &&
			   p.offset[FLAT_PROBE_FREEZE_SLOW] == rows[i].slow &&
			   p.offset[FLAT_PROBE_THAW] == rows[i].thaw &&
			   flat_has_event(&p, FLAT_EVENT_WALL) == (rows[i].thaw != 0),
		   "%s: %lx %lx %lx", rows[i].what, (unsigned long)p.offset[FLAT_PROBE_FREEZE],
		   (unsigned long)p.offset[FLAT_PROBE_FREEZE_SLOW],
		   (unsigned long)p.offset[FLAT_PROBE_THAW]);
	}
}

/* JDKs of distributions come with .symtab. */
static void test_real(void)
{
	CLEANUP(close_fd)
	int fd = open("/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so",
		      O_RDONLY | O_CLOEXEC);
	struct flat_probes p;

	if (fd < 0) {
		printf("# no JDK 17 here\n");
		return;
	}
	flat_find_probes(fd, -1, &p);
	ok(p.offset[FLAT_PROBE_TLAB] && p.offset[FLAT_PROBE_OUTSIDE] &&
		   p.offset[FLAT_PROBE_TLAB] != p.offset[FLAT_PROBE_OUTSIDE],
	   "a real libjvm.so has both: %lx, %lx", (unsigned long)p.offset[FLAT_PROBE_TLAB],
	   (unsigned long)p.offset[FLAT_PROBE_OUTSIDE]);
}

/* A file has code, its debug file has symbols, and no code. */
static void test_debug_file(void)
{
	CLEANUP(str_fini) struct str bare = {0}, debug = {0};
	CLEANUP(close_fd) int fd = -1;
	CLEANUP(close_fd) int symbols = -1;
	struct flat_probes p;
	struct elfmake m;

	elfmake_start(&m);
	elfmake_end(&m, &bare);
	while (bare.len < BYTES)
		str_addc(&bare, 0);
	memcpy(bare.buf + 0x1100, ENDBR PUSH, sizeof(ENDBR PUSH) - 1);
	elfmake_start(&m);
	elfmake_symbols(&m, SHT_SYMTAB, TLAB "@1100+40");
	elfmake_end(&m, &debug);
	fd = file_of(bare.buf, bare.len);
	symbols = file_of(debug.buf, debug.len);
	flat_find_probes(fd, -1, &p);
	is_int((int64_t)p.offset[FLAT_PROBE_TLAB], 0, "a stripped file says nothing");
	flat_find_probes(fd, symbols, &p);
	is_int((int64_t)p.offset[FLAT_PROBE_TLAB], 0x1100 + AFTER,
	       "its debug file says where to look in it");
}

int main(void)
{
	test_debug_file();
	test_made();
	test_lacking();
	test_segments();
	test_virtual();
	test_real();
	return tap_done();
}
