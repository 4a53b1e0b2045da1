// SPDX-License-Identifier: Apache-2.0
#include "symbols/kernel.h"

#include "common/filemap.h"
#include "common/str.h"
#include "common/table.h"

#define TEXT_MAX    (64u << 20)
#define DYNAMIC_MAX 65536 /* BPF programs and trampolines */
#define PAGE	    4096u

struct kallsyms {
	struct filemap map;
	struct keyed *functions; /* sorted: address -> offset of the line */
	size_t count, cap;
};

struct dynamic {
	uint64_t end;
	size_t len;
	char name[];
};

struct kernel {
	const struct kallsyms *text; /* NULL: none */
	struct keyed *dynamic;	     /* sorted: address -> struct dynamic, owned */
	size_t count, cap;
};

/* ---- the text ---------------------------------------------------------------------------- */

/* "ffffffff81000000 T _stext", and after a tab the module. */
struct line {
	uint64_t start; /* 0: hidden, or not a function */
	const char *name;
	size_t len, module_len; /* module_len 0: the kernel itself */
};

static struct line parse_line(const char *p, const char *end)
{
	struct line l = {0};
	const char *tab;

	if (end - p < 20 || p[16] != ' ' || !memchr("TtWw", p[17], 4) || p[18] != ' ' ||
	    p[19] == '\t' || !parse_hex(p, 16, &l.start))
		return (struct line){0};
	l.name = p + 19;
	tab = memchr(l.name, '\t', (size_t)(end - l.name));
	l.len = (size_t)((tab ? tab : end) - l.name);
	l.module_len = tab ? (size_t)(end - tab) : 0;
	return l;
}

static const char *line_end(const char *p, const char *end)
{
	const char *newline = memchr(p, '\n', (size_t)(end - p));

	return newline ? newline : end;
}

struct kallsyms *kallsyms_open(int fd, struct err *err)
{
	struct kallsyms *ks = xcalloc(1, sizeof(*ks));
	const char *text, *end;

	if (filemap_open(fd, TEXT_MAX, &ks->map, err) < 0) {
		err_wrap(err, "the copy of kallsyms");
		free(ks);
		return NULL;
	}
	text = (const char *)ks->map.p;
	end = text + ks->map.len;
	for (const char *p = text, *to; p < end; p = to + 1) {
		struct line l;

		to = line_end(p, end);
		l = parse_line(p, to);
		if (!l.start)
			continue;
		ks->functions = grow(ks->functions, ks->count, &ks->cap, sizeof(*ks->functions));
		ks->functions[ks->count++] =
			(struct keyed){.key = l.start, .value = (uint64_t)(p - text)};
	}
	keyed_sort(ks->functions, ks->count);
	return ks;
}

void kallsyms_close(struct kallsyms *ks)
{
	if (!ks)
		return;
	free(ks->functions);
	filemap_close(&ks->map);
	free(ks);
}

static struct line line_at(const struct kallsyms *ks, size_t i)
{
	const char *text = (const char *)ks->map.p, *p = text + ks->functions[i].value;

	return parse_line(p, line_end(p, text + ks->map.len));
}

static bool same_module(const struct line *a, const struct line *b)
{
	return a->module_len == b->module_len &&
	       !memcmp(a->name + a->len, b->name + b->len, a->module_len);
}

/* The text has no sizes: a function extends to the next one, but beyond the end of a module at most
 * to the end of the following page. Of several names for one address the last counts: perf's choice
 * in effect (linux 6.1, symbols__fixup_end), and on x86 __x64_sys_… rather than __ia32_sys_…. */
static bool find_in_text(const struct kallsyms *ks, uint64_t addr, struct kernel_symbol *ret)
{
	size_t at = ks ? keyed_upper(ks->functions, ks->count, addr) : 0;
	struct line s, next;
	uint64_t page, end;

	if (!at)
		return false;
	s = line_at(ks, at - 1);
	page = (s.start + 2 * (uint64_t)PAGE - 1) & ~(uint64_t)(PAGE - 1);
	end = page > s.start ? page : UINT64_MAX;
	if (at < ks->count) {
		next = line_at(ks, at);
		if (same_module(&s, &next) || next.start < page)
			end = next.start;
	}
	*ret = (struct kernel_symbol){.start = s.start, .end = end, .name = s.name, .len = s.len};
	return addr < end;
}

/* ---- with what is loaded and unloaded ---------------------------------------------------- */

static struct dynamic *dynamic_at(const struct kernel *k, size_t i)
{
	return (struct dynamic *)(uintptr_t)k->dynamic[i].value;
}

struct kernel *kernel_new(const struct kallsyms *text)
{
	struct kernel *k = xcalloc(1, sizeof(*k));

	k->text = text;
	return k;
}

void kernel_free(struct kernel *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->count; i++)
		free(dynamic_at(k, i));
	free(k->dynamic);
	free(k);
}

void kernel_remove(struct kernel *k, uint64_t addr)
{
	size_t at = keyed_upper(k->dynamic, k->count, addr);

	if (!at || k->dynamic[at - 1].key != addr)
		return;
	free(dynamic_at(k, at - 1));
	memmove(k->dynamic + at - 1, k->dynamic + at, (k->count - at) * sizeof(*k->dynamic));
	k->count--;
}

void kernel_add(struct kernel *k, uint64_t addr, uint32_t len, const char *name)
{
	size_t name_len = strlen(name), at;
	struct dynamic *d;

	kernel_remove(k, addr);
	if (addr + len <= addr || k->count >= DYNAMIC_MAX)
		return;
	d = xmalloc(sizeof(*d) + name_len + 1);
	d->end = addr + len;
	d->len = name_len;
	memcpy(d->name, name, name_len + 1);
	at = keyed_upper(k->dynamic, k->count, addr);
	k->dynamic = grow(k->dynamic, k->count, &k->cap, sizeof(*k->dynamic));
	memmove(k->dynamic + at + 1, k->dynamic + at, (k->count - at) * sizeof(*k->dynamic));
	k->dynamic[at] = (struct keyed){.key = addr, .value = (uintptr_t)d};
	k->count++;
}

bool kernel_find(const struct kernel *k, uint64_t addr, struct kernel_symbol *ret)
{
	size_t at = keyed_upper(k->dynamic, k->count, addr);
	const struct dynamic *d = at ? dynamic_at(k, at - 1) : NULL;

	if (!d || addr >= d->end)
		return find_in_text(k->text, addr, ret);
	*ret = (struct kernel_symbol){
		.start = k->dynamic[at - 1].key, .end = d->end, .name = d->name, .len = d->len};
	return true;
}
