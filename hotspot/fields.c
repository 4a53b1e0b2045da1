// SPDX-License-Identifier: Apache-2.0
#include "hotspot/fields.h"

#include "hotspot/name.h"
#include "hotspot/stream.h"

#define FIELDS_MAX 4096u
#define OFFSET_MAX 4096u
#define STREAM_MAX 4096u /* bytes that are looked at */
#define TEXT_MAX   64

/* Up to JDK 20: six u2 for each field, the offset above a tag of two bits in the last two
 * (oops/fieldInfo.hpp, JDK 17). */
#define SLOTS	      6
#define SLOT_NAME     1
#define SLOT_TYPE     2
#define SLOT_LOW      4
#define SLOT_HIGH     5
#define OFFSET_SHIFT  2
#define OFFSET_IS_SET 1u

/* From JDK 21: what else a field has in the stream, by its flags (oops/fieldInfo.hpp). */
#define FLAG_INITIALIZED (1u << 0)
#define FLAG_GENERIC	 (1u << 2)
#define FLAG_CONTENDED	 (1u << 4)

struct wanted {
	uint64_t pool;
	const char *name, *descriptor;
};

static bool text_is(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static bool pool_text_is(struct hs *hs, uint64_t pool, uint64_t index, const char *wanted)
{
	char text[TEXT_MAX + 1];
	size_t len = hs_name_pool_text(hs, pool, index, text, TEXT_MAX);

	text[len] = '\0';
	return len > 0 && text_is(text, wanted);
}

static bool is_wanted(struct hs *hs, const struct wanted *w, uint64_t name, uint64_t descriptor)
{
	return pool_text_is(hs, w->pool, name, w->name) &&
	       pool_text_is(hs, w->pool, descriptor, w->descriptor);
}

static bool find_in_array(struct hs *hs, uint64_t class, const struct wanted *w, uint32_t *ret)
{
	uint64_t array, length, count, data;
	uint16_t slot[SLOTS];

	if (!hs_has(hs, HS_ARRAY_U2_DATA) || !hs_get(hs, class, HS_CLASS_FIELDS, &array) ||
	    !hs_get(hs, array, HS_METHODS_LENGTH, &length) ||
	    !hs_get(hs, class, HS_CLASS_FIELD_COUNT, &count) || count > FIELDS_MAX ||
	    count * SLOTS > length)
		return false;
	data = hs_inside(hs, array, HS_ARRAY_U2_DATA);
	for (uint64_t i = 0; i < count; i++) {
		if (!hs_mem_read(&hs->mem, data + i * sizeof(slot), slot, sizeof(slot)))
			return false;
		if (!(slot[SLOT_LOW] & OFFSET_IS_SET) ||
		    !is_wanted(hs, w, slot[SLOT_NAME], slot[SLOT_TYPE]))
			continue;
		*ret = ((uint32_t)slot[SLOT_HIGH] << 16 | slot[SLOT_LOW]) >> OFFSET_SHIFT;
		return true;
	}
	return false;
}

static bool find_in_stream(struct hs *hs, uint64_t class, const struct wanted *w, uint32_t *ret)
{
	uint8_t bytes[STREAM_MAX];
	struct hs_stream s = {.p = bytes, .base = 1};
	uint64_t array, length;
	uint32_t count;

	if (!hs_has(hs, HS_ARRAY_U1_DATA) || !hs_get(hs, class, HS_CLASS_FIELD_STREAM, &array) ||
	    !hs_get(hs, array, HS_METHODS_LENGTH, &length))
		return false;
	length = length < STREAM_MAX ? length : STREAM_MAX;
	if (!hs_mem_read(&hs->mem, hs_inside(hs, array, HS_ARRAY_U1_DATA), bytes, length))
		return false;
	s.end = bytes + length;
	count = hs_stream_u32(&s); /* of those that Java declares */
	hs_stream_u32(&s);	   /* of those that the JVM adds, which follow */
	for (uint32_t i = 0; i < count && !s.bad; i++) {
		uint32_t name = hs_stream_u32(&s), descriptor = hs_stream_u32(&s);
		uint32_t offset = hs_stream_u32(&s), flags;

		hs_stream_u32(&s); /* access flags */
		flags = hs_stream_u32(&s);
		for (uint32_t more = flags & (FLAG_INITIALIZED | FLAG_GENERIC | FLAG_CONTENDED);
		     more; more &= more - 1)
			hs_stream_u32(&s);
		if (s.bad || !is_wanted(hs, w, name, descriptor))
			continue;
		*ret = offset;
		return true;
	}
	return false;
}

bool hs_field_offset(struct hs *hs, uint64_t class, const char *name, const char *descriptor,
		     uint32_t *ret)
{
	struct wanted w = {.name = name, .descriptor = descriptor};
	uint32_t offset;

	if (!hs_get(hs, class, HS_CLASS_POOL, &w.pool))
		return false;
	if (!(hs_has(hs, HS_CLASS_FIELD_STREAM) ? find_in_stream(hs, class, &w, &offset)
						: find_in_array(hs, class, &w, &offset)) ||
	    offset == 0 || offset > OFFSET_MAX)
		return false;
	*ret = offset;
	return true;
}
