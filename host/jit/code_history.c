// SPDX-License-Identifier: Apache-2.0
#include "jit/code_history.h"

#include "common/str.h"
#include "dfg/bytes.h"
#include "dfg/request.h"
#include "jit/code_snapshots.h"

#define STUBS_MAX   (1u << 16) /* a JVM has 200 */
#define THREADS_MAX (1u << 20) /* records with a name */

struct snapfile *snapfile_new(void)
{
	struct snapfile *sf = xcalloc(1, sizeof(*sf));

	memset(&sf->layout, 0xff, sizeof(sf->layout));
	memset(&sf->objects, 0xff, sizeof(sf->objects));
	return sf;
}

void snapfile_free(struct snapfile *sf)
{
	if (!sf)
		return;
	for (size_t i = 0; i < sf->map_count; i++)
		filemap_close(&sf->maps[i]);
	lifetree_fini(&sf->tree);
	free(sf->maps);
	free(sf->snapshots);
	free(sf->codes);
	free(sf->asked);
	free(sf->methods);
	free(sf->gone);
	free(sf->stubs);
	free(sf->threads);
	free(sf->by_tid);
	free(sf->unloads);
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

static void add_method(struct snapfile *sf, struct bytes b, bool asked)
{
	const struct snap_method *m = (const void *)bytes_take(&b, sizeof(*m));
	uint32_t snapshot = (uint32_t)sf->snapshot_count - 1;

	if (!m || !m->name_len || (uint64_t)m->name_len + m->file_len > b.len)
		return;
	sf->methods = grow(sf->methods, sf->method_count, &sf->method_cap, sizeof(*sf->methods));
	sf->methods[sf->method_count++] = (struct method_life){.id = m->id,
							       .record = m,
							       .named = snapshot,
							       .first = snapshot,
							       .last = snapshot,
							       .asked = asked};
}

static void add_unload(struct snapfile *sf, struct bytes b)
{
	const struct snap_unloaded *u = (const void *)bytes_take(&b, sizeof(*u));

	if (!u)
		return;
	sf->unloads = grow(sf->unloads, sf->unload_count, &sf->unload_cap, sizeof(*sf->unloads));
	sf->unloads[sf->unload_count++] = u->time;
}

/* Adds a code to a list of them, of which there are *n. */
static void add_code(struct snapfile *sf, struct bytes b, struct snapfile_code **list, size_t *n,
		     size_t *cap)
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
	bytes_take(&b, -need % 8);
	c.spill_count = b.bad ? 0 : b.len / sizeof(*c.spills);
	c.spills = (const void *)b.p;
	c.first = c.from = (uint32_t)sf->snapshot_count - 1;
	*list = grow(*list, *n, cap, sizeof(**list));
	(*list)[(*n)++] = c;
}

static void add_gone(struct snapfile *sf, struct bytes b)
{
	const struct snap_gone *g = (const void *)bytes_take(&b, sizeof(*g));

	if (!g || g->count > b.len / sizeof(uint64_t))
		return;
	sf->gone = grow(sf->gone, sf->gone_count, &sf->gone_cap, sizeof(*sf->gone));
	sf->gone[sf->gone_count++] = g;
}

static void add_stub(struct snapfile *sf, struct bytes b)
{
	const struct snap_stub *t = (const void *)bytes_take(&b, sizeof(*t));

	if (!t || !t->size || t->start + t->size < t->start || !t->name_len ||
	    t->name_len > b.len || t->name_len > DFG_NAME_MAX || sf->stub_count == STUBS_MAX)
		return;
	sf->stubs = grow(sf->stubs, sf->stub_count, &sf->stub_cap, sizeof(*sf->stubs));
	sf->stubs[sf->stub_count++] = (struct snapfile_stub){.start = t->start,
							     .end = t->start + t->size,
							     .name = (const char *)b.p,
							     .name_len = t->name_len};
}

static void add_thread(struct snapfile *sf, struct bytes b)
{
	const struct snap_thread *t = (const void *)bytes_take(&b, sizeof(*t));

	if (!t || !t->name_len || t->name_len > b.len || t->name_len > DFG_NAME_MAX ||
	    sf->thread_count == THREADS_MAX)
		return;
	sf->threads = grow(sf->threads, sf->thread_count, &sf->thread_cap, sizeof(*sf->threads));
	sf->threads[sf->thread_count++] = (struct java_thread){
		.tid = t->tid, .name_len = t->name_len, .name = (const char *)b.p};
}

/* Keeps a record of so many bytes. */
static void keep_record(struct bytes b, void *to, size_t bytes)
{
	const uint8_t *p = bytes_take(&b, bytes);

	if (p)
		memcpy(to, p, bytes);
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
		if (rec.type == SNAP_METHOD || rec.type == SNAP_ASKED)
			add_method(sf, all, rec.type == SNAP_ASKED);
		else if (rec.type == SNAP_CODE)
			add_code(sf, all, &sf->codes, &sf->code_count, &sf->code_cap);
		else if (rec.type == SNAP_ASKED_CODE)
			add_code(sf, all, &sf->asked, &sf->asked_count, &sf->asked_cap);
		else if (rec.type == SNAP_GONE)
			add_gone(sf, all);
		else if (rec.type == SNAP_UNLOADED)
			add_unload(sf, all);
		else if (rec.type == SNAP_STUB)
			add_stub(sf, all);
		else if (rec.type == SNAP_THREAD)
			add_thread(sf, all);
		else if (rec.type == SNAP_LAYOUT)
			keep_record(all, &sf->layout, sizeof(sf->layout));
		else if (rec.type == SNAP_OBJECTS)
			keep_record(all, &sf->objects, sizeof(sf->objects));
	}
	distrust(s); /* it has no end */
	return true;
}

int snapfile_add(struct snapfile *sf, const void *p, size_t len, struct err *err)
{
	struct bytes b = bytes_of(p, len);

	if (!add_snapshot(sf, &b))
		return err_set(err, 0, "no snapshot of this version");
	while (add_snapshot(sf, &b))
		;
	return 0;
}

/* ---- files ------------------------------------------------------------------------------- */

bool snapfile_is(int fd)
{
	struct snap_head head;
	struct bytes b = bytes_of(&head, sizeof(head));
	ssize_t n = pread(fd, &head, sizeof(head), 0);

	return n == (ssize_t)sizeof(head) && read_head(&b, &head);
}

/* Takes over the map, of which `len` bytes count. */
static int add_map(struct snapfile *sf, const struct filemap *map, size_t len, struct err *err)
{
	sf->maps = grow(sf->maps, sf->map_count, &sf->map_cap, sizeof(*sf->maps));
	sf->maps[sf->map_count++] = *map;
	return snapfile_add(sf, map->p, len, err);
}

int snapfile_read(struct snapfile *sf, int fd, struct err *err)
{
	struct filemap map;

	/* It may still grow, and shrink by a snapshot that failed. */
	if (filemap_read(fd, 0, SNAPFILE_BYTES_MAX, &map, err) < 0)
		return err_wrap(err, "a snapshot");
	return add_map(sf, &map, map.len, err);
}

/* Bytes up to the end of the last snapshot that has one. */
static size_t ended_bytes(const struct filemap *map)
{
	struct bytes b = bytes_of(map->p, map->len), all;
	struct snap_record rec;
	size_t ended = 0;

	while (next_record(&b, &rec, &all))
		if (rec.type == SNAP_END)
			ended = map->len - b.len;
	return ended;
}

/* True if a snapshot begins there, as far as can be seen. */
static bool may_begin(const struct filemap *map)
{
	struct bytes b = bytes_of(map->p, map->len);
	struct snap_head head;

	return map->len < sizeof(head) || read_head(&b, &head);
}

int snapfile_read_ended(struct snapfile *sf, int fd, uint64_t *at, struct err *err)
{
	struct filemap map;
	size_t len;

	if (filemap_read(fd, *at, SNAPFILE_BYTES_MAX, &map, err) < 0)
		return err_wrap(err, "a snapshot");
	len = ended_bytes(&map);
	if (!may_begin(&map))
		*at = 0;
	if (add_map(sf, &map, len, err) < 0)
		return -1;
	*at += len;
	return 0;
}

bool snapfile_is_whole(const struct snapfile *sf)
{
	for (size_t i = 0; i < sf->snapshot_count; i++)
		if (sf->snapshots[i].whole)
			return true;
	return false;
}

static int by_first(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Sorts n entries by the number that each begins with, for upper_bound. */
static void sort(void *list, size_t n, size_t size)
{
	if (n)
		qsort(list, n, size, by_first);
}

/* Later whole snapshots have the same stubs again. */
static void sort_stubs(struct snapfile *sf)
{
	size_t kept = 0;

	sort(sf->stubs, sf->stub_count, sizeof(*sf->stubs));
	for (size_t i = 0; i < sf->stub_count; i++)
		if (!kept || sf->stubs[kept - 1].start != sf->stubs[i].start)
			sf->stubs[kept++] = sf->stubs[i];
	sf->stub_count = kept;
}

static void index_threads(struct snapfile *sf)
{
	sf->by_tid = xcalloc(sf->thread_count, sizeof(*sf->by_tid));
	for (size_t i = 0; i < sf->thread_count; i++)
		sf->by_tid[i] = (struct keyed){.key = sf->threads[i].tid, .value = i};
	keyed_sort(sf->by_tid, sf->thread_count);
}

void snapfile_finish(struct snapfile *sf)
{
	snapfile_live_codes(sf);
	snapfile_live_methods(sf);
	sort_stubs(sf);
	sort(sf->asked, sf->asked_count, sizeof(*sf->asked));
	sort(sf->unloads, sf->unload_count, sizeof(*sf->unloads));
	index_threads(sf);
}
