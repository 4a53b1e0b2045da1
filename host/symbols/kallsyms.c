// SPDX-License-Identifier: Apache-2.0
#include "symbols/kallsyms.h"

#include <endian.h>

#include "calltree/keyed.h"
#include "common/str.h"

#define PAGE 4096u

/* A line: "ffffffff81000000 T _stext", and behind a tab "[module]". */
struct line {
	uint64_t start; /* 0: there is none */
	bool code;
	const char *name;
	uint32_t len;
	uint32_t module_len; /* 0: the kernel itself */
};

/* Eight hexadecimal digits, small letters, all at once; false: not all of them are some. */
static bool parse_half(const char *p, uint64_t *ret)
{
	const uint64_t each = 0x0101010101010101u;
	uint64_t text, letter, n;

	memcpy(&text, p, sizeof(text));
	text = le64toh(text);
	letter = text >> 6 & each;
	n = (text & each * 0x0f) + letter * 9;
	/* Each is below 16, at least 10 where it is a letter, and as text what was there. */
	if (n & each * 0xf0 || ((n + each * 6) >> 4 & each) != letter ||
	    n + each * '0' + letter * ('a' - '0' - 10) != text)
		return false;
	n = __builtin_bswap64(n);
	n = (n | n >> 4) & 0x00ff00ff00ff00ffu;
	n = (n | n >> 8) & 0x0000ffff0000ffffu;
	*ret = (n | n >> 16) & 0xffffffffu;
	return true;
}

static bool parse_address(const char *p, const char *end, uint64_t *ret)
{
	uint64_t high, low;

	if (end - p < 20 || p[16] != ' ' || p[18] != ' ' || p[19] == '\t' ||
	    !parse_half(p, &high) || !parse_half(p + 8, &low))
		return false;
	*ret = high << 32 | low;
	return true;
}

static struct line parse_line(const char *p, const char *end)
{
	struct line l = {0};
	const char *tab;

	if (!parse_address(p, end, &l.start))
		return l;
	l.code = memchr("TtWw", p[17], 4) != NULL;
	l.name = p + 19;
	tab = memchr(l.name, '\t', (size_t)(end - l.name));
	l.len = (uint32_t)((tab ? tab : end) - l.name);
	l.module_len = tab ? (uint32_t)(end - tab - 1) : 0;
	return l;
}

/* The newline behind p, or the end. */
static const char *line_end(const char *p, const char *end)
{
	const char *newline = memchr(p, '\n', (size_t)(end - p));

	return newline ? newline : end;
}

/* Of the line that p is in, or whose newline it is. */
static const char *line_begin(const struct kallsyms *ks, const char *p)
{
	const char *newline = memrchr(ks->text, '\n', (size_t)(p - ks->text));

	return newline ? newline + 1 : ks->text;
}

/* ---- the kernel's own ---- */

/* Where lines with a module begin. One that is cut off may have lost it. */
static size_t find_own(const struct kallsyms *ks)
{
	const char *lo = ks->text, *hi = lo + ks->len, *end = hi;

	while (lo < hi) {
		const char *line = line_begin(ks, lo + (hi - lo) / 2), *to = line_end(line, end);

		if (to == end || memchr(line, '\t', (size_t)(to - line)))
			hi = line;
		else
			lo = to + 1;
	}
	return (size_t)(lo - ks->text);
}

/* The line behind the last one with an address up to this. */
static const char *own_upper(const struct kallsyms *ks, uint64_t addr)
{
	const char *lo = ks->text, *hi = lo + ks->own;

	while (lo < hi) {
		const char *middle = line_begin(ks, lo + (hi - lo) / 2), *p = middle;
		const char *to = line_end(p, hi);
		uint64_t start = 0;

		while (to < hi && !parse_address(p, to, &start)) {
			p = to + 1;
			to = line_end(p, hi);
		}
		if (to < hi && start <= addr)
			lo = to + 1;
		else
			hi = middle;
	}
	return lo;
}

/* Of several names for one address the last: perf's choice in effect (linux 6.1,
 * symbols__fixup_end), and on x86 __x64_sys_… before __ia32_sys_…. */
static struct line own_before(const struct kallsyms *ks, const char *at)
{
	for (const char *to = at, *p; to > ks->text; to = p) {
		struct line l;

		p = line_begin(ks, to - 1);
		l = parse_line(p, to - 1);
		if (l.start && l.code)
			return l;
		if (l.name && !l.start) /* and all before it: hidden (kptr_restrict), or no place */
			break;
	}
	return (struct line){0};
}

static struct line own_from(const struct kallsyms *ks, const char *at)
{
	const char *end = ks->text + ks->own;

	for (const char *to; at < end; at = to + 1) {
		struct line l;

		to = line_end(at, end);
		l = parse_line(at, to);
		if (l.start && l.code)
			return l;
	}
	return (struct line){0};
}

/* ---- all others ---- */

static void index_others(struct kallsyms *ks)
{
	const char *p = ks->text + ks->own, *end = ks->text + ks->len;

	for (const char *to; p < end; p = to + 1) {
		struct line l;

		to = line_end(p, end);
		l = parse_line(p, to);
		if (!l.start || !l.code)
			continue;
		ks->others = grow(ks->others, ks->count, &ks->cap, sizeof(*ks->others));
		ks->others[ks->count++] =
			(struct keyed){.key = l.start, .value = (uint64_t)(p - ks->text)};
	}
	keyed_sort(ks->others, ks->count);
}

static struct line other(const struct kallsyms *ks, size_t i)
{
	const char *p = ks->text + ks->others[i].value;

	return parse_line(p, line_end(p, ks->text + ks->len));
}

/* ---- both ---- */

void kallsyms_init(struct kallsyms *ks, const char *text, size_t len)
{
	*ks = (struct kallsyms){.text = text, .len = len};
	if (!len)
		return;
	ks->own = find_own(ks);
	index_others(ks);
}

void kallsyms_fini(struct kallsyms *ks)
{
	free(ks->others);
	*ks = (struct kallsyms){0};
}

static bool same_module(const struct line *a, const struct line *b)
{
	return a->module_len == b->module_len && memcmp(a->name + a->len, b->name + b->len,
							a->module_len ? a->module_len + 1 : 0) == 0;
}

bool kallsyms_find(const struct kallsyms *ks, uint64_t addr, struct kernel_symbol *ret)
{
	const char *at = own_upper(ks, addr);
	size_t k = keyed_upper(ks->others, ks->count, addr);
	struct line s = own_before(ks, at), next = own_from(ks, at);
	uint64_t page, end;

	if (k && ks->others[k - 1].key >= s.start)
		s = other(ks, k - 1);
	if (k < ks->count && (!next.start || ks->others[k].key <= next.start))
		next = other(ks, k);
	page = (s.start + 2 * (uint64_t)PAGE - 1) & ~(uint64_t)(PAGE - 1);
	end = page > s.start ? page : UINT64_MAX;
	if (s.start && next.start && (same_module(&s, &next) || next.start < page))
		end = next.start;
	if (!s.start || addr < s.start || addr >= end)
		return false;
	*ret = (struct kernel_symbol){.start = s.start, .end = end, .name = s.name, .len = s.len};
	return true;
}
