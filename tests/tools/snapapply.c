// SPDX-License-Identifier: Apache-2.0
/* Makes of a whole snapshot and the deltas after it the one whole snapshot they come to: snapapply
 * IN OUT. Its code is in the order of addresses; of methods with one id the last counts; stubs
 * stay. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fs.h"
#include "dfg/snapshot.h"

struct entry {
	uint64_t key, end; /* code: its range; a method: its id */
	const uint8_t *record;
	size_t order;
};

struct list {
	struct entry *entry;
	size_t count, cap;
};

static struct list code, method, stub;
/* Records of the last whole snapshot; NULL: none. */
static const uint8_t *layout, *objects;

static void add(struct list *l, uint64_t key, uint64_t end, const uint8_t *record)
{
	l->entry = grow(l->entry, l->count, &l->cap, sizeof(*l->entry));
	l->entry[l->count] = (struct entry){key, end, record, l->count};
	l->count++;
}

static int by_key(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
				: (x->order > y->order) - (x->order < y->order);
}

static void sort(struct list *l)
{
	for (size_t i = 0; i < l->count; i++)
		l->entry[i].order = i;
	if (l->count > 0)
		qsort(l->entry, l->count, sizeof(*l->entry), by_key);
}

/* One snapshot of the file, from its head on. */
struct part {
	struct list code;
	struct list gone;
	bool delta;
};

static void gone_add(struct part *part, const uint8_t *p)
{
	struct snap_gone g;
	uint64_t start;

	memcpy(&g, p, sizeof(g));
	for (uint64_t i = 0; i < g.count; i++) {
		memcpy(&start, p + sizeof(g) + i * sizeof(start), sizeof(start));
		add(&part->gone, start, start, p);
	}
}

/* Keeps the code so far that is neither gone nor overwritten, and the part's own. */
static void part_apply(struct part *part)
{
	struct list all = {0};
	size_t g = 0, n = 0;

	sort(&part->code);
	sort(&part->gone);
	for (size_t i = 0; part->delta && i < code.count; i++) {
		const struct entry *e = &code.entry[i];

		while (g < part->gone.count && part->gone.entry[g].key < e->key)
			g++;
		while (n < part->code.count && part->code.entry[n].end <= e->key)
			n++;
		if ((g == part->gone.count || part->gone.entry[g].key != e->key) &&
		    (n == part->code.count || part->code.entry[n].key >= e->end))
			add(&all, e->key, e->end, e->record);
	}
	for (size_t i = 0; i < part->code.count; i++)
		add(&all, part->code.entry[i].key, part->code.entry[i].end,
		    part->code.entry[i].record);
	sort(&all);
	free(code.entry);
	code = all;
	free(part->code.entry);
	free(part->gone.entry);
	*part = (struct part){0};
}

static void record_take(struct part *part, const uint8_t *p, const struct snap_record *r)
{
	struct snap_head head;
	struct snap_code c;
	struct snap_method m;

	if (r->type == SNAP_HEAD) {
		memcpy(&head, p, sizeof(head));
		part->delta = head.flags & SNAP_DELTA;
	} else if (r->type == SNAP_CODE) {
		memcpy(&c, p, sizeof(c));
		add(&part->code, c.start, c.start + c.size, p);
	} else if (r->type == SNAP_METHOD) {
		memcpy(&m, p, sizeof(m));
		add(&method, m.id, m.id, p);
	} else if (r->type == SNAP_STUB) {
		add(&stub, 0, 0, p);
	} else if (r->type == SNAP_LAYOUT) {
		layout = p;
	} else if (r->type == SNAP_OBJECTS) {
		objects = p;
	} else if (r->type == SNAP_GONE) {
		gone_add(part, p);
	} else if (r->type == SNAP_END) {
		part_apply(part);
	}
}

static void record_put(FILE *to, const uint8_t *p)
{
	struct snap_record r;

	memcpy(&r, p, sizeof(r));
	fwrite(p, 1, r.size, to);
}

int main(int argc, char **argv)
{
	CLEANUP(str_fini) struct str s = {0};
	struct part part = {0};
	struct snap_head head = {0};
	struct snap_end end = {.record = {SNAP_END, sizeof(end)}};
	struct snap_record r;
	struct err err;
	FILE *to;

	if (argc != 3)
		return 2;
	if (fs_read_file(AT_FDCWD, argv[1], (size_t)1 << 30, &s, &err) < 0 ||
	    s.len < sizeof(head)) {
		fprintf(stderr, "snapapply: %s\n", err.msg);
		return 1;
	}
	for (size_t at = 0; at + sizeof(r) <= s.len; at += r.size) {
		memcpy(&r, s.buf + at, sizeof(r));
		if (r.size < sizeof(r) || r.size % 8 || r.size > s.len - at)
			break;
		record_take(&part, (const uint8_t *)s.buf + at, &r);
	}
	to = fopen(argv[2], "we");
	if (!to) {
		perror(argv[2]);
		return 1;
	}
	memcpy(&head, s.buf, sizeof(head));
	fwrite(&head, 1, sizeof(head), to);
	if (layout)
		record_put(to, layout);
	if (objects)
		record_put(to, objects);
	sort(&method);
	for (size_t i = 0; i < method.count; i++)
		if (i + 1 == method.count || method.entry[i + 1].key != method.entry[i].key)
			record_put(to, method.entry[i].record);
	for (size_t i = 0; i < code.count; i++)
		record_put(to, code.entry[i].record);
	for (size_t i = 0; i < stub.count; i++)
		record_put(to, stub.entry[i].record);
	end.codes = (uint32_t)code.count;
	end.methods = (uint32_t)method.count;
	fwrite(&end, 1, sizeof(end), to);
	return fclose(to) == 0 ? 0 : 1;
}
