/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads Java objects, by struct flat_objects. Compiled for BPF and for user space: the including
 * file defines flat_memory. */
#ifndef DFG_KERNEL_FLAT_OBJECTS_H
#define DFG_KERNEL_FLAT_OBJECTS_H

#include "kernel/flat_tables.h"

/* Reads memory of the thread. False, and *ret is anything: not all of it can be read now. */
static inline bool flat_memory(uint64_t at, void *ret, uint32_t size);

static inline uint64_t word_at(uint64_t object, uint32_t place)
{
	uint64_t word = 0;

	if (place != FLAT_NONE)
		return flat_memory(object + place, &word, sizeof(word)) ? word : 0;
	return 0;
}

/* The object of a reference. Of generational ZGC's the lowest bits are colours, as many as tell the
 * four bits from 12 on (gc/z/zAddress.inline.hpp; on arm64 always 16). */
static inline uint64_t plain(const struct flat_objects *o, uint64_t reference)
{
	if (!(o->flags & FLAT_COLOURED))
		return reference;
#ifndef FLAT_ARM64
	switch (reference >> 12 & 15) {
	case 1:
		return reference >> 13;
	case 2:
		return reference >> 14;
	case 4:
		return reference >> 15;
	}
#endif
	return reference >> 16;
}

static inline uint64_t widen(uint64_t value, uint32_t bytes, uint64_t base, uint32_t shift)
{
	value = bytes == 4 ? (uint32_t)value : value;
	return value && bytes == 4 ? base + (value << (shift & 31)) : value;
}

/* The object that a field of another one refers to; 0: none. */
static inline uint64_t object_in(const struct flat_objects *o, uint64_t object, uint32_t place)
{
	return plain(o, widen(object ? word_at(object, place) : 0, o->ref_bytes, o->ref_base,
			      o->ref_shift));
}

/* The object that a field of the JVM's refers to. */
static inline uint64_t object_of(const struct flat_objects *o, uint64_t at, uint32_t place)
{
	uint64_t value = word_at(at, place);

	if (value && o->flags & FLAT_HANDLES)
		value = word_at(value, 0);
	return plain(o, value);
}

static inline uint64_t class_of(const struct flat_objects *o, uint64_t object)
{
	uint64_t word = object ? word_at(object, o->class_at) : 0;

	if (o->class_bytes == 0 && (word & FLAT_MARK_BITS) == FLAT_MARK_MOVED)
		return 0;
	if (o->class_bytes == 0)
		return widen(word >> FLAT_MARK_CLASS, 4, o->class_base, o->class_shift);
	return widen(word, o->class_bytes, o->class_base, o->class_shift);
}

#endif
