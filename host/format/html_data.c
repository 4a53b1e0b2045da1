// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "calltree/thread_root.h"
#include "format/html.h"
#include "format/palette.h"
#include "format/text.h"
#include "format/verdict.h"
#include "session/session.h"

#define TICK 100000 /* ns; the unit of times in the page */

/* ---- lists of numbers: LEB128 in base64 (RFC 4648) ----
 * Of the encodings tried it is the smallest that a browser reads without a library; JSON's own
 * arrays take twice the space and four times as long to read. */

/* Appends a small number for a small absolute value: 0, -1, 1, -2, … become 0, 1, 2, 3, … */
static void add_signed(struct str *bytes, int64_t n)
{
	uint64_t u = (uint64_t)n << 1;

	text_varint(bytes, n < 0 ? ~u : u);
}

/* ---- the JSON object ---- */

struct page_writer {
	struct str *out;
	const struct page *page;
	struct page_extract extract;
};

/* Appends a comma, except before the first element of an object or list. */
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

static void add_packed(struct page_writer *d, const char *name, struct str *bytes)
{
	add_member(d->out, name);
	str_addc(d->out, '"');
	text_base64(d->out, bytes->buf, bytes->len);
	str_addc(d->out, '"');
	str_clear(bytes);
}

static void add_kinds(struct page_writer *d)
{
	add_member(d->out, "kinds");
	str_addc(d->out, '[');
	for (int i = 0; i < FRAME_KINDS; i++) {
		const struct kind_look *look = palette_legend((enum frame_kind)i, d->page->unit);
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

/* What is counted, and how many samples one of it is worth, before and after; nothing if it is
 * samples. */
static void add_unit(struct page_writer *d)
{
	const struct difference *diff = d->page->difference;
	const struct profile *p = d->page->details;
	double before = 1, after = 1;

	if (diff) {
		before = diff->by[MEASURE_SHARE].before_worth;
		after = diff->by[MEASURE_SHARE].after_worth;
	} else if (p && p->quality.samples) {
		before = after = profile_worth(p) / (double)p->quality.samples;
	}
	if ((!d->page->unit || !strcmp(d->page->unit, text_unit(0, NULL))) && before == 1 &&
	    after == 1)
		return;
	add_text(d->out, "unit", d->page->unit ? d->page->unit : text_unit(0, NULL));
	add_member(d->out, "worth");
	str_addf(d->out, "[%g,%g]", before, after);
}

static void add_head(struct page_writer *d)
{
	add_text(d->out, "title", d->page->title);
	add_text(d->out, "subtitle", d->page->subtitle);
	if (d->page->picture) {
		add_member(d->out, "verdict");
		verdict_page(d->out, d->page->picture);
	}
	add_text(d->out, "quality", d->page->quality);
	add_member(d->out, "left_out");
	str_addf(d->out, "[%s]", d->extract.left_out.len ? d->extract.left_out.buf : "");
	add_kinds(d);
	add_unit(d);
	if (d->page->difference) {
		add_member(d->out, "z");
		str_addf(d->out, "%.4g", d->page->difference->by[MEASURE_SHARE].least_z);
		add_member(d->out, "freedom");
		str_addu(d->out, d->page->difference->freedom);
	}
}

/* The choices that a URL without them has. */
static void add_choices(struct page_writer *d)
{
	add_member(d->out, "choices");
	str_addc(d->out, '{');
	add_text(d->out, "threads", d->page->threads ? d->page->threads : "pool");
	add_member(d->out, "full");
	str_addf(d->out, "%s}", d->page->full ? "true" : "false");
}

/* Writes the pools of threads, by the number of the thread's name, and the frames that start a
 * thread. */
static void add_thread_roots(struct page_writer *d)
{
	CLEANUP(str_fini) struct str starts = {0}, pool = {0};
	uint32_t name = 0, frame = 0;
	const struct frame *last = NULL;

	add_member(d->out, "pools");
	str_addc(d->out, '{');
	for (size_t i = 0; i < d->extract.place_count; i++) {
		const struct frame *f = stacks_frame(d->extract.stacks, d->extract.places[i]);
		bool same_name = last && strcmp(last->name, f->name) == 0;

		name += last && !same_name;
		frame += last && (!same_name || last->kind != f->kind);
		if (thread_is_start(f) && (!last || !same_name || last->kind != f->kind))
			str_addf(&starts, "%s%u", starts.len ? "," : "", frame);
		last = f;
		if (f->kind != FRAME_ROOT)
			continue;
		str_clear(&pool);
		thread_add_pool(&pool, f->name, f->len);
		if (!pool.len || strcmp(pool.buf, f->name) == 0)
			continue;
		add_comma(d->out);
		str_addf(d->out, "\"%u\":", name);
		text_json(d->out, pool.buf, pool.len);
	}
	str_addc(d->out, '}');
	add_member(d->out, "starts");
	str_addf(d->out, "[%s]", starts.len ? starts.buf : "");
}

/* Appends the spread of a frame's share, in percent. */
static void add_spread(struct str *out, const struct page *page, uint32_t frame)
{
	const struct difference *d = page->difference;

	if (d)
		text_varint(out,
			    d->frame_spread ? (uint64_t)lround(100 * d->frame_spread[frame]) : 100);
}

/* Writes each name once, and each frame (a name and a kind) once: places are sorted by them. */
static void add_frames(struct page_writer *d)
{
	CLEANUP(str_fini) struct str names = {0}, kinds = {0}, colours = {0}, spreads = {0};
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

			text_varint(&names, !same_name);
			text_varint(&kinds, (uint64_t)f->kind);
			add_spread(&spreads, d->page, d->extract.places[i]);
			for (int shift = 16; shift >= 0; shift -= 8)
				str_addc(&colours, (char)(rgb >> shift));
		}
		text_varint(&frames, !same);
		text_varint(&lines, f->line);
		text_varint(&modules, f->module);
		last = f;
	}
	str_addc(d->out, ']');
	add_member(d->out, "frames");
	str_addc(d->out, '{');
	add_packed(d, "name", &names);
	add_packed(d, "kind", &kinds);
	add_packed(d, "colour", &colours);
	if (d->page->difference)
		add_packed(d, "spread", &spreads);
	str_addc(d->out, '}');
	add_member(d->out, "places");
	str_addc(d->out, '{');
	add_packed(d, "frame", &frames);
	add_packed(d, "line", &lines);
	add_packed(d, "module", &modules);
	str_addc(d->out, '}');
}

static void add_modules(struct page_writer *d)
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

/* Writes the self samples of each node, computed from the totals (by node of the tree). */
static void add_self(struct page_writer *d, const char *name, const uint64_t *totals)
{
	CLEANUP(str_fini) struct str bytes = {0};
	CLEANUP(free) uint64_t *self = xcalloc(d->extract.layout.count, sizeof(*self));
	CLEANUP(free) size_t *path = xcalloc((size_t)d->extract.layout.rows + 1, sizeof(*path));

	for (size_t i = 0; i < d->extract.layout.count; i++) {
		const struct layout_box *b = &d->extract.layout.boxes[i];

		self[i] = totals[b->node];
		path[b->depth] = i;
		if (i)
			self[path[b->depth - 1]] -= totals[b->node];
	}
	for (size_t i = 0; i < d->extract.layout.count; i++)
		text_varint(&bytes, self[i]);
	add_packed(d, name, &bytes);
}

/* Writes for each node, in preorder: the levels up from the node before it to its parent, its
 * place, its samples. */
static void add_nodes(struct page_writer *d)
{
	CLEANUP(str_fini) struct str ups = {0}, places = {0};
	CLEANUP(free) uint64_t *totals = NULL;

	for (size_t i = 1; i < d->extract.layout.count; i++) {
		const struct layout_box *b = &d->extract.layout.boxes[i];

		text_varint(&ups, d->extract.layout.boxes[i - 1].depth + 1 - b->depth);
		text_varint(&places,
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

/* The page's number of a node of the details. */
static uint32_t node_of(const struct page_writer *d, uint32_t node)
{
	return d->extract
		.number[d->extract.stacks == d->page->details->stacks ? node
								      : d->page->nodes[node]];
}

static void add_samples(struct page_writer *d)
{
	CLEANUP(str_fini) struct str times = {0}, nodes = {0}, threads = {0};
	int64_t last = 0;

	for (size_t i = 0; i < d->extract.samples->count; i++) {
		const struct sample *s = &d->extract.samples->list[i];
		int64_t time = (int64_t)(s->time / TICK);

		add_signed(&times, time - last);
		text_varint(&nodes, node_of(d, s->node));
		text_varint(&threads, s->thread);
		last = time;
	}
	add_member(d->out, "samples");
	str_addf(d->out, "{\"tick\":%g", TICK / 1e9);
	add_packed(d, "time", &times);
	add_packed(d, "node", &nodes);
	add_packed(d, "thread", &threads);
	str_addc(d->out, '}');
}

static void add_threads(struct page_writer *d)
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

/* Writes the waits of a recording of the wall clock: numbers of threads, times in µs, twice the
 * cause and 1 more of those that are idle, the waker's thread and 1 more. */
static void add_waits(struct page_writer *d, const struct wall *w)
{
	CLEANUP(str_fini) struct str threads = {0}, begins = {0}, lengths = {0}, causes = {0};
	CLEANUP(str_fini) struct str nodes = {0}, wakers = {0};
	int64_t last = 0;

	for (size_t i = 0; i < w->part_count; i++) {
		const struct wall_part *p = &w->parts[i];
		const int64_t begin = (int64_t)(p->begin / 1000);
		const uint32_t waker = wall_waker(w, p);

		text_varint(&threads, p->thread);
		add_signed(&begins, begin - last);
		text_varint(&lengths, p->ns / 1000);
		text_varint(&causes, 2u * p->cause + p->idle);
		text_varint(&nodes, node_of(d, p->node));
		text_varint(&wakers, waker == WALL_UNKNOWN ? 0 : waker + 1);
		last = begin;
	}
	add_packed(d, "thread", &threads);
	add_packed(d, "begin", &begins);
	add_packed(d, "length", &lengths);
	add_packed(d, "cause", &causes);
	add_packed(d, "node", &nodes);
	add_packed(d, "waker", &wakers);
}

static void add_wall(struct page_writer *d)
{
	const struct wall *w = &d->page->details->wall;

	add_member(d->out, "wall");
	str_addf(d->out, "{\"least\":%g,\"causes\":[", (double)w->least / 1e6);
	for (unsigned c = 0; c < WALL_CAUSES; c++)
		str_addf(d->out, "%s\"%s\"", c ? "," : "", wall_names[c]);
	str_adds(d->out, "],\"threads\":[");
	for (size_t i = 0; i < w->count; i++) {
		const struct wall_thread *t = &w->threads[i];

		str_adds(d->out, i ? ",[" : "[");
		text_json(d->out, t->name, strlen(t->name));
		str_addf(d->out, ",%d,%d,%llu]", (int)t->pid, (int)t->tid,
			 (unsigned long long)((wall_sum(t->ns) - wall_sum(t->idle)) / 1000));
	}
	str_addc(d->out, ']');
	add_waits(d, w);
	str_addc(d->out, '}');
}

void page_data(struct str *out, const struct page *page)
{
	struct page_writer d = {.out = out, .page = page};

	page_extract_make(&d.extract, page);
	str_addc(d.out, '{');
	add_head(&d);
	add_choices(&d);
	add_frames(&d);
	add_thread_roots(&d);
	add_modules(&d);
	add_nodes(&d);
	if (d.extract.samples) {
		add_samples(&d);
		add_threads(&d);
	}
	if (page->details && page->details->wall.count)
		add_wall(&d);
	str_addc(d.out, '}');
	page_extract_fini(&d.extract);
}
