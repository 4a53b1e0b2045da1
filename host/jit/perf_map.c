// SPDX-License-Identifier: Apache-2.0
#include "jit/perf_map.h"

#include <errno.h>

#include "common/str.h"
#include "common/table.h"
#include "dfg/request.h"
#include "elf/names.h"
#include "jit/code_snapshots.h"

struct perf_map_line {
	uint64_t start, end;
	const char *name;
	uint32_t len;
};

/* A part of a range that no later range covers. */
struct range_piece {
	uint64_t start, end;
	size_t range; /* its number */
};

struct perf_map_text {
	struct perf_map_text *next;
	char buf[];
};

struct perf_map {
	struct perf_map_text *texts; /* hold the names */
	struct perf_map_line *lines; /* in the order they were written */
	size_t count, cap;
	struct range_piece *pieces; /* of the lines; after perf_map_finish */
	size_t piece_count;
};

/* ---- overlapping ranges ------------------------------------------------------------------ */

struct range {
	uint64_t start, end; /* [start, end), not empty */
};

/* Follows the chain of slots to the first one that is free, and shortens it. */
static size_t free_slot(size_t *next, size_t slot)
{
	size_t at = slot;

	while (next[at] != at)
		at = next[at];
	while (next[slot] != at) {
		size_t after = next[slot];

		next[slot] = at;
		slot = after;
	}
	return at;
}

/* The starts and ends of all ranges, sorted; each is the start of a slot. */
static struct keyed *find_slots(const struct range *list, size_t n)
{
	struct keyed *slots = xcalloc(2 * n + 1, sizeof(*slots));

	for (size_t i = 0; i < n; i++) {
		slots[2 * i].key = list[i].start;
		slots[2 * i + 1].key = list[i].end;
	}
	keyed_sort(slots, 2 * n);
	for (size_t i = 0; i < 2 * n; i++)
		slots[i].value = n; /* no range's */
	return slots;
}

/* Divides overlapping ranges: each address belongs to the last range that has it. The pieces are
 * sorted by address; the caller frees them. */
static struct range_piece *divide(const struct range *list, size_t n, size_t *ret_count)
{
	CLEANUP(free) struct keyed *slots = find_slots(list, n);
	CLEANUP(free) size_t *next = xcalloc(2 * n + 1, sizeof(*next));
	struct range_piece *pieces = xcalloc(2 * n, sizeof(*pieces)), *last = NULL;
	size_t count = 0;

	for (size_t i = 0; i <= 2 * n; i++)
		next[i] = i;
	/* The last range first: each takes the slots that are still free. */
	for (size_t r = n; r-- > 0;) {
		size_t at = keyed_upper(slots, 2 * n, list[r].start) - 1;

		while ((at = free_slot(next, at)) < 2 * n && slots[at].key < list[r].end) {
			slots[at].value = r;
			next[at] = at + 1;
		}
	}
	for (size_t i = 0; i + 1 < 2 * n; i++) {
		if (slots[i].value == n || slots[i].key == slots[i + 1].key)
			continue;
		if (last && last->range == slots[i].value && last->end == slots[i].key) {
			last->end = slots[i + 1].key;
			continue;
		}
		last = &pieces[count++];
		*last = (struct range_piece){slots[i].key, slots[i + 1].key, slots[i].value};
	}
	*ret_count = count;
	return pieces;
}

/* ---- maps -------------------------------------------------------------------------------- */

struct perf_map *perf_map_new(void)
{
	return xcalloc(1, sizeof(struct perf_map));
}

void perf_map_free(struct perf_map *pm)
{
	if (!pm)
		return;
	while (pm->texts) {
		struct perf_map_text *next = pm->texts->next;

		free(pm->texts);
		pm->texts = next;
	}
	free(pm->lines);
	free(pm->pieces);
	free(pm);
}

/* Parses a number in hex with or without "0x" (jcmd writes it) and the blank after it. */
static bool parse_number(const char **p, const char *end, uint64_t *ret)
{
	const char *start = *p, *blank;

	if (end - start > 2 && start[0] == '0' && (start[1] | 0x20) == 'x')
		start += 2;
	blank = memchr(start, ' ', (size_t)(end - start));
	if (!blank || !parse_hex(start, (size_t)(blank - start), ret))
		return false;
	*p = blank + 1;
	return true;
}

static bool parse_line(const char *p, const char *end, struct perf_map_line *ret)
{
	uint64_t start, size;

	if (end - p > PERF_MAP_LINE_MAX || !parse_number(&p, end, &start) ||
	    !parse_number(&p, end, &size))
		return false;
	if (p == end || size == 0 || start + size < start)
		return false;
	*ret = (struct perf_map_line){
		.start = start, .end = start + size, .name = p, .len = (uint32_t)(end - p)};
	return true;
}

/* Adds the lines of a text, which becomes the map's. */
static void add_text(struct perf_map *pm, struct perf_map_text *text, size_t len)
{
	const char *p = text->buf, *end = p + len;
	size_t limit = pm->count + PERF_MAP_LINES_MAX;

	text->next = pm->texts;
	pm->texts = text;
	while (p < end) {
		const char *line_end = memchr(p, '\n', (size_t)(end - p));
		struct perf_map_line line;

		/* A last line without a newline was cut off: half a name is useless. */
		if (!line_end || has_prefix(p, DFG_TRAILER_START))
			return;
		if (pm->count < limit && parse_line(p, line_end, &line)) {
			pm->lines = grow(pm->lines, pm->count, &pm->cap, sizeof(*pm->lines));
			pm->lines[pm->count++] = line;
		}
		p = line_end + 1;
	}
}

static struct perf_map_text *text_resize(struct perf_map_text *text, size_t size)
{
	return xrealloc(text, 1, sizeof(*text) + size + 1);
}

int perf_map_read(struct perf_map *pm, int fd, struct err *err)
{
	const size_t chunk = 256u << 10;
	CLEANUP(free) struct perf_map_text *text = NULL;
	size_t len = 0, cap = 0;

	/* The file may be much longer than the map in it: stop at the zeros after the map. */
	while (len < PERF_MAP_BYTES_MAX) {
		ssize_t n;

		if (cap - len < chunk) {
			cap = cap * 2 + chunk;
			text = text_resize(text, cap);
		}
		n = pread(fd, text->buf + len, chunk, (off_t)len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "read a map of compiled code");
		len += (size_t)n;
		if (n == 0 || memchr(text->buf + len - n, 0, (size_t)n))
			break;
	}
	if (!text)
		return 0;
	text->buf[len] = '\0';
	len = strlen(text->buf);
	add_text(pm, TAKE_PTR(text), len);
	return 0;
}

void perf_map_finish(struct perf_map *pm)
{
	CLEANUP(free) struct range *list = xcalloc(pm->count, sizeof(*list));

	for (size_t i = 0; i < pm->count; i++)
		list[i] = (struct range){pm->lines[i].start, pm->lines[i].end};
	pm->pieces = divide(list, pm->count, &pm->piece_count);
}

bool perf_map_find(const struct perf_map *pm, uint64_t addr, struct perf_map_symbol *ret)
{
	const struct range_piece *list = pm->pieces, *p;
	size_t n = pm->piece_count;
	size_t at = n ? upper_bound(&list->start, n, sizeof(*list), addr) : 0;

	p = at ? &list[at - 1] : NULL;
	if (!p || addr >= p->end)
		return false;
	*ret = (struct perf_map_symbol){.start = p->start,
					.end = p->end,
					.name = pm->lines[p->range].name,
					.len = pm->lines[p->range].len};
	return true;
}

enum frame_kind perf_map_kind(const char *name, size_t len)
{
	static const char interpreter[] = "Interpreter";

	if (memchr(name, '.', len))
		return FRAME_JAVA;
	if (len == strlen(interpreter) && memcmp(name, interpreter, len) == 0)
		return FRAME_INTERPRETED;
	return FRAME_STUB;
}

/* ---- as text ----------------------------------------------------------------------------- */

static int by_gone(const void *a, const void *b)
{
	const struct snapfile_code *x = *(const struct snapfile_code *const *)a;
	const struct snapfile_code *y = *(const struct snapfile_code *const *)b;

	if (x->gone != y->gone)
		return x->gone < y->gone ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static void add_line(struct str *out, uint64_t start, uint64_t end, const char *name, size_t len)
{
	if (start == end)
		return;
	str_addf(out, "%llx %llx ", (unsigned long long)start, (unsigned long long)(end - start));
	symname_add_clean(out, name, len);
	str_addc(out, '\n');
}

/* Adds a part of a code: a method's line, or a blob's stubs and the gaps between them by the blob's
 * name. */
static void add_code(struct str *out, const struct snapfile *sf, const struct snapfile_code *c,
		     const struct range_piece *part)
{
	struct snapfile_method m = {.name = c->name, .name_len = c->record->name_len};
	uint64_t at = part->start;
	bool is_method = snapfile_code_method(c, &m);

	for (size_t i = 0; !is_method && i < sf->stub_count; i++) {
		const struct snapfile_stub *stub = &sf->stubs[i];

		if (stub->start < at || stub->end > part->end)
			continue;
		add_line(out, at, stub->start, m.name, m.name_len);
		add_line(out, stub->start, stub->end, stub->name, stub->name_len);
		at = stub->end;
	}
	add_line(out, at, part->end, m.name, m.name_len);
}

void perf_map_lines(const struct perf_map *pm, struct str *ret)
{
	for (const struct perf_map_line *l = pm->lines; l < pm->lines + pm->count; l++)
		add_line(ret, l->start, l->end, l->name, l->len);
}

void perf_map_text(const struct snapfile *sf, struct str *ret)
{
	size_t n = 0, count;
	CLEANUP(free) const struct snapfile_code **codes = xcalloc(sf->code_count, sizeof(*codes));
	CLEANUP(free) struct range *list = xcalloc(sf->code_count, sizeof(*list));
	CLEANUP(free) struct range_piece *pieces = NULL;

	for (size_t i = 0; i < sf->code_count; i++)
		if (sf->codes[i].first < sf->codes[i].gone)
			codes[n++] = &sf->codes[i];
	if (n)
		qsort(codes, n, sizeof(*codes), by_gone);
	for (size_t i = 0; i < n; i++)
		list[i] = (struct range){codes[i]->start, codes[i]->end};
	pieces = divide(list, n, &count);
	for (size_t i = 0; i < count; i++)
		add_code(ret, sf, codes[pieces[i].range], &pieces[i]);
}
