// SPDX-License-Identifier: Apache-2.0
#include "kernsym.h"

#include <endian.h>

#include "dfg/filemap.h"
#include "dfg/str.h"
#include "keyed.h"

#define TEXT_MAX    (64u << 20)
#define PAGE	    4096u
#define DYNAMIC_MAX 65536 /* BPF programs and trampolines */

struct ksym {
	uint64_t start, end;
	const char *name; /* in the text, or owned (dynamic) */
	uint32_t len;
	uint32_t module_len; /* of "[module]", behind a tab; 0: the kernel itself */
};

struct kernsym {
	const char *text;
	size_t len;
	struct filemap map;    /* by kernsym_open */
	struct keyed *symbols; /* address -> offset of its line; one for each address */
	size_t count, cap;
	struct ksym *dynamic; /* sorted by start */
	size_t dynamic_count, dynamic_cap;
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

/* How a line begins: "ffffffff81000000 T _stext". Returns the name, NULL: none there. */
static const char *parse_start(const char *p, const char *end, uint64_t *ret, char *ret_type)
{
	uint64_t high, low;

	if (end - p < 20 || p[16] != ' ' || p[18] != ' ' || !parse_half(p, &high) ||
	    !parse_half(p + 8, &low))
		return NULL;
	*ret = high << 32 | low;
	*ret_type = p[17];
	return p + 19;
}

static const char *line_end(const char *p, const char *end)
{
	const char *newline = memchr(p, '\n', (size_t)(end - p));

	return newline ? newline : end;
}

/* All of a line that is known to be good: "... _stext\t[module]". */
static struct ksym read_line(const struct kernsym *ks, const struct keyed *symbol)
{
	const char *p = ks->text + symbol->value, *end = line_end(p, ks->text + ks->len), *tab;
	struct ksym s = {0};
	char type;

	s.name = parse_start(p, end, &s.start, &type);
	tab = memchr(s.name, '\t', (size_t)(end - s.name));
	s.len = (uint32_t)((tab ? tab : end) - s.name);
	s.module_len = tab ? (uint32_t)(end - tab - 1) : 0;
	return s;
}

static bool same_module(const struct ksym *a, const struct ksym *b)
{
	return a->module_len == b->module_len && memcmp(a->name + a->len, b->name + b->len,
							a->module_len ? a->module_len + 1 : 0) == 0;
}

/* Of several names for one address the last: perf's choice in effect (linux 6.1,
 * symbols__fixup_end), and on x86 __x64_sys_… before __ia32_sys_…. */
static void order_symbols(struct kernsym *ks)
{
	size_t n = 0;

	keyed_sort(ks->symbols, ks->count);
	for (size_t i = 0; i < ks->count; i++) {
		n -= n && ks->symbols[n - 1].key == ks->symbols[i].key;
		ks->symbols[n++] = ks->symbols[i];
	}
	ks->count = n;
}

/* Only where the lines are: the names of most are never asked for. */
static void index_text(struct kernsym *ks)
{
	const char *p = ks->text, *end = p + ks->len;

	for (const char *next; p < end; p = next + 1) {
		const char *name;
		uint64_t addr;
		char type;

		next = line_end(p, end);
		name = parse_start(p, next, &addr, &type);
		if (!name || !addr || *name == '\t' ||
		    (type != 'T' && type != 't' && type != 'W' && type != 'w'))
			continue;
		ks->symbols = grow(ks->symbols, ks->count, &ks->cap, sizeof(*ks->symbols));
		ks->symbols[ks->count++] =
			(struct keyed){.key = addr, .value = (uint64_t)(p - ks->text)};
	}
	order_symbols(ks);
}

struct kernsym *kernsym_of(const char *text, size_t len)
{
	struct kernsym *ks = xcalloc(1, sizeof(*ks));

	ks->text = text;
	ks->len = len;
	index_text(ks);
	return ks;
}

struct kernsym *kernsym_open(int fd, struct err *err)
{
	struct filemap map;
	struct kernsym *ks;

	if (filemap_open(fd, TEXT_MAX, &map, err) < 0) {
		err_wrap(err, "the copy of kallsyms");
		return NULL;
	}
	ks = kernsym_of((const char *)map.p, map.len);
	ks->map = map;
	return ks;
}

void kernsym_close(struct kernsym *ks)
{
	if (!ks)
		return;
	for (size_t i = 0; i < ks->dynamic_count; i++)
		free((void *)(uintptr_t)ks->dynamic[i].name);
	free(ks->dynamic);
	free(ks->symbols);
	filemap_close(&ks->map);
	free(ks);
}

size_t kernsym_count(const struct kernsym *ks)
{
	return ks->count;
}

/* Number of dynamic symbols with start <= addr. */
static size_t upper(const struct ksym *list, size_t n, uint64_t addr)
{
	size_t lo = 0;

	while (n) {
		size_t half = n / 2;

		if (list[lo + half].start <= addr) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return lo;
}

void kernsym_remove(struct kernsym *ks, uint64_t addr)
{
	size_t at = upper(ks->dynamic, ks->dynamic_count, addr);

	if (!at || ks->dynamic[at - 1].start != addr)
		return;
	free((void *)(uintptr_t)ks->dynamic[at - 1].name);
	memmove(ks->dynamic + at - 1, ks->dynamic + at,
		(ks->dynamic_count - at) * sizeof(*ks->dynamic));
	ks->dynamic_count--;
}

void kernsym_add(struct kernsym *ks, uint64_t addr, uint32_t len, const char *name)
{
	struct ksym s = {.start = addr, .end = addr + len, .len = (uint32_t)strlen(name)};
	size_t at;

	kernsym_remove(ks, addr);
	if (s.end <= addr || ks->dynamic_count >= DYNAMIC_MAX)
		return;
	s.name = xstrdup(name);
	at = upper(ks->dynamic, ks->dynamic_count, addr);
	ks->dynamic = grow(ks->dynamic, ks->dynamic_count, &ks->dynamic_cap, sizeof(*ks->dynamic));
	memmove(ks->dynamic + at + 1, ks->dynamic + at,
		(ks->dynamic_count - at) * sizeof(*ks->dynamic));
	ks->dynamic[at] = s;
	ks->dynamic_count++;
}

/* kallsyms has no sizes: to the next symbol, but over the end of a module at most to the page
 * behind.
 */
static struct ksym find_static(const struct kernsym *ks, uint64_t addr)
{
	size_t at = keyed_upper(ks->symbols, ks->count, addr);
	struct ksym s = {0}, next;
	uint64_t page;

	if (!at)
		return s;
	s = read_line(ks, &ks->symbols[at - 1]);
	page = (s.start + 2 * (uint64_t)PAGE - 1) & ~(uint64_t)(PAGE - 1);
	s.end = page > s.start ? page : UINT64_MAX;
	if (at < ks->count) {
		next = read_line(ks, &ks->symbols[at]);
		if (same_module(&s, &next) || next.start < page)
			s.end = next.start;
	}
	return s;
}

bool kernsym_find(const struct kernsym *ks, uint64_t addr, struct kernel_symbol *ret)
{
	size_t at = upper(ks->dynamic, ks->dynamic_count, addr);
	struct ksym s = {0};

	if (at)
		s = ks->dynamic[at - 1];
	if (addr >= s.end)
		s = find_static(ks, addr);
	if (addr >= s.end)
		return false;
	*ret = (struct kernel_symbol){.start = s.start, .end = s.end, .name = s.name, .len = s.len};
	return true;
}
