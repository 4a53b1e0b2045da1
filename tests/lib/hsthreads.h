/* SPDX-License-Identifier: Apache-2.0 */
/* The HotSpot of hssnap.h with Java threads: their list (a chain in release 8), java.lang.Thread
 * and String as classes with fields, and objects of these. */
#ifndef HSTHREADS_H
#define HSTHREADS_H

#include "lib/hsfields.h"

/* The layout of an array's class: its elements are of a BasicType, and begin so many bytes after
 * its start. */
#define THREADS_LAYOUT(type, begin) (0xc0000000u | (begin) << 16 | (type) << 8)

enum {
	THREADS_CLASS = 8,   /* oopDesc::_metadata */
	THREADS_NAME = 32,   /* Thread.name */
	THREADS_VALUE = 24,  /* String.value */
	THREADS_CODER = 20,  /* String.coder */
	THREADS_OBJECT = 40, /* JavaThread::_threadObj; _next 48, _osthread 56 */
	THREADS_BEGIN = 28u, /* first element of an array */
	THREADS_MOST = 64,   /* in the list */
};

struct threads_image {
	struct snap_image s;
	bool narrow_refs, narrow_classes; /* set before threads_build */
	bool compact;			  /* the class is in the mark: JDK 27 as it comes */
	bool array_names;		  /* Thread.name is a char[] */
	uint64_t thread_class, string_class, array_class;
	uint64_t statics;      /* list; base, shift of references and of classes; the two classes */
	uint64_t compact_flag; /* address of the flag */
	uint64_t list, last;   /* a ThreadsList, or the chain's last thread */
	unsigned count;
};

static inline uint64_t threads_shift(bool classes)
{
	return classes ? 4 : 3;
}

/* Bases such that no narrow value is a plain address or 0. */
static inline uint64_t threads_base(bool classes)
{
	return IMAGE_BASE - (classes ? 0x100000 : 0x4000);
}

static inline void threads_tables(struct threads_image *t)
{
	struct image *im = &t->s.im;
	uint64_t at = image_new(im, 8 * 8);
	const struct image_field common[] = {
		{"JavaThread", "_threadObj", "OopHandle", THREADS_OBJECT, false},
		{"OSThread", "_thread_id", "int", 4, false},
		{"Thread", "_allocated_bytes", "jlong", 72, false},
		{"Thread", "_tlab", "ThreadLocalAllocBuffer", 640, false},
		{"ThreadLocalAllocBuffer", "_start", "HeapWord*", 24, false},
		{"ThreadLocalAllocBuffer", "_top", "HeapWord*", 8, false},
		{"oopDesc", "_metadata._klass", "Klass*", THREADS_CLASS, false},
		{"oopDesc", t->compact ? "_compressed_klass" : "_metadata._compressed_klass", "u4",
		 THREADS_CLASS, false},
		{im->release == IMAGE_25 ? "Thread" : "JavaThread", "_osthread", "OSThread*", 56,
		 false},
	};
	const struct image_field jdk8[] = {
		{"Threads", "_thread_list", "JavaThread*", at, true},
		{"JavaThread", "_next", "JavaThread*", 48, false},
		{"Universe", "_narrow_oop._base", "address", at + 8, true},
		{"Universe", "_narrow_oop._shift", "int", at + 16, true},
		{"Universe", "_narrow_klass._base", "address", at + 24, true},
		{"Universe", "_narrow_klass._shift", "int", at + 32, true},
		{"SystemDictionary", "_well_known_klasses[SystemDictionary::Thread_klass_knum]",
		 "Klass*", at + 40, true},
		{"SystemDictionary", "_well_known_klasses[SystemDictionary::String_klass_knum]",
		 "Klass*", at + 48, true},
	};
	const bool new = im->release == IMAGE_25;
	const struct image_field later[] = {
		{"ThreadsSMRSupport", "_java_thread_list", "ThreadsList*", at, true},
		{"ThreadsList", "_length", "u4", 12, false},
		{"ThreadsList", "_threads", "JavaThread**", 24, false},
		{"CompressedOops", new ? "_base" : "_narrow_oop._base", "address", at + 8, true},
		{"CompressedOops", new ? "_shift" : "_narrow_oop._shift", "int", at + 16, true},
		{"CompressedKlassPointers", new ? "_base" : "_narrow_klass._base", "address",
		 at + 24, true},
		{"CompressedKlassPointers", new ? "_shift" : "_narrow_klass._shift", "int", at + 32,
		 true},
		{"vmClasses", "_klasses[static_cast<int>(vmClassID::Thread_klass_knum)]", "Klass*",
		 at + 40, true},
		{"vmClasses", "_klasses[static_cast<int>(vmClassID::String_klass_knum)]", "Klass*",
		 at + 48, true},
		{"Klass", "_super", "Klass*", 64, false},
		{"OopHandle", "_obj", "oop*", 0, false},
	};

	image_more_fields(im, common, sizeof(common) / sizeof(*common));
	if (im->release == IMAGE_8)
		image_more_fields(im, jdk8, sizeof(jdk8) / sizeof(*jdk8));
	else
		image_more_fields(im, later, sizeof(later) / sizeof(*later));
	for (unsigned i = 0; i < 2; i++) {
		image_set(im, at + 8 + 16 * i, threads_base(i), 8);
		image_set(im, at + 16 + 16 * i, threads_shift(i), 4);
	}
	t->list = image_new(im, 32);
	t->statics = t->last = at;
	if (im->release == IMAGE_8)
		return;
	image_set(im, at, t->list, 8);
	image_set(im, t->list + 24, image_new(im, THREADS_MOST * 8), 8);
}

static inline void threads_classes(struct threads_image *t)
{
	struct image *im = &t->s.im;
	bool old = im->release == IMAGE_8;
	const struct made_field thread[] = {
		{"daemon", "Z", 12, 0},
		{"name", t->array_names ? "[C" : "Ljava/lang/String;", THREADS_NAME, 0}};
	const struct made_field string[] = {{"value", old ? "[C" : "[B", THREADS_VALUE, 0},
					    {"coder", "B", THREADS_CODER, 0}};

	t->thread_class = image_fields_class(im, thread, 2);
	t->string_class = image_fields_class(im, string, old ? 1 : 2);
	t->array_class = image_new(im, FIELDS_CLASS);
	image_set(im, t->array_class + 48, THREADS_LAYOUT(old ? 5u : 8u, THREADS_BEGIN), 4);
	image_set(im, t->statics + 40, t->thread_class, 8);
	image_set(im, t->statics + 48, t->string_class, 8);
}

static inline void threads_build(struct threads_image *t, enum image_release release)
{
	snap_image_build(&t->s, release);
	image_fields_tables(&t->s.im);
	threads_tables(t);
	snap_image_flag(&t->s, "UseCompressedOops", t->narrow_refs);
	snap_image_flag(&t->s, "UseCompressedClassPointers", t->narrow_classes);
	t->compact_flag = snap_image_flag(&t->s, "UseCompactObjectHeaders", t->compact);
	if (t->compact)
		image_hide(&t->s.im, "oopDesc", "_metadata._klass");
	threads_classes(t);
	t->count = 0;
}

/* ---- objects ---- */

static inline void threads_set_class(struct threads_image *t, uint64_t object, uint64_t class)
{
	const uint64_t narrow = (class - threads_base(true)) >> threads_shift(true);

	if (t->compact)
		image_set(&t->s.im, object, narrow << 42 | 1, 8);
	else if (t->narrow_classes)
		image_set(&t->s.im, object + THREADS_CLASS, narrow, 4);
	else
		image_set(&t->s.im, object + THREADS_CLASS, class, 8);
}

static inline void threads_set_ref(struct threads_image *t, uint64_t at, uint64_t object)
{
	if (t->narrow_refs)
		image_set(&t->s.im, at, (object - threads_base(false)) >> threads_shift(false), 4);
	else
		image_set(&t->s.im, at, object, 8);
}

/* Returns the address of an array's length. */
static inline uint64_t threads_length_at(const struct threads_image *t, uint64_t array)
{
	return array + (t->compact ? 8u : THREADS_CLASS + (t->narrow_classes ? 4u : 8u));
}

/* Returns an array: byte[], up to JDK 8 char[]. */
static inline uint64_t threads_array(struct threads_image *t, const void *elements, uint32_t bytes)
{
	uint64_t array = image_new(&t->s.im, THREADS_BEGIN + bytes);

	threads_set_class(t, array, t->array_class);
	image_set(&t->s.im, threads_length_at(t, array),
		  t->s.im.release == IMAGE_8 ? bytes / 2 : bytes, 4);
	memcpy(image_at(&t->s.im, array + THREADS_BEGIN), elements, bytes);
	return array;
}

/* Returns what Thread.name refers to: a String, or the array itself. */
static inline uint64_t threads_string(struct threads_image *t, const uint16_t *text, uint32_t len)
{
	uint8_t latin[2048];
	bool wide = t->s.im.release == IMAGE_8;
	uint64_t string, array;

	for (uint32_t i = 0; i < len; i++) {
		wide |= text[i] > 255;
		latin[i] = (uint8_t)text[i];
	}
	array = wide ? threads_array(t, text, 2 * len) : threads_array(t, latin, len);
	if (t->array_names)
		return array;
	string = image_new(&t->s.im, 48);
	threads_set_class(t, string, t->string_class);
	threads_set_ref(t, string + THREADS_VALUE, array);
	image_set(&t->s.im, string + THREADS_CODER, wide, 1);
	return string;
}

/* Returns the java.lang.Thread of a JavaThread. */
static inline uint64_t threads_object(struct threads_image *t, uint64_t thread)
{
	uint64_t p = image_pointer(&t->s.im, thread + THREADS_OBJECT);

	return t->s.im.release == IMAGE_8 ? p : image_pointer(&t->s.im, p);
}

static inline void threads_rename(struct threads_image *t, uint64_t thread, const uint16_t *text,
				  uint32_t len)
{
	threads_set_ref(t, threads_object(t, thread) + THREADS_NAME, threads_string(t, text, len));
}

/* Adds a thread; returns its JavaThread. Up to JDK 8 _threadObj is the object, then a handle. */
static inline uint64_t threads_add(struct threads_image *t, uint32_t tid, const uint16_t *text,
				   uint32_t len)
{
	struct image *im = &t->s.im;
	uint64_t thread = image_new(im, 64), os = image_new(im, 16), object = image_new(im, 64);
	uint64_t handle = image_new(im, 8);

	image_set(im, os + 4, tid, 4);
	image_set(im, thread + 56, os, 8);
	threads_set_class(t, object, t->thread_class);
	image_set(im, handle, object, 8);
	image_set(im, thread + THREADS_OBJECT, im->release == IMAGE_8 ? object : handle, 8);
	threads_rename(t, thread, text, len);
	if (im->release == IMAGE_8) {
		image_set(im, t->last, thread, 8);
		t->last = thread + 48;
		return thread;
	}
	image_set(im, image_pointer(im, t->list + 24) + 8 * t->count++, thread, 8);
	image_set(im, t->list + 12, t->count, 4);
	return thread;
}

#endif
