// SPDX-License-Identifier: Apache-2.0
/* Stacks -> one SVG file: a picture without its script (in a ticket, as an image), a tool with it.
 * svg.js reads names and counts from the frames' titles and the layout below from the elements. */
#include "draw.h"
#include "embed.h"
#include "layout.h"
#include "out.h"
#include "palette.h"
#include "text.h"

EMBED(svg_css, "host/draw/svg.css");
EMBED(svg_js, "host/draw/svg.js");
EMBED(svg_ui_js, "host/draw/svg_ui.js");

/* Pixels, unless said otherwise. svg.js has the same numbers. */
enum {
	WIDTH = 1200,
	MARGIN = 10,
	INNER = WIDTH - 2 * MARGIN,
	FRAMES_TOP = 84,
	ROW = 16,	 /* a box is 15 high */
	BOTTOM = 52,	 /* below the frames: details, quality */
	NARROWEST = 10,	 /* boxes per pixel: 0.1 px is the least width */
	LETTER = 723,	 /* of 12px monospaced text, 1/100 px */
	TEXT_PAD = 3,	 /* left and right of a name */
	LEAST = 3,	 /* columns below which a box has no text */
	LEAST_CUT = 5,	 /* the same for a name that was cut */
	GAP = 50,	 /* between neighbours of some width, 1/100 px */
	GAP_FROM = 300,	 /* that width */
	KEY_LETTER = 65, /* of the legend's text, on average, 1/10 px */
};

struct svg {
	struct out out;
	const struct stacks *stacks;
	struct layout layout;
	uint64_t self[FRAME_KINDS]; /* samples whose innermost frame is of the kind */
	bool occurs[FRAME_KINDS];
	unsigned height, frames_bottom;
};

static void svg_count_kinds(struct svg *v)
{
	v->self[FRAME_UNKNOWN] = stacks_node(v->stacks, 0)->self;
	for (size_t i = 1; i < stacks_node_count(v->stacks); i++) {
		const struct stack_node *n = stacks_node(v->stacks, (uint32_t)i);
		enum frame_kind kind = stacks_frame(v->stacks, n->frame)->kind;

		v->self[kind] += n->self;
		v->occurs[kind] = true;
	}
	/* Thread names are no code: they stand in the legend only where a stack had nothing else.
	 */
	v->occurs[FRAME_ROOT] = v->self[FRAME_ROOT] > 0;
	v->occurs[FRAME_UNKNOWN] |= v->self[FRAME_UNKNOWN] > 0;
}

/* A part of all samples in percent, with two decimals at most. */
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

static void svg_head(struct svg *v, const struct picture *p, const char *quality)
{
	struct str *s = &v->out.buf;

	str_addf(s,
		 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		 "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" "
		 "height=\"%u\" viewBox=\"0 0 %d %u\" role=\"graphics-document\" "
		 "aria-roledescription=\"flame graph\" aria-labelledby=\"dfg-title dfg-desc\">\n",
		 WIDTH, v->height, WIDTH, v->height);
	str_adds(s, "<title id=\"dfg-title\">");
	text_escape(s, p->title, strlen(p->title));
	str_adds(s,
		 "</title>\n<desc id=\"dfg-desc\">Flame graph. A frame's width is its share of the "
		 "samples; what it called is above it. ");
	text_escape(s, quality, strlen(quality));
	str_adds(s, "</desc>\n<style><![CDATA[\n");
	str_add(s, svg_css, (size_t)(svg_css_end - svg_css));
	str_adds(s, "]]></style>\n"
		    "<rect class=\"back\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
	add_text(s, "title", MARGIN, 27, p->title);
	add_text(s, "dim subtitle", MARGIN, 46, p->subtitle);
}

static void svg_legend(struct svg *v)
{
	static const enum frame_kind order[] = {
		FRAME_JAVA,   FRAME_INLINED, FRAME_INTERPRETED, FRAME_JVM,  FRAME_NATIVE,
		FRAME_KERNEL, FRAME_STUB,    FRAME_UNKNOWN,	FRAME_ROOT,
	};
	struct str *s = &v->out.buf;
	unsigned x = MARGIN;

	str_adds(s, "<g class=\"legend\">\n");
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		const struct kind_look *look = palette_look(order[i]);
		size_t before;

		if (!v->occurs[order[i]])
			continue;
		str_addf(s,
			 "<g class=\"key %c\"><title>%s. The share is of samples whose top frame "
			 "it is.</title>",
			 look->letter, look->about);
		str_addf(s, "<rect x=\"%u\" y=\"58\" width=\"12\" height=\"12\" fill=\"#%06x\"/>",
			 x, palette_colour(order[i], look->label, strlen(look->label)));
		str_addf(s, "<text x=\"%u\" y=\"68\">", x + 17);
		before = s->len;
		str_addf(s, "%s ", look->label);
		add_percent(s, v->self[order[i]], v->layout.total);
		str_adds(s, " %");
		x += 17 + (unsigned)(s->len - before) * KEY_LETTER / 10 + 14;
		str_adds(s, "</text></g>\n");
	}
	str_adds(s, "</g>\n");
}

/* What of the name fits into the box: all, or from the class on, or the beginning of that, unless
 * it would be too short to mean something. */
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

static void svg_frame(struct svg *v, const struct box *b)
{
	static const struct frame all = {.name = "all", .len = 3, .kind = FRAME_ROOT};
	const struct frame *f =
		b->node ? stacks_frame(v->stacks, stacks_node(v->stacks, b->node)->frame) : &all;
	uint64_t total = v->layout.total, y = v->frames_bottom - (uint64_t)(b->depth + 1) * ROW;
	uint64_t x = MARGIN * 10000 + layout_scale(b->start, INNER * 10000, total);
	uint64_t width = layout_scale(b->samples, INNER * 100, total);
	struct str *s = &v->out.buf;

	str_adds(s, "<g class=\"");
	str_addc(s, palette_look(f->kind)->letter);
	str_adds(s, "\"><title>");
	text_escape(s, f->name, f->len);
	str_adds(s, " (");
	text_count(s, b->samples, ",");
	str_adds(s, b->samples == 1 ? " sample, " : " samples, ");
	add_percent(s, b->samples, total);
	str_adds(s, "%)</title><rect x=\"");
	text_fixed(s, x, 4);
	str_adds(s, "\" y=\"");
	str_addu(s, y);
	str_adds(s, "\" width=\"");
	text_fixed(s, width < GAP_FROM ? width : width - GAP, 2);
	str_adds(s, "\" height=\"15\" fill=\"");
	text_colour(s, palette_colour(f->kind, f->name, f->len));
	str_adds(s, "\"/>");
	if (width >= 2 * TEXT_PAD * 100 + LEAST * LETTER)
		add_label(s, f, x, y, (width - 2 * TEXT_PAD * 100) / LETTER);
	str_adds(s, "</g>\n");
	out_tick(&v->out);
}

static void svg_foot(struct svg *v, const char *quality)
{
	struct str *s = &v->out.buf;

	if (v->layout.total == 0)
		str_addf(s,
			 "<text class=\"title empty\" x=\"%d\" y=\"%u\" text-anchor=\"middle\">"
			 "No samples: nothing ran on a CPU while recording</text>\n",
			 WIDTH / 2, FRAMES_TOP + 2 * ROW);
	add_text(s, "details", MARGIN, v->frames_bottom + 20, " ");
	add_text(s, "dim quality", MARGIN, v->frames_bottom + 40, quality);
	str_adds(s, "<script><![CDATA[\n(() => {\n'use strict';\n");
	str_add(s, svg_js, (size_t)(svg_js_end - svg_js));
	str_add(s, svg_ui_js, (size_t)(svg_ui_js_end - svg_ui_js));
	str_adds(s, "})();\n]]></script>\n</svg>\n");
}

int draw_svg(const struct stacks *s, const struct picture *p, int fd, struct err *err)
{
	CLEANUP(str_fini) struct str quality = {0};
	struct svg v = {.out = {.fd = fd, .err = err}, .stacks = s};

	draw_quality(&quality, &p->quality);
	layout_make(&v.layout, s, INNER * NARROWEST);
	svg_count_kinds(&v);
	/* Without a frame there are some rows for the words that say so. */
	v.frames_bottom = FRAMES_TOP + (v.layout.rows ? v.layout.rows : 4) * ROW;
	v.height = v.frames_bottom + BOTTOM;
	svg_head(&v, p, quality.buf);
	svg_legend(&v);
	str_adds(&v.out.buf, "<g class=\"frames\">\n");
	for (size_t i = 0; i < v.layout.count; i++)
		svg_frame(&v, &v.layout.boxes[i]);
	str_adds(&v.out.buf, "</g>\n");
	svg_foot(&v, quality.buf);
	layout_fini(&v.layout);
	return out_end(&v.out);
}
