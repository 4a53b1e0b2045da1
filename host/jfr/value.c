// SPDX-License-Identifier: Apache-2.0
#include "jfr/chunk.h"

#define NESTED_MAX 8 /* values in values: StackTrace has StackFrames, which have numbers */

static uint64_t read_leb128(struct bytes *b)
{
	uint64_t ret = 0;

	for (unsigned shift = 0; shift < 56; shift += 7) {
		uint8_t byte = bytes_u8(b);

		ret |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return ret;
	}
	return ret | (uint64_t)bytes_u8(b) << 56;
}

uint64_t jfr_number(const struct jfr_chunk *c, struct bytes *b, unsigned width)
{
	uint64_t ret = 0;

	if (!c->fixed)
		return read_leb128(b);
	while (width-- > 0)
		ret = ret << 8 | bytes_u8(b);
	return ret;
}

/* ---- text ---------------------------------------------------------------------------------- */

/* The first byte of a string. */
enum encoding {
	ENCODED_NULL,
	ENCODED_EMPTY,
	ENCODED_CONSTANT, /* the number of a string */
	ENCODED_UTF8,
	ENCODED_CHARS, /* UTF-16, each a number */
	ENCODED_LATIN1,
};

static void add_character(struct str *out, uint32_t c)
{
	if (c < 0x80) {
		str_addc(out, (char)c);
		return;
	}
	if (c < 0x800) {
		str_addc(out, (char)(0xc0 | c >> 6));
	} else {
		if (c < 0x10000) {
			str_addc(out, (char)(0xe0 | c >> 12));
		} else {
			str_addc(out, (char)(0xf0 | c >> 18));
			str_addc(out, (char)(0x80 | (c >> 12 & 0x3f)));
		}
		str_addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
	}
	str_addc(out, (char)(0x80 | (c & 0x3f)));
}

static void read_chars(const struct jfr_chunk *c, struct bytes *b, uint64_t n, struct str *ret)
{
	uint32_t high = 0;

	while (n-- > 0 && !b->bad) {
		uint32_t unit = (uint16_t)jfr_number(c, b, 2);

		if (high && (unit & 0xfc00) == 0xdc00)
			unit = 0x10000 + ((high & 0x3ff) << 10) + (unit & 0x3ff);
		else if (high)
			str_addc(ret, '?');
		high = (unit & 0xfffffc00) == 0xd800 ? unit : 0;
		if (!high && !b->bad)
			add_character(ret, unit);
	}
	if (high)
		str_addc(ret, '?');
}

/* Reads a string and moves past it. Returns the number of the constant that it is, or 0. ret may be
 * NULL. */
static uint64_t read_string(const struct jfr_chunk *c, struct bytes *b, struct str *ret)
{
	struct str unused = {0};
	uint8_t encoding = bytes_u8(b);
	struct bytes text;
	uint64_t n;

	if (encoding <= ENCODED_EMPTY)
		return 0;
	if (encoding == ENCODED_CONSTANT)
		return jfr_number(c, b, 8);
	n = jfr_number(c, b, 4);
	if (encoding == ENCODED_CHARS) {
		read_chars(c, b, n, ret ? ret : &unused);
		str_fini(&unused);
		return 0;
	}
	text = bytes_sub(b, encoding <= ENCODED_LATIN1 && n <= b->len ? (size_t)n : SIZE_MAX);
	if (!ret)
		return 0;
	if (encoding == ENCODED_UTF8)
		str_add(ret, text.p, text.len);
	else
		while (text.len)
			add_character(ret, bytes_u8(&text));
	return 0;
}

void jfr_string(const struct jfr_chunk *c, struct bytes *b, struct str *ret)
{
	(void)read_string(c, b, ret);
}

/* ---- values of any type -------------------------------------------------------------------- */

static void skip_value(const struct jfr_chunk *c, struct bytes *b, uint32_t type, unsigned depth);

static void skip_field(const struct jfr_chunk *c, struct bytes *b, const struct jfr_field *f,
		       unsigned depth)
{
	uint64_t n = f->array ? jfr_number(c, b, 4) : 1;

	while (n-- > 0 && !b->bad) {
		if (f->constant)
			(void)jfr_number(c, b, 8);
		else
			skip_value(c, b, f->type, depth);
	}
}

static void make_bad(struct bytes *b)
{
	(void)bytes_take(b, SIZE_MAX);
}

/* Every value takes a byte at least, so that time is bounded by bytes. */
static void skip_value(const struct jfr_chunk *c, struct bytes *b, uint32_t type, unsigned depth)
{
	static const uint8_t widths[] = {[JFR_SHORT] = 2, [JFR_INT] = 4, [JFR_LONG] = 8};
	const struct jfr_type *t = type < c->type_count ? &c->types[type] : NULL;

	if (!t || depth == 0 || (t->base == JFR_STRUCT && t->count == 0)) {
		make_bad(b);
		return;
	}
	switch (t->base) {
	case JFR_STRUCT:
		for (uint32_t i = 0; i < t->count && !b->bad; i++)
			skip_field(c, b, &c->fields[t->first + i], depth - 1);
		break;
	case JFR_STRING:
		(void)read_string(c, b, NULL);
		break;
	case JFR_BYTE:
		(void)bytes_u8(b);
		break;
	case JFR_FLOAT:
		(void)bytes_u32(b);
		break;
	case JFR_DOUBLE:
		(void)bytes_u64(b);
		break;
	default:
		(void)jfr_number(c, b, widths[t->base]);
	}
}

void jfr_skip(const struct jfr_chunk *c, struct bytes *b, uint32_t type)
{
	skip_value(c, b, type, NESTED_MAX);
}

/* ---- chosen fields ------------------------------------------------------------------------- */

static bool is_integer(enum jfr_base base)
{
	return base >= JFR_BYTE && base <= JFR_LONG;
}

static bool is_wished(const struct jfr_chunk *c, const struct jfr_field *f,
		      const struct jfr_wish *w)
{
	const struct jfr_type *t = f->type < c->type_count ? &c->types[f->type] : NULL;

	if (!t || strcmp(f->name, w->name) != 0)
		return false;
	if (!w->type)
		return !f->constant && !f->array && is_integer(t->base);
	if (!*w->type)
		return !f->array && (f->constant || t->base == JFR_STRING);
	return f->constant != f->array && strcmp(t->name, w->type) == 0;
}

void jfr_pick(const struct jfr_chunk *c, uint32_t type, const struct jfr_wish *wishes, size_t n,
	      struct jfr_picks *ret)
{
	const struct jfr_type *t = type < c->type_count ? &c->types[type] : NULL;

	*ret = (struct jfr_picks){.type = type};
	for (size_t i = 0; i < JFR_PICKS; i++)
		ret->field[i] = JFR_NONE;
	for (uint32_t f = 0; t && f < t->count; f++)
		for (size_t i = 0; i < n; i++)
			if (is_wished(c, &c->fields[t->first + f], &wishes[i]))
				ret->field[i] = t->first + f;
}

static uint64_t scalar_of(const struct jfr_chunk *c, const struct jfr_field *f, struct bytes b)
{
	static const unsigned widths[] = {[JFR_SHORT] = 2, [JFR_INT] = 4, [JFR_LONG] = 8};
	const struct jfr_type *t = f->type < c->type_count ? &c->types[f->type] : NULL;

	if (f->array)
		return 0;
	if (f->constant)
		return jfr_number(c, &b, 8);
	if (!t || !is_integer(t->base))
		return 0;
	return t->base == JFR_BYTE ? bytes_u8(&b) : jfr_number(c, &b, widths[t->base]);
}

bool jfr_read_fields(const struct jfr_chunk *c, struct bytes *b, const struct jfr_picks *picks,
		     struct jfr_value ret[JFR_PICKS])
{
	const struct jfr_type *t = picks->type < c->type_count ? &c->types[picks->type] : NULL;

	memset(ret, 0, JFR_PICKS * sizeof(*ret));
	if (!t || t->count == 0)
		make_bad(b);
	for (uint32_t i = 0; t && i < t->count && !b->bad; i++) {
		const struct jfr_field *f = &c->fields[t->first + i];

		for (size_t k = 0; k < JFR_PICKS; k++)
			if (picks->field[k] == t->first + i)
				ret[k] = (struct jfr_value){.number = scalar_of(c, f, *b),
							    .bytes = *b};
		skip_field(c, b, f, NESTED_MAX);
	}
	return !b->bad;
}

/* Appends a value that is text, or whose first field is. A string may be a constant in turn. */
static void add_text(const struct jfr_chunk *c, uint32_t type, bool constant, struct bytes b,
		     struct str *ret)
{
	for (unsigned depth = 0; depth < NESTED_MAX && type < c->type_count; depth++) {
		const struct jfr_type *t = &c->types[type];
		uint64_t number;

		if (constant && !jfr_constant(c, type, jfr_number(c, &b, 8), &b, NULL))
			return;
		constant = false;
		if (t->base == JFR_STRING) {
			struct bytes at = b;

			if (bytes_u8(&at) != ENCODED_CONSTANT) {
				jfr_string(c, &b, ret);
				return;
			}
			number = jfr_number(c, &at, 8);
			if (!jfr_constant(c, type, number, &b, NULL))
				return;
		} else if (t->base == JFR_STRUCT && t->count && !c->fields[t->first].array) {
			constant = c->fields[t->first].constant;
			type = c->fields[t->first].type;
		} else {
			return;
		}
	}
}

void jfr_text(const struct jfr_chunk *c, uint32_t field, const struct jfr_value *v, struct str *ret)
{
	const struct jfr_field *f = field < c->field_count ? &c->fields[field] : NULL;

	if (f && v->bytes.p)
		add_text(c, f->type, f->constant, v->bytes, ret);
}
