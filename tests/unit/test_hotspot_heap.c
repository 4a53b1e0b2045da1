// SPDX-License-Identifier: Apache-2.0
/* Code heaps, their blocks and the blobs in them, at their bounds. */
#include "hotspot/code_heap.h"

#include "lib/hsfields.h"
#include "lib/tap.h"

#define HOLE 64u

static struct image im;
static struct hs *hs;
static struct hs_heaps heaps;
static uint8_t window[64 << 10];

static void start(void)
{
	image_tables(&im, hs, window, sizeof(window));
}

static bool read_heaps(void)
{
	start();
	return hs_heaps_read(hs, &heaps);
}

/* ---- heaps ---- */

static void test_heaps(void)
{
	for (int r = 0; r < IMAGE_RELEASES; r++) {
		image_build(&im, (enum image_release)r);
		ok(read_heaps(), "layout %d: heaps are read", r);
		is_int(heaps.count, r == IMAGE_8 ? 1 : 2, "layout %d: all of them", r);
		is_int(heaps.heap[0].at, im.heap[0], "layout %d: the first has its address", r);
		is_int(heaps.heap[0].low, im.heap_low[0], "layout %d: it begins where it does", r);
		is_int(heaps.heap[0].high, im.heap_low[0] + IMAGE_HEAP, "layout %d: and ends so",
		       r);
		is_int(heaps.heap[0].segmap, im.segmap[0], "layout %d: it has its map", r);
		is_int(heaps.heap[0].end, im.segmap[0] + (IMAGE_HEAP >> IMAGE_SEG),
		       "layout %d: up to its end", r);
		is_int(heaps.heap[0].shift, IMAGE_SEG, "layout %d: its segments have a size", r);
		image_set(&im, im.heaps, 0, 8);
		ok(!read_heaps(), "layout %d: a JVM that is starting has no heaps", r);
		image_set(&im, im.heaps, HOLE, 8);
		ok(!read_heaps(), "layout %d: nor has one whose list is in a hole", r);
	}
	image_build(&im, IMAGE_17);
	image_set(&im, im.array_data, im.heap[1], 8);
	image_set(&im, im.array_data + 8, im.heap[0], 8);
	read_heaps();
	ok(heaps.heap[0].at == im.heap[0] && heaps.heap[1].at == im.heap[1],
	   "heaps are in the order of their addresses");
	image_set(&im, im.array_data + 8, 0, 8);
	ok(read_heaps() && heaps.count == 1, "a place without a heap is passed over");
	image_set(&im, im.array + 4, 1, 4);
	ok(read_heaps() && heaps.count == 1 && heaps.heap[0].at == im.heap[1],
	   "a list has so many heaps as it says");
	image_set(&im, im.array + 4, 0, 4);
	ok(!read_heaps() && heaps.count == 0, "a list of no heaps has none");
	image_set(&im, im.array + 4, 2, 4);
	image_set(&im, im.array + 24, 0, 8);
	ok(!read_heaps(), "a list without memory has none");
}

static void test_watch(void)
{
	struct hs_source source;
	struct hs_watch w;
	uint64_t before;

	for (int r = 0; r < IMAGE_RELEASES; r++) {
		image_build(&im, (enum image_release)r);
		source = image_source(&im);
		ok(hs_watch_find(&source, image_work(), &w), "layout %d: code can be watched", r);
		is_int(w.count, r == IMAGE_8 ? 1 : 2, "layout %d: in all heaps", r);
		before = hs_watch_read(&source, &w);
		ok(before && hs_watch_read(&source, &w) == before,
		   "layout %d: while nothing happens it stays the same", r);
		image_set(&im, im.heap[w.count - 1] + 184, 1, 8);
		ok(hs_watch_read(&source, &w) != before,
		   "layout %d: the last word of the last heap makes a difference", r);
		w.heap[0] = HOLE;
		is_int(hs_watch_read(&source, &w), 0, "layout %d: what is in a hole is unknown", r);
		image_set(&im, im.heaps, 0, 8);
		ok(!hs_watch_find(&source, image_work(), &w), "layout %d: no heaps, no watch", r);
	}
}

/* Each heap has one page of 17. */
static void test_many_heaps(void)
{
	uint64_t data, heap[17], low;

	image_build(&im, IMAGE_25);
	data = image_new(&im, sizeof(heap));
	low = im.heap_low[0];
	for (unsigned i = 0; i < 17; i++, low += 256) {
		heap[i] = image_new(&im, 192);
		memcpy(image_at(&im, heap[i]), image_at(&im, im.heap[0]), 192);
		image_set(&im, heap[i] + 40 + 32, low, 8);
		image_set(&im, heap[i] + 40 + 16, low + 256, 8);
		image_set(&im, data + 8 * (16 - i), heap[i], 8);
	}
	image_set(&im, im.array + 4, 17, 4);
	image_set(&im, im.array + 24, data, 8);
	ok(read_heaps(), "a JVM may have many heaps");
	is_int(heaps.count, HS_HEAPS_MAX, "of which so many are read");
	for (unsigned i = 0; i < 16; i++)
		if (heaps.heap[i].at != heap[i + 1])
			heaps.count = 0;
	is_int(heaps.count, HS_HEAPS_MAX, "the first of the list, in the order of addresses");
}

static void test_bad_heaps(void)
{
	static const struct {
		unsigned at;
		uint64_t value;
		size_t width;
		bool is_base, good;
		const char *what;
	} row[] = {
		{40 + 32, 0, 8, false, false, "begins at 0"},
		{40 + 16, 0, 8, true, false, "ends where it begins"},
		{40 + 16, 1, 8, true, true, "has one byte"},
		{40 + 16, HS_HEAP_BYTES, 8, true, true, "is as large as any"},
		{40 + 16, HS_HEAP_BYTES + 1, 8, true, false, "is larger"},
		{104 + 32, 0, 8, false, false, "has its map at 0"},
		{104 + 16, 8, 8, false, false, "has a map that ends before it begins"},
		{12, 3, 4, false, false, "has segments of 8 bytes"},
		{12, 4, 4, false, true, "has segments of 16 bytes"},
		{12, 16, 4, false, true, "has segments of 64 KB"},
		{12, 17, 4, false, false, "has segments of 128 KB"},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		image_build(&im, IMAGE_8);
		image_set(&im, im.heap[0] + row[i].at,
			  row[i].value + (row[i].is_base ? im.heap_low[0] : 0), row[i].width);
		is_int(read_heaps(), row[i].good, "a heap that %s is %s", row[i].what,
		       row[i].good ? "read" : "refused");
	}
	for (int64_t by = -1; by <= 1; by++) {
		image_build(&im, IMAGE_17);
		image_set(&im, im.heap[1] + 40 + 32, im.heap_low[0] + IMAGE_HEAP + (uint64_t)by, 8);
		image_set(&im, im.heap[1] + 40 + 16, im.heap_low[0] + IMAGE_HEAP + 512, 8);
		read_heaps();
		is_int(heaps.count, by < 0 ? 1 : 2,
		       "a heap that begins %d bytes after another is %s", (int)by,
		       by < 0 ? "refused" : "read");
		image_set(&im, im.heap[1] + 40 + 32, im.heap_low[0] - 512, 8);
		image_set(&im, im.heap[1] + 40 + 16, im.heap_low[0] - (uint64_t)by, 8);
		read_heaps();
		is_int(heaps.count, by < 0 ? 1 : 2,
		       "a heap that ends %d bytes before another is %s", (int)by,
		       by < 0 ? "refused" : "read");
	}
}

/* ---- blocks ---- */

static void test_blocks(void)
{
	struct hs_block b;
	uint64_t left = (IMAGE_HEAP >> IMAGE_SEG) - 7;

	for (int r = 0; r < IMAGE_RELEASES; r++) {
		image_build(&im, (enum image_release)r);
		read_heaps();
		ok(hs_block_read(hs, &heaps.heap[0], im.block[1], &b), "layout %d: a block", r);
		ok(b.start == im.block[1] && b.size == 4 << IMAGE_SEG && b.used,
		   "layout %d: it has its place and size, and is used", r);
		ok(hs_block_read(hs, &heaps.heap[0], im.block[3], &b) && !b.used,
		   "layout %d: another one is free", r);
		ok(!hs_block_read(hs, &heaps.heap[0], HOLE, &b), "layout %d: a hole is none", r);
	}
	image_set(&im, im.block[1] + 3, 0xfe, 1);
	image_set(&im, im.block[1] + 8, left, 4);
	read_heaps();
	ok(hs_block_read(hs, &heaps.heap[0], im.block[1], &b), "a block may end with its heap");
	ok(!b.used, "only the lowest bit says that it is used");
	image_set(&im, im.block[1] + 8, left + 1, 4);
	read_heaps();
	ok(!hs_block_read(hs, &heaps.heap[0], im.block[1], &b), "but not after it");
	image_set(&im, im.block[1] + 8, 0, 4);
	read_heaps();
	ok(!hs_block_read(hs, &heaps.heap[0], im.block[1], &b), "a block of no length is none");
}

/* Segments of the blocks that a walk meets: "0+4 7+4"; "!" for an invalid header, "cut" at the end.
 */
static const char *walk(unsigned budget)
{
	static char text[512];
	struct hs_walk w;
	size_t n = 0;

	read_heaps();
	hs_walk_start(&w, &heaps.heap[0], budget);
	text[0] = '\0';
	while (hs_walk_seek(hs, &w)) {
		unsigned at = (unsigned)((w.next - w.heap->low) >> IMAGE_SEG);
		struct hs_block b;

		if (hs_walk_next(hs, &w, &b))
			n += (size_t)sprintf(text + n, "%u+%u ", at,
					     (unsigned)(b.size >> IMAGE_SEG));
		else
			n += (size_t)sprintf(text + n, "%u! ", at);
	}
	sprintf(text + n, "%s", w.cut ? "cut" : "end");
	return text;
}

static void test_walk(void)
{
	image_build(&im, IMAGE_25);
	is_str(walk(100), "0+4 4+3 7+4 11+9 end", "a walk meets all blocks");
	is_str(walk(5), "0+4 4+3 7+4 11+9 end", "with a budget for one more block, too");
	is_str(walk(4), "0+4 4+3 7+4 11+9 cut", "a walk without a budget for the rest is cut");
	is_str(walk(2), "0+4 4+3 cut", "a walk ends with its budget");
	is_str(walk(0), "cut", "without one it does not begin");
	image_set(&im, im.block[3] + 8, 0, 4);
	is_str(walk(100), "0+4 4! 7+4 11+9 end", "after an invalid block the map has the next");
	image_set(&im, im.block[3] + 8, 2, 4);
	is_str(walk(100), "0+4 4+2 7+4 11+9 end", "so it has after one that is too short");
	image_set(&im, im.heap[0] + 104 + 16, im.segmap[0] + 11, 8);
	is_str(walk(100), "0+4 4+2 7+4 end", "blocks after the map's end are not met");
	image_set(&im, im.heap[0] + 104 + 16, im.segmap[0] + 12, 8);
	is_str(walk(100), "0+4 4+2 7+4 11+9 end", "the last byte of the map counts");
	image_set(&im, im.heap[0] + 40 + 16, im.heap_low[0] + (11 << IMAGE_SEG), 8);
	is_str(walk(100), "0+4 4+2 7+4 end", "nor are those after the heap's end");
	image_set(&im, im.heap[0] + 104 + 32, IMAGE_BASE - 4096, 8);
	is_str(walk(100), "cut", "a map in a hole cuts the walk");
}

static void test_read_ahead(void)
{
	const struct hs_pieces *p = &hs->mem.pieces;
	struct hs_walk w;

	/* Six in 16 KB, or five. */
	for (int sixth = 1; sixth >= 0; sixth--) {
		image_build(&im, IMAGE_25);
		image_set(&im, im.segmap[0] + 60, 0, 1);
		image_set(&im, im.segmap[0] + 100, sixth ? 0 : 0xff, 1);
		read_heaps();
		hs_walk_start(&w, &heaps.heap[0], 100);
		hs_walk_seek(hs, &w);
		hs_walk_read_ahead(hs, &w, 100);
		is_int(p->count, sixth ? 0 : 5, "blocks that are %s are read as %s",
		       sixth ? "close together" : "not so close", sixth ? "one" : "pieces");
		is_int(hs_mem_in_window(&hs->mem, w.next, IMAGE_HEAP + 100), sixth,
		       "the last one's header is %sin the window", sixth ? "" : "not ");
	}
	/* Far apart: the first segments, and one near the end. */
	memset(image_at(&im, im.segmap[0]), 0xff, IMAGE_HEAP >> IMAGE_SEG);
	image_set(&im, im.segmap[0], 0, 1);
	image_set(&im, im.segmap[0] + 100, 0, 1);
	read_heaps();
	hs_walk_start(&w, &heaps.heap[0], 100);
	hs_walk_read_ahead(hs, &w, 100);
	is_int(p->count, 2, "blocks that are far apart are pieces");
	ok(p->at[0] == im.heap_low[0] && p->at[1] == im.heap_low[0] + (100 << IMAGE_SEG),
	   "each at its place");
	ok(p->len == 100 && p->have[1] == 100, "with its header");
	image_set(&im, im.segmap[0] + 100, 0xff, 1);
	read_heaps();
	hs_walk_start(&w, &heaps.heap[0], 100);
	hs_walk_read_ahead(hs, &w, 100);
	is_int(p->count, 1, "a single block is a piece");
	memset(image_at(&im, im.segmap[0]), 0xff, IMAGE_HEAP >> IMAGE_SEG);
	read_heaps();
	hs_walk_start(&w, &heaps.heap[0], 100);
	hs_walk_read_ahead(hs, &w, 100);
	is_int(p->count, 0, "without blocks there is no piece");
}

/* ---- blobs ---- */

#define BLOB (im.block[0] + IM_HEADER)
#define SIZE ((4u << IMAGE_SEG) - IM_HEADER)

static bool read_blob(struct hs_blob *b, char *text)
{
	struct hs_block block;

	read_heaps();
	return hs_block_read(hs, &heaps.heap[0], im.block[0], &block) &&
	       hs_blob_read(hs, &block, b, text);
}

static void test_blobs(void)
{
	char text[HS_BLOB_NAME_MAX];
	struct hs_blob b;

	for (int r = 0; r < IMAGE_RELEASES; r++) {
		image_build(&im, (enum image_release)r);
		ok(read_blob(&b, text), "layout %d: a blob is read", r);
		ok(b.start == BLOB && b.size == SIZE, "layout %d: it has its place and size", r);
		ok(b.code == BLOB + IM_BLOB && b.code_end == b.code + 100,
		   "layout %d: its code, too", r);
		ok(b.is_nmethod && b.method == im.method, "layout %d: and its method", r);
		is_str(text, "nmethod", "layout %d: and its name", r);
		ok(!hs_blob_is_dead(&b), "layout %d: it is alive", r);
		image_set(&im, im.block[0] + 3, 0, 1);
		ok(!read_blob(&b, text), "layout %d: a free block has none", r);
	}
	image_build(&im, IMAGE_25);
	image_set(&im, BLOB + 112, 0, 8);
	ok(read_blob(&b, text) && hs_blob_is_dead(&b), "a method whose class is unloaded is dead");
	image_set(&im, BLOB + 16, image_text(&im, "nmethods"), 8);
	ok(read_blob(&b, text) && !b.is_nmethod && !hs_blob_is_dead(&b), "a stub never is");
	image_set(&im, BLOB + 16, image_text(&im, "native nmethod"), 8);
	ok(read_blob(&b, text) && b.is_nmethod, "a native wrapper is a method");
}

static void test_bad_blobs(void)
{
	static const struct {
		unsigned at;
		uint32_t value;
		size_t width;
		bool good;
		const char *what;
	} row[] = {
		{44, SIZE, 4, true, "as large as its block"},
		{44, SIZE + 1, 4, false, "larger than its block"},
		{44, IM_BLOB + 100, 4, true, "that ends with its code"},
		{44, IM_BLOB + 99, 4, false, "that ends before its code"},
		{50, 0, 2, true, "whose code is all of it"},
		{50, IM_BLOB + 99, 2, true, "with one byte of code"},
		{50, IM_BLOB + 100, 2, false, "without code"},
		{60, SIZE, 4, true, "whose code goes to its end"},
		{60, SIZE + 1, 4, false, "whose code goes over it"},
	};
	char text[HS_BLOB_NAME_MAX];
	struct hs_blob b;

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		image_build(&im, IMAGE_25);
		image_set(&im, BLOB + row[i].at, row[i].value, row[i].width);
		is_int(read_blob(&b, text), row[i].good, "a blob %s is %s", row[i].what,
		       row[i].good ? "read" : "refused");
	}
	image_build(&im, IMAGE_17);
	image_set(&im, BLOB + 56, BLOB - 1, 8);
	ok(!read_blob(&b, text), "code that begins before its blob is refused");
	image_set(&im, BLOB + 56, BLOB, 8);
	ok(read_blob(&b, text), "code that begins with it is read");
	image_build(&im, IMAGE_25);
	image_set(&im, im.block[0] + 8, 1, 4);
	read_heaps();
	hs->tables.size[HS_TYPE_HEAP_BLOCK] = 1 << IMAGE_SEG;
	ok(!hs_blob_read(hs, &(struct hs_block){im.block[0], 1 << IMAGE_SEG, true}, &b, text),
	   "a block that is all header has no blob");
}

static void test_blob_names(void)
{
	static const struct {
		const char *name;
		bool good;
	} row[] = {{"", false},	     {" ", true},      {"~", true},	 {"a\x1f", false},
		   {"a\x7f", false}, {"a\x80", false}, {"a\xff", false}, {"x y", true}};
	char text[HS_BLOB_NAME_MAX], longest[300];
	struct hs_blob b;

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		image_build(&im, IMAGE_25);
		image_set(&im, BLOB + 16, image_text(&im, row[i].name), 8);
		is_int(read_blob(&b, text), row[i].good, "code may%s be called '%s'",
		       row[i].good ? "" : " not", row[i].name);
	}
	memset(longest, 'a', sizeof(longest));
	longest[299] = '\0';
	image_set(&im, BLOB + 16, image_text(&im, longest), 8);
	ok(read_blob(&b, text) && strlen(text) == HS_BLOB_NAME_MAX - 1, "a longer name is cut");
	image_set(&im, BLOB + 16, 0, 8);
	ok(!read_blob(&b, text), "code without a name is none");
}

/* The bytes that are read of each block have all that is looked at, and no more than needed. */
static void test_header(void)
{
	static const size_t want[] = {IM_HEADER + 128, IM_HEADER + 136, IM_HEADER + 120};

	for (int r = 0; r < IMAGE_RELEASES; r++) {
		image_build(&im, (enum image_release)r);
		start();
		is_int(hs_blob_header(hs), want[r], "layout %d: a header ends with the method", r);
		hs->tables.field[HS_NMETHOD_ID].found = true;
		hs->tables.field[HS_NMETHOD_ID].place = 400;
		hs->tables.field[HS_NMETHOD_ID].width = 4;
		is_int(hs_blob_header(hs), IM_HEADER + 404, "layout %d: or with the id", r);
		hs->tables.field[HS_NMETHOD_ID].place = 4000;
		is_int(hs_blob_header(hs), HS_BLOB_HEADER, "layout %d: within its bound", r);
	}
}

static void test_fingerprints(void)
{
	const struct image_field fields[] = {
		{"nmethod", "_compile_id", "int", 136, false},
		{"nmethod", "_state", "volatile signed char", 140, false}};
	char text[HS_BLOB_NAME_MAX];
	struct hs_blob b, other;
	uint64_t *part[] = {&other.start,    &other.size, &other.code,
			    &other.code_end, &other.name, &other.method};
	uint32_t was;

	image_build(&im, IMAGE_25);
	image_more_fields(&im, fields, 2);
	image_set(&im, BLOB + 136, 7, 4);
	read_blob(&b, text);
	was = hs_blob_fingerprint(hs, &b);
	ok(was && was == hs_blob_fingerprint(hs, &b), "the same code has the same fingerprint");
	for (size_t i = 0; i < sizeof(part) / sizeof(*part); i++) {
		other = b;
		*part[i] += part[i] == &other.start ? 0 : 8;
		if (part[i] != &other.start)
			ok(hs_blob_fingerprint(hs, &other) != was,
			   "code that differs in part %zu has another one", i);
	}
	image_set(&im, BLOB + 136, 8, 4);
	read_blob(&b, text);
	ok(hs_blob_fingerprint(hs, &b) != was, "another compilation has another one");
	b.is_nmethod = false;
	ok(hs_blob_fingerprint(hs, &b) != was, "a stub has one without an id");
	for (int state = -1; state <= 1; state++) {
		image_set(&im, BLOB + 140, (uint8_t)state, 1);
		read_blob(&b, text);
		is_int(hs_blob_fingerprint(hs, &b) == 0, state == -1,
		       "code in state %d is %sinstalled", state, state == -1 ? "not " : "");
	}
}

static void test_still(void)
{
	static const struct {
		unsigned at; /* from the block */
		uint64_t by;
		size_t width;
		const char *what;
	} row[] = {{8, 1, 4, "size"},
		   {3, 1, 1, "use"},
		   {IM_HEADER + 44, (uint64_t)-8, 4, "blob's size"},
		   {IM_HEADER + 50, 8, 2, "begin of code"},
		   {IM_HEADER + 60, 8, 4, "end of code"},
		   {IM_HEADER + 16, 1, 8, "name"},
		   {IM_HEADER + 112, 8, 8, "method"}};
	char text[HS_BLOB_NAME_MAX];
	struct hs_block block;
	struct hs_blob b;

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		uint64_t at, value;

		image_build(&im, IMAGE_25);
		at = im.block[0] + row[i].at;
		read_blob(&b, text);
		hs_block_read(hs, &heaps.heap[0], im.block[0], &block);
		ok(hs_blob_still(hs, &heaps.heap[0], &block, &b), "a blob is still the same");
		value = image_pointer(&im, at) + row[i].by;
		image_set(&im, at, value, row[i].width);
		start();
		ok(!hs_blob_still(hs, &heaps.heap[0], &block, &b), "another %s is another blob",
		   row[i].what);
	}
}

int main(void)
{
	hs = aligned_alloc(4096, HS_WORK_BYTES);
	test_heaps();
	test_watch();
	test_many_heaps();
	test_bad_heaps();
	test_blocks();
	test_walk();
	test_read_ahead();
	test_blobs();
	test_bad_blobs();
	test_blob_names();
	test_header();
	test_fingerprints();
	test_still();
	free(hs);
	return tap_done();
}
