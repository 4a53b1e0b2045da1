// SPDX-License-Identifier: Apache-2.0
/* Stacks -> one SVG file: a picture without its script (in a ticket, as an image), a tool with it.
 * svg.js reads names and counts from the frames' titles and the layout below from the elements. */
#include "format/canvas.h"
#include "format/draw.h"
#include "format/palette.h"
#include "format/text.h"

/* What is the same in all boxes of a frame, put together once. */
struct same {
	size_t begin, len; /* of svg.begins; len 0: not yet */
	uint32_t colour;
};

struct svg {
	struct canvas canvas;
	const struct stacks *stacks;
	struct same *same; /* by frame */
	struct str begins;
	uint64_t self[FRAME_KINDS]; /* samples whose innermost frame is of the kind */
	bool occurs[FRAME_KINDS];
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

static void svg_legend(struct svg *v)
{
	static const enum frame_kind order[] = {
		FRAME_JAVA,   FRAME_INLINED, FRAME_INTERPRETED, FRAME_JVM,  FRAME_NATIVE,
		FRAME_KERNEL, FRAME_STUB,    FRAME_UNKNOWN,	FRAME_ROOT,
	};
	struct str *s = &v->canvas.out.buf;

	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		const struct kind_look *look = palette_look(order[i]);
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
		canvas_percent(s, v->self[order[i]], v->canvas.layout.total);
		str_adds(s, " %");
		canvas_key_end(&v->canvas, begun);
	}
}

static struct same same_of(struct svg *v, const struct frame *f)
{
	struct same ret = {.begin = v->begins.len,
			   .colour = palette_colour(f->kind, f->name, f->len)};

	canvas_box_begin(&v->begins, palette_look(f->kind)->letter, f);
	ret.len = v->begins.len - ret.begin;
	return ret;
}

static void svg_box(struct svg *v, const struct box *b)
{
	const struct frame *f = canvas_frame(v->stacks, b);
	/* The root of all has no frame: its place is behind the last one. */
	struct same *same = &v->same[b->node ? stacks_node(v->stacks, b->node)->frame
					     : stacks_frame_count(v->stacks)];
	struct str *s = &v->canvas.out.buf;

	if (!same->len)
		*same = same_of(v, f);
	str_add(s, v->begins.buf + same->begin, same->len);
	str_adds(s, " (");
	text_count(s, b->samples, ",");
	str_adds(s, b->samples == 1 ? " sample, " : " samples, ");
	canvas_percent(s, b->samples, v->canvas.layout.total);
	str_adds(s, "%)");
	canvas_box_end(&v->canvas, b, f, same->colour);
}

int draw_svg(const struct stacks *s, const struct picture *p, int fd, struct err *err)
{
	CLEANUP(str_fini) struct str quality = {0};
	struct svg v = {.canvas.out = {.fd = fd, .err = err}, .stacks = s};

	draw_quality(&quality, &p->quality);
	layout_make(&v.canvas.layout, s, CANVAS_NARROWEST);
	svg_count_kinds(&v);
	canvas_begin(&v.canvas, p->title, p->subtitle,
		     "A frame's width is its share of the samples", quality.buf);
	svg_legend(&v);
	canvas_frames(&v.canvas);
	v.same = xcalloc(stacks_frame_count(s) + 1, sizeof(*v.same));
	for (size_t i = 0; i < v.canvas.layout.count; i++)
		svg_box(&v, &v.canvas.layout.boxes[i]);
	free(v.same);
	str_fini(&v.begins);
	return canvas_end(&v.canvas, quality.buf,
			  "No samples: nothing ran on a CPU while recording");
}
