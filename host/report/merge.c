// SPDX-License-Identifier: Apache-2.0
#include "report/merge.h"

#include "common/str.h"

int roots_parse(const char *list, unsigned *ret, struct err *err)
{
	static const struct {
		const char *list;
		unsigned roots;
	} known[] = {
		{"container,pool", ROOT_CONTAINER | ROOT_POOL},
		{"container,thread", ROOT_CONTAINER | ROOT_THREAD},
		{"container", ROOT_CONTAINER},
		{"pool", ROOT_POOL},
		{"thread", ROOT_THREAD},
		{"none", ROOT_NONE},
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(known[i].list, list)) {
			*ret = known[i].roots | (*ret & ROOT_FULL);
			return 0;
		}
	return err_set(err, 0,
		       "--by %s: must be pool, thread, container, container,pool, "
		       "container,thread or none",
		       list);
}

const char *roots_threads(unsigned roots)
{
	return roots & ROOT_POOL ? "pool" : roots & ROOT_THREAD ? "name" : "merged";
}

/* Returns the node of the input's container; 0: the stacks have none. */
static uint32_t root_of(struct stacks *s, const struct input *in, unsigned roots)
{
	CLEANUP(free) char *name = NULL;
	uint32_t frame;

	if (!(roots & ROOT_CONTAINER))
		return 0;
	name = xstrdup(input_name(in));
	for (char *p = name; (p = strpbrk(p, ";\n"));)
		*p = ':';
	frame = stacks_intern(s, name, strlen(name), FRAME_ROOT);
	return stacks_add(s, &frame, 1, 0);
}

/* Folded text has less of a frame's kind than a recording: if both are merged, kinds are reduced to
 * those of text. */
static enum graft_kinds kinds_of(const struct input *in, size_t n)
{
	for (size_t i = 0; i < n && n > 1; i++)
		if (in[i].is_text)
			return GRAFT_TEXT;
	return GRAFT_EXACT;
}

static struct graft graft_of(unsigned roots, enum graft_kinds kinds)
{
	return (struct graft){.skip_first = !(roots & (ROOT_THREAD | ROOT_POOL)),
			      .pools = roots & ROOT_POOL,
			      .fold_start = !(roots & ROOT_FULL),
			      .kinds = kinds};
}

/* Reads an input on its own and adds it under its root, with the kinds of all. */
static int gather_apart(struct reading *r, const struct input *in, unsigned roots,
			enum graft_kinds kinds, struct gathered *g, struct err *err)
{
	struct stacks *to = g->rooted ? g->rooted : g->profile.stacks;
	struct graft how = graft_of(roots, kinds);
	struct graft as_is = {.kinds = kinds};
	struct profile part;
	int rc;

	profile_init(&part, g->profile.samples != NULL);
	rc = reading_next(r, &part, &g->skipped, err);
	if (rc == 0) {
		how.under = root_of(to, in, roots);
		profile_add(&g->profile, &part, g->rooted ? &as_is : &how);
		rc = input_check_count(in, &g->profile, err);
		if (g->rooted)
			stacks_graft(g->rooted, part.stacks, &how, NULL);
	}
	profile_fini(&part);
	return rc;
}

/* Reads inputs straight into the profile; the roots are those of threads or pools. */
static int gather_together(struct reading *r, size_t n, unsigned roots, struct gathered *g,
			   struct err *err)
{
	struct graft how = graft_of(roots, GRAFT_EXACT);

	for (size_t i = 0; i < n; i++)
		if (reading_next(r, &g->profile, &g->skipped, err) < 0)
			return -1;
	if (g->rooted)
		stacks_graft(g->rooted, g->profile.stacks, &how, NULL);
	return 0;
}

int gather(struct reading *r, size_t n, unsigned roots, bool details, struct gathered *ret,
	   struct err *err)
{
	const struct input *in = reading_inputs(r)->list + reading_at(r);
	enum graft_kinds kinds = kinds_of(in, n);
	bool rooted = roots != (ROOT_THREAD | ROOT_FULL);
	int rc = 0;

	*ret = (struct gathered){.rooted = rooted && details ? stacks_new() : NULL};
	profile_init(&ret->profile, details);
	if (kinds == GRAFT_EXACT && !(roots & ROOT_CONTAINER) && (details || !rooted))
		return gather_together(r, n, roots, ret, err);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = gather_apart(r, &in[i], roots, kinds, ret, err);
	return rc;
}

void gathered_fini(struct gathered *g)
{
	stacks_free(g->rooted);
	profile_fini(&g->profile);
}
