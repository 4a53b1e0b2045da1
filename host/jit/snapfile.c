// SPDX-License-Identifier: Apache-2.0
#include "jit/snapfile.h"

#include <errno.h>

#include "common/str.h"
#include "dfg/bytes.h"
#include "dfg/request.h"
#include "jit/snapfile_inside.h"

struct snapfile *snapfile_new(void)
{
	return xcalloc(1, sizeof(struct snapfile));
}

void snapfile_free(struct snapfile *sf)
{
	if (!sf)
		return;
	for (size_t i = 0; i < sf->copy_count; i++)
		free(sf->copies[i]);
	for (size_t i = 0; i < sf->map_count; i++)
		filemap_close(&sf->maps[i]);
	lifetree_fini(&sf->tree);
	free(sf->copies);
	free(sf->maps);
	free(sf->snapshots);
	free(sf->codes);
	free(sf->methods);
	free(sf->gone);
	free(sf->stubs);
	free(sf);
}

/* ---- records ----------------------------------------------------------------------------- */

/* The next record, whole and aligned; false at the end of what can be read. */
static bool next_record(struct bytes *b, struct snap_record *ret, struct bytes *ret_all)
{
	struct bytes at = *b;

	ret->type = bytes_u32(&at);
	ret->size = bytes_u32(&at);
	if (at.bad || ret->size < sizeof(*ret) || ret->size % 8)
		return false;
	*ret_all = bytes_sub(b, ret->size);
	return !b->bad;
}

static void add_method(struct snapfile *sf, struct bytes b)
{
	const struct snap_method *m = (const void *)bytes_take(&b, sizeof(*m));
	uint32_t snapshot = (uint32_t)sf->snapshot_count - 1;

	if (!m || !m->name_len || (uint64_t)m->name_len + m->file_len > b.len)
		return;
	sf->methods = grow(sf->methods, sf->method_count, &sf->method_cap, sizeof(*sf->methods));
	sf->methods[sf->method_count++] =
		(struct method_life){.id = m->id, .record = m, .first = snapshot, .last = snapshot};
}

static void add_code(struct snapfile *sf, struct bytes b)
{
	const struct snap_code *r = (const void *)bytes_take(&b, sizeof(*r));
	struct snapfile_code c = {.record = r, .file = sf};
	uint64_t need;

	if (!r || !r->size || r->start + r->size < r->start)
		return;
	need = (uint64_t)r->scope_count * sizeof(*c.scopes) +
	       (uint64_t)r->region_count * sizeof(*c.regions) +
	       (uint64_t)r->exit_count * sizeof(*c.exits) +
	       (uint64_t)r->call_count * sizeof(*c.calls) + r->name_len;
	if (need > b.len)
		return;
	c.start = r->start;
	c.end = r->start + r->size;
	c.scopes = (const void *)bytes_take(&b, r->scope_count * sizeof(*c.scopes));
	c.regions = (const void *)bytes_take(&b, r->region_count * sizeof(*c.regions));
	c.exits = (const void *)bytes_take(&b, r->exit_count * sizeof(*c.exits));
	c.calls = (const void *)bytes_take(&b, r->call_count * sizeof(*c.calls));
	c.name = (const void *)bytes_take(&b, r->name_len);
	c.first = c.from = (uint32_t)sf->snapshot_count - 1;
	sf->codes = grow(sf->codes, sf->code_count, &sf->code_cap, sizeof(*sf->codes));
	sf->codes[sf->code_count++] = c;
}

static void add_gone(struct snapfile *sf, struct bytes b)
{
	const struct snap_gone *g = (const void *)bytes_take(&b, sizeof(*g));

	if (!g || g->count > b.len / sizeof(uint64_t))
		return;
	sf->gone = grow(sf->gone, sf->gone_count, &sf->gone_cap, sizeof(*sf->gone));
	sf->gone[sf->gone_count++] = g;
}

static bool read_head(struct bytes *b, struct snap_head *ret)
{
	struct snap_record rec;
	struct bytes all;
	const uint8_t *p;

	if (!next_record(b, &rec, &all) || rec.type != SNAP_HEAD)
		return false;
	p = bytes_take(&all, sizeof(*ret));
	if (!p)
		return false;
	memcpy(ret, p, sizeof(*ret));
	return ret->magic == SNAP_MAGIC && ret->version == SNAP_VERSION;
}

/* Not all that it should have may be there. */
static void distrust(struct snapshot *s)
{
	s->whole = s->methods_known = s->methods_whole = false;
}

/* Its status and, where it has one, its time. */
static void read_end(struct snapshot *s, struct bytes b)
{
	struct snap_end end = {.status = DFG_DUMP_READ};
	size_t n = b.len < sizeof(end) ? b.len : sizeof(end);

	memcpy(&end, b.p, n);
	if (end.status != DFG_DUMP_OK)
		distrust(s);
	if (end.time > s->end)
		s->end = end.time;
}

static struct snapshot *start_snapshot(struct snapfile *sf)
{
	const struct snap_head *h = &sf->head;
	struct snapshot *s;

	sf->snapshots =
		grow(sf->snapshots, sf->snapshot_count, &sf->snapshot_cap, sizeof(*sf->snapshots));
	s = &sf->snapshots[sf->snapshot_count];
	*s = (struct snapshot){.begin = h->time,
			       .end = h->time,
			       .whole = !(h->flags & SNAP_DELTA),
			       .methods_whole = h->flags & SNAP_METHODS_COMPLETE,
			       .methods_known =
				       h->flags & (SNAP_METHODS_COMPLETE | SNAP_METHODS_NAMED),
			       .codes = (uint32_t)sf->code_count,
			       .gone = (uint32_t)sf->gone_count};
	if (sf->snapshot_count && s->begin < s[-1].end)
		s->begin = s->end = s[-1].end;
	sf->snapshot_count++;
	return s;
}

/* The next snapshot of a file; false: there is none. */
static bool add_snapshot(struct snapfile *sf, struct bytes *b)
{
	struct snap_record rec;
	struct snap_head head;
	struct snapshot *s;
	struct bytes all;

	if (!read_head(b, &head))
		return false;
	sf->head = head;
	s = start_snapshot(sf);
	for (struct bytes at = *b; next_record(&at, &rec, &all); *b = at) {
		if (rec.type == SNAP_HEAD)
			break;
		if (rec.type == SNAP_END) {
			read_end(s, all);
			*b = at;
			return true;
		}
		if (rec.type == SNAP_METHOD)
			add_method(sf, all);
		else if (rec.type == SNAP_CODE)
			add_code(sf, all);
		else if (rec.type == SNAP_GONE)
			add_gone(sf, all);
		else if (rec.type == SNAP_STUB)
			snapfile_add_stub(sf, all);
	}
	distrust(s); /* it has no end */
	return true;
}

/* The bytes stay there, and are aligned for every record. */
static int add_file(struct snapfile *sf, const void *p, size_t len, struct err *err)
{
	struct bytes b = bytes_of(p, len);

	if (!add_snapshot(sf, &b))
		return err_set(err, 0, "no snapshot of this version");
	while (add_snapshot(sf, &b))
		;
	return 0;
}

/* ---- files ------------------------------------------------------------------------------- */

int snapfile_add(struct snapfile *sf, const void *p, size_t len, struct err *err)
{
	void *copy;

	len = len < SNAPFILE_BYTES_MAX ? len : SNAPFILE_BYTES_MAX;
	copy = xmalloc(len + 1);
	memcpy(copy, len ? p : "", len);
	sf->copies = grow(sf->copies, sf->copy_count, &sf->copy_cap, sizeof(*sf->copies));
	sf->copies[sf->copy_count++] = copy;
	return add_file(sf, copy, len, err);
}

bool snapfile_is(int fd)
{
	struct snap_head head;
	struct bytes b = bytes_of(&head, sizeof(head));
	ssize_t n = pread(fd, &head, sizeof(head), 0);

	return n == (ssize_t)sizeof(head) && read_head(&b, &head);
}

int snapfile_read(struct snapfile *sf, int fd, struct err *err)
{
	struct filemap map;

	if (filemap_open(fd, SNAPFILE_BYTES_MAX, &map, err) < 0)
		return err_wrap(err, "a snapshot");
	sf->maps = grow(sf->maps, sf->map_count, &sf->map_cap, sizeof(*sf->maps));
	sf->maps[sf->map_count++] = map;
	return add_file(sf, map.p, map.len, err);
}

void snapfile_finish(struct snapfile *sf)
{
	snapfile_live_codes(sf);
	snapfile_live_methods(sf);
	snapfile_sort_stubs(sf);
}

/* ---- searches ---------------------------------------------------------------------------- */

size_t snapfile_count(const struct snapfile *sf)
{
	return sf->code_count;
}

const struct snap_head *snapfile_head(const struct snapfile *sf)
{
	return &sf->head;
}

bool snapfile_methods_complete(const struct snapfile *sf)
{
	for (size_t i = 0; i < sf->snapshot_count; i++)
		if (sf->snapshots[i].methods_whole)
			return true;
	return false;
}

struct snapfile_span snapfile_around(const struct snapfile *sf, uint64_t time)
{
	uint32_t count = (uint32_t)sf->snapshot_count, n = count, done = 0;
	struct snapfile_span span;

	/* Those that were complete by then. */
	while (n) {
		uint32_t half = n / 2;

		if (sf->snapshots[done + half].end <= time) {
			done += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	span.first = done ? done - 1 : 0;
	span.last = done;
	if (done < count && sf->snapshots[done].begin < time)
		span.last++;
	if (count && span.last >= count)
		span.last = count - 1;
	return span;
}

bool snapfile_is_sure(const struct snapfile *sf, uint32_t first, uint32_t gone,
		      struct snapfile_span span)
{
	if (first <= span.first && gone > span.last)
		return true;
	for (uint32_t i = span.first + 1; i <= span.last; i++)
		if (sf->snapshots[i].restless)
			return false;
	return true;
}

size_t snapfile_find(const struct snapfile *sf, uint64_t addr, struct snapfile_span span,
		     const struct snapfile_code *ret[SNAPFILE_AROUND])
{
	uint32_t found[SNAPFILE_AROUND];
	size_t n = lifetree_find(&sf->tree, addr, span.first, span.last, found), sure = 0;

	for (size_t i = 0; i < n; i++) {
		const struct snapfile_code *c = &sf->codes[found[i]];
		size_t to = sure;

		if (!snapfile_is_sure(sf, c->first, c->gone, span))
			continue;
		for (; to && ret[to - 1]->first > c->first; to--)
			ret[to] = ret[to - 1];
		ret[to] = c;
		sure++;
	}
	return sure;
}
