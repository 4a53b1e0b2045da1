// SPDX-License-Identifier: Apache-2.0
/* A call tree as dfg-top gets it, and the profile of a session: what is taken can be shown
 * in all ways, and its names are clean. */
#include "top/window.h"

#include "calltree/view.h"
#include "fuzz/fuzz.h"
#include "lib/drawn.h"
#include "top/calls.h"

static void show(const struct stacks *s)
{
	const struct lens lens = {.filter = "a"};
	CLEANUP(view_fini) struct view v = {0};
	CLEANUP(free) char *folded = NULL;
	struct stacks *seen = lens_stacks(s, &lens);

	view_make(s, &lens, &v);
	for (size_t i = 0; i < v.row_count && i < 3; i++) {
		CLEANUP(calls_fini) struct calls c = {0};

		calls_make(s, &lens, v.rows[i].name, v.rows[i].kind, 100, &c);
		if (strchr(v.rows[i].name, '\033') || c.total != v.rows[i].total)
			abort();
	}
	stacks_sort(seen);
	folded = drawn_folded(seen);
	stacks_free(seen);
}

/* The same bytes as a whole profile. */
static void read_profile(const uint8_t *data, size_t size)
{
	static const struct origin none = {"", "", "", "", "", ""};
	struct profile p;
	struct err err;

	profile_init(&p, true);
	if (tree_read_profile(data, size, samples_add_origin(p.samples, &none), &p, &err) == 0) {
		CLEANUP(free) struct wall_list *list = xcalloc(1, sizeof(*list));

		wall_list_make(&p.wall, p.stacks, list);
		show(p.stacks);
	}
	profile_fini(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stacks *s = stacks_new();
	struct err err;

	frames_keep_places(stacks_frames(s));
	if (tree_read(data, size, NULL, s, &err) == 0)
		show(s);
	stacks_free(s);
	read_profile(data, size);
	return 0;
}
