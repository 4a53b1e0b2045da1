// SPDX-License-Identifier: Apache-2.0
/* Folded text from anywhere: what is read can be drawn, and what is written reads as the same. */
#include <fcntl.h>

#include "drawn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct picture p = {.title = "fuzz", .subtitle = "", .quality.samples = size};
	struct stacks *s = stacks_new(), *again;
	CLEANUP(free) char *first = NULL;
	CLEANUP(free) char *second = NULL;
	CLEANUP(free) char *svg = NULL;

	fold_read(s, (const char *)data, size);
	stacks_sort(s);
	first = drawn_folded(s);
	again = stacks_of(first);
	second = drawn_folded(again);
	svg = drawn_svg(s, &p);
	if (strcmp(first, second) != 0 || !strstr(svg, "</svg>\n"))
		abort();
	stacks_free(again);
	stacks_free(s);
	return 0;
}
