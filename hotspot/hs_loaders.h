/* SPDX-License-Identifier: Apache-2.0 */
/* Which classes have been seen: a class loader's data (classfile/classLoaderData.hpp, JDK 9 and
 * later) has its classes in a list, and new ones come at the front, as new loaders do in theirs. So
 * the first class of each loader tells whether there are new ones, and where these end. */
#ifndef HS_LOADERS_H
#define HS_LOADERS_H

#include "hs_tables.h"

#define HS_LOADERS_SLOTS   (1u << 14)
#define HS_LOADERS_MAX	   (HS_LOADERS_SLOTS / 4 * 3)
#define HS_LOADERS_LIST_NS 2000000000ull

struct hs_loader {
	uint64_t loader; /* address; 0: empty */
	uint64_t klass;	 /* the first of its classes that have been seen; 0: none */
	uint32_t print; /* that one's name, hashed: the memory of classes that went is used again */
};

/* The last snapshot's table, and the one that is being made. */
struct hs_loaders {
	unsigned turn;
	uint32_t kept;	 /* of the last table's, carried over into the new one */
	bool gone;	 /* one was not, since all classes were listed */
	uint64_t listed; /* when that was */
	uint32_t count[2];
	struct hs_loader slot[2][HS_LOADERS_SLOTS];
};

/* What is known of a loader whose first class is `klass` now, carried over into the new table. The
 * caller goes through the classes up to ret->klass, which is `klass` where nothing has changed, and
 * then calls hs_loaders_seen. NULL: the table is full. */
struct hs_loader *hs_loaders_find(struct hs *hs, struct hs_loaders *l, uint64_t loader,
				  uint64_t klass);

/* All its classes from `klass` on have been seen. */
void hs_loaders_seen(struct hs *hs, struct hs_loader *loader, uint64_t klass);

/* Behind a walk over all loaders: whether all classes should be listed again, since a loader has
 * gone with its classes behind the last list. Once in HS_LOADERS_LIST_NS is enough of that. */
bool hs_loaders_due(struct hs_loaders *l, uint64_t now);

/* All classes are listed, by CLOCK_MONOTONIC. */
void hs_loaders_listed(struct hs_loaders *l, uint64_t now);

void hs_loaders_commit(struct hs_loaders *l);
void hs_loaders_forget(struct hs_loaders *l);

#endif
