/* SPDX-License-Identifier: Apache-2.0 */
/* Which methods a snapshot has met, and which of them have their METHOD record. */
#ifndef HS_METHODS_H
#define HS_METHODS_H

#include "hotspot/loaders.h"

#define HS_METHODS_SLOTS (1u << 17)
#define HS_METHODS_MAX	 (HS_METHODS_SLOTS / 4 * 3)

#define HS_METHODS_LEFT UINT32_MAX

enum hs_method_state {
	HS_METHOD_MET = 0,
	HS_METHOD_WRITTEN = 1,
	HS_METHOD_NAMELESS = 2, /* what is there does not hold together */
};

struct hs_methods {
	uint32_t count;
	uint32_t order[HS_METHODS_MAX];	 /* slots in use, as they came: neighbours in memory; or
					    HS_METHODS_LEFT: this one is left out */
	uint64_t slot[HS_METHODS_SLOTS]; /* address, with its state in the lowest bits; 0: empty */
};

void hs_methods_init(struct hs_methods *m);

/* The slot of a Method*, made if need be. NULL: the set is full, or this cannot be an address. */
uint64_t *hs_methods_slot(struct hs_methods *m, uint64_t method);

static inline enum hs_method_state hs_method_state(uint64_t slot)
{
	return (enum hs_method_state)(slot & 3);
}

/* Which classes are looked at. Of those that had not been seen before all methods are added: they
 * are going to run (JDK 9 and later; JDK 8 does not tell which are new). */
enum hs_methods_of {
	HS_METHODS_OF_ALL,
	HS_METHODS_OF_NEW,	   /* that had not been seen before */
	HS_METHODS_OF_NEW_LOADERS, /* the same, as far as their loaders came since */
};

/* Adds the methods of loaded classes that have ever run: those with counters, or with code; all of
 * them where the JVM does not count. With `known` it is noted there which classes have been seen.
 * False: not all could be found. */
bool hs_methods_walk(struct hs *hs, struct hs_methods *m, struct hs_loaders *known,
		     enum hs_methods_of of);

#endif
