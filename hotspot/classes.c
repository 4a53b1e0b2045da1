// SPDX-License-Identifier: Apache-2.0
#include "hotspot/classes.h"

#include "hotspot/metadata.h"

#define LOADERS_MAX   (1u << 18)
#define CLASSES_MAX   (1u << 20)
#define METHODS_MAX   (1u << 23) /* visited */
#define PER_CLASS_MAX 65535u

struct class_walk {
	unsigned loaders, classes, methods; /* still allowed */
	bool all;			    /* the JVM does not count: any method may have run */
	bool early;			    /* a class had no methods yet */
	enum hs_methods_of of;
	struct hs_loaders *known; /* NULL: none */
};

/* After so many loaders in a row whose first class has the same name as before, the rest, which is
 * older, needs no check. */
#define PROOF 8

/* Before a walk over all loaders, each of which is read ahead, then found, in the JVM's order. */
static void loaders_begin(struct hs *hs, struct hs_loaders *l)
{
	l->count[!l->turn] = 0;
	l->passed = 0;
	l->kept = 0;
	l->proof = 0;
	l->gathered = 0;
	hs->mem.pieces.count = 0;
}

/* Returns the loader's index in the last list after those passed; its count: not found. */
static uint32_t last_index(const struct hs_loaders *l, uint64_t loader)
{
	const uint64_t *list = l->loader[l->turn];
	uint32_t i = l->passed;

	while (i < l->count[l->turn] && list[i] != loader)
		i++;
	return i;
}

/* Reads the two fields used of the loaders in the last list, from an index on. */
static void loaders_gather(struct hs *hs, struct hs_loaders *l, uint32_t from)
{
	uint64_t klasses = hs->tables.field[HS_LOADER_KLASSES].place;
	uint64_t next = hs->tables.field[HS_LOADER_NEXT].place;
	uint64_t first = klasses < next ? klasses : next;
	struct hs_pieces *p = &hs->mem.pieces;
	size_t most = p->count ? 4 * p->count : 2 * PROOF;

	l->gathered = from;
	for (p->count = 0; p->count < HS_PIECES && p->count < most && from < l->count[l->turn];
	     from++)
		p->at[p->count++] = l->loader[l->turn][from] + first;
	hs_mem_read_pieces(&hs->mem, (klasses < next ? next : klasses) - first + 8);
}

/* Reads the fields of a loader, if it is known, together with those of the next ones. */
static void loader_read_ahead(struct hs *hs, struct hs_loaders *l, uint64_t loader)
{
	uint32_t i = last_index(l, loader);

	if (i == l->count[l->turn])
		return;
	if (i < l->gathered || i - l->gathered >= hs->mem.pieces.count)
		loaders_gather(hs, l, i);
	hs_mem_use_piece(&hs->mem, i - l->gathered);
}

/* False if another loader has reused the memory of both the loader and its first class. */
static bool is_same_loader(struct hs *hs, struct hs_loaders *l, const struct hs_loader *known,
			   uint64_t klass)
{
	if (klass == 0 || known->klass != klass || l->proof == PROOF)
		return true;
	if (known->fingerprint != hs_class_fingerprint(hs, klass))
		return l->proof = 0, false;
	l->proof++;
	return true;
}

/* Adds a loader whose first class is `klass` to the new list, with what is known of it. The caller
 * walks the classes up to ret->klass (`klass` if nothing has changed), then calls loader_seen.
 * NULL: the list is full. */
static struct hs_loader *loader_find(struct hs *hs, struct hs_loaders *l, uint64_t loader,
				     uint64_t klass)
{
	uint32_t old = last_index(l, loader), now = l->count[!l->turn];
	struct hs_loader *ret = &l->known[!l->turn][now];

	if (now == HS_LOADERS_MAX)
		return NULL;
	l->count[!l->turn]++;
	l->loader[!l->turn][now] = loader;
	*ret = (struct hs_loader){0};
	if (old < l->count[l->turn] && is_same_loader(hs, l, &l->known[l->turn][old], klass)) {
		*ret = l->known[l->turn][old];
		l->passed = old + 1;
		l->kept++;
	}
	return ret;
}

/* True if all loaders that follow are known; copies them to the new list. */
static bool loaders_copy_rest(struct hs_loaders *l)
{
	uint32_t *now = &l->count[!l->turn], left = l->count[l->turn] - l->passed;

	if (l->proof < PROOF || left > HS_LOADERS_MAX - *now)
		return false;
	__builtin_memcpy(&l->loader[!l->turn][*now], &l->loader[l->turn][l->passed],
			 left * sizeof(l->loader[0][0]));
	__builtin_memcpy(&l->known[!l->turn][*now], &l->known[l->turn][l->passed],
			 left * sizeof(l->known[0][0]));
	*now += left;
	l->kept += left;
	l->passed += left;
	return true;
}

/* Records that all classes of a loader from `klass` on have been seen. */
static void loader_seen(struct hs *hs, struct hs_loader *loader, uint64_t klass)
{
	if (loader->klass == klass)
		return;
	loader->klass = klass;
	loader->fingerprint = hs_class_fingerprint(hs, klass);
}

/* ---- the walk over classes ---- */

/* Finds that a list is a circle (R. P. Brent, 1980): memory of unloaded classes that is used again
 * can lead back, for as long as its pages are cached. */
struct circle {
	uint64_t seen;
	unsigned steps, left; /* from one `seen` to the next, twice as far each time */
};

static bool is_circle(struct circle *c, uint64_t at)
{
	if (c->seen == at)
		return true;
	if (c->left-- == 0) {
		c->seen = at;
		c->steps = c->steps * 2 + 1;
		c->left = c->steps;
	}
	return false;
}

uint64_t hs_class_find(struct hs *hs, const char *name)
{
	unsigned loaders = LOADERS_MAX, classes = CLASSES_MAX;
	struct circle of_loaders = {0}, of_classes = {0};
	uint64_t loader, next, klass;

	if (!hs_has(hs, HS_LOADER_KLASSES) || !hs_get(hs, 0, HS_LOADERS, &loader))
		return 0;
	while (loader && hs_get(hs, loader, HS_LOADER_NEXT, &next) && next) {
		if (loaders-- == 0 || is_circle(&of_loaders, next))
			return 0;
		loader = next;
	}
	if (!loader || !hs_get(hs, loader, HS_LOADER_KLASSES, &klass))
		return 0;
	while (klass && !hs_class_is(hs, klass, name))
		if (classes-- == 0 || is_circle(&of_classes, klass) ||
		    !hs_get(hs, klass, HS_KLASS_NEXT, &klass))
			return 0;
	return klass;
}

/* Adds the methods of a class. Only instance classes have methods: their layout is positive
 * (oops/klass.hpp). */
static bool class_walk(struct hs *hs, struct hs_methods *m, struct class_walk *w, uint64_t klass)
{
	uint64_t array, count, method, counters, code;
	int64_t layout;

	if (!hs_get_signed(hs, klass, HS_KLASS_LAYOUT, &layout))
		return false;
	if (layout <= 0)
		return true;
	/* A class that is being loaded has none yet. */
	if (!hs_get(hs, klass, HS_KLASS_METHODS, &array))
		return false;
	if (array == 0) {
		w->early = true;
		return true;
	}
	if (!hs_get(hs, array, HS_METHODS_LENGTH, &count) || count > PER_CLASS_MAX)
		return false;
	for (uint64_t i = 0; i < count; i++) {
		if (w->methods-- == 0 ||
		    !hs_mem_ptr(&hs->mem, hs_inside(hs, array, HS_METHODS_DATA) + i * 8, &method))
			return false;
		if (method == 0)
			continue;
		if (!hs_get(hs, method, HS_METHOD_COUNTERS, &counters) ||
		    !hs_get(hs, method, HS_METHOD_CODE, &code))
			return false;
		if ((counters || code || w->all) && !hs_methods_add(m, method))
			return false;
	}
	return true;
}

static bool has_all(const struct hs *hs, const enum hs_field_id *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!hs_has(hs, ids[i]))
			return false;
	return true;
}

/* Walks the classes from `klass` up to, but without, `stop`. */
static bool classes_walk(struct hs *hs, struct hs_methods *m, struct class_walk *w, uint64_t klass,
			 uint64_t stop)
{
	struct circle circle = {0};

	while (klass && klass != stop)
		if (w->classes-- == 0 || is_circle(&circle, klass) ||
		    !class_walk(hs, m, w, klass) || !hs_get(hs, klass, HS_KLASS_NEXT, &klass))
			return false;
	return true;
}

/* *loader becomes the next one. */
static bool loader_walk(struct hs *hs, struct hs_methods *m, struct class_walk *w, uint64_t *loader)
{
	uint64_t at = *loader, klass;
	struct hs_loader *known;

	if (w->known)
		loader_read_ahead(hs, w->known, at);
	if (!hs_get(hs, at, HS_LOADER_KLASSES, &klass) || !hs_get(hs, at, HS_LOADER_NEXT, loader))
		return false;
	known = w->known ? loader_find(hs, w->known, at, klass) : NULL;
	/* The list is full: a walk over all classes finds the rest. */
	if (w->of != HS_METHODS_OF_ALL && !known)
		return true;
	w->early = false;
	if (!classes_walk(hs, m, w, klass, w->of != HS_METHODS_OF_ALL ? known->klass : 0))
		return false;
	/* Otherwise they are walked again. */
	if (known && !w->early)
		loader_seen(hs, known, klass);
	return true;
}

/* JDK 9 and later: walks the classes of all loaders. */
static bool by_loaders(struct hs *hs, struct hs_methods *m, struct class_walk *w)
{
	struct circle circle = {0};
	uint64_t loader;

	if (!hs_get(hs, 0, HS_LOADERS, &loader))
		return false;
	if (w->known)
		loaders_begin(hs, w->known);
	while (loader && !(w->of == HS_METHODS_OF_NEW_LOADERS && loaders_copy_rest(w->known)))
		if (w->loaders-- == 0 || is_circle(&circle, loader) ||
		    !loader_walk(hs, m, w, &loader))
			return false;
	return true;
}

/* Moves to the next class of the tree: the first subclass, else the next sibling of the class or of
 * a superclass. 0 at the end. */
static bool tree_next(struct hs *hs, struct class_walk *w, uint64_t top, uint64_t *klass)
{
	uint64_t at = *klass, next;

	if (!hs_get(hs, at, HS_KLASS_SUBCLASS, &next))
		return false;
	while (!next && at != top) {
		if (w->classes-- == 0 || !hs_get(hs, at, HS_KLASS_SIBLING, &next) ||
		    (!next && !hs_get(hs, at, HS_KLASS_SUPER, &at)))
			return false;
	}
	*klass = next;
	return true;
}

/* JDK 8 exports no list of a loader's classes, but every class, also an interface or an anonymous
 * one, is a descendant of java.lang.Object (oops/klass.cpp, append_to_sibling_list). */
static bool by_tree(struct hs *hs, struct hs_methods *m, struct class_walk *w)
{
	struct circle circle = {0};
	uint64_t top, klass;

	if (!hs_get(hs, 0, HS_KLASS_OBJECT, &top))
		return false;
	for (klass = top; klass;)
		if (w->classes-- == 0 || is_circle(&circle, klass) ||
		    !class_walk(hs, m, w, klass) || !tree_next(hs, w, top, &klass))
			return false;
	return true;
}

bool hs_methods_walk(struct hs *hs, struct hs_methods *m, struct hs_loaders *known,
		     enum hs_methods_of of)
{
	static const enum hs_field_id methods[] = {HS_KLASS_LAYOUT,   HS_KLASS_METHODS,
						   HS_METHODS_LENGTH, HS_METHODS_DATA,
						   HS_METHOD_CODE,    HS_METHOD_COUNTERS};
	static const enum hs_field_id loaders[] = {HS_LOADERS, HS_LOADER_NEXT, HS_LOADER_KLASSES,
						   HS_KLASS_NEXT};
	static const enum hs_field_id tree[] = {HS_KLASS_OBJECT, HS_KLASS_SUPER, HS_KLASS_SUBCLASS,
						HS_KLASS_SIBLING};
	struct class_walk w = {LOADERS_MAX, CLASSES_MAX, METHODS_MAX, of != HS_METHODS_OF_ALL,
			       false,	    of,		 known};

	if (!has_all(hs, methods, sizeof(methods) / sizeof(*methods)))
		return false;
	if (of == HS_METHODS_OF_ALL)
		w.all = !hs_flag_is_set(hs, "UseCompiler");
	if (has_all(hs, loaders, sizeof(loaders) / sizeof(*loaders)))
		return by_loaders(hs, m, &w);
	/* The tree does not show which classes are new. */
	return of == HS_METHODS_OF_ALL && has_all(hs, tree, sizeof(tree) / sizeof(*tree)) &&
	       by_tree(hs, m, &w);
}

bool hs_loaders_due(struct hs_loaders *l, uint64_t now)
{
	l->gone |= l->kept < l->count[l->turn];
	return l->gone && now - l->listed >= HS_LOADERS_LIST_NS;
}

void hs_loaders_listed(struct hs_loaders *l, uint64_t now)
{
	l->gone = false;
	l->listed = now;
}

void hs_loaders_commit(struct hs_loaders *l)
{
	l->turn = !l->turn;
}

void hs_loaders_reset(struct hs_loaders *l)
{
	l->count[0] = 0;
	l->count[1] = 0;
}
