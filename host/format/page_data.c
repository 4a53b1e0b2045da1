// SPDX-License-Identifier: Apache-2.0
#include "format/pack.h"
#include "format/page_extract.h"
#include "format/palette.h"
#include "format/text.h"
#include "session/session.h"

#define TICK 100000 /* ns; times are told in these */

struct data {
	struct str *out;
	const struct page *page;
	struct page_extract extract;
};

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
	str_addf(d->out, "[%s]", d->extract.left_out.len ? d->extract.left_out.buf : "");
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
	for (size_t i = 0; i < d->extract.place_count; i++) {
		const struct frame *f = stacks_frame(d->extract.stacks, d->extract.places[i]);
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
	const struct frames *frames = stacks_frames(d->extract.stacks);

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
	CLEANUP(free) uint64_t *self = xcalloc(d->extract.layout.count, sizeof(*self));
	CLEANUP(free) size_t *path = xcalloc((size_t)d->extract.layout.rows + 1, sizeof(*path));

	for (size_t i = 0; i < d->extract.layout.count; i++) {
		const struct box *b = &d->extract.layout.boxes[i];

		self[i] = totals[b->node];
		path[b->depth] = i;
		if (i)
			self[path[b->depth - 1]] -= totals[b->node];
	}
	for (size_t i = 0; i < d->extract.layout.count; i++)
		pack_number(&bytes, self[i]);
	add_packed(d, name, &bytes);
}

/* In preorder: how many levels up from the node before its parent is, its place, its samples. */
static void add_nodes(struct data *d)
{
	CLEANUP(str_fini) struct str ups = {0}, places = {0};
	CLEANUP(free) uint64_t *totals = NULL;

	for (size_t i = 1; i < d->extract.layout.count; i++) {
		const struct box *b = &d->extract.layout.boxes[i];

		pack_number(&ups, d->extract.layout.boxes[i - 1].depth + 1 - b->depth);
		pack_number(&places,
			    d->extract.place[stacks_node(d->extract.stacks, b->node)->frame]);
	}
	add_member(d->out, "nodes");
	str_addc(d->out, '{');
	add_packed(d, "up", &ups);
	add_packed(d, "place", &places);
	if (d->page->difference) {
		add_self(d, "before", d->page->difference->before.total);
		add_self(d, "self", d->page->difference->after.total);
	} else {
		totals = stacks_totals(d->extract.stacks);
		add_self(d, "self", totals);
	}
	str_addc(d->out, '}');
}

static uint32_t node_of(const struct data *d, const struct sample *s)
{
	uint32_t node = s->node;

	return d->extract
		.number[d->extract.stacks == d->page->details->stacks ? node
								      : d->page->nodes[node]];
}

static void add_samples(struct data *d)
{
	CLEANUP(str_fini) struct str times = {0}, nodes = {0}, threads = {0};
	int64_t last = 0;

	for (size_t i = 0; i < d->extract.samples->count; i++) {
		const struct sample *s = &d->extract.samples->list[i];
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
	for (size_t i = 0; i < d->extract.samples->thread_count; i++) {
		const struct sample_thread *t = &d->extract.samples->threads[i];

		add_comma(d->out);
		str_addf(d->out, "[%d,%d,%u]", (int)t->pid, (int)t->tid, t->origin);
	}
	str_addc(d->out, ']');
	add_member(d->out, "origins");
	str_addc(d->out, '[');
	for (size_t i = 0; i < d->extract.samples->origin_count; i++) {
		const struct origin *o = &d->extract.samples->origins[i];
		CLEANUP(free) char *label = container_label(o->namespace, o->pod, o->container);

		add_comma(d->out);
		str_addc(d->out, '{');
		add_text(d->out, "container", label);
		add_text(d->out, "id", o->id);
		add_text(d->out, "started", o->started);
		str_addc(d->out, '}');
	}
	str_addc(d->out, ']');
}

void page_data(struct str *out, const struct page *page)
{
	struct data d = {.out = out, .page = page};

	page_extract_make(&d.extract, page);
	str_addc(d.out, '{');
	add_head(&d);
	add_frames(&d);
	add_modules(&d);
	add_nodes(&d);
	if (d.extract.samples) {
		add_samples(&d);
		add_threads(&d);
	}
	str_addc(d.out, '}');
	page_extract_fini(&d.extract);
}
