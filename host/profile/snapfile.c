// SPDX-License-Identifier: Apache-2.0
#include "snapfile.h"

#include <errno.h>

#include "dfg/bytes.h"
#include "dfg/str.h"
#include "ranges.h"

/* Open addressing by id. */
struct method_table {
	const struct snap_method **slots; /* NULL: empty */
	size_t mask;
};

struct snapshot {
	struct snap_head head;
	uint8_t *buf; /* all records; aligned, so that they are used where they are */
	size_t number;
	size_t method_count;
	struct method_table methods;
	struct ranges ranges; /* number: index of codes, counted from first_code */
	size_t first_code;
};

struct snapfile {
	struct snapshot **snapshots;
	size_t snapshot_count, snapshot_cap;
	struct snapfile_code *codes; /* in the order they were added */
	size_t code_count, code_cap;
};

static const struct snap_head no_head;

struct snapfile *snapfile_new(void)
{
	return xcalloc(1, sizeof(struct snapfile));
}

static void snapshot_free(struct snapshot *s)
{
	ranges_fini(&s->ranges);
	free(s->methods.slots);
	free(s->buf);
	free(s);
}

void snapfile_free(struct snapfile *sf)
{
	if (!sf)
		return;
	for (size_t i = 0; i < sf->snapshot_count; i++)
		snapshot_free(sf->snapshots[i]);
	free(sf->snapshots);
	free(sf->codes);
	free(sf);
}

/* ---- records ----------------------------------------------------------------------------- */

/* The next record, whole and aligned; false at the end of what can be read. */
static bool next_record(struct bytes *b, struct snap_record *ret, struct bytes *ret_all)
{
	struct bytes at = *b;

	ret->type = bytes_u32(&at);
	ret->size = bytes_u32(&at);
	if (at.bad || ret->type == SNAP_END || ret->size < sizeof(*ret) || ret->size % 8)
		return false;
	*ret_all = bytes_sub(b, ret->size);
	return !b->bad;
}

static size_t method_slot(const struct method_table *t, uint64_t id)
{
	uint64_t h = id * 0x9e3779b97f4a7c15ull;
	size_t i = (h ^ h >> 32) & t->mask;

	while (t->slots[i] && t->slots[i]->id != id)
		i = (i + 1) & t->mask;
	return i;
}

static void add_method(struct snapshot *s, struct bytes b)
{
	const struct snap_method *m = (const void *)bytes_take(&b, sizeof(*m));

	if (m && m->name_len && (uint64_t)m->name_len + m->file_len <= b.len)
		s->methods.slots[method_slot(&s->methods, m->id)] = m;
}

static void add_code(struct snapfile *sf, struct snapshot *s, struct bytes b)
{
	const struct snap_code *r = (const void *)bytes_take(&b, sizeof(*r));
	struct snapfile_code c = {.record = r, .from = s};
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
	sf->codes = grow(sf->codes, sf->code_count, &sf->code_cap, sizeof(*sf->codes));
	sf->codes[sf->code_count++] = c;
	ranges_add(&s->ranges, c.start, c.end);
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

/* Takes over `buf`, which is from malloc and so aligned for every record. */
static int add_snapshot(struct snapfile *sf, uint8_t *buf, size_t len, struct err *err)
{
	struct snapshot *s = xcalloc(1, sizeof(*s));
	struct bytes records = bytes_of(buf, len), at, all;
	struct snap_record rec;

	s->buf = buf;
	s->number = sf->snapshot_count;
	s->first_code = sf->code_count;
	if (!read_head(&records, &s->head)) {
		snapshot_free(s);
		return err_set(err, 0, "no snapshot of this version");
	}
	at = records;
	while (next_record(&at, &rec, &all))
		s->method_count += rec.type == SNAP_METHOD;
	s->methods.mask = 15;
	while (s->methods.mask / 2 < s->method_count)
		s->methods.mask = s->methods.mask * 2 + 1;
	s->methods.slots = xcalloc(s->methods.mask + 1, sizeof(*s->methods.slots));
	at = records;
	while (next_record(&at, &rec, &all)) {
		if (rec.type == SNAP_METHOD)
			add_method(s, all);
		else if (rec.type == SNAP_CODE)
			add_code(sf, s, all);
	}
	sf->snapshots =
		grow(sf->snapshots, sf->snapshot_count, &sf->snapshot_cap, sizeof(*sf->snapshots));
	sf->snapshots[sf->snapshot_count++] = s;
	return 0;
}

int snapfile_add(struct snapfile *sf, const void *p, size_t len, struct err *err)
{
	uint8_t *copy;

	len = len < SNAPFILE_BYTES_MAX ? len : SNAPFILE_BYTES_MAX;
	copy = xmalloc(len + 1);
	memcpy(copy, len ? p : "", len);
	return add_snapshot(sf, copy, len, err);
}

bool snapfile_is(int fd)
{
	struct snap_head head;
	struct bytes b = bytes_of(&head, sizeof(head));
	ssize_t n = pread(fd, &head, sizeof(head), 0);

	return n == (ssize_t)sizeof(head) && read_head(&b, &head);
}

static bool is_zero(const uint8_t *p, size_t len)
{
	return len == 0 || (!*p && memcmp(p, p + 1, len - 1) == 0);
}

int snapfile_read(struct snapfile *sf, int fd, struct err *err)
{
	const size_t chunk = 256u << 10;
	CLEANUP(free) uint8_t *buf = NULL;
	size_t len = 0, cap = 0;

	while (len < SNAPFILE_BYTES_MAX) {
		ssize_t n;

		if (cap - len < chunk) {
			cap = cap * 2 + chunk;
			buf = xrealloc(buf, cap, 1);
		}
		n = pread(fd, buf + len, chunk, (off_t)len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "read a snapshot");
		len += (size_t)n;
		/* The file may be many times longer than the snapshot in it. */
		if (n == 0 || is_zero(buf + len - n, (size_t)n))
			break;
	}
	return add_snapshot(sf, TAKE_PTR(buf), len, err);
}

/* ---- searches ---------------------------------------------------------------------------- */

void snapfile_finish(struct snapfile *sf)
{
	for (size_t i = 0; i < sf->snapshot_count; i++)
		ranges_finish(&sf->snapshots[i]->ranges);
}

size_t snapfile_count(const struct snapfile *sf)
{
	return sf->code_count;
}

const struct snap_head *snapfile_head(const struct snapfile *sf)
{
	return sf->snapshot_count ? &sf->snapshots[sf->snapshot_count - 1]->head : &no_head;
}

/* By the latest of the first `count` snapshots that has code there. */
static const struct snapfile_code *find_before(const struct snapfile *sf, size_t count,
					       uint64_t addr)
{
	while (count-- > 0) {
		const struct snapshot *s = sf->snapshots[count];
		const struct range_piece *p = ranges_find(&s->ranges, addr);

		if (p)
			return &sf->codes[s->first_code + p->range];
	}
	return NULL;
}

const struct snapfile_code *snapfile_find(const struct snapfile *sf, uint64_t addr, uint64_t time)
{
	(void)time;
	return find_before(sf, sf->snapshot_count, addr);
}

const struct snapfile_code *snapfile_older(const struct snapfile *sf, const struct snapfile_code *c,
					   uint64_t addr, uint64_t time)
{
	const struct snapfile_code *older = c;

	(void)time;
	do {
		older = find_before(sf, older->from->number, addr);
	} while (older && older->start == c->start && older->end == c->end &&
		 older->record->compile_id == c->record->compile_id);
	return older;
}

static bool find_method(const struct snapshot *s, uint64_t id, struct snapfile_method *ret)
{
	const struct snap_method *m = s->methods.slots[method_slot(&s->methods, id)];

	if (!m)
		return false;
	*ret = (struct snapfile_method){.name = (const char *)(m + 1),
					.name_len = m->name_len,
					.file = (const char *)(m + 1) + m->name_len,
					.file_len = m->file_len};
	return true;
}

bool snapfile_method(const struct snapfile *sf, uint64_t id, uint64_t time,
		     struct snapfile_method *ret)
{
	(void)time;
	for (size_t i = sf->snapshot_count; i-- > 0;)
		if (find_method(sf->snapshots[i], id, ret))
			return true;
	return false;
}

bool snapfile_code_method(const struct snapfile_code *c, struct snapfile_method *ret)
{
	return c->record->method && find_method(c->from, c->record->method, ret);
}

/* The number of regions that end at or before the offset. */
static size_t regions_before(const struct snapfile_code *c, uint64_t offset)
{
	size_t lo = 0, n = c->record->region_count;

	while (n) {
		size_t half = n / 2;

		if (c->regions[lo + half].end <= offset) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return lo;
}

size_t snapfile_scopes(const struct snapfile_code *c, uint64_t offset,
		       struct snapfile_scope ret[SNAPFILE_DEPTH])
{
	size_t region = regions_before(c, offset), n = 0;
	uint32_t at;

	/* An interrupt is taken behind the instruction that took the time, so that a sample often
	 * stands exactly at the end of the region it belongs to (docs/measurements-accuracy.md;
	 * HotSpot's forte.cpp counts it to the next). A return address, being looked up one byte
	 * before, is never the start of an instruction. */
	if (region && c->regions[region - 1].end == offset)
		region--;
	if (region == c->record->region_count)
		return 0;
	at = c->regions[region].scope;
	/* The depth also ends a circle. */
	while (at < c->record->scope_count && n < SNAPFILE_DEPTH) {
		const struct snap_scope *s = &c->scopes[at];

		ret[n] = (struct snapfile_scope){.bci = s->bci, .line = s->line};
		if (s->method)
			find_method(c->from, s->method, &ret[n].method);
		n++;
		at = s->parent;
	}
	return n;
}

bool snapfile_is_return(const struct snapfile_code *c, uint64_t offset)
{
	size_t region = regions_before(c, offset), lo = 0, n = c->record->call_count;

	if (region && c->regions[region - 1].end == offset)
		return true;
	while (n) {
		size_t half = n / 2;

		if (c->calls[lo + half] < offset) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return lo < c->record->call_count && c->calls[lo] == offset;
}

const struct snap_exit *snapfile_exit(const struct snapfile_code *c, uint64_t offset)
{
	size_t lo = 0, n = c->record->exit_count;

	while (n) {
		size_t half = n / 2;

		if (c->exits[lo + half].end <= offset) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return lo < c->record->exit_count && c->exits[lo].pop <= offset ? &c->exits[lo] : NULL;
}
