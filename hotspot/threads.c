// SPDX-License-Identifier: Apache-2.0
/* Names of Java threads, from the Java objects. The collector moves objects while they are read:
 * nothing here comes from the page cache, an object is accepted only by its class, and the path to
 * the text is read twice. JVMs whose references are not plain addresses (ZGC) are skipped. */
#include "hotspot/metadata.h"
#include "hotspot/records.h"
#include "hotspot/state.h"
#include "hotspot/table.h"

#define SUPERS_MAX  64
#define CHARS_MAX   256u /* of a name */
#define STEPS_MAX   4
#define TRIES	    3
#define TYPE_CHAR   5 /* BasicType, utilities/globalDefinitions.hpp */
#define TYPE_BYTE   8
#define CODER_UTF16 1 /* java.lang.String.UTF16 */

/* The references followed to a text, with their values. */
struct ref_path {
	unsigned count;
	struct {
		uint64_t at, value;
		uint8_t width;
	} step[STEPS_MAX];
};
#define THREADS_MAX	16384u
#define THREAD_NAME_MAX 768u /* bytes: 256 characters of Java */

_Static_assert(THREAD_NAME_MAX <= DFG_NAME_MAX, "names fit the format");

struct object_layout {
	struct narrow ref;
	struct class_word class;
	uint64_t thread_class, string_class;
	uint32_t length; /* offset of an array's length */
	/* Offsets of Thread.name, String.value, String.coder (9 and later). */
	uint32_t name, value, coder;
	bool name_is_array; /* char[], early JDK 8 */
	bool has_coder;
};

static bool classes_read(struct hs *hs, struct object_layout *o)
{
	if (!hs_class_encoding(hs, &o->class))
		return false;
	o->length = o->class.at + o->class.bytes;
	return (hs_get(hs, 0, HS_CLASS_THREAD_16, &o->thread_class) ||
		hs_get(hs, 0, HS_CLASS_THREAD_8, &o->thread_class)) &&
	       (hs_get(hs, 0, HS_CLASS_STRING_16, &o->string_class) ||
		hs_get(hs, 0, HS_CLASS_STRING_8, &o->string_class)) &&
	       o->thread_class && o->string_class;
}

/* False: the objects of this JVM cannot be read. */
static bool objects_read(struct hs *hs, struct object_layout *ret)
{
	struct object_layout o = {0};

	if (hs_flag_is_set(hs, "UseZGC") || !hs_has(hs, HS_THREAD_OBJECT) ||
	    !hs_has(hs, HS_CLASS_SUPER) || !classes_read(hs, &o))
		return false;
	if (!hs_ref_encoding(hs, &o.ref))
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

/* ---- from a JavaThread to its name ---- */

static bool follow(struct hs *hs, struct ref_path *w, uint64_t at, uint8_t width, uint64_t *ret)
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

static bool follow_ref(struct hs *hs, const struct object_layout *o, struct ref_path *w,
		       uint64_t at, uint64_t *ret)
{
	if (!follow(hs, w, at, o->ref.used ? 4 : 8, ret))
		return false;
	*ret = hs_widen(&o->ref, *ret);
	return (*ret & 7) == 0;
}

static bool path_is_unchanged(struct hs *hs, const struct ref_path *w)
{
	for (unsigned i = 0; i < w->count; i++) {
		uint64_t value = 0;

		if (!hs_mem_read_now(&hs->mem, w->step[i].at, &value, w->step[i].width) ||
		    value != w->step[i].value)
			return false;
	}
	return true;
}

static bool is_thread(struct hs *hs, const struct object_layout *o, uint64_t object)
{
	uint64_t class = (object & 7) == 0 ? hs_class_of(hs, &o->class, object) : 0;

	for (unsigned i = 0; i < SUPERS_MAX && class; i++) {
		if (class == o->thread_class)
			return true;
		if (!hs_get(hs, class, HS_CLASS_SUPER, &class))
			return false;
	}
	return false;
}

/* _threadObj is the object's address, or (JDK 17 and some before) that of a handle; the object's
 * class shows which. */
static bool thread_object(struct hs *hs, const struct object_layout *o, struct ref_path *w,
			  uint64_t thread, uint64_t *ret)
{
	return follow(hs, w, hs_inside(hs, thread, HS_THREAD_OBJECT), 8, ret) &&
	       (is_thread(hs, o, *ret) ||
		(hs_has(hs, HS_HANDLE_OBJECT) &&
		 follow(hs, w, hs_inside(hs, *ret, HS_HANDLE_OBJECT), 8, ret) &&
		 is_thread(hs, o, *ret)));
}

/* Reads at most cap bytes of a byte[] or char[]; false: it is neither. The layout of an array class
 * (oops/klass.hpp) has the type and the offset of its elements. */
static bool array_read(struct hs *hs, const struct object_layout *o, uint64_t array, void *buf,
		       uint32_t cap, uint32_t *ret)
{
	uint64_t class = hs_class_of(hs, &o->class, array);
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

/* ---- UTF-8 ---- */

/* Adds a character, at most 4 bytes. */
static size_t utf8_add(char *buf, size_t used, uint32_t c)
{
	unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};

	buf[used++] = (char)(first[more] | c >> 6 * more);
	while (more-- > 0)
		buf[used++] = (char)(0x80 | (c >> 6 * more & 0x3f));
	return used;
}

static size_t from_latin1(const uint8_t *p, uint32_t len, char *buf, size_t cap)
{
	size_t used = 0;

	for (uint32_t i = 0; i < len && cap - used >= 2; i++)
		used = utf8_add(buf, used, p[i]);
	return used;
}

/* Writes '?' for half a surrogate pair. */
static size_t from_utf16(const uint16_t *p, uint32_t len, char *buf, size_t cap)
{
	size_t used = 0;

	for (uint32_t i = 0; i < len && cap - used >= 4; i++) {
		uint32_t c = p[i];

		if ((c & 0xfc00) == 0xd800 && i + 1 < len && (p[i + 1] & 0xfc00) == 0xdc00)
			c = 0x10000 + ((c & 0x3ff) << 10) + (p[++i] & 0x3ffu);
		else if ((c & 0xf800) == 0xd800)
			c = '?';
		used = utf8_add(buf, used, c);
	}
	return used;
}

static size_t name_read(struct hs *hs, const struct object_layout *o, uint64_t java_thread,
			char *buf, size_t cap)
{
	uint16_t chars[CHARS_MAX];
	uint8_t coder = CODER_UTF16;
	struct ref_path w = {0};
	uint64_t object;
	uint32_t len;

	if (!thread_object(hs, o, &w, java_thread, &object) ||
	    !follow_ref(hs, o, &w, object + o->name, &object))
		return 0;
	if (!o->name_is_array) {
		if (hs_class_of(hs, &o->class, object) != o->string_class ||
		    (o->has_coder && !hs_mem_read_now(&hs->mem, object + o->coder, &coder, 1)) ||
		    !follow_ref(hs, o, &w, object + o->value, &object))
			return 0;
	}
	if (!array_read(hs, o, object, chars, sizeof(chars), &len) || !path_is_unchanged(hs, &w))
		return 0;
	return coder == CODER_UTF16 ? from_utf16(chars, len / 2, buf, cap)
				    : from_latin1((const uint8_t *)chars, len, buf, cap);
}

/* Writes at most cap bytes of the name of a JavaThread's Thread as UTF-8. Returns the length, 0: an
 * object on the path is invalid. */
static size_t thread_name(struct hs *hs, const struct object_layout *o, uint64_t java_thread,
			  char *buf, size_t cap)
{
	size_t len = 0;

	/* Retries if the name was changed or moved while it was read. */
	for (unsigned i = 0; len == 0 && i < TRIES; i++)
		len = name_read(hs, o, java_thread, buf, cap);
	return len;
}

/* ---- records ---- */

/* All JavaThreads: a list of addresses, in old releases a chain. */
struct java_thread_walk {
	uint64_t list, count, next;
};

static bool walk_start(struct hs *hs, struct java_thread_walk *w)
{
	uint64_t list;

	*w = (struct java_thread_walk){0};
	if (!hs_get(hs, 0, HS_THREADS_LIST, &list))
		return hs_has(hs, HS_THREAD_NEXT) && hs_get(hs, 0, HS_THREADS_FIRST, &w->next);
	return list && hs_get(hs, list, HS_LIST_LENGTH, &w->count) &&
	       hs_get(hs, list, HS_LIST_THREADS, &w->list);
}

/* Returns the i-th thread, 0 after the last. */
static uint64_t walk_next(struct hs *hs, struct java_thread_walk *w, unsigned i)
{
	uint64_t thread = w->next;

	if (w->list)
		return i < w->count && hs_mem_ptr(&hs->mem, w->list + i * 8ull, &thread) ? thread
											 : 0;
	if (thread && !hs_get(hs, thread, HS_THREAD_NEXT, &w->next))
		return 0;
	return thread;
}

/* Returns the thread id, 0: not started yet, or ended. */
static uint32_t thread_id(struct hs *hs, uint64_t thread)
{
	enum hs_field_id id = hs_has(hs, HS_THREAD_OS) ? HS_THREAD_OS : HS_THREAD_OS_25;
	uint64_t os, tid;

	return hs_get(hs, thread, id, &os) && os && hs_get(hs, os, HS_OS_THREAD_ID, &tid) &&
			       tid <= INT32_MAX
		       ? (uint32_t)tid
		       : 0;
}

/* Records a name. False: it is known. */
static bool name_is_new(struct hs_known_threads *k, uint32_t tid, const char *name, size_t len)
{
	uint64_t key = (uint64_t)tid << 32;
	uint32_t hash = 2166136261u, i;

	for (size_t at = 0; at < len; at++)
		hash = (hash ^ (uint8_t)name[at]) * 16777619u;
	i = hs_table_find(k->slot, HS_THREADS_SLOTS, ~0ull << 32, key);
	if (k->slot[i] == (key | hash))
		return false;
	if (!k->slot[i] && ++k->count > HS_THREADS_SLOTS / 2) {
		/* Full of ended threads: all others are written once again. */
		__builtin_memset(k, 0, sizeof(*k));
		return name_is_new(k, tid, name, len);
	}
	k->slot[i] = key | hash;
	return true;
}

bool hs_threads_write(struct hs_snapshot *s, struct hs_known_threads *known)
{
	_Alignas(8) char room[sizeof(struct snap_thread) + THREAD_NAME_MAX + 8];
	char *name = room + sizeof(struct snap_thread);
	struct object_layout objects;
	struct java_thread_walk w;
	uint64_t thread;

	if (!objects_read(&s->hs, &objects) || !walk_start(&s->hs, &w))
		return true;
	for (unsigned i = 0; i < THREADS_MAX && (thread = walk_next(&s->hs, &w, i)); i++) {
		uint32_t tid = thread_id(&s->hs, thread);
		size_t len = tid ? thread_name(&s->hs, &objects, thread, name, THREAD_NAME_MAX) : 0;
		size_t size = (sizeof(struct snap_thread) + len + 7) & ~(size_t)7;
		struct snap_thread record = {.record = {SNAP_THREAD, (uint32_t)size},
					     .tid = tid,
					     .name_len = (uint32_t)len};

		if (len == 0 || (known && !name_is_new(known, tid, name, len)))
			continue;
		__builtin_memcpy(room, &record, sizeof(record));
		__builtin_memset(name + len, 0, size - sizeof(record) - len);
		if (!hs_record_write(s, room, size))
			return false;
	}
	return true;
}
