/* SPDX-License-Identifier: Apache-2.0 */
/* The wire format of protocol buffers, as far as pprof needs it
 * (protobuf.dev/programming-guides/encoding). */
#ifndef DFG_FORMAT_PROTOBUF_H
#define DFG_FORMAT_PROTOBUF_H

#include "common/str.h"
#include "dfg/bytes.h"

enum pb_type { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

/* ---- writing ---- */

static inline void pb_add_varint(struct str *s, uint64_t v)
{
	char text[10];
	size_t n = 0;

	for (; v > 0x7f; v >>= 7)
		text[n++] = (char)(v | 0x80);
	text[n++] = (char)v;
	str_add(s, text, n);
}

/* 0 is what a reader takes a missing number for: it is not written. */
static inline void pb_add_number(struct str *s, unsigned field, uint64_t v)
{
	if (v == 0)
		return;
	pb_add_varint(s, field << 3 | PB_VARINT);
	pb_add_varint(s, v);
}

/* Text, packed numbers or a message. */
static inline void pb_add_bytes(struct str *s, unsigned field, const void *p, size_t len)
{
	pb_add_varint(s, field << 3 | PB_BYTES);
	pb_add_varint(s, len);
	str_add(s, p, len);
}

/* ---- reading ---- */

struct pb_field {
	unsigned number;
	uint64_t value;	    /* of a number */
	struct bytes bytes; /* a text or message; of a number its encoding, as if it were packed */
};

static inline uint64_t pb_take_varint(struct bytes *b)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t byte = bytes_u8(b);

		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return v;
	}
	b->bad = true;
	b->len = 0;
	return 0;
}

/* The next field; false at the end of the message, and where it is damaged (b->bad). */
static inline bool pb_next(struct bytes *b, struct pb_field *ret)
{
	uint64_t key, type;
	struct bytes begin;

	if (b->len == 0)
		return false;
	key = pb_take_varint(b);
	begin = *b;
	type = key & 7;
	*ret = (struct pb_field){.number = key >> 3 < 0x20000000 ? (unsigned)(key >> 3) : 0};
	if (type == PB_VARINT) {
		ret->value = pb_take_varint(b);
		ret->bytes = bytes_of(begin.p, b->bad ? 0 : (size_t)(b->p - begin.p));
	} else if (type == PB_BYTES) {
		ret->bytes = bytes_sub(b, pb_take_varint(b));
	} else if (type == PB_FIXED64 || type == PB_FIXED32) {
		bytes_take(b, type == PB_FIXED64 ? 8 : 4);
	} else {
		b->bad = true;
	}
	return !b->bad;
}

#endif
