// SPDX-License-Identifier: Apache-2.0
/* Draws folded text or pprof for the tests: draw FORMAT [TITLE [SUBTITLE [QUALITY]]] <IN >OUT, as
 * if recorded for 10 s at 100 Hz; QUALITY: the numbers of struct quality after `samples`, divided
 * by commas. */
#include <stdio.h>
#include <string.h>

#include "common/fs.h"
#include "format/format.h"
#include "report/formats.h"

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

static int load(struct profile *p, const struct str *text, struct err *err)
{
	if (pprof_is(text->buf, text->len))
		return pprof_read(p, text->buf, text->len, EVENT_CPU, err);
	if (fold_read(p->stacks, text->buf, text->len, NULL))
		fprintf(stderr, "draw: some lines were left out\n");
	return 0;
}

static int draw(const struct format *f, struct profile *profile, struct picture *p, struct err *err)
{
	CLEANUP(free) uint32_t *nodes = NULL;
	struct stacks *plain = stacks_plain(profile->stacks, &nodes);
	int rc;

	stacks_sort(plain);
	p->nodes = nodes;
	rc = f->draw(plain, p, STDOUT_FILENO, err);
	stacks_free(plain);
	return rc;
}

int main(int argc, char **argv)
{
	struct picture p = {.title = argc > 2 ? argv[2] : "Test",
			    .subtitle = argc > 3 ? argv[3] : "",
			    .threads = "name",
			    .frequency = 100,
			    .duration = 10};
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(free) uint64_t *totals = NULL;
	struct format_set set;
	struct profile profile;
	struct err err;
	int ret;

	if (argc < 2 || formats_parse(argv[1], &set, &err) < 0 ||
	    fs_read_all(STDIN_FILENO, (size_t)1 << 30, &text, &err) < 0)
		return 2;
	profile_init(&profile, formats_take_details(&set));
	ret = load(&profile, &text, &err);
	totals = stacks_totals(profile.stacks);
	p.quality.samples = totals[0];
	p.details = profile.samples ? &profile : NULL;
	if (argc > 4)
		quality_parse(&p.quality, argv[4]);
	if (ret == 0)
		ret = draw(set.list[0], &profile, &p, &err);
	if (ret < 0)
		fprintf(stderr, "draw: %s\n", err.msg);
	profile_fini(&profile);
	return ret < 0;
}
