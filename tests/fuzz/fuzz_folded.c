// SPDX-License-Identifier: Apache-2.0
/* Folded text from anywhere: what is read can be drawn, and what is written reads as the same; and
 * the difference of it and its first half can be drawn. */
#include "calltree/difference.h"
#include "fuzz/fuzz.h"
#include "lib/drawn.h"

static void compare(const struct stacks *all, const uint8_t *data, size_t size)
{
	const struct difference_picture p = {
		.title = "all", .subtitle = "half", .normalize = size & 1};
	CLEANUP(stacks_free) struct stacks *half = stacks_new();
	CLEANUP(close_fd) int fd = memfd_create("difference", MFD_CLOEXEC);
	struct difference d;
	struct err err;

	fold_read(half, (const char *)data, size / 2, NULL);
	difference_make(&d, half, all, size & 2);
	for (size_t i = 0; i < d.method_count; i++) {
		const struct difference_method *m = &d.methods[i];

		if (m->self.counts.after > m->total.counts.after ||
		    m->total.counts.after > d.after.samples ||
		    m->via[MEASURE_SHARE] > d.method_count || !(d.by[0].least_z >= DIFFERENCE_Z))
			abort();
	}
	if (draw_difference_svg(&d, &p, fd, &err) < 0 ||
	    draw_difference_folded(&d, &p, fd, &err) < 0)
		abort();
	difference_fini(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct picture p = {.title = "fuzz", .subtitle = "", .quality.samples = size};
	struct stacks *s = stacks_new(), *again;
	CLEANUP(free) char *first = NULL;
	CLEANUP(free) char *second = NULL;
	CLEANUP(free) char *svg = NULL;

	fold_read(s, (const char *)data, size, NULL);
	stacks_sort(s);
	first = drawn_folded(s);
	again = stacks_of(first);
	second = drawn_folded(again);
	svg = drawn_svg(s, &p);
	if (strcmp(first, second) != 0 || !strstr(svg, "</svg>\n"))
		abort();
	compare(s, data, size);
	stacks_free(again);
	stacks_free(s);
	return 0;
}
