// SPDX-License-Identifier: Apache-2.0
#include "kernsym.h"

#include "dfg/fs.h"
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
	struct str text;
	struct ksym *symbols; /* sorted */
	size_t count, cap;
	struct ksym *dynamic; /* sorted by start */
	size_t dynamic_count, dynamic_cap;
};

/* One line: "ffffffff81000000 T _stext\t[module]\n". Returns the place behind it. */
static const char *parse_line(const char *p, const char *end, struct ksym *ret, char *ret_type)
{
	const char *line_end = memchr(p, '\n', (size_t)(end - p));
	const char *tab;
	uint64_t addr = 0;
	int digits = 0;

	line_end = line_end ? line_end : end;
	*ret_type = 0;
	for (; p < line_end && digits < 16; p++, digits++) {
		unsigned c = (unsigned char)*p | 0x20u;
		unsigned v = c >= 'a' ? c - 'a' + 10 : (unsigned char)*p - (unsigned)'0';

		if (v > 15)
			break;
		addr = addr << 4 | v;
	}
	if (!digits || line_end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return line_end;
	*ret_type = p[1];
	p += 3;
	tab = memchr(p, '\t', (size_t)(line_end - p));
	*ret = (struct ksym){.start = addr,
			     .name = p,
			     .len = (uint32_t)((tab ? tab : line_end) - p),
			     .module_len = tab ? (uint32_t)(line_end - tab - 1) : 0};
	return line_end;
}

static bool same_module(const struct ksym *a, const struct ksym *b)
{
	return a->module_len == b->module_len && memcmp(a->name + a->len, b->name + b->len,
							a->module_len ? a->module_len + 1 : 0) == 0;
}

static void order_symbols(struct kernsym *ks)
{
	CLEANUP(free) struct keyed *order = xcalloc(ks->count, sizeof(*order));
	struct ksym *sorted = xcalloc(ks->count, sizeof(*sorted));
	size_t n = 0;

	for (size_t i = 0; i < ks->count; i++)
		order[i] = (struct keyed){.key = ks->symbols[i].start, .value = i};
	keyed_sort(order, ks->count);
	for (size_t i = 0; i < ks->count; i++) {
		const struct ksym *s = &ks->symbols[order[i].value];

		/* Of several names for one address the last: perf's choice in effect (linux 6.1,
		 * symbols__fixup_end), and on x86 __x64_sys_… before __ia32_sys_…. */
		n -= n && sorted[n - 1].start == s->start;
		sorted[n++] = *s;
	}
	free(ks->symbols);
	ks->symbols = sorted;
	ks->count = n;
	/* kallsyms has no sizes: to the next symbol, but over the end of a module at most to the
	 * page behind. */
	for (size_t i = 0; i < n; i++) {
		struct ksym *s = &sorted[i];
		uint64_t page = (s->start + 2 * (uint64_t)PAGE - 1) & ~(uint64_t)(PAGE - 1);

		if (i + 1 < n && (same_module(s, s + 1) || s[1].start < page))
			s->end = s[1].start;
		else
			s->end = page > s->start ? page : UINT64_MAX;
	}
}

/* The text is ks->text, in place. */
static void parse_text(struct kernsym *ks)
{
	const char *p = ks->text.buf, *end = p + ks->text.len;

	while (p < end) {
		struct ksym s;
		char type;

		p = parse_line(p, end, &s, &type) + 1;
		if ((type != 'T' && type != 't' && type != 'W' && type != 'w') || !s.start ||
		    !s.len)
			continue;
		ks->symbols = grow(ks->symbols, ks->count, &ks->cap, sizeof(*ks->symbols));
		ks->symbols[ks->count++] = s;
	}
	order_symbols(ks);
}

struct kernsym *kernsym_of(const char *text, size_t len)
{
	struct kernsym *ks = xcalloc(1, sizeof(*ks));

	str_add(&ks->text, text ? text : "", len);
	parse_text(ks);
	return ks;
}

struct kernsym *kernsym_open(int fd, struct err *err)
{
	struct kernsym *ks = xcalloc(1, sizeof(*ks));

	if (fs_read_all(fd, TEXT_MAX, &ks->text, err) < 0) {
		err_wrap(err, "read the copy of kallsyms");
		kernsym_close(ks);
		return NULL;
	}
	if (ks->text.len)
		parse_text(ks);
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
	str_fini(&ks->text);
	free(ks);
}

size_t kernsym_count(const struct kernsym *ks)
{
	return ks->count;
}

/* Number of symbols with start <= addr. */
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

bool kernsym_find(const struct kernsym *ks, uint64_t addr, struct kernel_symbol *ret)
{
	size_t at = upper(ks->dynamic, ks->dynamic_count, addr);
	const struct ksym *s = at ? &ks->dynamic[at - 1] : NULL;

	if (!s || addr >= s->end) {
		at = upper(ks->symbols, ks->count, addr);
		s = at ? &ks->symbols[at - 1] : NULL;
	}
	if (!s || addr >= s->end)
		return false;
	*ret = (struct kernel_symbol){
		.start = s->start, .end = s->end, .name = s->name, .len = s->len};
	return true;
}
