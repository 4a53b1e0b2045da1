// SPDX-License-Identifier: Apache-2.0
#include "hotspot/methods.h"

#include "hotspot/flags.h"

#define LOADERS_MAX   (1u << 18)
#define CLASSES_MAX   (1u << 20)
#define METHODS_MAX   (1u << 23) /* looked at */
#define PER_CLASS_MAX 65535u

struct walk {
	unsigned loaders, classes, methods; /* still allowed */
	bool all;			    /* the JVM does not count: all methods may have run */
	bool early;			    /* a class was met that has no methods yet */
	enum hs_methods_of of;
	struct hs_loaders *known; /* NULL: nothing is remembered */
};

void hs_methods_init(struct hs_methods *m)
{
	m->count = 0;
	for (size_t i = 0; i < HS_METHODS_SLOTS; i++)
		m->slot[i] = 0;
}

uint64_t *hs_methods_slot(struct hs_methods *m, uint64_t method)
{
	uint32_t i = (uint32_t)(((method >> 3) * 0x9e3779b97f4a7c15ull) >> 47);

	/* Method is aligned to words. */
	if (method == 0 || (method & 7) != 0)
		return NULL;
	while (m->slot[i] && (m->slot[i] & ~7ull) != method)
		i = (i + 1) % HS_METHODS_SLOTS;
	if (!m->slot[i]) {
		if (m->count == HS_METHODS_MAX)
			return NULL;
		m->order[m->count++] = i;
		m->slot[i] = method;
	}
	return &m->slot[i];
}

_Static_assert(HS_METHODS_SLOTS == 1u << (64 - 47), "the hash has as many bits as there are slots");

/* Only instance classes have methods: their layout is positive (oops/klass.hpp), or 0 to be told
 * apart by nothing that is exported; then a field that is no array of methods reads as one that is
 * empty or out of bounds. */
static bool class_walk(struct hs *hs, struct hs_methods *m, struct walk *w, uint64_t klass)
{
	uint64_t array, count, method, counters, code;
	int64_t layout;

	if (!hs_get_signed(hs, klass, HS_KLASS_LAYOUT, &layout))
		return false;
	if (layout <= 0)
		return true;
	/* Not yet there in a class that is being loaded. */
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
		if ((counters || code || w->all) && !hs_methods_slot(m, method))
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

/* The classes from `klass` up to, and without, `stop`. */
static bool classes_walk(struct hs *hs, struct hs_methods *m, struct walk *w, uint64_t klass,
			 uint64_t stop)
{
	while (klass && klass != stop)
		if (w->classes-- == 0 || !class_walk(hs, m, w, klass) ||
		    !hs_get(hs, klass, HS_KLASS_NEXT, &klass))
			return false;
	return true;
}

/* *loader becomes the next one. */
static bool loader_walk(struct hs *hs, struct hs_methods *m, struct walk *w, uint64_t *loader)
{
	uint64_t at = *loader, klass;
	struct hs_loader *known;

	if (w->known)
		hs_loaders_show(hs, w->known, at);
	if (!hs_get(hs, at, HS_LOADER_KLASSES, &klass) || !hs_get(hs, at, HS_LOADER_NEXT, loader))
		return false;
	known = w->known ? hs_loaders_find(hs, w->known, at, klass) : NULL;
	/* One too many: its classes are found by a walk over all. */
	if (w->of != HS_METHODS_OF_ALL && !known)
		return true;
	w->early = false;
	if (!classes_walk(hs, m, w, klass, w->of != HS_METHODS_OF_ALL ? known->klass : 0))
		return false;
	/* Else they are looked at once more. */
	if (known && !w->early)
		hs_loaders_seen(hs, known, klass);
	return true;
}

/* JDK 9 and later: the classes of all loaders. */
static bool by_loaders(struct hs *hs, struct hs_methods *m, struct walk *w)
{
	uint64_t loader;

	if (!hs_get(hs, 0, HS_LOADERS, &loader))
		return false;
	if (w->known)
		hs_loaders_begin(hs, w->known);
	while (loader && !(w->of == HS_METHODS_OF_NEW_LOADERS && hs_loaders_rest(w->known)))
		if (w->loaders-- == 0 || !loader_walk(hs, m, w, &loader))
			return false;
	return true;
}

/* The class behind one in the tree of classes: below it, else beside it or beside one above it. 0
 * at the end. */
static bool tree_next(struct hs *hs, struct walk *w, uint64_t top, uint64_t *klass)
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

/* JDK 8 tells no loader's classes, but every class, an interface or an anonymous one, too, has its
 * place below java.lang.Object (oops/klass.cpp, append_to_sibling_list). */
static bool by_tree(struct hs *hs, struct hs_methods *m, struct walk *w)
{
	uint64_t top, klass;

	if (!hs_get(hs, 0, HS_KLASS_OBJECT, &top))
		return false;
	for (klass = top; klass;)
		if (w->classes-- == 0 || !class_walk(hs, m, w, klass) ||
		    !tree_next(hs, w, top, &klass))
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
	struct walk w = {LOADERS_MAX, CLASSES_MAX, METHODS_MAX, of != HS_METHODS_OF_ALL,
			 false,	      of,	   known};
	uint64_t at;
	uint8_t compiles;

	if (!has_all(hs, methods, sizeof(methods) / sizeof(*methods)))
		return false;
	if (of == HS_METHODS_OF_ALL)
		w.all = !hs_flag(hs, "UseCompiler", &at, &compiles) || compiles == 0;
	if (has_all(hs, loaders, sizeof(loaders) / sizeof(*loaders)))
		return by_loaders(hs, m, &w);
	/* The tree does not tell what came since. */
	return of == HS_METHODS_OF_ALL && has_all(hs, tree, sizeof(tree) / sizeof(*tree)) &&
	       by_tree(hs, m, &w);
}
