// SPDX-License-Identifier: Apache-2.0
/* The difference of two profiles -> SVG. The picture shows both sides at once; its script narrows
 * it to one of them, from the counts in the frames' titles. */
#include <math.h>

#include "calltree/difference.h"
#include "format/canvas.h"
#include "format/draw.h"
#include "format/text.h"

/* Shares as whole numbers that can be added up: the whole of a side. */
#define UNIT (UINT64_C(1) << 40)

struct side_look {
	char class; /* in the picture; svg.js has the same */
	const char *label, *about;
	uint8_t pale[3], full[3]; /* the least change and the greatest */
};

enum { GREW, SHRANK, SAME };

/* Black text on each has a contrast of at least 4.5 (WCAG 2, AA). */
static const struct side_look looks[] = {
	[GREW] = {'m',
		  "more than before",
		  "Its share is greater after than before",
		  {250, 224, 216},
		  {240, 96, 72}},
	[SHRANK] = {'l',
		    "less",
		    "Its share is smaller after than before",
		    {216, 228, 250},
		    {92, 148, 245}},
	[SAME] = {'c',
		  "no sure change",
		  "The change is none, or one that chance makes in 1 of 100 such frames",
		  {214, 216, 220},
		  {214, 216, 220}},
};

struct picture_of_both {
	struct canvas canvas;
	const struct difference *d;
	double greatest; /* change of a node, absolute */
};

static uint64_t scaled(uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)((unsigned __int128)part * UNIT / whole) : 0;
}

/* Rounded down for each node by itself: no node is wider than its parent. */
static uint64_t *widths_of(const struct difference *d)
{
	size_t count = stacks_node_count(d->tree);
	uint64_t *widths = xcalloc(count, sizeof(*widths));

	for (size_t n = count; n-- > 0;) {
		widths[n] += scaled(d->before.self[n], d->before.samples) +
			     scaled(d->after.self[n], d->after.samples);
		if (n)
			widths[stacks_node(d->tree, (uint32_t)n)->parent] += widths[n];
	}
	return widths;
}

static double greatest_change(const struct difference *d)
{
	double greatest = 0;

	for (uint32_t n = 1; n < stacks_node_count(d->tree); n++) {
		double change = fabs(difference_change(d, difference_total(d, n)));

		if (change > greatest)
			greatest = change;
	}
	return greatest;
}

static const struct side_look *look_of(const struct difference *d, struct counts c)
{
	if (!difference_is_significant(d, c))
		return &looks[SAME];
	return &looks[difference_change(d, c) > 0 ? GREW : SHRANK];
}

/* By the root of the change, or all but the greatest would look alike. */
static uint32_t colour_of(const struct side_look *look, double change, double greatest)
{
	double size = greatest > 0 ? sqrt(fabs(change) / greatest) : 0;
	uint32_t rgb = 0;

	for (int i = 0; i < 3; i++) {
		double c = look->pale[i] + size * (look->full[i] - look->pale[i]);

		rgb = rgb << 8 | ((uint32_t)lround(c) & 0xff);
	}
	return rgb;
}

/* Of shares, "+1.25 %": percentage points. */
static void add_change(struct str *s, double change)
{
	str_addf(s, "%+.2f %%", 100 * change);
}

static void add_box(struct picture_of_both *v, const struct box *b)
{
	const struct difference *d = v->d;
	const struct frame *f = canvas_frame(d->tree, b);
	struct counts total = difference_total(d, b->node), self = difference_self(d, b->node);
	const struct side_look *look = look_of(d, total);
	struct str *s = &v->canvas.out.buf;

	canvas_box_begin(s, look->class, f);
	str_adds(s, " (");
	text_count(s, total.before, ",");
	str_adds(s, " → ");
	text_count(s, total.after, ",");
	str_adds(s, " samples, ");
	canvas_percent(s, total.before, d->before.samples);
	str_adds(s, " → ");
	canvas_percent(s, total.after, d->after.samples);
	str_adds(s, " %, ");
	add_change(s, difference_change(d, total));
	str_adds(s, "; self ");
	add_change(s, difference_change(d, self));
	str_adds(s, ")");
	canvas_box_end(&v->canvas, b, f, colour_of(look, difference_change(d, total), v->greatest));
}

static void add_legend(struct picture_of_both *v)
{
	for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
		size_t begun = canvas_key_begin(&v->canvas, looks[i].class, looks[i].about,
						colour_of(&looks[i], 1, 1));

		str_adds(&v->canvas.out.buf, looks[i].label);
		canvas_key_end(&v->canvas, begun);
	}
}

static void add_footer(struct str *s, const struct difference_picture *p)
{
	str_adds(s, "before: ");
	draw_quality(s, &p->before_quality);
	str_adds(s, " | after: ");
	draw_quality(s, &p->after_quality);
}

int draw_difference_svg(const struct difference *d, const struct difference_picture *p, int fd,
			struct err *err)
{
	struct picture_of_both v = {
		.canvas.out = {.fd = fd, .err = err}, .d = d, .greatest = greatest_change(d)};
	CLEANUP(free) uint64_t *widths = widths_of(d);
	CLEANUP(free) char *subtitle = xasprintf("compared with %s", p->before);
	CLEANUP(str_fini) struct str footer = {0};

	add_footer(&footer, p);
	layout_of(&v.canvas.layout, d->tree, widths, CANVAS_NARROWEST);
	canvas_begin(&v.canvas, p->after, subtitle,
		     "A frame's width is the mean of its shares before and after", footer.buf);
	add_legend(&v);
	canvas_frames(&v.canvas);
	for (size_t i = 0; i < v.canvas.layout.count; i++)
		add_box(&v, &v.canvas.layout.boxes[i]);
	return canvas_end(&v.canvas, footer.buf, "No samples on either side");
}
