// SPDX-License-Identifier: Apache-2.0
/* The reader of HotSpot's tables on a JVM that is made up, and on ones that lie. */
#include "common/str.h"
#include "dfg/request.h"
#include "lib/hsimage.h"
#include "lib/tap.h"

static struct image im;
static struct hs_result result;
static struct str map;
static size_t room = SIZE_MAX;

static bool take(void *arg, const char *text, size_t len)
{
	(void)arg;
	if (map.len + len > room)
		return false;
	str_add(&map, text, len);
	return true;
}

/* Runs the dump; returns its text. */
static const char *dump(void)
{
	struct hs_source source = image_source(&im);
	struct hs_sink sink = {.write = take};

	str_clear(&map);
	im.reads = 0;
	hs_dump_map(&source, &sink, image_work(), &result);
	return map.len ? map.buf : "";
}

/* The names of the map, one space between them. */
static const char *names(void)
{
	static struct str list;
	const char *p = dump(), *end;

	str_clear(&list);
	str_adds(&list, "");
	for (; (end = strchr(p, '\n')); p = end + 1) {
		const char *name = strchr(strchr(p, ' ') + 1, ' ');

		str_add(&list, name, (size_t)(end - name));
	}
	return list.buf ? list.buf : "";
}

static void test_releases(void)
{
	static const char *const want[] = {
		" com.example.Main.run sun.misc.Unsafe.park Stub_Routines (1)",
		" com.example.Main.run sun.misc.Unsafe.park Stub_Routines (1) java.util.Map.get",
		" com.example.Main.run sun.misc.Unsafe.park Stub_Routines (1) java.util.Map.get",
	};
	CLEANUP(free) char *line = NULL;

	for (int r = 0; r < IMAGE_RELEASES; r++) {
		image_build(&im, (enum image_release)r);
		printf("# layout %d\n", r);
		is_str(names(), want[r], "every blob, by the tables alone");
		is_int(result.status, DFG_DUMP_OK, "whole");
		is_int(result.entries, r == IMAGE_8 ? 3 : 4, "entries counted");
		is_int(result.skipped, 0, "nothing skipped");
		is_int(result.bytes, map.len, "bytes counted");
	}
	line = xasprintf("%llx 64 com.example.Main.run\n",
			 (unsigned long long)(im.block[0] + IM_HEADER + IM_BLOB));
	ok(has_prefix(map.buf, line), "start and size are those of the code");
}

static void test_names(void)
{
	CLEANUP(str_fini) struct str big = {0};

	image_build(&im, IMAGE_25);
	image_set(&im, im.klass + 88, image_symbol(&im, "a/B$$Lambda+0x00007f0001000a08"), 8);
	ok(has_prefix(names(), " a.B$$Lambda.0x00007f0001000a08.run "), "a hidden class");
	image_set(&im, im.klass + 88, image_symbol(&im, "a/B$$Lambda$17+0x800000025"), 8);
	ok(has_prefix(names(), " a.B$$Lambda$17.0x800000025.run "),
	   "a hidden class of the archive");
	image_set(&im, im.klass + 88, image_symbol(&im, "a/Math+0xyz"), 8);
	ok(has_prefix(names(), " a.Math+0xyz.run "), "a plus that is only a plus");
	image_set(&im, im.klass + 88, image_symbol(&im, "a/\nB\x7f"), 8);
	ok(has_prefix(names(), " a.?B?.run "), "control bytes");
	for (int i = 0; i < 3000; i++)
		str_adds(&big, "\xc3\xa9");
	image_set(&im, im.klass + 88, image_symbol(&im, big.buf), 8);
	names();
	ok(strstr(map.buf, "\xc3\xa9.run\n") != NULL, "a long class is cut between characters");
	image_set(&im, im.pool + IM_POOL_HEADER + 5 * 8, image_symbol(&im, big.buf), 8);
	dump();
	ok(strchr(map.buf, '\n') - strchr(strchr(map.buf, ' ') + 1, ' ') - 1 <= DFG_NAME_MAX,
	   "class and method are never longer than the limit");
	is_int(result.skipped, 0, "none of them is skipped");
}

/* Breaks one thing, and says what must be left. */
#define BREAK(want, what, ...)                                                                     \
	do {                                                                                       \
		image_build(&im, IMAGE_25);                                                        \
		__VA_ARGS__;                                                                       \
		is_str(names(), want, what);                                                       \
	} while (0)
#define ALL_BUT_MAIN " sun.misc.Unsafe.park Stub_Routines (1) java.util.Map.get"
#define FIRST_HEAP   " com.example.Main.run sun.misc.Unsafe.park Stub_Routines (1)"
#define EVERYTHING   FIRST_HEAP " java.util.Map.get"

static void test_bad_blobs(void)
{
	uint64_t hole = IMAGE_BASE - 4096;

	BREAK(ALL_BUT_MAIN, "a blob larger than its block",
	      image_set(&im, im.block[0] + IM_HEADER + 44, 4 << IMAGE_SEG, 4));
	is_int(result.skipped, 1, "is counted");
	BREAK(ALL_BUT_MAIN, "code that ends before it begins",
	      image_set(&im, im.block[0] + IM_HEADER + 60, 8, 4));
	BREAK(ALL_BUT_MAIN, "code after the blob",
	      image_set(&im, im.block[0] + IM_HEADER + 60, 0x7fffffff, 4));
	BREAK(ALL_BUT_MAIN, "a name in a hole",
	      image_set(&im, im.block[0] + IM_HEADER + 16, hole, 8));
	BREAK(ALL_BUT_MAIN, "no method", image_set(&im, im.block[0] + IM_HEADER + 112, 0, 8));
	BREAK(ALL_BUT_MAIN, "a method in a hole",
	      image_set(&im, im.block[0] + IM_HEADER + 112, hole, 8));
	BREAK(ALL_BUT_MAIN, "a method at the end of the address space",
	      image_set(&im, im.block[0] + IM_HEADER + 112, UINT64_MAX - 8, 8));
	BREAK(ALL_BUT_MAIN, "a name index after the pool",
	      image_set(&im, im.const_method + 42, 8, 2));
	BREAK(ALL_BUT_MAIN, "a name index of 0", image_set(&im, im.const_method + 42, 0, 2));
	BREAK(ALL_BUT_MAIN, "a descriptor that is none",
	      image_set(&im, im.const_method + 30, 5, 2));
	BREAK(ALL_BUT_MAIN, "a class without a name", image_set(&im, im.klass + 88, 0, 8));
	BREAK(ALL_BUT_MAIN, "a tagged symbol",
	      image_set(&im, im.klass + 88, im.klass_symbol + 1, 8));
	BREAK(ALL_BUT_MAIN, "a symbol that runs into a hole",
	      image_set(&im, im.klass + 88, IMAGE_BASE + IMAGE_BYTES - 16, 8);
	      image_set(&im, IMAGE_BASE + IMAGE_BYTES - 16 + 4, 900, 2));
	is_int(result.status, DFG_DUMP_OK, "a map with skipped blobs is whole");
}

static void test_bad_heaps(void)
{
	uint64_t hole = IMAGE_BASE - 4096;

	BREAK(ALL_BUT_MAIN, "a block of length 0: the segment map knows the next",
	      image_set(&im, im.block[0] + 8, 0, 4));
	BREAK(ALL_BUT_MAIN, "a block longer than its heap",
	      image_set(&im, im.block[0] + 8, 0x7fffffff, 4));
	BREAK(" com.example.Main.run Stub_Routines (1) java.util.Map.get",
	      "a free block that has swallowed the next one",
	      image_set(&im, im.block[3] + 8, 7, 4));
	BREAK(EVERYTHING, "a count of heaps beyond all bounds",
	      image_set(&im, im.array + 4, ~0u, 4);
	      image_set(&im, im.array_data + 16, hole, 8));
	BREAK(FIRST_HEAP, "the same heap twice", image_set(&im, im.array_data + 8, im.heap[0], 8));
	BREAK(" java.util.Map.get", "a heap of more than any JVM's size",
	      image_set(&im, im.heap[0] + 40 + 16, UINT64_MAX, 8));
	BREAK(" java.util.Map.get", "a heap that ends before it begins",
	      image_set(&im, im.heap[0] + 40 + 16, 16, 8));
	BREAK(" java.util.Map.get", "segments of 2^77 bytes",
	      image_set(&im, im.heap[0] + 12, 77, 4));
	BREAK(" java.util.Map.get", "a segment map in a hole",
	      image_set(&im, im.heap[0] + 104 + 32, hole, 8);
	      image_set(&im, im.heap[0] + 104 + 16, hole + 128, 8));
	is_int(result.status, DFG_DUMP_READ, "says that memory could not be read");
	BREAK(" java.util.Map.get", "a heap in a hole",
	      image_set(&im, im.heap[0] + 40 + 32, hole, 8);
	      image_set(&im, im.heap[0] + 40 + 16, hole + 512, 8));
	/* All segments are starts, all blocks have length 0. */
	BREAK(" java.util.Map.get", "a heap of nothing but starts",
	      memset(image_at(&im, im.heap_low[0]), 0, IMAGE_HEAP);
	      memset(image_at(&im, im.segmap[0]), 0, IMAGE_HEAP >> IMAGE_SEG));
}

#define NO_TABLES(what, ...)                                                                       \
	do {                                                                                       \
		BREAK("", what, __VA_ARGS__);                                                      \
		is_int(result.status, DFG_DUMP_NO_TABLES, "says so");                              \
	} while (0)

static void set_variable(const char *name, uint64_t value)
{
	image_set(&im, image_find(&im, name), value, 8);
}

static void test_bad_tables(void)
{
	NO_TABLES("no symbol at all", im.symbols = 0);
	NO_TABLES("tables nowhere", set_variable("gHotSpotVMStructs", 0));
	NO_TABLES("tables in a hole", set_variable("gHotSpotVMStructs", 4096));
	NO_TABLES("entries of no length", set_variable("gHotSpotVMStructEntryArrayStride", 0));
	NO_TABLES("entries of wild length",
		  set_variable("gHotSpotVMStructEntryArrayStride", 1ull << 40));
	NO_TABLES("a column outside its entry",
		  set_variable("gHotSpotVMStructEntryOffsetOffset", IM_STRIDE));
	NO_TABLES("a stride that is not the table's",
		  set_variable("gHotSpotVMStructEntryArrayStride", IM_STRIDE - 8));
	NO_TABLES("types in a hole", set_variable("gHotSpotVMTypes", 4096));
	NO_TABLES("a field of another name", image_set(&im, im.structs + 16 * IM_STRIDE + IM_FIELD,
						       image_text(&im, "_nom"), 8));
	NO_TABLES("an offset larger than any object",
		  image_set(&im, im.structs + 16 * IM_STRIDE + IM_OFFSET, 1u << 20, 8));
	NO_TABLES("no heaps yet", image_set(&im, im.heaps, 0, 8));
	/* The same name, forever. */
	NO_TABLES("a table that is nonsense to its end",
		  set_variable("gHotSpotVMStructs", im.structs);
		  set_variable("gHotSpotVMStructEntryArrayStride", IM_STRIDE);
		  for (uint64_t a = im.structs; a + IM_STRIDE < IMAGE_BASE + IMAGE_BYTES;
		       a += IM_STRIDE) image_set(&im, a + IM_TYPE, im.structs, 8));
	ok(im.reads < 100, "and costs %u reads", im.reads);
}

/* The JVM frees the first block and puts another method there, after it has been looked at. */
static void change_block(struct image *i, uint64_t addr, size_t len)
{
	static unsigned windows;

	(void)len;
	if (addr != i->heap_low[0] || ++windows != 2)
		return;
	image_set(i, i->block[0] + IM_HEADER + 112, i->method + 8, 8);
}

static void test_change(void)
{
	BREAK(ALL_BUT_MAIN, "a block that changes while it is read", im.before_read = change_block);
	is_int(result.skipped, 1, "is counted as skipped");
}

static void test_full(void)
{
	image_build(&im, IMAGE_25);
	room = 80;
	dump();
	room = SIZE_MAX;
	is_int(result.status, DFG_DUMP_NO_SPACE, "a sink that is full ends the dump");
	is_int(result.bytes, map.len, "what it took is counted");
	is_int(map.buf[map.len - 1], '\n', "and is whole lines");
	is_int(result.entries, 2, "their number too");
}

int main(void)
{
	test_releases();
	test_names();
	test_bad_blobs();
	test_bad_heaps();
	test_bad_tables();
	test_change();
	test_full();
	str_fini(&map);
	return tap_done();
}
