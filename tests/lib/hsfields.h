/* SPDX-License-Identifier: Apache-2.0 */
/* Classes with fields in the HotSpot of hsimage.h: an array of u2 up to JDK 20, a stream of packed
 * numbers from 21 on (oops/fieldInfo.hpp). */
#ifndef HSFIELDS_H
#define HSFIELDS_H

#include "lib/hssnap.h"

enum {
	FIELDS_POOL = 104,  /* InstanceKlass::_constants; its other fields: hssnap.h */
	FIELDS_LIST = 112,  /* InstanceKlass::_fields or _fieldinfo_stream */
	FIELDS_COUNT = 120, /* InstanceKlass::_java_fields_count */
	FIELDS_DATA = 10,   /* Array<u1>::_data and Array<u2>::_data */
	FIELDS_CLASS = 128, /* bytes of a class */
};

struct made_field {
	const char *name, *descriptor;
	uint32_t offset;
	uint32_t flags; /* from JDK 21 on */
};

static inline bool image_text_is(struct image *im, uint64_t at, const char *text)
{
	return strcmp((const char *)image_at(im, image_pointer(im, at)), text) == 0;
}

/* Returns the address of a field's entry in the table of fields; without a type, of the table's
 * end. */
static inline uint64_t image_entry(struct image *im, const char *type, const char *field)
{
	uint64_t at = im->structs;

	for (; image_pointer(im, at + IM_FIELD); at += IM_STRIDE)
		if (type && image_text_is(im, at + IM_TYPE, type) &&
		    image_text_is(im, at + IM_FIELD, field))
			return at;
	if (type)
		abort();
	return at;
}

/* Adds fields after those that the table has. */
static inline void image_more_fields(struct image *im, const struct image_field *f, size_t n)
{
	image_add_fields(im, (unsigned)((image_entry(im, NULL, NULL) - im->structs) / IM_STRIDE), f,
			 n);
}

/* Gives a field another name: the release does not list it. */
static inline void image_hide(struct image *im, const char *type, const char *field)
{
	image_set(im, image_entry(im, type, field) + IM_FIELD, image_text(im, "hidden"), 8);
}

/* Adds the fields of an InstanceKlass that describe its fields. */
static inline void image_fields_tables(struct image *im)
{
	static const struct image_field both = {"InstanceKlass", "_constants", "ConstantPool*",
						FIELDS_POOL, false};
	static const struct image_field array[] = {
		{"InstanceKlass", "_fields", "Array<u2>*", FIELDS_LIST, false},
		{"InstanceKlass", "_java_fields_count", "u2", FIELDS_COUNT, false},
		{"Array<u2>", "_data", NULL, FIELDS_DATA, false}};
	static const struct image_field stream[] = {
		{"InstanceKlass", "_fieldinfo_stream", "Array<u1>*", FIELDS_LIST, false},
		{"Array<u1>", "_data", NULL, FIELDS_DATA, false}};

	image_more_fields(im, &both, 1);
	if (im->release == IMAGE_25)
		image_more_fields(im, stream, 2);
	else
		image_more_fields(im, array, 3);
}

/* Writes the fields as a stream; returns its length. */
static inline size_t image_fields_stream(const struct image *im, uint8_t *p,
					 const struct made_field *f, unsigned n)
{
	uint8_t *start = p;

	p = snap_image_pack(im, p, n);
	p = snap_image_pack(im, p, 0);
	for (unsigned i = 0; i < n; i++) {
		p = snap_image_pack(im, p, 1 + 2 * i);
		p = snap_image_pack(im, p, 2 + 2 * i);
		p = snap_image_pack(im, p, f[i].offset);
		p = snap_image_pack(im, p, 0x12);
		p = snap_image_pack(im, p, f[i].flags);
		/* The value, the generic signature, the group of a contended field. */
		for (unsigned bit = 0; bit <= 4; bit += 2)
			if (f[i].flags >> bit & 1)
				p = snap_image_pack(im, p, 1);
	}
	return (size_t)(p - start);
}

/* Returns a class that declares these fields, at most 16. */
static inline uint64_t image_fields_class(struct image *im, const struct made_field *f, unsigned n)
{
	uint64_t class = image_new(im, FIELDS_CLASS), list = image_new(im, 256);
	uint64_t pool = image_new(im, IM_POOL_HEADER + (1 + 2 * (uint64_t)n) * 8);

	image_set(im, class + FIELDS_POOL, pool, 8);
	image_set(im, class + FIELDS_LIST, list, 8);
	image_set(im, class + FIELDS_COUNT, n, 2);
	image_set(im, pool + 12, 1 + 2 * n, 4);
	for (unsigned i = 0; i < n; i++) {
		uint64_t at = pool + IM_POOL_HEADER + (1 + 2 * i) * 8;

		image_set(im, at, image_symbol(im, f[i].name), 8);
		image_set(im, at + 8, image_symbol(im, f[i].descriptor), 8);
	}
	if (im->release == IMAGE_25) {
		image_set(im, list + 4,
			  image_fields_stream(im, image_at(im, list + FIELDS_DATA), f, n), 4);
		return class;
	}
	image_set(im, list + 4, 6 * n, 4);
	for (unsigned i = 0; i < n; i++) {
		uint64_t at = list + FIELDS_DATA + 12 * i;

		image_set(im, at, 0x12, 2);
		image_set(im, at + 2, 1 + 2 * i, 2);
		image_set(im, at + 4, 2 + 2 * i, 2);
		image_set(im, at + 8, (f[i].offset << 2 | 1) & 0xffff, 2);
		image_set(im, at + 10, f[i].offset >> 14, 2);
	}
	return class;
}

#endif
