/* SPDX-License-Identifier: Apache-2.0 */
/* Which classes have been seen: a class loader's data (classfile/classLoaderData.hpp, JDK 9 and
 * later) has its classes in a list, and new ones come at the front, as new loaders do in theirs. So
 * the first class of each loader tells whether there are new ones, and where these end; and a
 * loader that comes behind one that is not new is not new either, in whatever memory it is. */
#ifndef HS_LOADERS_H
#define HS_LOADERS_H

#include "hotspot/tables.h"

#define HS_LOADERS_MAX	   12288u
#define HS_LOADERS_LIST_NS 2000000000ull

struct hs_loader {
	uint64_t klass; /* the first of its classes that have been seen; 0: none */
	uint32_t print; /* that one's name, hashed: the memory of classes that went is used again */
};

/* The last snapshot's list, and the one that is being made, both in the order of the JVM's. */
struct hs_loaders {
	unsigned turn;
	bool gone;	 /* one has gone since all classes were listed */
	uint64_t listed; /* when that was */
	uint32_t count[2];
	uint64_t loader[2][HS_LOADERS_MAX]; /* addresses */
	struct hs_loader known[2][HS_LOADERS_MAX];
	/* Of the walk that makes the new one. */
	uint32_t passed;   /* of the last list */
	uint32_t kept;	   /* that were carried over */
	uint32_t proof;	   /* in a row that were surely the same */
	uint32_t gathered; /* of the last list, the one that is the first piece */
};

/* Before a walk over all loaders, each of which is shown, then found, in the JVM's order. */
void hs_loaders_begin(struct hs *hs, struct hs_loaders *l);

/* Whether all loaders that follow were there before: they are taken over as they are. */
bool hs_loaders_rest(struct hs_loaders *l);

/* Has the fields of a loader at hand, if it is known, together with those behind it. */
void hs_loaders_show(struct hs *hs, struct hs_loaders *l, uint64_t loader);

/* What is known of a loader whose first class is `klass` now, carried over into the new list. The
 * caller goes through the classes up to ret->klass, which is `klass` where nothing has changed, and
 * then calls hs_loaders_seen. NULL: the list is full. */
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
