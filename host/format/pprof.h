/* SPDX-License-Identifier: Apache-2.0 */
/* pprof's format: a gzipped protocol buffer (google/pprof, proto/profile.proto). docs/formats.md
 * lists the fields that dfg uses, and how it keeps data that pprof has no field for. */
#ifndef DFG_FORMAT_PPROF_H
#define DFG_FORMAT_PPROF_H

#include "calltree/calltree.h"
#include "dfg/bytes.h"
#include "format/text.h"

/* Field numbers of proto/profile.proto. */
enum {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE = 2,
	PPROF_MAPPING = 3,
	PPROF_LOCATION = 4,
	PPROF_FUNCTION = 5,
	PPROF_STRING = 6,
	PPROF_TIME_NANOS = 9,
	PPROF_DURATION_NANOS = 10,
	PPROF_PERIOD_TYPE = 11,
	PPROF_PERIOD = 12,
	PPROF_COMMENT = 13,
	PPROF_DEFAULT_TYPE = 14,

	PPROF_VALUE_TYPE = 1, /* of a ValueType */
	PPROF_VALUE_UNIT = 2,

	PPROF_SAMPLE_LOCATION = 1, /* the innermost first */
	PPROF_SAMPLE_VALUE = 2,
	PPROF_SAMPLE_LABEL = 3,

	PPROF_LABEL_KEY = 1,
	PPROF_LABEL_TEXT = 2,
	PPROF_LABEL_NUMBER = 3,

	PPROF_ID = 1, /* of a Mapping, Location or Function; not 0 */

	PPROF_MAPPING_FILE = 5,
	PPROF_MAPPING_HAS_FUNCTIONS = 7,
	PPROF_MAPPING_HAS_FILENAMES = 8,
	PPROF_MAPPING_HAS_LINES = 9,
	PPROF_MAPPING_HAS_INLINED = 10,

	PPROF_LOCATION_MAPPING = 2,
	PPROF_LOCATION_LINE = 4, /* the innermost inlined function first */

	PPROF_LINE_FUNCTION = 1,
	PPROF_LINE_NUMBER = 2,

	PPROF_FUNCTION_NAME = 2,
	PPROF_FUNCTION_SYSTEM_NAME = 3,
};

/* Wire types (protobuf.dev/programming-guides/encoding). */
enum pb_type { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

/* Appends a field. 0 is not written: it is the value a reader uses for a missing number. */
static inline void pb_add_number(struct str *s, unsigned field, uint64_t v)
{
	if (v == 0)
		return;
	text_varint(s, field << 3 | PB_VARINT);
	text_varint(s, v);
}

/* Appends a field with a text, packed numbers or a message. */
static inline void pb_add_bytes(struct str *s, unsigned field, const void *p, size_t len)
{
	text_varint(s, field << 3 | PB_BYTES);
	text_varint(s, len);
	str_add(s, p, len);
}

struct pb_field {
	unsigned number;
	uint64_t value;	    /* of a number */
	struct bytes bytes; /* a text or message; of a number its encoding, as if it were packed */
};

static inline uint64_t pb_read_varint(struct bytes *b)
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

/* Reads the next field. False at the end of the message, and on damage (b->bad). */
static inline bool pb_next(struct bytes *b, struct pb_field *ret)
{
	uint64_t key, type;
	struct bytes begin;

	if (b->len == 0)
		return false;
	key = pb_read_varint(b);
	begin = *b;
	type = key & 7;
	*ret = (struct pb_field){.number = key >> 3 < 0x20000000 ? (unsigned)(key >> 3) : 0};
	if (type == PB_VARINT) {
		ret->value = pb_read_varint(b);
		ret->bytes = bytes_of(begin.p, b->bad ? 0 : (size_t)(b->p - begin.p));
	} else if (type == PB_BYTES) {
		ret->bytes = bytes_sub(b, pb_read_varint(b));
	} else if (type == PB_FIXED64 || type == PB_FIXED32) {
		bytes_take(b, type == PB_FIXED64 ? 8 : 4);
	} else {
		b->bad = true;
	}
	return !b->bad;
}

struct pprof_message {
	uint64_t id;
	struct bytes bytes;
};

/* Messages with ids, sorted by these. */
struct pprof_table {
	struct pprof_message *list;
	size_t count, cap;
};

struct pprof_type {
	struct bytes type, unit;
};

/* The type of values of a unit of event_names: "bytes" is alloc_space in bytes, as in Go's
 * profiles; NULL and units that are counted are samples. */
struct pprof_value {
	const char *type, *unit;
};
struct pprof_value pprof_value_of(const char *unit);

/* The tables that samples refer to. */
struct pprof_tables {
	struct bytes *texts;
	size_t text_count, text_cap;
	struct pprof_table mappings, locations, functions;
	struct bytes first_mapping; /* in the file */
	struct pprof_type *types;   /* of a sample's values */
	size_t type_count, type_cap;
	struct pprof_type period_type;
	uint64_t period;
	struct bytes default_type;
	uint32_t *frames; /* of all locations, the innermost of each first */
	size_t frame_count, frame_cap;
	size_t *begins; /* by location: index of its first frame; at the end, frame_count */
};

static inline bool bytes_are(struct bytes b, const char *text)
{
	return b.len == strlen(text) && memcmp(b.p, text, b.len) == 0;
}

/* Reads the tables; frames are made in s. Call pprof_tables_fini afterwards, also on failure. */
MUST_CHECK int pprof_tables_read(struct pprof_tables *t, struct bytes profile, struct stacks *s,
				 struct err *err);
void pprof_tables_fini(struct pprof_tables *t);

/* Frames of the location with this id, innermost first; none if there is no such location. */
const uint32_t *pprof_location(const struct pprof_tables *t, uint64_t id, size_t *ret_count);

/* The first field with this number, or an empty one; the text that it refers to, or an empty one.
 */
struct pb_field pprof_field(struct bytes message, unsigned number);
struct bytes pprof_field_text(const struct pprof_tables *t, struct bytes message, unsigned number);

/* The suffix of a function's system name that keeps the kind: folded text's, where it has one. */
const char *pprof_suffix(enum frame_kind kind);

#endif
