// SPDX-License-Identifier: Apache-2.0
/* Reads of another's memory: pages, the window, pieces. */
#include "hotspot/mem.h"

#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"

#define BASE  0x10000u
#define BYTES 8192u

static uint8_t memory[BYTES];
static unsigned calls;
static struct hs_mem mem;

static int64_t read_memory(void *arg, uint64_t addr, void *buf, size_t len)
{
	(void)arg;
	calls++;
	if (addr < BASE || addr >= BASE + BYTES)
		return -1;
	if (len > BASE + BYTES - addr)
		len = BASE + BYTES - addr;
	memcpy(buf, memory + (addr - BASE), len);
	return (int64_t)len;
}

static size_t gather_memory(void *arg, const uint64_t *addr, size_t n, void *buf, size_t len)
{
	unsigned before = calls;
	size_t i = 0;

	while (i < n && read_memory(arg, addr[i], (uint8_t *)buf + i * len, len) == (int64_t)len)
		i++;
	calls = before + 1;
	return i;
}

static uint32_t number_at(uint64_t addr)
{
	uint32_t n = 0;

	return hs_mem_read(&mem, addr, &n, sizeof(n)) ? n : UINT32_MAX;
}

static void test_pieces(const struct hs_source *source, unsigned want, const char *how)
{
	static const uint64_t at[] = {BASE + 4, BASE - 100, BASE + 4096, BASE + BYTES - 4,
				      BASE + 80};
	static const uint32_t number[] = {1, UINT32_MAX, 1024, 2047, 20};

	hs_mem_init(&mem, source, NULL, 0);
	number_at(BASE);
	memset(memory + 80, 0, 4);
	calls = 0;
	memcpy(mem.pieces.at, at, sizeof(at));
	mem.pieces.count = 5;
	hs_mem_read_pieces(&mem, 8);
	is_int(calls, want, "%s: calls", how);
	for (size_t i = 0; i < 4; i++) {
		hs_mem_use_piece(&mem, i);
		is_int(number_at(at[i]), number[i], "%s: piece %zu", how, i);
	}
	is_int(mem.pieces.have[3], 4, "%s: no more than there is", how);
	is_int(number_at(BASE + 80), 20, "%s: a page is as old as its first use", how);
	hs_mem_use_piece(&mem, 4);
	is_int(number_at(BASE + 80), 0, "%s: a piece is new", how);
	memcpy(memory + 80, &number[4], 4);
}

/* ---- pages ---- */

static void test_reads(const struct hs_source *source)
{
	uint8_t bytes[BYTES];

	hs_mem_init(&mem, source, NULL, 0);
	calls = 0;
	ok(hs_mem_read(&mem, BASE, bytes, BYTES) && memcmp(bytes, memory, BYTES) == 0,
	   "a read goes over pages");
	is_int(calls, 2, "each page is read once");
	ok(hs_mem_read(&mem, BASE + 100, bytes, 4000) && memcmp(bytes, memory + 100, 4000) == 0,
	   "a read may begin and end anywhere");
	is_int(calls, 2, "a page that was read is kept");
	ok(!hs_mem_read(&mem, BASE + BYTES - 8, bytes, 9), "a read into a hole fails");
	ok(!hs_mem_read(&mem, BASE - 1, bytes, 2), "so does one out of a hole");
	ok(hs_mem_read(&mem, BASE - 1, bytes, 0), "of nothing nothing is read");
	hs_mem_drop_pages(&mem);
	calls = 0;
	is_int(number_at(BASE + 4), 1, "pages that were dropped are read again");
	is_int(calls, 1, "by one call");
	ok(!hs_mem_read(&mem, 1ull << 62, bytes, 1), "an address above all others is not read");
	is_int(calls, 1, "nor tried");
	ok(!hs_mem_read(&mem, (1ull << 62) - 1, bytes, 1), "the one below it is a hole");
	is_int(calls, 2, "which is tried");
}

static void test_views(const struct hs_source *source)
{
	size_t len = 77;

	hs_mem_init(&mem, source, NULL, 0);
	ok(hs_mem_view(&mem, BASE + 4092, &len) && len == 4, "a view ends with its page");
	ok(hs_mem_view(&mem, BASE + 4096, &len) && len == 4096, "the next one begins there");
	ok(!hs_mem_view(&mem, BASE + BYTES, &len) && len == 0, "a hole has no view");
	len = 77;
	ok(!hs_mem_view(&mem, UINT64_MAX, &len) && len == 0, "nor has the end of all addresses");
}

/* Memory of which each page begins with its number; it is read by 100 bytes at a time if short. */
static bool is_short;

static int64_t read_numbers(void *arg, uint64_t addr, void *buf, size_t len)
{
	uint64_t number = addr >> HS_PAGE_SHIFT;

	(void)arg;
	calls++;
	memset(buf, 0, len);
	memcpy(buf, &number, sizeof(number));
	return is_short ? 100 : (int64_t)len + 5;
}

static unsigned wrong_pages(uint64_t from, uint64_t step, unsigned count)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < count; i++) {
		uint64_t want = from + i * step, got;

		wrong += !hs_mem_ptr(&mem, want << HS_PAGE_SHIFT, &got) || got != want;
	}
	return wrong;
}

static void test_cache(void)
{
	static const struct {
		uint64_t step;
		unsigned count;
		const char *what;
	} row[] = {{1, 1000, "neighbours"},
		   {1 << 10, 64, "pages 4 MB apart"},
		   {1 << 18, 24, "pages 1 GB apart"},
		   {1 << 28, 12, "pages 1 TB apart"}};
	struct hs_source source = {.read = read_numbers};
	uint8_t bytes[200];
	size_t len;

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		hs_mem_init(&mem, &source, NULL, 0);
		calls = 0;
		is_int(wrong_pages(1, row[i].step, row[i].count), 0, "%s are read", row[i].what);
		is_int(calls, row[i].count, "%s are read once each", row[i].what);
		is_int(wrong_pages(1, row[i].step, row[i].count), 0, "%s are found", row[i].what);
		is_int(calls, row[i].count, "%s are all kept", row[i].what);
	}
	hs_mem_init(&mem, &source, NULL, 0);
	is_int(wrong_pages(1, 1, 3 * HS_PAGES), 0, "more pages than there is room for are read");
	calls = 0;
	is_int(wrong_pages(1 + 3 * HS_PAGES - 1000, 1, 1000), 0, "the last of them are found");
	is_int(calls, 0, "they have replaced the oldest");
	ok(hs_mem_view(&mem, 4096, &len) && len == 4096,
	   "a source that says it read more than it could has read a page");
	is_short = true;
	hs_mem_init(&mem, &source, NULL, 0);
	ok(hs_mem_read(&mem, 4096, bytes, 100), "a page that was read in part has that part");
	ok(!hs_mem_read(&mem, 4096, bytes, 101), "and no more");
}

static void test_now(const struct hs_source *source)
{
	uint32_t n = 0;

	hs_mem_init(&mem, source, NULL, 0);
	number_at(BASE);
	memset(memory + 80, 0, 4);
	ok(hs_mem_read_now(&mem, BASE + 80, &n, 4) && n == 0, "a read of now knows no pages");
	is_int(number_at(BASE + 80), 20, "which are as they were");
	n = 20;
	memcpy(memory + 80, &n, 4);
	ok(!hs_mem_read_now(&mem, BASE + BYTES - 3, &n, 4), "a read of now that is cut fails");
	calls = 0;
	ok(!hs_mem_read_now(&mem, 1ull << 62, &n, 4) && calls == 0,
	   "an address above all others is not tried");
}

static void test_texts(const struct hs_source *source)
{
	char text[16];

	hs_mem_init(&mem, source, NULL, 0);
	memcpy(memory + 4090, "hello, world", 13);
	is_int(hs_mem_text(&mem, BASE + 4090, text, sizeof(text)), 12, "a text has its length");
	ok(strcmp(text, "hello, world") == 0, "a text goes over pages");
	is_int(hs_mem_text(&mem, BASE + 4090, text, 13), 12, "a text may fill its room");
	is_int(hs_mem_text(&mem, BASE + 4090, text, 12), 11, "a longer one is cut");
	ok(strcmp(text, "hello, worl") == 0, "and ended");
	is_int(hs_mem_text(&mem, BASE + 4090, text, 7), 6, "also where a page ends");
	ok(strcmp(text, "hello,") == 0, "with what was before");
	is_int(hs_mem_text(&mem, BASE + 4090, text, 8), 7, "or where one byte fits after it");
	is_int(hs_mem_text(&mem, BASE + 4102, text, sizeof(text)), 0, "an empty text is one");
	is_int(text[0], 0, "of no bytes");
	is_int(hs_mem_text(&mem, BASE + BYTES, text, sizeof(text)), -1, "a hole has no text");
	memset(memory + BYTES - 4, 'x', 4);
	hs_mem_drop_pages(&mem);
	is_int(hs_mem_text(&mem, BASE + BYTES - 4, text, sizeof(text)), -1,
	       "nor has what runs into one");
	is_int(hs_mem_text(&mem, BASE + BYTES - 4, text, 5), 4, "unless it is cut before");
}

/* ---- the window ---- */

static void test_window(const struct hs_source *source)
{
	uint8_t room[300], bytes[400];
	size_t len;

	hs_mem_init(&mem, source, room, sizeof(room));
	ok(!hs_mem_in_window(&mem, 0, 1), "there is no window at first");
	hs_mem_window(&mem, BASE + 100, 200);
	ok(hs_mem_in_window(&mem, BASE + 100, 200), "the window has what was read");
	ok(!hs_mem_in_window(&mem, BASE + 100, 201), "and no more");
	ok(!hs_mem_in_window(&mem, BASE + 99, 1), "nothing before it");
	ok(hs_mem_in_window(&mem, BASE + 299, 1), "it has its last byte");
	ok(!hs_mem_in_window(&mem, BASE + 300, 1), "but none after it");
	ok(!hs_mem_in_window(&mem, UINT64_MAX, 2), "nor the end of all addresses");
	ok(hs_mem_view(&mem, BASE + 150, &len) && len == 150, "a view in it ends with it");
	calls = 0;
	is_int(number_at(BASE + 296), 74, "a read in it is served by it");
	is_int(calls, 0, "without a call");
	ok(hs_mem_read(&mem, BASE + 50, bytes, 400) && memcmp(bytes, memory + 50, 400) == 0,
	   "a read may go over it on both sides");
	hs_mem_window(&mem, BASE + 100, 5000);
	ok(mem.window.have == sizeof(room), "a window has no more than its room");
	hs_mem_window(&mem, BASE + BYTES - 10, 200);
	is_int(mem.window.have, 10, "it ends at a hole");
	hs_mem_window(&mem, BASE - 10, 5);
	is_int(mem.window.have, 0, "in a hole it is empty");
	calls = 0;
	hs_mem_window(&mem, 1ull << 62, 5);
	ok(mem.window.have == 0 && calls == 0, "above all addresses it is not tried");
	is_int(number_at(BASE + 104), 26, "what it does not have is read from pages");
}

static void test_long_pieces(const struct hs_source *source)
{
	hs_mem_init(&mem, source, NULL, 0);
	mem.pieces.count = 3;
	mem.pieces.at[0] = BASE;
	mem.pieces.at[1] = 1ull << 62;
	mem.pieces.at[2] = BASE + 4096;
	hs_mem_read_pieces(&mem, 4000);
	is_int(mem.pieces.len, HS_PIECE, "a piece has no more than its room");
	ok(mem.pieces.have[0] == HS_PIECE && mem.pieces.have[2] == HS_PIECE, "pieces are whole");
	is_int(mem.pieces.have[1], 0, "a piece above all addresses is empty");
	hs_mem_use_piece(&mem, 2);
	ok(hs_mem_in_window(&mem, BASE + 4096, HS_PIECE) &&
		   !hs_mem_in_window(&mem, BASE + 4096, HS_PIECE + 1),
	   "a piece that is used is the window");
	is_int(number_at(BASE + 4096 + 508), 1024 + 127, "it has its own bytes");
}

static void test_text_is(void)
{
	ok(hs_text_is("", "") && hs_text_is("ab", "ab"), "equal texts are the same");
	ok(!hs_text_is("ab", "abc") && !hs_text_is("abc", "ab") && !hs_text_is("ab", "ac"),
	   "others are not");
}

/* After so many steps all memory is a hole. */
static void test_steps(const struct hs_source *source)
{
	static uint8_t room[64];
	uint32_t n;
	size_t len;

	hs_mem_init(&mem, source, room, sizeof(room));
	ok(!hs_mem_is_spent(&mem), "a new reader has steps");
	mem.steps = HS_STEPS_READ + 3;
	ok(hs_mem_view(&mem, BASE, &len) != NULL, "a page is read");
	is_int(mem.steps, 2, "a system call and a step are taken");
	ok(hs_mem_view(&mem, BASE + 4, &len) != NULL, "what is cached costs one");
	ok(!hs_mem_view(&mem, BASE, &len) && hs_mem_is_spent(&mem), "then nothing can be read");
	is_int(len, 0, "no byte of it");
	calls = 0;
	ok(!hs_mem_read_now(&mem, BASE, &n, sizeof(n)), "nor without the cache");
	hs_mem_window(&mem, BASE, sizeof(room));
	is_int(mem.window.have, 0, "nor into the window");
	mem.pieces.at[0] = BASE;
	mem.pieces.count = 1;
	hs_mem_read_pieces(&mem, 8);
	is_int(mem.pieces.count, 0, "nor as a piece");
	is_int(calls, 0, "nothing is asked of the system");
}

int main(void)
{
	struct hs_source source = {.read = read_memory};

	for (uint32_t i = 0; i < BYTES / 4; i++)
		memcpy(memory + 4 * (size_t)i, &i, 4);
	test_reads(&source);
	test_views(&source);
	test_now(&source);
	test_window(&source);
	test_long_pieces(&source);
	test_pieces(&source, 5, "one by one");
	source.gather = gather_memory;
	test_pieces(&source, 5, "gathered"); /* two of them end at a hole */
	test_long_pieces(&source);
	test_texts(&source);
	test_cache();
	test_steps(&source);
	test_text_is();
	return tap_done();
}
