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

int main(void)
{
	struct hs_source source = {.read = read_memory};

	for (uint32_t i = 0; i < BYTES / 4; i++)
		memcpy(memory + 4 * (size_t)i, &i, 4);
	test_pieces(&source, 5, "one by one");
	source.gather = gather_memory;
	test_pieces(&source, 5, "gathered"); /* two of them end at a hole */
	return tap_done();
}
