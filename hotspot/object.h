/* SPDX-License-Identifier: Apache-2.0 */
/* Java objects, as far as the names of threads need them. The collector moves objects while they
 * are read: nothing here comes from the page cache, an object is believed only by its class, and
 * hs_object_name reads the way to the text twice. JVMs whose references are not plain addresses
 * (ZGC) or whose objects have no class word (compact headers, JDK 24) are left alone. */
#ifndef HS_OBJECT_H
#define HS_OBJECT_H

#include "hotspot/tables.h"

/* (address >> shift) of references and class words. */
struct hs_narrow {
	bool used;
	unsigned shift;
	uint64_t base;
};

struct hs_objects {
	struct hs_narrow ref, class;
	uint64_t thread_class, string_class;
	uint32_t length; /* where an array has its length */
	/* Offsets of fields: Thread.name, String.value, String.coder (9 and later). */
	uint32_t name, value, coder;
	bool name_is_array; /* char[], early JDK 8 */
	bool has_coder;
};

/* False: the objects of this JVM cannot be read. */
bool hs_objects_read(struct hs *hs, struct hs_objects *ret);

/* Thread.name of the Thread a JavaThread's field _threadObj leads to, as UTF-8, at most cap bytes
 * of it. Returns the length; 0 when anything on the way does not hold together. */
size_t hs_object_name(struct hs *hs, const struct hs_objects *o, uint64_t java_thread, char *buf,
		      size_t cap);

#endif
