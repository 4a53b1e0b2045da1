// SPDX-License-Identifier: Apache-2.0
#include "hotspot/mem.h"

/* Above all user addresses; no sum of an address and a length overflows. */
#define ADDR_END (1ull << 62)

void hs_mem_init(struct hs_mem *mem, const struct hs_source *source, void *window, size_t cap)
{
	mem->source = source;
	mem->steps = HS_STEPS;
	mem->window = (struct hs_window){0};
	mem->room = window;
	mem->cap = cap;
	mem->pieces.count = 0;
	hs_mem_drop_pages(mem);
	__builtin_memset(mem->oldest, 0, sizeof(mem->oldest));
}

/* Takes steps. False: none are left. */
static bool spend(struct hs_mem *mem, uint32_t steps)
{
	mem->steps -= steps < mem->steps ? steps : mem->steps;
	return mem->steps > 0;
}

void hs_mem_drop_pages(struct hs_mem *mem)
{
	__builtin_memset(mem->tag, 0, sizeof(mem->tag));
	mem->used = 0;
}

/* Neighbours stay neighbours, and regions a power of two apart do not collide. */
static size_t set_of(uint64_t number)
{
	return (size_t)((number + (number >> 10) * 37) % (HS_PAGES / HS_WAYS));
}

static size_t page_load(struct hs_mem *mem, uint64_t number)
{
	size_t set = set_of(number), slot = set * HS_WAYS;
	int64_t n;

	for (size_t i = 0; i < HS_WAYS; i++)
		if (mem->tag[slot + i] == number + 1)
			return slot + i;
	(void)spend(mem, HS_STEPS_READ);
	slot += mem->oldest[set];
	mem->oldest[set] = (uint8_t)((mem->oldest[set] + 1) % HS_WAYS);
	if (!mem->tag[slot])
		mem->place[slot] = mem->used++;
	mem->tag[slot] = number + 1;
	n = mem->source->read(mem->source->arg, number << HS_PAGE_SHIFT,
			      mem->page[mem->place[slot]], HS_PAGE);
	mem->have[slot] = n <= 0 ? 0 : n > (int64_t)HS_PAGE ? HS_PAGE : (uint32_t)n;
	return slot;
}

const uint8_t *hs_mem_view(struct hs_mem *mem, uint64_t addr, size_t *ret_len)
{
	size_t at = addr & (HS_PAGE - 1);
	size_t slot;

	*ret_len = 0;
	if (addr >= ADDR_END || !spend(mem, 1))
		return NULL;
	if (hs_mem_in_window(mem, addr, 1)) {
		*ret_len = mem->window.have - (size_t)(addr - mem->window.at);
		return mem->window.bytes + (addr - mem->window.at);
	}
	slot = page_load(mem, addr >> HS_PAGE_SHIFT);
	if (at >= mem->have[slot])
		return NULL;
	*ret_len = mem->have[slot] - at;
	return mem->page[mem->place[slot]] + at;
}

bool hs_mem_read(struct hs_mem *mem, uint64_t addr, void *buf, size_t len)
{
	uint8_t *to = buf;

	while (len > 0) {
		size_t n;
		const uint8_t *from = hs_mem_view(mem, addr, &n);

		if (!from)
			return false;
		if (n > len)
			n = len;
		__builtin_memcpy(to, from, n);
		to += n;
		addr += n;
		len -= n;
	}
	return true;
}

bool hs_mem_read_now(struct hs_mem *mem, uint64_t addr, void *buf, size_t len)
{
	const struct hs_source *source = mem->source;

	return addr < ADDR_END && spend(mem, HS_STEPS_READ) &&
	       source->read(source->arg, addr, buf, len) == (int64_t)len;
}

int hs_mem_text(struct hs_mem *mem, uint64_t addr, char *buf, size_t cap)
{
	size_t used = 0;

	while (used + 1 < cap) {
		size_t n;
		const uint8_t *from = hs_mem_view(mem, addr, &n);

		if (!from)
			return -1;
		for (size_t i = 0; i < n && used + 1 < cap; i++, addr++) {
			if (from[i] == 0) {
				buf[used] = '\0';
				return (int)used;
			}
			buf[used++] = (char)from[i];
		}
	}
	buf[used] = '\0';
	return (int)used;
}

/* Returns the bytes read, fewer than len at a hole. */
static size_t read_some(struct hs_mem *mem, uint64_t addr, void *buf, size_t len)
{
	int64_t n = -1;

	if (addr < ADDR_END && spend(mem, (uint32_t)(len / HS_STEP_BYTES)))
		n = mem->source->read(mem->source->arg, addr, buf, len);
	return n <= 0 ? 0 : (size_t)n > len ? len : (size_t)n;
}

void hs_mem_window(struct hs_mem *mem, uint64_t addr, size_t len)
{
	size_t have = read_some(mem, addr, mem->room, len < mem->cap ? len : mem->cap);

	mem->window = (struct hs_window){.bytes = mem->room, .at = addr, .have = have};
}

void hs_mem_read_pieces(struct hs_mem *mem, size_t len)
{
	const struct hs_source *source = mem->source;
	struct hs_pieces *p = &mem->pieces;

	p->len = len < HS_PIECE ? len : HS_PIECE;
	if (!spend(mem, (uint32_t)p->count * HS_STEPS_PIECE))
		p->count = 0;
	for (size_t i = 0, whole; i < p->count; i++) {
		uint8_t *to = p->bytes + i * p->len;

		whole = source->gather
				? source->gather(source->arg, p->at + i, p->count - i, to, p->len)
				: 0;
		for (; whole > 0 && i < p->count; whole--)
			p->have[i++] = (uint16_t)p->len;
		if (i < p->count)
			p->have[i] =
				(uint16_t)read_some(mem, p->at[i], p->bytes + i * p->len, p->len);
	}
}

void hs_mem_use_piece(struct hs_mem *mem, size_t i)
{
	const struct hs_pieces *p = &mem->pieces;

	mem->window = (struct hs_window){
		.bytes = p->bytes + i * p->len, .at = p->at[i], .have = p->have[i]};
}
