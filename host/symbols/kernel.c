// SPDX-License-Identifier: Apache-2.0
#include "symbols/kernel.h"

#include "common/filemap.h"
#include "common/str.h"
#include "common/table.h"

#define TEXT_MAX    (64u << 20)
#define DYNAMIC_MAX 65536 /* BPF programs and trampolines */
#define PAGE	    4096u

/* The kernel lists its own symbols in the order of their addresses (linux 4.18 to 6.12,
 * scripts/kallsyms.c sort_symbols), so that they are searched as they are: to read them all takes
 * 11 % of the processor time of a replay (1 107 samples with copies of the stack). */
struct kallsyms {
	struct filemap map;
	size_t core_len;       /* bytes of the lines in front of the first module's */
	struct keyed *modules; /* sorted: address -> offset of the line */
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

static size_t line_end(const struct kallsyms *ks, size_t at)
{
	const uint8_t *newline = memchr(ks->map.p + at, '\n', ks->map.len - at);

	return newline ? (size_t)(newline - ks->map.p) : ks->map.len;
}

static size_t next_line(const struct kallsyms *ks, size_t at)
{
	size_t end = line_end(ks, at);

	return end < ks->map.len ? end + 1 : end;
}

/* Returns where the line that holds the byte begins. */
static size_t line_start(const struct kallsyms *ks, size_t at)
{
	const uint8_t *newline = memrchr(ks->map.p, '\n', at);

	return newline ? (size_t)(newline - ks->map.p) + 1 : 0;
}

static struct line line_at(const struct kallsyms *ks, size_t at)
{
	const char *text = (const char *)ks->map.p;

	return parse_line(text + at, text + line_end(ks, at));
}

/* Indexes the functions of modules, which are in no order. */
static void read_modules(struct kallsyms *ks)
{
	for (size_t at = ks->core_len; at < ks->map.len; at = next_line(ks, at)) {
		uint64_t start = line_at(ks, at).start;

		if (!start)
			continue;
		ks->modules = grow(ks->modules, ks->count, &ks->cap, sizeof(*ks->modules));
		ks->modules[ks->count++] = (struct keyed){.key = start, .value = at};
	}
	keyed_sort(ks->modules, ks->count);
}

struct kallsyms *kallsyms_open(int fd, struct err *err)
{
	struct kallsyms *ks = xcalloc(1, sizeof(*ks));
	const uint8_t *tab;

	if (filemap_open(fd, TEXT_MAX, &ks->map, err) < 0) {
		err_wrap(err, "the copy of kallsyms");
		free(ks);
		return NULL;
	}
	tab = memchr(ks->map.p, '\t', ks->map.len);
	ks->core_len = tab ? line_start(ks, (size_t)(tab - ks->map.p)) : ks->map.len;
	read_modules(ks);
	return ks;
}

void kallsyms_close(struct kallsyms *ks)
{
	if (!ks)
		return;
	free(ks->modules);
	filemap_close(&ks->map);
	free(ks);
}

static bool same_module(const struct line *a, const struct line *b)
{
	return a->module_len == b->module_len &&
	       !memcmp(a->name + a->len, b->name + b->len, a->module_len);
}

/* Returns where the first line of the core above an address begins. */
static size_t core_upper(const struct kallsyms *ks, uint64_t addr)
{
	size_t lo = 0, hi = ks->core_len;

	while (lo < hi) {
		size_t mid = line_start(ks, lo + (hi - lo) / 2);
		uint64_t start;

		if (hi - mid < 16 || !parse_hex((const char *)ks->map.p + mid, 16, &start) ||
		    start <= addr)
			lo = next_line(ks, mid);
		else
			hi = mid;
	}
	return lo;
}

/* Finds the last function that begins at or before an address, and the next one; .start 0: none. */
static void core_around(const struct kallsyms *ks, uint64_t addr, struct line *ret_at,
			struct line *ret_next)
{
	size_t upper = core_upper(ks, addr), at = upper;

	*ret_at = *ret_next = (struct line){0};
	while (at && !ret_at->start) {
		at = line_start(ks, at - 1);
		*ret_at = line_at(ks, at);
	}
	for (at = upper; at < ks->core_len && !ret_next->start; at = next_line(ks, at))
		*ret_next = line_at(ks, at);
}

/* The text has no sizes: a function extends to the next one, but beyond the end of a module at most
 * to the end of the following page. Of several names for one address the last counts: perf's choice
 * in effect (linux 6.1, symbols__fixup_end), and on x86 __x64_sys_… rather than __ia32_sys_…. */
static bool find_in_text(const struct kallsyms *ks, uint64_t addr, struct kernel_symbol *ret)
{
	size_t at = ks ? keyed_upper(ks->modules, ks->count, addr) : 0;
	struct line s, next;
	uint64_t page, end;

	if (!ks)
		return false;
	core_around(ks, addr, &s, &next);
	if (at && ks->modules[at - 1].key >= s.start)
		s = line_at(ks, ks->modules[at - 1].value);
	if (at < ks->count && (!next.start || ks->modules[at].key < next.start))
		next = line_at(ks, ks->modules[at].value);
	if (!s.start || s.start > addr) /* a forged text is in no order */
		return false;
	page = (s.start + 2 * (uint64_t)PAGE - 1) & ~(uint64_t)(PAGE - 1);
	end = page > s.start ? page : UINT64_MAX;
	if (next.start && (same_module(&s, &next) || next.start < page))
		end = next.start;
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
