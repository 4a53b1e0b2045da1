// SPDX-License-Identifier: Apache-2.0
#include "format/html.h"

#include "format/text.h"

static void add_left_out(struct page_extract *e, const char *text)
{
	if (e->left_out.len)
		str_addc(&e->left_out, ',');
	text_json(&e->left_out, text, strlen(text));
}

static void choose_stacks(struct page_extract *e, const struct page *page)
{
	const struct profile *details = page->details;

	e->stacks = page->stacks;
	if (!details)
		return;
	e->samples = details->samples && details->samples->count ? details->samples : NULL;
	if (stacks_node_count(details->stacks) <= PAGE_NODES_MOST)
		e->stacks = details->stacks;
	else
		add_left_out(e, "Source lines: there are too many different stacks.");
	if (e->samples && e->samples->count > PAGE_SAMPLES_MOST) {
		e->samples = NULL;
		add_left_out(e, "Times and thread numbers: there are more than 2,000,000 samples.");
	}
}

static void choose_nodes(struct page_extract *e, const char *unit)
{
	uint64_t narrowest = 0;
	CLEANUP(str_fini) struct str text = {0};

	layout_make(&e->layout, e->stacks, narrowest);
	for (uint64_t least = 2; e->layout.count > PAGE_NODES_MOST; least *= 2) {
		narrowest = e->layout.total / least;
		layout_fini(&e->layout);
		layout_make(&e->layout, e->stacks, narrowest ? narrowest : 1);
	}
	if (narrowest) {
		str_adds(&text, "Frames with fewer than ");
		text_amount(&text, (e->layout.total + narrowest - 1) / narrowest, unit);
		str_adds(&text, ": there are too many.");
		add_left_out(e, text.buf);
	}
}

static void number_nodes(struct page_extract *e)
{
	size_t count = stacks_node_count(e->stacks);

	e->number = xcalloc(count, sizeof(*e->number));
	for (size_t i = 1; i < e->layout.count; i++)
		e->number[e->layout.boxes[i].node] = (uint32_t)i;
	/* Parents come before their children: one pass finds the ancestor of a node left out. */
	for (size_t i = 1; i < count; i++)
		if (e->number[i] == 0)
			e->number[i] = e->number[stacks_node(e->stacks, (uint32_t)i)->parent];
}

/* Compares by name, kind, file and line, the order in which the page shows siblings. */
static int place_compare(const void *one, const void *other, void *arg)
{
	const struct page_extract *e = arg;
	const struct frame *a = stacks_frame(e->stacks, *(const uint32_t *)one);
	const struct frame *b = stacks_frame(e->stacks, *(const uint32_t *)other);
	size_t len = a->len < b->len ? a->len : b->len;
	int c = a->name == b->name ? 0 : memcmp(a->name, b->name, len);

	if (c)
		return c;
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

static void sort_places(struct page_extract *e)
{
	size_t frames = stacks_frame_count(e->stacks);

	e->place = xcalloc(frames, sizeof(*e->place));
	e->places = xcalloc(frames, sizeof(*e->places));
	for (size_t i = 1; i < e->layout.count; i++) {
		uint32_t frame = stacks_node(e->stacks, e->layout.boxes[i].node)->frame;

		if (e->place[frame]++ == 0)
			e->places[e->place_count++] = frame;
	}
	qsort_r(e->places, e->place_count, sizeof(*e->places), place_compare, e);
	for (size_t i = 0; i < e->place_count; i++)
		e->place[e->places[i]] = (uint32_t)i;
}

void page_extract_make(struct page_extract *e, const struct page *page)
{
	*e = (struct page_extract){0};
	choose_stacks(e, page);
	choose_nodes(e, page->unit);
	number_nodes(e);
	sort_places(e);
}

void page_extract_fini(struct page_extract *e)
{
	layout_fini(&e->layout);
	free(e->number);
	free(e->place);
	free(e->places);
	str_fini(&e->left_out);
}
