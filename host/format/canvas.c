// SPDX-License-Identifier: Apache-2.0
#include "format/canvas.h"

#include "format/embed.h"
#include "format/text.h"

EMBED(svg_css, "host/format/svg.css");
EMBED(svg_js, "host/format/svg.js");
EMBED(svg_ui_js, "host/format/svg_ui.js");

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

_Static_assert(CANVAS_NARROWEST == INNER * NARROWEST, "0.1 px");

void canvas_percent(struct str *s, uint64_t part, uint64_t whole)
{
	text_fixed(s, whole ? (layout_scale(part, 100000, whole) + 5) / 10 : 0, 2);
}

static void add_text(struct str *s, const char *class, unsigned x, unsigned y, const char *text)
{
	str_addf(s, "<text class=\"%s\" x=\"%u\" y=\"%u\">", class, x, y);
	text_escape(s, text, strlen(text));
	str_adds(s, "</text>\n");
}

void canvas_begin(struct canvas *c, const char *title, const char *subtitle, const char *about,
		  const char *footer)
{
	struct str *s = &c->out.buf;

	/* Without a frame there are some rows for the words that say so. */
	c->frames_bottom = FRAMES_TOP + (c->layout.rows ? c->layout.rows : 4) * ROW;
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
	str_adds(s, "<g class=\"legend\">\n");
}

size_t canvas_key_begin(struct canvas *c, char class, const char *about, uint32_t colour)
{
	struct str *s = &c->out.buf;

	str_addf(s, "<g class=\"key %c\"><title>%s</title>", class, about);
	str_addf(s, "<rect x=\"%u\" y=\"58\" width=\"12\" height=\"12\" fill=\"#%06x\"/>", c->key_x,
		 colour);
	str_addf(s, "<text x=\"%u\" y=\"68\">", c->key_x + 17);
	return s->len;
}

void canvas_key_end(struct canvas *c, size_t begun)
{
	struct str *s = &c->out.buf;

	c->key_x += 17 + (unsigned)(s->len - begun) * KEY_LETTER / 10 + 14;
	str_adds(s, "</text></g>\n");
}

void canvas_frames(struct canvas *c)
{
	str_adds(&c->out.buf, "</g>\n<g class=\"frames\">\n");
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

const struct frame *canvas_frame(const struct stacks *s, const struct box *b)
{
	static const struct frame all = {.name = "all", .len = 3, .kind = FRAME_ROOT};

	return b->node ? stacks_frame(s, stacks_node(s, b->node)->frame) : &all;
}

void canvas_box_begin(struct str *out, char class, const struct frame *f)
{
	str_adds(out, "<g class=\"");
	str_addc(out, class);
	str_adds(out, "\"><title>");
	text_escape(out, f->name, f->len);
}

void canvas_box_end(struct canvas *c, const struct box *b, const struct frame *f, uint32_t colour)
{
	uint64_t total = c->layout.total, y = c->frames_bottom - (uint64_t)(b->depth + 1) * ROW;
	uint64_t x = MARGIN * 10000 + layout_scale(b->start, INNER * 10000, total);
	uint64_t width = layout_scale(b->samples, INNER * 100, total);
	struct str *s = &c->out.buf;

	str_adds(s, "</title><rect x=\"");
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

int canvas_end(struct canvas *c, const char *footer, const char *empty)
{
	struct str *s = &c->out.buf;

	str_adds(s, "</g>\n");
	if (c->layout.total == 0)
		str_addf(s,
			 "<text class=\"title empty\" x=\"%d\" y=\"%u\" text-anchor=\"middle\">"
			 "%s</text>\n",
			 WIDTH / 2, FRAMES_TOP + 2 * ROW, empty);
	add_text(s, "details", MARGIN, c->frames_bottom + 20, " ");
	add_text(s, "dim quality", MARGIN, c->frames_bottom + 40, footer);
	str_adds(s, "<script><![CDATA[\n(() => {\n'use strict';\n");
	str_add(s, svg_js, (size_t)(svg_js_end - svg_js));
	str_add(s, svg_ui_js, (size_t)(svg_ui_js_end - svg_ui_js));
	str_adds(s, "})();\n]]></script>\n</svg>\n");
	layout_fini(&c->layout);
	return out_end(&c->out);
}
