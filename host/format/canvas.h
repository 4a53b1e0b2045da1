/* SPDX-License-Identifier: Apache-2.0 */
/* What all flame graphs in SVG have in common: the page around the frames, boxes, the script. */
#ifndef DFG_FORMAT_CANVAS_H
#define DFG_FORMAT_CANVAS_H

#include "calltree/calltree.h"
#include "format/buffer.h"
#include "format/layout.h"

/* Boxes narrower than this part of the whole are left out of a layout: 0.1 px. */
#define CANVAS_NARROWEST 11800

struct canvas {
	struct out out;
	struct layout layout; /* to be made first; its width is the picture's */
	unsigned height, frames_bottom;
	unsigned key_x; /* where the legend goes on */
};

/* All texts are clean (str.h). Up to the legend; `about` and the footer describe the picture for
 * those who do not see it. */
void canvas_begin(struct canvas *c, const char *title, const char *subtitle, const char *about,
		  const char *footer);

/* One entry of the legend, after canvas_begin: class of the boxes it stands for, what is said of
 * it, colour; the caller adds its label to `out` in between. */
size_t canvas_key_begin(struct canvas *c, char class, const char *about, uint32_t colour);
void canvas_key_end(struct canvas *c, size_t begun);

void canvas_frames(struct canvas *c);

/* A box, after canvas_frames, in the order of the layout. How it begins is the same for all of a
 * frame and class; behind it the caller adds what stands in the title behind the name: " (3
 * samples, 1%)". */
void canvas_box_begin(struct str *out, char class, const struct frame *f);
void canvas_box_end(struct canvas *c, const struct box *b, const struct frame *f, uint32_t colour);

/* Writes the rest and releases all. `empty`: what a picture without frames says. */
MUST_CHECK int canvas_end(struct canvas *c, const char *footer, const char *empty);

/* The frame of a box; "all" of the first. Borrowed. */
const struct frame *canvas_frame(const struct stacks *s, const struct box *b);

/* A part of a whole in percent, with two decimals at most. */
void canvas_percent(struct str *s, uint64_t part, uint64_t whole);

#endif
