// SPDX-License-Identifier: Apache-2.0
/* Writes flame graphs as SVG: a picture where scripts do not run (in a ticket, as an image), an
 * interactive tool where they do. svg.js reads names and counts from the frames' titles, exact
 * counts of bytes and ns from data-n, and the layout from the elements. */
#include <math.h>

#include "format/embed.h"
#include "format/format.h"
#include "format/layout.h"
#include "format/palette.h"
#include "format/text.h"
#include "format/verdict.h"

EMBED(svg_css, "host/format/svg.css");
EMBED(amount_js, "host/format/amount.js");
EMBED(svg_js, "host/format/svg.js");
EMBED(svg_ui_js, "host/format/svg_ui.js");

/* In pixels unless noted. svg.js has the same numbers. */
enum {
	WIDTH = 1200,
	MARGIN = 10,
	INNER = WIDTH - 2 * MARGIN,
	VERDICT_TOP = 64, /* baseline of its first line */
	LEGEND_TOP = 58,
	FRAMES_TOP = 84,
	ROW = 16,		/* a box is 15 high */
	LINE = 18,		/* of the verdict: all below it moves down */
	BOTTOM = 52,		/* below the frames: details, quality */
	NARROWEST = INNER * 10, /* a layout leaves out boxes below 1/NARROWEST, 0.1 px */
	LETTER = 723,		/* of 12px monospaced text, 1/100 px */
	TEXT_PAD = 3,		/* left and right of a name */
	LEAST = 3,		/* columns: narrower boxes have no text */
	LEAST_CUT = 5,		/* the same for names that do not fit */
	GAP = 50,		/* between boxes of at least GAP_FROM, 1/100 px */
	GAP_FROM = 300,		/* 1/100 px */
	KEY_LETTER = 65,	/* average of the legend's text, 1/10 px */
};

/* Parts common to both kinds of picture: header, legend, boxes, script. */
struct canvas {
	struct out out;
	struct layout layout; /* made before canvas_begin; its width is the picture's */
	unsigned height, frames_bottom;
	unsigned key_x;	    /* left edge of the next legend entry */
	struct str verdict; /* its elements, between the subtitle and the legend */
	unsigned lines;	    /* in it */
};

/* Appends part / whole in percent, with at most two decimals. */
static void add_percent(struct str *s, uint64_t part, uint64_t whole)
{
	text_fixed(s, whole ? (layout_scale(part, 100000, whole) + 5) / 10 : 0, 2);
}

static void add_text(struct str *s, const char *class, unsigned x, unsigned y, const char *text)
{
	str_addf(s, "<text class=\"%s\" x=\"%u\" y=\"%u\">", class, x, y);
	text_escape(s, text, strlen(text));
	str_adds(s, "</text>\n");
}

/* Writes the picture up to the legend. All texts are clean (str.h); `about` and the footer describe
 * the picture for screen readers. */
static void canvas_begin(struct canvas *c, const char *title, const char *subtitle,
			 const char *about, const char *footer)
{
	struct str *s = &c->out.buf;

	/* Without frames some rows are kept for the message. */
	c->frames_bottom =
		FRAMES_TOP + c->lines * LINE + (c->layout.rows ? c->layout.rows : 4) * ROW;
	c->height = c->frames_bottom + BOTTOM;
	c->key_x = MARGIN;
	str_addf(s,
		 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		 "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" "
		 "height=\"%u\" viewBox=\"0 0 %d %u\" role=\"graphics-document\" "
		 "aria-roledescription=\"flame graph\" aria-labelledby=\"dfg-title dfg-desc\">\n",
		 WIDTH, c->height, WIDTH, c->height);
	str_adds(s, "<title id=\"dfg-title\">");
	text_escape(s, title, strlen(title));
	str_adds(s, "</title>\n<desc id=\"dfg-desc\">Flame graph. ");
	str_addf(s, "%s; what it called is above it. ", about);
	text_escape(s, footer, strlen(footer));
	str_adds(s, "</desc>\n<style><![CDATA[\n");
	str_add(s, svg_css, (size_t)(svg_css_end - svg_css));
	str_adds(s, "]]></style>\n"
		    "<rect class=\"back\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
	add_text(s, "title", MARGIN, 27, title);
	add_text(s, "dim subtitle", MARGIN, 46, subtitle);
	str_add(s, c->verdict.buf, c->verdict.len);
	str_adds(s, "<g class=\"legend\">\n");
}

/* Begins a legend entry: the class of its boxes, tooltip, colour. The caller appends the label to
 * `out`, then calls canvas_key_end with the result. */
static size_t canvas_key_begin(struct canvas *c, char class, const char *about, uint32_t colour)
{
	struct str *s = &c->out.buf;

	str_addf(s, "<g class=\"key %c\"><title>%s</title>", class, about);
	str_addf(s, "<rect x=\"%u\" y=\"%u\" width=\"12\" height=\"12\" fill=\"#%06x\"/>", c->key_x,
		 LEGEND_TOP + c->lines * LINE, colour);
	str_addf(s, "<text x=\"%u\" y=\"%u\">", c->key_x + 17, LEGEND_TOP + c->lines * LINE + 10);
	return s->len;
}

static void canvas_key_end(struct canvas *c, size_t begun)
{
	struct str *s = &c->out.buf;

	c->key_x += 17 + (unsigned)(s->len - begun) * KEY_LETTER / 10 + 14;
	str_adds(s, "</text></g>\n");
}

static void canvas_frames(struct canvas *c)
{
	str_adds(&c->out.buf, "</g>\n<g class=\"frames\">\n");
}

/* Writes as much of the name as fits into the box: all, or from the class on, or a prefix of that;
 * nothing if the prefix would be too short to recognise. */
static void add_label(struct str *s, const struct frame *f, uint64_t x, uint64_t y,
		      uint64_t columns)
{
	const char *name = f->name;
	size_t len = f->len, fit = text_fit(name, len, columns);

	if (fit < len && frame_is_java(f->kind)) {
		size_t package = text_package(name, len);

		name += package;
		len -= package;
		fit = text_fit(name, len, columns);
	}
	if (fit < len && columns < LEAST_CUT)
		return;
	str_adds(s, "<text x=\"");
	text_fixed(s, x / 1000 + TEXT_PAD * 10, 1);
	str_adds(s, "\" y=\"");
	str_addu(s, y + 12);
	str_adds(s, "\">");
	text_escape(s, name, fit < len ? text_fit(name, len, columns - 2) : len);
	str_adds(s, fit < len ? "..</text>" : "</text>");
}

/* The frame of a box; "all" for the root. Borrowed. */
static const struct frame *canvas_frame(const struct stacks *s, const struct layout_box *b)
{
	static const struct frame all = {.name = "all", .len = 3, .kind = FRAME_ROOT};

	return b->node ? stacks_frame(s, stacks_node(s, b->node)->frame) : &all;
}

/* Begins a box; boxes come after canvas_frames, in the order of the layout. The caller appends the
 * rest of the title: " (3 samples, 1%)". */
static void canvas_box_begin(struct str *out, char class, const struct frame *f)
{
	str_adds(out, "<g class=\"");
	str_addc(out, class);
	str_adds(out, "\"><title>");
	text_escape(out, f->name, f->len);
}

/* Ends the title. Where that has three digits of the counts, they are in data-n: "bytes 12 34". */
static void canvas_box_counts(struct str *s, const char *unit, const uint64_t *counts, size_t n)
{
	str_adds(s, "</title><rect");
	if (!text_is_scaled(unit))
		return;
	str_addf(s, " data-n=\"%s", unit);
	for (size_t i = 0; i < n; i++) {
		str_addc(s, ' ');
		str_addu(s, counts[i]);
	}
	str_addc(s, '"');
}

static void canvas_box_end(struct canvas *c, const struct layout_box *b, const struct frame *f,
			   uint32_t colour)
{
	uint64_t total = c->layout.total, y = c->frames_bottom - (uint64_t)(b->depth + 1) * ROW;
	uint64_t x = MARGIN * 10000 + layout_scale(b->start, INNER * 10000, total);
	uint64_t width = layout_scale(b->samples, INNER * 100, total);
	struct str *s = &c->out.buf;

	str_adds(s, " x=\"");
	text_fixed(s, x, 4);
	str_adds(s, "\" y=\"");
	str_addu(s, y);
	str_adds(s, "\" width=\"");
	text_fixed(s, width < GAP_FROM ? width : width - GAP, 2);
	str_adds(s, "\" height=\"15\" fill=\"");
	text_colour(s, colour);
	str_adds(s, "\"/>");
	if (width >= 2 * TEXT_PAD * 100 + LEAST * LETTER)
		add_label(s, f, x, y, (width - 2 * TEXT_PAD * 100) / LETTER);
	str_adds(s, "</g>\n");
	out_tick(&c->out);
}

/* Writes the rest and frees the canvas. `empty`: the message of a picture without frames. */
static int canvas_end(struct canvas *c, const char *footer, const char *empty)
{
	struct str *s = &c->out.buf;

	str_adds(s, "</g>\n");
	if (c->layout.total == 0)
		str_addf(s,
			 "<text class=\"title empty\" x=\"%d\" y=\"%u\" text-anchor=\"middle\">"
			 "%s</text>\n",
			 WIDTH / 2, FRAMES_TOP + c->lines * LINE + 2 * ROW, empty);
	add_text(s, "details", MARGIN, c->frames_bottom + 20, " ");
	add_text(s, "dim quality", MARGIN, c->frames_bottom + 40, footer);
	str_adds(s, "<script><![CDATA[\n(() => {\n'use strict';\n");
	str_add(s, amount_js, (size_t)(amount_js_end - amount_js));
	str_add(s, svg_js, (size_t)(svg_js_end - svg_js));
	str_add(s, svg_ui_js, (size_t)(svg_ui_js_end - svg_ui_js));
	str_adds(s, "})();\n]]></script>\n</svg>\n");
	layout_fini(&c->layout);
	str_fini(&c->verdict);
	return out_end(&c->out);
}

/* ---- one profile ---- */

/* The part that all boxes of a frame share, built once. */
struct box_prefix {
	size_t begin, len; /* in svg.prefixes; len 0: not built yet */
	uint32_t colour;
};

struct svg {
	struct canvas canvas;
	const struct stacks *stacks; /* methods joined */
	const char *unit;
	struct box_prefix *prefix; /* by frame; the last is for the root of all */
	struct str prefixes;
	uint64_t self[FRAME_KINDS]; /* samples whose innermost frame is of the kind */
	bool occurs[FRAME_KINDS];
};

static void svg_count_kinds(struct svg *v, const struct stacks *s)
{
	v->self[FRAME_UNKNOWN] = stacks_node(s, 0)->self;
	for (size_t i = 1; i < stacks_node_count(s); i++) {
		const struct stack_node *n = stacks_node(s, (uint32_t)i);
		enum frame_kind kind = stacks_frame(s, n->frame)->kind;

		v->self[kind] += n->self;
		v->occurs[kind] = true;
	}
	/* Thread names are no code: in the legend only if they are the top frame of a sample. */
	v->occurs[FRAME_ROOT] = v->self[FRAME_ROOT] > 0;
	v->occurs[FRAME_UNKNOWN] |= v->self[FRAME_UNKNOWN] > 0;
}

static void svg_legend(struct svg *v)
{
	static const enum frame_kind order[] = {
		FRAME_JAVA,   FRAME_INLINED, FRAME_INTERPRETED, FRAME_JVM,  FRAME_NATIVE,
		FRAME_KERNEL, FRAME_STUB,    FRAME_UNKNOWN,	FRAME_ROOT,
	};
	struct str *s = &v->canvas.out.buf;

	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		const struct kind_look *look = palette_legend(order[i], v->unit);
		CLEANUP(free) char *about = NULL;
		size_t begun;

		if (!v->occurs[order[i]])
			continue;
		about = xasprintf("%s. The share is of samples whose top frame it is.",
				  look->about);
		begun = canvas_key_begin(
			&v->canvas, look->letter, about,
			palette_colour(order[i], look->label, strlen(look->label)));
		str_addf(s, "%s ", look->label);
		add_percent(s, v->self[order[i]], v->canvas.layout.total);
		str_adds(s, " %");
		canvas_key_end(&v->canvas, begun);
	}
}

static struct box_prefix prefix_of(struct svg *v, const struct frame *f)
{
	struct box_prefix ret = {.begin = v->prefixes.len,
				 .colour = palette_colour(f->kind, f->name, f->len)};

	canvas_box_begin(&v->prefixes, palette_look(f->kind)->letter, f);
	ret.len = v->prefixes.len - ret.begin;
	return ret;
}

static void svg_box(struct svg *v, const struct layout_box *b)
{
	const struct frame *f = canvas_frame(v->stacks, b);
	struct box_prefix *prefix = &v->prefix[b->node ? stacks_node(v->stacks, b->node)->frame
						       : stacks_frame_count(v->stacks)];
	struct str *s = &v->canvas.out.buf;

	if (!prefix->len)
		*prefix = prefix_of(v, f);
	str_add(s, v->prefixes.buf + prefix->begin, prefix->len);
	str_adds(s, " (");
	text_amount(s, b->samples, v->unit);
	str_adds(s, ", ");
	add_percent(s, b->samples, v->canvas.layout.total);
	str_adds(s, "%)");
	canvas_box_counts(s, v->unit, &b->samples, 1);
	canvas_box_end(&v->canvas, b, f, prefix->colour);
}

int draw_svg(const struct stacks *s, const struct picture *p, int fd, struct err *err)
{
	CLEANUP(str_fini) struct str quality = {0};
	CLEANUP(stacks_free) struct stacks *joined = stacks_join_methods(s);
	struct svg v = {.canvas.out = {.fd = fd, .err = err}, .stacks = joined, .unit = p->unit};

	draw_quality_of(&quality, &p->quality, p->unit);
	stacks_sort(joined);
	layout_make(&v.canvas.layout, joined, NARROWEST);
	svg_count_kinds(&v, s);
	v.canvas.lines = verdict_svg(&v.canvas.verdict, p, MARGIN, VERDICT_TOP, LINE);
	canvas_begin(&v.canvas, p->title, p->subtitle,
		     "A frame's width is its share of the samples", quality.buf);
	svg_legend(&v);
	canvas_frames(&v.canvas);
	v.prefix = xcalloc(stacks_frame_count(joined) + 1, sizeof(*v.prefix));
	for (size_t i = 0; i < v.canvas.layout.count; i++)
		svg_box(&v, &v.canvas.layout.boxes[i]);
	free(v.prefix);
	str_fini(&v.prefixes);
	return canvas_end(&v.canvas, quality.buf,
			  text_unit(0, p->unit) != text_unit(0, NULL)
				  ? "Nothing of this event while recording"
				  : "No samples: nothing ran on a CPU while recording");
}

/* ---- the difference of two profiles ---- */

/* The whole of a side; shares are integers so that their sums are exact. */
#define UNIT (UINT64_C(1) << 40)

struct side_look {
	char class; /* in the picture; svg.js has the same */
	const char *label, *about;
	uint8_t pale[3], full[3]; /* for the least change and for the greatest */
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
		  "not significant",
		  "No change, or one that is not statistically significant",
		  {214, 216, 220},
		  {214, 216, 220}},
};

struct svg_difference {
	struct canvas canvas;
	const struct difference *d;
	const char *unit;
	double greatest; /* change of a node, absolute */
};

static uint64_t scaled(uint64_t part, uint64_t whole)
{
	return whole ? (uint64_t)((unsigned __int128)part * UNIT / whole) : 0;
}

/* Widths by node. Each is rounded down, so that no node is wider than its parent. */
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

static const struct side_look *look_of(const struct difference *d, uint32_t node)
{
	if (!difference_node_is_significant(d, node))
		return &looks[SAME];
	return &looks[difference_change(d, difference_total(d, node)) > 0 ? GREW : SHRANK];
}

/* Shades grow with the root of the change; else all but the greatest would look alike. */
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

/* Appends the change of a share, "+1.25 %", in percentage points. */
static void add_change(struct str *s, double change)
{
	str_addf(s, "%+.2f %%", 100 * change);
}

static void svg_difference_box(struct svg_difference *v, const struct layout_box *b)
{
	const struct difference *d = v->d;
	const struct frame *f = canvas_frame(d->tree, b);
	struct counts total = difference_total(d, b->node), self = difference_self(d, b->node);
	const struct side_look *look = look_of(d, b->node);
	struct str *s = &v->canvas.out.buf;

	canvas_box_begin(s, look->class, f);
	str_adds(s, " (");
	text_amounts(s, total.before, total.after, v->unit);
	str_adds(s, ", ");
	add_percent(s, total.before, d->before.samples);
	str_adds(s, " → ");
	add_percent(s, total.after, d->after.samples);
	str_adds(s, " %, ");
	add_change(s, difference_change(d, total));
	str_adds(s, "; self ");
	add_change(s, difference_change(d, self));
	str_adds(s, ")");
	canvas_box_counts(s, v->unit, (const uint64_t[]){total.before, total.after}, 2);
	canvas_box_end(&v->canvas, b, f, colour_of(look, difference_change(d, total), v->greatest));
}

static void svg_difference_legend(struct svg_difference *v)
{
	for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
		size_t begun = canvas_key_begin(&v->canvas, looks[i].class, looks[i].about,
						colour_of(&looks[i], 1, 1));

		str_adds(&v->canvas.out.buf, looks[i].label);
		canvas_key_end(&v->canvas, begun);
	}
}

int draw_difference_svg(const struct difference *d, const struct difference_picture *p, int fd,
			struct err *err)
{
	struct svg_difference v = {.canvas.out = {.fd = fd, .err = err},
				   .d = d,
				   .unit = p->unit,
				   .greatest = greatest_change(d)};
	CLEANUP(free) uint64_t *widths = widths_of(d);
	CLEANUP(str_fini) struct str footer = {0};

	draw_difference_quality(&footer, p);
	layout_of(&v.canvas.layout, d->tree, widths, NARROWEST);
	canvas_begin(&v.canvas, p->title, p->subtitle,
		     "A frame's width is the mean of its shares before and after", footer.buf);
	svg_difference_legend(&v);
	canvas_frames(&v.canvas);
	for (size_t i = 0; i < v.canvas.layout.count; i++)
		svg_difference_box(&v, &v.canvas.layout.boxes[i]);
	return canvas_end(&v.canvas, footer.buf, "No samples on either side");
}
