// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "layout.h"
#include "pack.h"
#include "page.h"
#include "palette.h"
#include "text.h"

#define TICK 100000 /* ns; times are told in these */

struct data {
	struct str *out;
	const struct page *page;
	const struct stacks *stacks;
	const struct samples *samples; /* NULL: none are told */
	struct layout layout;	       /* the nodes that are told, in preorder */
	uint32_t *number;	       /* by node: which of these it is, or is below */
	uint32_t *place;	       /* by frame: its place in `places`, once it has one */
	uint32_t *places;	       /* the frames in use, sorted */
	size_t place_count;
	struct str left_out; /* JSON texts */
};

/* ---- what is told ---- */

static void say_left_out(struct data *d, const char *text)
{
	if (d->left_out.len)
		str_addc(&d->left_out, ',');
	text_json(&d->left_out, text, strlen(text));
}

static void choose_stacks(struct data *d)
{
	const struct profile *details = d->page->details;

	d->stacks = d->page->stacks;
	if (!details)
		return;
	d->samples = details->samples && details->samples->count ? details->samples : NULL;
	if (stacks_node_count(details->stacks) <= PAGE_NODES_MOST)
		d->stacks = details->stacks;
	else
		say_left_out(d, "Source lines: there are too many different stacks.");
	if (d->samples && d->samples->count > PAGE_SAMPLES_MOST) {
		d->samples = NULL;
		say_left_out(d, "Times and thread numbers: there are more than 2 000 000 samples.");
	}
}

static void choose_nodes(struct data *d)
{
	uint64_t narrowest = 0;
	CLEANUP(str_fini) struct str text = {0};

	layout_make(&d->layout, d->stacks, narrowest);
	for (uint64_t least = 2; d->layout.count > PAGE_NODES_MOST; least *= 2) {
		narrowest = d->layout.total / least;
		layout_fini(&d->layout);
		layout_make(&d->layout, d->stacks, narrowest ? narrowest : 1);
	}
	if (narrowest) {
		str_addf(&text, "Frames with less than 1/%llu of all samples.",
			 (unsigned long long)narrowest);
		say_left_out(d, text.buf);
	}
}

static void number_nodes(struct data *d)
{
	size_t count = stacks_node_count(d->stacks);

	d->number = xcalloc(count, sizeof(*d->number));
	for (size_t i = 1; i < d->layout.count; i++)
		d->number[d->layout.boxes[i].node] = (uint32_t)i;
	/* A parent comes before its children: one pass finds who is left of those left out. */
	for (size_t i = 1; i < count; i++)
		if (d->number[i] == 0)
			d->number[i] = d->number[stacks_node(d->stacks, (uint32_t)i)->parent];
}

/* By name, kind, file and line: the order in which the page shows siblings. */
static int place_compare(const void *one, const void *other, void *arg)
{
	const struct data *d = arg;
	const struct frame *a = stacks_frame(d->stacks, *(const uint32_t *)one);
	const struct frame *b = stacks_frame(d->stacks, *(const uint32_t *)other);
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

static void sort_places(struct data *d)
{
	size_t frames = stacks_frame_count(d->stacks);

	d->place = xcalloc(frames, sizeof(*d->place));
	d->places = xcalloc(frames, sizeof(*d->places));
	for (size_t i = 1; i < d->layout.count; i++) {
		uint32_t frame = stacks_node(d->stacks, d->layout.boxes[i].node)->frame;

		if (d->place[frame]++ == 0)
			d->places[d->place_count++] = frame;
	}
	qsort_r(d->places, d->place_count, sizeof(*d->places), place_compare, d);
	for (size_t i = 0; i < d->place_count; i++)
		d->place[d->places[i]] = (uint32_t)i;
}

/* ---- the object's members ---- */

/* A comma, but before the first of an object or list. */
static void add_comma(struct str *out)
{
	if (!strchr("{[", out->buf[out->len - 1]))
		str_adds(out, ",\n");
}

static void add_member(struct str *out, const char *name)
{
	add_comma(out);
	str_addf(out, "\"%s\":", name);
}

static void add_text(struct str *out, const char *name, const char *text)
{
	add_member(out, name);
	text_json(out, text, strlen(text));
}

static void add_packed(struct data *d, const char *name, struct str *bytes)
{
	add_member(d->out, name);
	str_addc(d->out, '"');
	pack_text(d->out, bytes);
	str_addc(d->out, '"');
	str_clear(bytes);
}

static void add_kinds(struct data *d)
{
	add_member(d->out, "kinds");
	str_addc(d->out, '[');
	for (int i = 0; i < FRAME_KINDS; i++) {
		const struct kind_look *look = palette_look((enum frame_kind)i);
		const char letter[] = {look->letter, '\0'};

		add_comma(d->out);
		str_addc(d->out, '{');
		add_text(d->out, "letter", letter);
		add_text(d->out, "label", look->label);
		add_text(d->out, "about", look->about);
		add_member(d->out, "colour");
		str_addu(d->out,
			 palette_colour((enum frame_kind)i, look->label, strlen(look->label)));
		str_addc(d->out, '}');
	}
	str_addc(d->out, ']');
}

static void add_head(struct data *d)
{
	add_text(d->out, "title", d->page->title);
	add_text(d->out, "subtitle", d->page->subtitle);
	add_text(d->out, "quality", d->page->quality);
	add_member(d->out, "left_out");
	str_addf(d->out, "[%s]", d->left_out.len ? d->left_out.buf : "");
	add_kinds(d);
	if (d->page->difference) {
		add_member(d->out, "z");
		str_addf(d->out, "%g", DIFFERENCE_Z);
	}
}

/* Names, and frames as pairs of a name and a kind, each once: the places are sorted by them. */
static void add_frames(struct data *d)
{
	CLEANUP(str_fini) struct str names = {0}, kinds = {0}, colours = {0};
	CLEANUP(str_fini) struct str frames = {0}, lines = {0}, modules = {0};
	const struct frame *last = NULL;

	add_member(d->out, "names");
	str_addc(d->out, '[');
	for (size_t i = 0; i < d->place_count; i++) {
		const struct frame *f = stacks_frame(d->stacks, d->places[i]);
		bool same_name =
			last && last->len == f->len && memcmp(last->name, f->name, f->len) == 0;
		bool same = same_name && last->kind == f->kind;

		if (!same_name) {
			add_comma(d->out);
			text_json(d->out, f->name, f->len);
		}
		if (!same) {
			uint32_t rgb = palette_colour(f->kind, f->name, f->len);

			pack_number(&names, !same_name);
			pack_number(&kinds, (uint64_t)f->kind);
			for (int shift = 16; shift >= 0; shift -= 8)
				str_addc(&colours, (char)(rgb >> shift));
		}
		pack_number(&frames, !same);
		pack_number(&lines, f->line);
		pack_number(&modules, f->module);
		last = f;
	}
	str_addc(d->out, ']');
	add_member(d->out, "frames");
	str_addc(d->out, '{');
	add_packed(d, "name", &names);
	add_packed(d, "kind", &kinds);
	add_packed(d, "colour", &colours);
	str_addc(d->out, '}');
	add_member(d->out, "places");
	str_addc(d->out, '{');
	add_packed(d, "frame", &frames);
	add_packed(d, "line", &lines);
	add_packed(d, "module", &modules);
	str_addc(d->out, '}');
}

static void add_modules(struct data *d)
{
	const struct frames *frames = stacks_frames(d->stacks);

	add_member(d->out, "modules");
	str_addc(d->out, '[');
	for (size_t i = 0; i < frames_module_count(frames); i++) {
		const char *path = frames_module(frames, (uint32_t)i);

		add_comma(d->out);
		text_json(d->out, path, strlen(path));
	}
	str_addc(d->out, ']');
}

/* Samples that end in each node, from those in it and below it (by node of the tree). */
static void add_self(struct data *d, const char *name, const uint64_t *totals)
{
	CLEANUP(str_fini) struct str bytes = {0};
	CLEANUP(free) uint64_t *self = xcalloc(d->layout.count, sizeof(*self));
	CLEANUP(free) size_t *path = xcalloc((size_t)d->layout.rows + 1, sizeof(*path));

	for (size_t i = 0; i < d->layout.count; i++) {
		const struct box *b = &d->layout.boxes[i];

		self[i] = totals[b->node];
		path[b->depth] = i;
		if (i)
			self[path[b->depth - 1]] -= totals[b->node];
	}
	for (size_t i = 0; i < d->layout.count; i++)
		pack_number(&bytes, self[i]);
	add_packed(d, name, &bytes);
}

/* In preorder: how many levels up from the node before its parent is, its place, its samples. */
static void add_nodes(struct data *d)
{
	CLEANUP(str_fini) struct str ups = {0}, places = {0};
	CLEANUP(free) uint64_t *totals = NULL;

	for (size_t i = 1; i < d->layout.count; i++) {
		const struct box *b = &d->layout.boxes[i];

		pack_number(&ups, d->layout.boxes[i - 1].depth + 1 - b->depth);
		pack_number(&places, d->place[stacks_node(d->stacks, b->node)->frame]);
	}
	add_member(d->out, "nodes");
	str_addc(d->out, '{');
	add_packed(d, "up", &ups);
	add_packed(d, "place", &places);
	if (d->page->difference) {
		add_self(d, "before", d->page->difference->before.total);
		add_self(d, "self", d->page->difference->after.total);
	} else {
		totals = stacks_totals(d->stacks);
		add_self(d, "self", totals);
	}
	str_addc(d->out, '}');
}

static uint32_t node_of(const struct data *d, const struct sample *s)
{
	uint32_t node = s->node;

	return d->number[d->stacks == d->page->details->stacks ? node : d->page->nodes[node]];
}

static void add_samples(struct data *d)
{
	CLEANUP(str_fini) struct str times = {0}, nodes = {0}, threads = {0};
	int64_t last = 0;

	for (size_t i = 0; i < d->samples->count; i++) {
		const struct sample *s = &d->samples->list[i];
		int64_t time = (int64_t)(s->time / TICK);

		pack_signed(&times, time - last);
		pack_number(&nodes, node_of(d, s));
		pack_number(&threads, s->thread);
		last = time;
	}
	add_member(d->out, "samples");
	str_addf(d->out, "{\"tick\":%g", TICK / 1e9);
	add_packed(d, "time", &times);
	add_packed(d, "node", &nodes);
	add_packed(d, "thread", &threads);
	str_addc(d->out, '}');
}

static void add_threads(struct data *d)
{
	add_member(d->out, "threads");
	str_addc(d->out, '[');
	for (size_t i = 0; i < d->samples->thread_count; i++) {
		const struct sample_thread *t = &d->samples->threads[i];

		add_comma(d->out);
		str_addf(d->out, "[%d,%d,%u]", (int)t->pid, (int)t->tid, t->origin);
	}
	str_addc(d->out, ']');
	add_member(d->out, "origins");
	str_addc(d->out, '[');
	for (size_t i = 0; i < d->samples->origin_count; i++) {
		const struct origin *o = &d->samples->origins[i];

		add_comma(d->out);
		str_addc(d->out, '{');
		add_text(d->out, "container", o->container);
		add_text(d->out, "id", o->id);
		add_text(d->out, "started", o->started);
		str_addc(d->out, '}');
	}
	str_addc(d->out, ']');
}

void page_data(struct str *out, const struct page *page)
{
	struct data d = {.out = out, .page = page};

	choose_stacks(&d);
	choose_nodes(&d);
	number_nodes(&d);
	sort_places(&d);
	str_addc(d.out, '{');
	add_head(&d);
	add_frames(&d);
	add_modules(&d);
	add_nodes(&d);
	if (d.samples) {
		add_samples(&d);
		add_threads(&d);
	}
	str_addc(d.out, '}');
	layout_fini(&d.layout);
	free(d.number);
	free(d.place);
	free(d.places);
	str_fini(&d.left_out);
}
