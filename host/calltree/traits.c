// SPDX-License-Identifier: Apache-2.0
#include "calltree/traits.h"

#include "common/str.h"

#define KNOWN (1 << 7) /* was found out */

struct traits *traits_new(const struct stacks *stacks, uint32_t stale)
{
	struct traits *t = xcalloc(1, sizeof(*t));

	t->stacks = stacks;
	t->stale = stale;
	return t;
}

void traits_free(struct traits *t)
{
	if (!t)
		return;
	free(t->list);
	free(t);
}

/* Where glibc and musl start a thread or a program. A C library without these symbols (stripped) is
 * taken for it too: it is at the outermost place for nothing else. */
static bool is_first(const char *name)
{
	static const char *const exact[] = {
		"start_thread",		 "clone",  "clone3",	   "__clone", "__clone3",
		"__GI___clone3",	 "_start", "thread_start", "start",   "_start_c",
		"__libc_start_call_main"};
	static const char *const starts[] = {"__libc_start_main", "[libc.so", "[libc-2.",
					     "[libpthread", "[ld-musl-"};

	for (size_t i = 0; i < ARRAY_LEN(exact); i++)
		if (strcmp(name, exact[i]) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (has_prefix(name, starts[i]))
			return true;
	return false;
}

static unsigned find_out(const struct traits *t, uint32_t frame)
{
	const struct frame *f = stacks_frame(t->stacks, frame);
	unsigned traits = KNOWN;

	if (frame_is_java(f->kind))
		traits |= TRAIT_JAVA;
	if (frame == t->stale)
		traits |= TRAIT_JAVA | TRAIT_STALE;
	if (f->kind == FRAME_UNKNOWN)
		traits |= TRAIT_UNKNOWN;
	if (frame_is_nameless(f))
		traits |= TRAIT_NAMELESS;
	if (is_first(f->name))
		traits |= TRAIT_FIRST;
	return traits;
}

unsigned traits_find(struct traits *t, uint32_t frame)
{
	if (frame >= t->count) {
		size_t count = stacks_frame_count(t->stacks) * 2;

		t->list = xrealloc(t->list, count, 1);
		memset(t->list + t->count, 0, count - t->count);
		t->count = count;
	}
	t->list[frame] = (uint8_t)find_out(t, frame);
	return t->list[frame];
}
