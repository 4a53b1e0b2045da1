// SPDX-License-Identifier: Apache-2.0
#include "jfr/chunk.h"

#include "jfr/jfr.h"

#define MAGIC		 "FLR"
#define HEADER_BYTES	 68
#define SIZE_LIMIT	 (UINT64_C(1) << 40) /* of a chunk: a larger one is no size */
#define PACKED		 1		     /* flag of the header */
#define RECORD_TYPES	 0		     /* the metadata */
#define RECORD_CONSTANTS 1
#define DEPTH_MAX	 16 /* of elements: metadata, class, field, annotation */

/* ---- records ------------------------------------------------------------------------------- */

bool jfr_is(const void *data, size_t len)
{
	return len >= sizeof(MAGIC) && memcmp(data, MAGIC, sizeof(MAGIC)) == 0;
}

struct bytes jfr_records(const struct jfr_chunk *c)
{
	return bytes_of(c->all.p + HEADER_BYTES, c->all.len - HEADER_BYTES);
}

bool jfr_next(const struct jfr_chunk *c, struct bytes *at, struct jfr_record *ret)
{
	struct bytes b = *at;
	uint64_t size = jfr_number(c, &b, 4);
	size_t head = at->len - b.len;

	if (b.bad || size < head || size > at->len)
		return false;
	b.len = (size_t)size - head;
	ret->size = (size_t)size;
	ret->type_id = jfr_number(c, &b, 8);
	ret->body = b;
	if (b.bad)
		return false;
	(void)bytes_take(at, (size_t)size);
	return true;
}

/* ---- types --------------------------------------------------------------------------------- */

uint32_t jfr_type_by_id(const struct jfr_chunk *c, uint64_t id)
{
	size_t n = keyed_upper(c->by_id, c->type_count, id);

	return n && c->by_id[n - 1].key == id ? (uint32_t)c->by_id[n - 1].value : JFR_NONE;
}

uint32_t jfr_type_by_name(const struct jfr_chunk *c, const char *name)
{
	for (size_t i = 0; i < c->type_count; i++)
		if (!strcmp(c->types[i].name, name))
			return (uint32_t)i;
	return JFR_NONE;
}

static enum jfr_base base_of(const char *name)
{
	static const struct {
		const char *name;
		enum jfr_base base;
	} known[] = {
		{"boolean", JFR_BYTE}, {"byte", JFR_BYTE},     {"char", JFR_SHORT},
		{"short", JFR_SHORT},  {"int", JFR_INT},       {"long", JFR_LONG},
		{"float", JFR_FLOAT},  {"double", JFR_DOUBLE}, {"java.lang.String", JFR_STRING},
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(known[i].name, name))
			return known[i].base;
	return JFR_STRUCT;
}

static bool is_kept(const char *name)
{
	static const char *const kept[] = {
		"jdk.types.StackTrace", "jdk.types.Method", "jdk.types.Symbol",
		"jdk.types.FrameType",	"java.lang.Class",  "java.lang.Thread",
		"java.lang.String",
	};

	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		if (!strcmp(kept[i], name))
			return true;
	return false;
}

/* The texts of the metadata, by number, and where its reading stands. */
struct metadata {
	struct bytes b;
	size_t *starts;
	size_t count, cap;
};

/* One element's attributes that are used; texts are "" where it has none. */
struct element {
	const char *kind, *name, *id, *type, *constant, *dimension;
};

static const char *text_at(const struct jfr_chunk *c, const struct metadata *m, uint64_t number)
{
	return number < m->count ? c->texts.buf + m->starts[number] : "";
}

static void read_texts(struct jfr_chunk *c, struct metadata *m)
{
	uint64_t n = jfr_number(c, &m->b, 4);

	while (n-- > 0 && !m->b.bad) {
		m->starts = grow(m->starts, m->count, &m->cap, sizeof(*m->starts));
		m->starts[m->count++] = c->texts.len;
		jfr_string(c, &m->b, &c->texts);
		str_addc(&c->texts, '\0');
	}
}

static struct element read_element(const struct jfr_chunk *c, struct metadata *m)
{
	struct element e = {"", "", "", "", "", ""};
	uint64_t n;

	e.kind = text_at(c, m, jfr_number(c, &m->b, 4));
	n = jfr_number(c, &m->b, 4);
	while (n-- > 0 && !m->b.bad) {
		const char *key = text_at(c, m, jfr_number(c, &m->b, 4));
		const char *value = text_at(c, m, jfr_number(c, &m->b, 4));

		if (!strcmp(key, "name"))
			e.name = value;
		else if (!strcmp(key, "id"))
			e.id = value;
		else if (!strcmp(key, "class"))
			e.type = value;
		else if (!strcmp(key, "constantPool"))
			e.constant = value;
		else if (!strcmp(key, "dimension"))
			e.dimension = value;
	}
	return e;
}

static void add_type(struct jfr_chunk *c, const struct element *e)
{
	struct jfr_type t = {.name = e->name,
			     .base = base_of(e->name),
			     .first = (uint32_t)c->field_count,
			     .kept = is_kept(e->name)};

	if (!parse_u64(e->id, &t.id))
		return;
	c->types = grow(c->types, c->type_count, &c->type_cap, sizeof(*c->types));
	c->types[c->type_count++] = t;
}

/* Adds a field to the last type, whose fields follow each other. */
static void add_field(struct jfr_chunk *c, const struct element *e)
{
	struct jfr_field f = {.name = e->name,
			      .constant = !strcmp(e->constant, "true"),
			      .array = *e->dimension && strcmp(e->dimension, "0") != 0};

	if (!c->type_count || !parse_u64(e->type, &f.type_id))
		return;
	c->fields = grow(c->fields, c->field_count, &c->field_cap, sizeof(*c->fields));
	c->fields[c->field_count++] = f;
	c->types[c->type_count - 1].count++;
}

/* Reads the tree of elements, without recursion: by depth, the children that are still to come. A
 * class is the only one with fields. */
static void read_elements(struct jfr_chunk *c, struct metadata *m)
{
	uint64_t left[DEPTH_MAX] = {1};
	size_t depth = 0;

	while (!m->b.bad) {
		struct element e;

		while (left[depth] == 0)
			if (depth-- == 0)
				return;
		left[depth]--;
		e = read_element(c, m);
		if (!strcmp(e.kind, "class"))
			add_type(c, &e);
		else if (!strcmp(e.kind, "field"))
			add_field(c, &e);
		if (++depth == DEPTH_MAX)
			return;
		left[depth] = jfr_number(c, &m->b, 4);
	}
}

static void link_types(struct jfr_chunk *c)
{
	c->by_id = xcalloc(c->type_count + 1, sizeof(*c->by_id));
	for (size_t i = 0; i < c->type_count; i++)
		c->by_id[i] = (struct keyed){.key = c->types[i].id, .value = i};
	keyed_sort(c->by_id, c->type_count);
	for (size_t i = 0; i < c->field_count; i++)
		c->fields[i].type = jfr_type_by_id(c, c->fields[i].type_id);
}

/* The last metadata has all types, those of an unfinished chunk the types until then. */
static void read_types(struct jfr_chunk *c)
{
	struct bytes at = jfr_records(c);
	struct jfr_record r;
	struct metadata m = {.b = bytes_of("", 0)};

	while (jfr_next(c, &at, &r))
		if (r.type_id == RECORD_TYPES)
			m.b = r.body;
	(void)jfr_number(c, &m.b, 8); /* start, duration, number of the metadata */
	(void)jfr_number(c, &m.b, 8);
	(void)jfr_number(c, &m.b, 8);
	read_texts(c, &m);
	read_elements(c, &m);
	link_types(c);
	free(m.starts);
}

/* ---- the chunk ----------------------------------------------------------------------------- */

static uint64_t read_fixed(struct bytes *b, unsigned width)
{
	const struct jfr_chunk fixed = {.fixed = true};

	return jfr_number(&fixed, b, width);
}

int jfr_chunk_open(struct bytes *rest, struct jfr_chunk *ret, struct err *err)
{
	struct bytes b = *rest;
	uint64_t major, size;

	*ret = (struct jfr_chunk){0};
	if (!jfr_is(b.p, b.len) || b.len < HEADER_BYTES)
		return err_set(err, 0, "no chunk of a JFR recording, or only a part of its header");
	(void)bytes_take(&b, sizeof(MAGIC));
	major = read_fixed(&b, 2);
	(void)read_fixed(&b, 2);
	if (major != 2)
		return err_set(err, 0, "JFR version %u: only version 2 can be read",
			       (unsigned)major);
	size = read_fixed(&b, 8);
	if (size > rest->len && size < SIZE_LIMIT)
		ret->cut = size - rest->len;
	if (size < HEADER_BYTES || size > rest->len)
		size = rest->len;
	(void)bytes_take(&b, 16); /* where constants and types are */
	ret->start_ns = read_fixed(&b, 8);
	(void)bytes_take(&b, 8); /* duration */
	ret->start_ticks = read_fixed(&b, 8);
	ret->ticks_per_second = read_fixed(&b, 8);
	ret->fixed = !(read_fixed(&b, 4) & PACKED);
	ret->all = bytes_sub(rest, (size_t)size);
	read_types(ret);
	return 0;
}

void jfr_chunk_close(struct jfr_chunk *c)
{
	for (size_t i = 0; i < c->type_count; i++) {
		free(c->types[i].constants);
		free(c->types[i].memo);
	}
	free(c->types);
	free(c->fields);
	free(c->by_id);
	str_fini(&c->texts);
	*c = (struct jfr_chunk){0};
}

/* ---- constants ----------------------------------------------------------------------------- */

static void add_constants(struct jfr_chunk *c, struct bytes *b, uint32_t type)
{
	struct jfr_type *t = &c->types[type];
	uint64_t n = jfr_number(c, b, 4);

	while (n-- > 0 && !b->bad) {
		uint64_t key = jfr_number(c, b, 8);
		const uint8_t *at = b->p;

		jfr_skip(c, b, type);
		if (!t->kept || b->bad)
			continue;
		t->constants = grow(t->constants, t->constant_count, &t->constant_cap,
				    sizeof(*t->constants));
		t->constants[t->constant_count++] =
			(struct keyed){.key = key, .value = (uint64_t)(at - c->all.p)};
	}
}

/* Returns the bytes that could not be read. */
static size_t add_checkpoint(struct jfr_chunk *c, struct bytes b)
{
	uint64_t pools;

	(void)jfr_number(c, &b, 8); /* start, duration, distance to the checkpoint before */
	(void)jfr_number(c, &b, 8);
	(void)jfr_number(c, &b, 8);
	(void)bytes_u8(&b); /* kind */
	pools = jfr_number(c, &b, 4);
	while (pools-- > 0) {
		size_t left = b.len;
		uint32_t type = jfr_type_by_id(c, jfr_number(c, &b, 8));

		if (type != JFR_NONE)
			add_constants(c, &b, type);
		if (type == JFR_NONE || b.bad)
			return left;
	}
	return 0;
}

/* Checkpoints have links to each other, which are not followed: the records have all of them, in a
 * cut chunk, too, and no circles. */
void jfr_find_constants(struct jfr_chunk *c)
{
	struct bytes at = jfr_records(c);
	struct jfr_record r;

	while (jfr_next(c, &at, &r))
		if (r.type_id == RECORD_CONSTANTS)
			c->cut += add_checkpoint(c, r.body);
	c->cut += at.len;
	c->whole = c->cut == 0;
	for (size_t i = 0; i < c->type_count; i++)
		keyed_sort(c->types[i].constants, c->types[i].constant_count);
}

bool jfr_constant(const struct jfr_chunk *c, uint32_t type, uint64_t number, struct bytes *value,
		  size_t *index)
{
	const struct jfr_type *t = type < c->type_count ? &c->types[type] : NULL;
	size_t n = t ? keyed_upper(t->constants, t->constant_count, number) : 0;

	if (!n || t->constants[n - 1].key != number)
		return false;
	*value = c->all;
	(void)bytes_take(value, (size_t)t->constants[n - 1].value);
	if (index)
		*index = n - 1;
	return true;
}

uint32_t *jfr_memo(struct jfr_chunk *c, uint32_t type)
{
	struct jfr_type *t = &c->types[type];

	if (!t->memo)
		t->memo = xcalloc(t->constant_count + 1, sizeof(*t->memo));
	return t->memo;
}
