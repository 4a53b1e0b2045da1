// SPDX-License-Identifier: Apache-2.0
/* Draws folded text for the tests: draw svg|folded [TITLE [SUBTITLE [QUALITY]]] <IN >OUT, with
 * QUALITY the numbers of struct quality behind `samples`, divided by commas. */
#include <stdio.h>
#include <string.h>

#include "dfg/fs.h"
#include "draw.h"
#include "fold.h"

static void quality_parse(struct quality *q, const char *text)
{
	uint64_t *numbers[] = {&q->lost,	   &q->java_samples, &q->java_complete, &q->frames,
			       &q->frames_unknown, &q->truncated,    &q->stale};
	CLEANUP(free) char *copy = xstrdup(text);
	char *rest = copy;

	for (size_t i = 0; i < ARRAY_LEN(numbers) && rest; i++) {
		const char *number = strsep(&rest, ",");

		if (!parse_u64(number, numbers[i]))
			fprintf(stderr, "draw: bad number: %s\n", number);
	}
}

int main(int argc, char **argv)
{
	struct picture p = {.title = argc > 2 ? argv[2] : "Test",
			    .subtitle = argc > 3 ? argv[3] : ""};
	CLEANUP(str_fini) struct str text = {0};
	struct stacks *s = stacks_new();
	uint64_t *totals;
	struct err err;
	int ret;

	if (argc < 2 || fs_read_all(STDIN_FILENO, (size_t)1 << 30, &text, &err) < 0)
		return 2;
	if (fold_read(s, text.buf, text.len))
		fprintf(stderr, "draw: some lines were left out\n");
	stacks_sort(s);
	totals = stacks_totals(s);
	p.quality.samples = totals[0];
	if (argc > 4)
		quality_parse(&p.quality, argv[4]);
	ret = strcmp(argv[1], "svg") == 0 ? draw_svg(s, &p, STDOUT_FILENO, &err)
					  : draw_folded(s, STDOUT_FILENO, &err);
	if (ret < 0)
		fprintf(stderr, "draw: %s\n", err.msg);
	free(totals);
	stacks_free(s);
	return ret < 0;
}
