// SPDX-License-Identifier: Apache-2.0
/* The layout of Java objects, for names of threads and for probes. */
#include "hotspot/classes.h"
#include "hotspot/metadata.h"
#include "hotspot/records.h"

#define SHIFT_MAX 16

/* Reads base and shift by the field names of three releases. */
static bool narrow_read(struct hs *hs, const enum hs_field_id ids[6], struct narrow *ret)
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

bool hs_ref_encoding(struct hs *hs, struct narrow *ret)
{
	static const enum hs_field_id ids[] = {HS_REF_BASE_8,	HS_REF_SHIFT_8, HS_REF_BASE_13,
					       HS_REF_SHIFT_13, HS_REF_BASE_25, HS_REF_SHIFT_25};

	ret->used = hs_flag_is_set(hs, "UseCompressedOops");
	return !ret->used || narrow_read(hs, ids, ret);
}

bool hs_class_encoding(struct hs *hs, struct class_word *ret)
{
	static const enum hs_field_id ids[] = {HS_CLASS_BASE_8,	 HS_CLASS_SHIFT_8,
					       HS_CLASS_BASE_13, HS_CLASS_SHIFT_13,
					       HS_CLASS_BASE_25, HS_CLASS_SHIFT_25};

	enum hs_field_id id = HS_OBJECT_CLASS;

	ret->in_mark = hs_flag_is_set(hs, "UseCompactObjectHeaders");
	ret->narrow.used = ret->in_mark || hs_flag_is_set(hs, "UseCompressedClassPointers") ||
			   !hs_has(hs, HS_OBJECT_CLASS); /* JDK 27 has no other */
	ret->bytes = ret->narrow.used && !ret->in_mark ? 4 : 8;
	if (ret->narrow.used && !narrow_read(hs, ids, &ret->narrow))
		return false;
	if (ret->in_mark)
		return true;
	if (ret->narrow.used)
		id = hs_has(hs, HS_OBJECT_NARROW_CLASS) ? HS_OBJECT_NARROW_CLASS
							: HS_OBJECT_NARROW_CLASS_27;
	ret->at = (uint32_t)hs_inside(hs, 0, id);
	return hs_has(hs, id);
}

uint64_t hs_class_of(struct hs *hs, const struct class_word *class, uint64_t object)
{
	uint64_t value = 0;

	if (!hs_mem_read_now(&hs->mem, object + class->at, &value, class->bytes))
		return 0;
	if (!class->in_mark)
		return hs_widen(&class->narrow, value);
	return (value & SNAP_MARK_BITS) == SNAP_MARK_MOVED
		       ? 0
		       : hs_widen(&class->narrow, value >> SNAP_MARK_CLASS);
}

/* ---- for probes ---- */

/* The place of a field that a class itself declares. */
static uint32_t place_in(struct hs *hs, uint64_t class, const char *name, const char *descriptor)
{
	uint32_t place;

	return class && hs_field_offset(hs, class, name, descriptor, &place) ? place : SNAP_NONE;
}

/* The place of a field of java.lang.Thread. */
static uint32_t thread_place(struct hs *hs, const char *name, const char *descriptor)
{
	uint64_t class;

	if (!hs_get(hs, 0, HS_CLASS_THREAD_16, &class) && !hs_get(hs, 0, HS_CLASS_THREAD_8, &class))
		return SNAP_NONE;
	return place_in(hs, class, name, descriptor);
}

static void set_classes(struct hs *hs, struct snap_objects *o)
{
	struct class_word class = {0};

	o->class_at = hs_class_encoding(hs, &class) ? class.at : SNAP_NONE;
	o->class_bytes = class.in_mark ? 0 : class.bytes;
	o->class_shift = (uint8_t) class.narrow.shift;
	o->class_base = class.narrow.base;
}

/* Generational ZGC: a choice in JDK 21 to 23, the only one from 24 on. */
static bool is_coloured(struct hs *hs, uint32_t jdk)
{
	return hs_flag_is_set(hs, "UseZGC") && (jdk >= 24 || hs_flag_is_set(hs, "ZGenerational"));
}

static uint32_t field_place(struct hs *hs, enum hs_field_id id)
{
	return hs_has(hs, id) ? (uint32_t)hs_inside(hs, 0, id) : SNAP_NONE;
}

/* The place of a field that has moved to another class. */
static uint32_t first_place(struct hs *hs, enum hs_field_id new, enum hs_field_id old)
{
	return field_place(hs, hs_has(hs, new) ? new : old);
}

/* The JVM's counters, for jstat and the like, runtime/perfMemory.hpp (JDK 8 to 27). */
struct counters_head {
	uint32_t magic;
	uint8_t order[4];
	uint32_t used, overflow;
	uint64_t time;
	uint32_t first, count; /* of counters */
};

struct counter_head {
	uint32_t size, name, elements;
	uint8_t type[4];
	uint32_t data;
};

#define COUNTERS_MAGIC 0xcafec0c0u
#define COUNTERS_MAX   4096u
#define COUNTERS_BYTES (1u << 20)

/* The address of a counter's data; 0: there is no such counter. */
static uint64_t counter_address(struct hs *hs, const char *name, size_t len)
{
	struct counters_head head;
	struct counter_head c;
	uint64_t start, at;
	char text[32];

	if (!hs_get(hs, 0, HS_COUNTERS, &start) ||
	    !hs_mem_read_now(&hs->mem, start, &head, sizeof(head)) ||
	    __builtin_bswap32(head.magic) != COUNTERS_MAGIC)
		return 0;
	at = head.first;
	for (uint32_t i = 0; i < head.count && i < COUNTERS_MAX && at < COUNTERS_BYTES; i++) {
		if (!hs_mem_read_now(&hs->mem, start + at, &c, sizeof(c)) || c.size < sizeof(c) ||
		    c.name >= c.size || c.data >= c.size)
			return 0;
		if (hs_mem_read_now(&hs->mem, start + at + c.name, text, len) &&
		    __builtin_memcmp(text, name, len) == 0)
			return start + at + c.data;
		at += c.size;
	}
	return 0;
}

/* Finds where the JVM says how often, and why, it has collected garbage. */
static void set_collections(struct hs *hs, struct snap_objects *o)
{
	static const char cause[] = "sun.gc.lastCause";
	uint64_t heap;

	if (!hs_get(hs, 0, HS_HEAP, &heap) || !heap || !hs_has(hs, HS_HEAP_COLLECTIONS))
		return;
	o->collections = hs_inside(hs, heap, HS_HEAP_COLLECTIONS);
	o->gc_cause = counter_address(hs, cause, sizeof(cause));
}

/* Up to JDK 9, stubs of C1 and of the interpreter give a thread its next buffer without a call of
 * any function (cpu/x86/vm/c1_Runtime1_x86.cpp), if the collector allocates from one contiguous
 * space (CollectedHeap::supports_inline_contig_alloc: all but G1). */
static bool refills_itself(struct hs *hs)
{
	return hs_flag_is_set(hs, "FastTLABRefill") && !hs_flag_is_set(hs, "UseG1GC");
}

/* ---- virtual threads ---- */

static void set_chunks(struct hs *hs, struct snap_virtual *v)
{
	const uint64_t chunk = hs_class_find(hs, "jdk/internal/vm/StackChunk");
	int64_t layout;

	v->chunk = place_in(hs, hs_class_find(hs, "jdk/internal/vm/Continuation"), "tail",
			    "Ljdk/internal/vm/StackChunk;");
	v->chunk_parent = place_in(hs, chunk, "parent", "Ljdk/internal/vm/StackChunk;");
	v->chunk_size = place_in(hs, chunk, "size", "I");
	v->chunk_sp = place_in(hs, chunk, "sp", "I");
	v->chunk_arguments = place_in(hs, chunk, "argsize", "I");
	v->chunk_bottom = place_in(hs, chunk, "bottom", "I");
	/* Of an instance it is its size, less the lowest bits (oops/klass.hpp). */
	if (chunk && hs_get_signed(hs, chunk, HS_KLASS_LAYOUT, &layout) && layout > 0)
		v->chunk_stack = (uint32_t)layout & ~7u;
}

static void set_virtual(struct hs *hs, struct snap_objects *o)
{
	struct snap_virtual *v = &o->virtual;
	uint64_t string;

	__builtin_memset(v, 0xff, sizeof(*v));
	v->pad = 0;
	v->enter_return = 0;
	(void)hs_get(hs, 0, HS_ENTER_RETURN, &v->enter_return);
	if (!hs_has(hs, HS_THREAD_VIRTUAL))
		return;
	v->carrier = field_place(hs, HS_THREAD_OBJECT);
	v->continuation = place_in(hs, hs_class_find(hs, "java/lang/VirtualThread"), "cont",
				   "Ljdk/internal/vm/Continuation;");
	v->thread_id = thread_place(hs, "tid", "J");
	v->thread_name = thread_place(hs, "name", "Ljava/lang/String;");
	if (hs_get(hs, 0, HS_CLASS_STRING_16, &string)) {
		v->string_value = place_in(hs, string, "value", "[B");
		v->string_coder = place_in(hs, string, "coder", "B");
	}
	v->array_length = o->class_at + (o->class_bytes ? o->class_bytes : 8);
	v->class_layout = field_place(hs, HS_KLASS_LAYOUT);
	set_chunks(hs, v);
}

void hs_objects_read(struct hs *hs, uint32_t jdk, struct snap_objects *ret)
{
	struct narrow ref = {0};
	const bool known = hs_ref_encoding(hs, &ref);
	/* Between JDK 11 and 17 some fields are handles. */
	const bool fields = jdk <= 11 || jdk >= 17;
	struct snap_objects o = {.record = {SNAP_OBJECTS, sizeof(o)},
				 .monitor_object = SNAP_NONE,
				 .thread_object = SNAP_NONE,
				 .park_blocker = SNAP_NONE,
				 .pending_monitor = SNAP_NONE,
				 .waiting_monitor = SNAP_NONE,
				 .thread_address = thread_place(hs, "eetop", "J")};

	o.task_method = field_place(hs, HS_TASK_METHOD);
	o.task_level = field_place(hs, HS_TASK_LEVEL);
	o.method_const = field_place(hs, HS_METHOD_CONST);
	o.const_pool = field_place(hs, HS_CONST_POOL);
	o.const_name = field_place(hs, HS_CONST_NAME_INDEX);
	o.pool_holder = field_place(hs, HS_POOL_HOLDER);
	if (hs_has(hs, HS_CLASS_POOL))
		o.class_pool = field_place(hs, HS_CLASS_POOL);
	o.code_method = first_place(hs, HS_COMPILED_METHOD, HS_NMETHOD_METHOD);
	o.code_level = field_place(hs, HS_NMETHOD_LEVEL);
	o.code_state = field_place(hs, HS_NMETHOD_STATE);
	o.os_thread = first_place(hs, HS_THREAD_OS, HS_THREAD_OS_25);
	o.os_thread_id = field_place(hs, HS_OS_THREAD_ID);
	o.pool_symbols = (uint32_t)hs->tables.size[HS_TYPE_CONSTANT_POOL];
	o.flags = (jdk >= 17 ? SNAP_HANDLES : 0) | (is_coloured(hs, jdk) ? SNAP_COLOURED : 0) |
		  (jdk < 11 && refills_itself(hs) ? SNAP_REFILLS : 0);
	set_classes(hs, &o);
	set_collections(hs, &o);
	set_virtual(hs, &o);
	o.ref_bytes = ref.used ? 4 : 8;
	o.ref_shift = (uint8_t)ref.shift;
	o.ref_base = ref.base;
	if (fields) {
		o.monitor_object = field_place(hs, HS_MONITOR_OBJECT);
		o.thread_object = first_place(hs, HS_THREAD_VIRTUAL, HS_THREAD_OBJECT);
		o.pending_monitor = first_place(hs, HS_THREAD_PENDING, HS_THREAD_PENDING_8);
		o.waiting_monitor = first_place(hs, HS_THREAD_WAITING, HS_THREAD_WAITING_8);
	}
	if (known)
		o.park_blocker = thread_place(hs, "parkBlocker", "Ljava/lang/Object;");
	*ret = o;
}
