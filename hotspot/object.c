// SPDX-License-Identifier: Apache-2.0
#include "hotspot/object.h"

#include "hotspot/fields.h"
#include "hotspot/flags.h"

#define SUPERS_MAX  64
#define SHIFT_MAX   16
#define CHARS_MAX   256u /* of a name that are looked at */
#define STEPS_MAX   4
#define TRIES	    3
#define TYPE_CHAR   5 /* BasicType, utilities/globalDefinitions.hpp */
#define TYPE_BYTE   8
#define CODER_UTF16 1 /* java.lang.String.UTF16 */

/* The references that led to a text: what they held when they were followed. */
struct way {
	unsigned count;
	struct {
		uint64_t at, value;
		uint8_t width;
	} step[STEPS_MAX];
};

static bool flag_is_on(struct hs *hs, const char *name)
{
	uint64_t addr;
	uint8_t value;

	return hs_flag(hs, name, &addr, &value) && value != 0;
}

/* base and shift under the names of three releases. */
static bool narrow_read(struct hs *hs, const enum hs_field_id ids[6], struct hs_narrow *ret)
{
	uint64_t shift;

	for (unsigned i = 0; i < 6; i += 2) {
		if (!hs_get(hs, 0, ids[i], &ret->base) || !hs_get(hs, 0, ids[i + 1], &shift))
			continue;
		ret->shift = (unsigned)shift;
		return shift <= SHIFT_MAX;
	}
	return false;
}

static uint64_t widen(const struct hs_narrow *n, uint64_t value)
{
	return value && n->used ? n->base + (value << n->shift) : value;
}

static bool classes_read(struct hs *hs, struct hs_objects *o)
{
	static const enum hs_field_id ids[] = {HS_CLASS_BASE_8,	 HS_CLASS_SHIFT_8,
					       HS_CLASS_BASE_13, HS_CLASS_SHIFT_13,
					       HS_CLASS_BASE_25, HS_CLASS_SHIFT_25};
	bool has_place;

	o->class.used = flag_is_on(hs, "UseCompressedClassPointers");
	has_place = hs_has(hs, o->class.used ? HS_OBJECT_NARROW_CLASS : HS_OBJECT_CLASS);
	if (!has_place || (o->class.used && !narrow_read(hs, ids, &o->class)))
		return false;
	o->length = (uint32_t)(o->class.used ? hs_inside(hs, 0, HS_OBJECT_NARROW_CLASS) + 4
					     : hs_inside(hs, 0, HS_OBJECT_CLASS) + 8);
	return (hs_get(hs, 0, HS_CLASS_THREAD_16, &o->thread_class) ||
		hs_get(hs, 0, HS_CLASS_THREAD_8, &o->thread_class)) &&
	       (hs_get(hs, 0, HS_CLASS_STRING_16, &o->string_class) ||
		hs_get(hs, 0, HS_CLASS_STRING_8, &o->string_class)) &&
	       o->thread_class && o->string_class;
}

bool hs_objects_read(struct hs *hs, struct hs_objects *ret)
{
	static const enum hs_field_id ids[] = {HS_REF_BASE_8,	HS_REF_SHIFT_8, HS_REF_BASE_13,
					       HS_REF_SHIFT_13, HS_REF_BASE_25, HS_REF_SHIFT_25};
	struct hs_objects o = {0};

	if (flag_is_on(hs, "UseZGC") || flag_is_on(hs, "UseCompactObjectHeaders") ||
	    !hs_has(hs, HS_THREAD_OBJECT) || !hs_has(hs, HS_CLASS_SUPER) || !classes_read(hs, &o))
		return false;
	o.ref.used = flag_is_on(hs, "UseCompressedOops");
	if (o.ref.used && !narrow_read(hs, ids, &o.ref))
		return false;
	o.name_is_array = hs_field_offset(hs, o.thread_class, "name", "[C", &o.name);
	if (!o.name_is_array &&
	    !hs_field_offset(hs, o.thread_class, "name", "Ljava/lang/String;", &o.name))
		return false;
	o.has_coder = hs_field_offset(hs, o.string_class, "coder", "B", &o.coder);
	if (!hs_field_offset(hs, o.string_class, "value", o.has_coder ? "[B" : "[C", &o.value))
		return false;
	*ret = o;
	return true;
}

/* ---- the way to a name ------------------------------------------------------------------- */

static bool follow(struct hs *hs, struct way *w, uint64_t at, uint8_t width, uint64_t *ret)
{
	uint64_t value = 0;

	if (w->count == STEPS_MAX || !hs_mem_read_now(&hs->mem, at, &value, width) || value == 0)
		return false;
	w->step[w->count].at = at;
	w->step[w->count].value = value;
	w->step[w->count++].width = width;
	*ret = value;
	return true;
}

static bool follow_ref(struct hs *hs, const struct hs_objects *o, struct way *w, uint64_t at,
		       uint64_t *ret)
{
	if (!follow(hs, w, at, o->ref.used ? 4 : 8, ret))
		return false;
	*ret = widen(&o->ref, *ret);
	return (*ret & 7) == 0;
}

static bool still_leads(struct hs *hs, const struct way *w)
{
	for (unsigned i = 0; i < w->count; i++) {
		uint64_t value = 0;

		if (!hs_mem_read_now(&hs->mem, w->step[i].at, &value, w->step[i].width) ||
		    value != w->step[i].value)
			return false;
	}
	return true;
}

/* 0: none. */
static uint64_t class_of(struct hs *hs, const struct hs_objects *o, uint64_t object)
{
	enum hs_field_id id = o->class.used ? HS_OBJECT_NARROW_CLASS : HS_OBJECT_CLASS;
	uint64_t value = 0;

	if (!hs_mem_read_now(&hs->mem, hs_inside(hs, object, id), &value, o->class.used ? 4 : 8))
		return 0;
	return widen(&o->class, value);
}

static bool is_thread(struct hs *hs, const struct hs_objects *o, uint64_t object)
{
	uint64_t class = (object & 7) == 0 ? class_of(hs, o, object) : 0;

	for (unsigned i = 0; i < SUPERS_MAX && class; i++) {
		if (class == o->thread_class)
			return true;
		if (!hs_get(hs, class, HS_CLASS_SUPER, &class))
			return false;
	}
	return false;
}

/* The field holds the object's address, or that of the place that holds it (JDK 17; one of the
 * releases before began it): the object's class tells which. */
static bool thread_object(struct hs *hs, const struct hs_objects *o, struct way *w, uint64_t thread,
			  uint64_t *ret)
{
	return follow(hs, w, hs_inside(hs, thread, HS_THREAD_OBJECT), 8, ret) &&
	       (is_thread(hs, o, *ret) ||
		(hs_has(hs, HS_HANDLE_OBJECT) &&
		 follow(hs, w, hs_inside(hs, *ret, HS_HANDLE_OBJECT), 8, ret) &&
		 is_thread(hs, o, *ret)));
}

/* The first bytes of a byte[] or char[]; false if it is none. *len is what there is, then what was
 * read. The layout of a class of arrays (oops/klass.hpp) says what its elements are and where. */
static bool array_read(struct hs *hs, const struct hs_objects *o, uint64_t array, void *buf,
		       uint32_t cap, uint32_t *ret)
{
	uint64_t class = class_of(hs, o, array);
	uint32_t type, size, begin, len;
	int64_t layout;

	if (!class || !hs_get_signed(hs, class, HS_KLASS_LAYOUT, &layout) || layout >> 30 != -1)
		return false;
	type = (uint32_t)(layout >> 8) & 0xff;
	begin = (uint32_t)(layout >> 16) & 0xff;
	size = type == TYPE_CHAR ? 2 : 1;
	if (type != (o->has_coder ? TYPE_BYTE : TYPE_CHAR) ||
	    !hs_mem_read_now(&hs->mem, array + o->length, &len, sizeof(len)) || len > INT32_MAX)
		return false;
	*ret = len > cap / size ? cap : len * size;
	return hs_mem_read_now(&hs->mem, array + begin, buf, *ret);
}

/* ---- UTF-8 ------------------------------------------------------------------------------- */

static size_t put(char *buf, size_t used, size_t cap, uint32_t c)
{
	unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};

	if (cap - used < more + 1)
		return cap;
	buf[used++] = (char)(first[more] | c >> 6 * more);
	while (more-- > 0)
		buf[used++] = (char)(0x80 | (c >> 6 * more & 0x3f));
	return used;
}

static size_t from_latin1(const uint8_t *p, uint32_t len, char *buf, size_t cap)
{
	size_t used = 0;

	for (uint32_t i = 0; i < len && cap - used >= 2; i++)
		used = put(buf, used, cap, p[i]);
	return used;
}

/* '?' for half a pair. */
static size_t from_utf16(const uint16_t *p, uint32_t len, char *buf, size_t cap)
{
	size_t used = 0;

	for (uint32_t i = 0; i < len && cap - used >= 4; i++) {
		uint32_t c = p[i];

		if ((c & 0xfc00) == 0xd800 && i + 1 < len && (p[i + 1] & 0xfc00) == 0xdc00)
			c = 0x10000 + ((c & 0x3ff) << 10) + (p[++i] & 0x3ffu);
		else if ((c & 0xf800) == 0xd800)
			c = '?';
		used = put(buf, used, cap, c);
	}
	return used;
}

static size_t name_read(struct hs *hs, const struct hs_objects *o, uint64_t java_thread, char *buf,
			size_t cap)
{
	uint16_t chars[CHARS_MAX];
	uint8_t coder = CODER_UTF16;
	struct way w = {0};
	uint64_t object;
	uint32_t len;

	if (!thread_object(hs, o, &w, java_thread, &object) ||
	    !follow_ref(hs, o, &w, object + o->name, &object))
		return 0;
	if (!o->name_is_array) {
		if (class_of(hs, o, object) != o->string_class ||
		    (o->has_coder && !hs_mem_read_now(&hs->mem, object + o->coder, &coder, 1)) ||
		    !follow_ref(hs, o, &w, object + o->value, &object))
			return 0;
	}
	if (!array_read(hs, o, object, chars, sizeof(chars), &len) || !still_leads(hs, &w))
		return 0;
	return coder == CODER_UTF16 ? from_utf16(chars, len / 2, buf, cap)
				    : from_latin1((const uint8_t *)chars, len, buf, cap);
}

size_t hs_object_name(struct hs *hs, const struct hs_objects *o, uint64_t java_thread, char *buf,
		      size_t cap)
{
	size_t len = 0;

	/* Renamed or moved while it was read: once more. */
	for (unsigned i = 0; len == 0 && i < TRIES; i++)
		len = name_read(hs, o, java_thread, buf, cap);
	return len;
}
