/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over class loaders, classes and methods (classfile/classLoaderData.hpp, JDK 9 and later;
 * before, the tree of classes), and which classes an earlier walk has seen.
 *
 * A loader has its classes in a list, and all loaders are in a list; new entries come first. So the
 * first class of each loader shows whether it has new ones and where these end, and a loader after
 * a known one is known, too. */
#ifndef HS_CLASSES_H
#define HS_CLASSES_H

#include "hotspot/seen.h"
#include "hotspot/tables.h"

#define HS_LOADERS_MAX	   12288u
#define HS_LOADERS_LIST_NS 2000000000ull

struct hs_loader {
	uint64_t klass;	      /* the first of its classes seen; 0: none */
	uint32_t fingerprint; /* of that class: memory of unloaded classes is reused */
};

/* The last snapshot's list of loaders and the new one, both in the JVM's order. */
struct hs_loaders {
	unsigned turn;
	bool gone;	 /* one was unloaded since all classes were listed */
	uint64_t listed; /* time of that */
	uint32_t count[2];
	uint64_t loader[2][HS_LOADERS_MAX]; /* addresses */
	struct hs_loader known[2][HS_LOADERS_MAX];
	/* Of the walk that makes the new list. */
	uint32_t passed;   /* entries of the last list */
	uint32_t kept;	   /* entries copied */
	uint32_t proof;	   /* checked entries in a row that were the same */
	uint32_t gathered; /* index in the last list of the first piece */
};

/* The classes to walk. All methods of new classes are added, since they may run soon (JDK 9 and
 * later; JDK 8 does not show which classes are new). */
enum hs_methods_of {
	HS_METHODS_OF_ALL,
	HS_METHODS_OF_NEW,	   /* classes not seen before */
	HS_METHODS_OF_NEW_LOADERS, /* the same, of new loaders only */
};

/* Finds a class of the boot loader, whose list is the last one, by its name (a/b/C). 0: it is not
 * loaded, or the JVM does not show it. JDK 9 and later. */
uint64_t hs_class_find(struct hs *hs, const char *name);

/* Adds the methods of loaded classes that have ever run: those with counters or code, or all if the
 * JVM does not count. Updates `known` (may be NULL). False: not all could be found. */
bool hs_methods_walk(struct hs *hs, struct hs_methods *m, struct hs_loaders *known,
		     enum hs_methods_of of);

/* After a walk: true if all classes should be listed again, because a loader was unloaded since the
 * last list; at most once in HS_LOADERS_LIST_NS. */
bool hs_loaders_due(struct hs_loaders *l, uint64_t now);

/* Records that all classes were listed at a time. */
void hs_loaders_listed(struct hs_loaders *l, uint64_t now);

void hs_loaders_commit(struct hs_loaders *l);
void hs_loaders_reset(struct hs_loaders *l);

#endif
