// SPDX-License-Identifier: Apache-2.0
/* Two profiles of any tools, each in pprof's format or folded text, merged with their containers as
 * roots, and drawn with times and labels: formats in JSON are valid. The first byte is the share of
 * the first. */
#include <jansson.h>

#include "calltree/samples.h"
#include "dfg/bytes.h"
#include "format/format.h"
#include "fuzz/fuzz.h"
#include "lib/drawn.h"
/* Fewer samples that are kept one by one, which would only fill the memory. */
#define KEPT_MAX 4096u
#include "format/pprof_read.c"

static bool add(struct profile *to, const void *p, size_t len, const char *root)
{
	struct profile part;
	struct graft how = {.kinds = GRAFT_TEXT};
	struct err err;
	uint32_t frame;
	bool read = true;

	profile_init(&part, true);
	frames_keep_places(stacks_frames(part.stacks));
	if (pprof_is(p, len))
		read = pprof_read(&part, p, len, EVENT_CPU, &err) == 0;
	else
		fold_read(part.stacks, p, len, &part.quality.samples);
	if (read) {
		frame = stacks_intern(to->stacks, root, strlen(root), FRAME_ROOT);
		how.under = stacks_add(to->stacks, &frame, 1, 0);
		profile_add(to, &part, &how);
	}
	profile_fini(&part);
	return read;
}

static void check(const struct profile *p)
{
	for (size_t i = 0; i < p->samples->count; i++)
		require(p->samples->list[i].node < stacks_node_count(p->stacks) &&
			p->samples->list[i].thread < p->samples->thread_count);
	for (size_t i = 0; i < p->samples->thread_count; i++)
		require(p->samples->threads[i].origin < p->samples->origin_count);
}

/* One format for each input: each takes as long as reading. */
static void draw(const struct profile *p, size_t which)
{
	static const struct {
		int (*draw)(const struct stacks *, const struct picture *, int, struct err *);
		bool is_json;
	} formats[] = {{draw_firefox, true},
		       {draw_speedscope, true},
		       {draw_json, true},
		       {draw_pprof, false},
		       {draw_html, false}};
	const struct picture picture = {.title = "fuzz", .subtitle = "", .details = p};
	CLEANUP(free) char *text = NULL;
	int fd = input_file(0, "", 0);
	json_t *json = NULL;
	struct err err;

	which %= ARRAY_LEN(formats);
	require(formats[which].draw(p->stacks, &picture, fd, &err) == 0);
	text = drawn_text(fd);
	if (formats[which].is_json)
		json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	require(json || !formats[which].is_json);
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile p;
	size_t first;

	if (!size)
		return 0;
	first = (size - 1) * data[0] / 256;
	profile_init(&p, true);
	frames_keep_places(stacks_frames(p.stacks));
	if (add(&p, data + 1, first, "a") && add(&p, data + 1 + first, size - 1 - first, "b")) {
		check(&p);
		stacks_sort(p.stacks);
		draw(&p, size);
	}
	profile_fini(&p);
	return 0;
}
