/* SPDX-License-Identifier: Apache-2.0 */
/* Colours and labels of frame kinds: FlameGraph's --color=java with more kinds. */
#ifndef DFG_FORMAT_PALETTE_H
#define DFG_FORMAT_PALETTE_H

#include "calltree/calltree.h"

struct kind_look {
	char letter;	   /* class in the picture, unique */
	const char *name;  /* for programs */
	const char *label; /* in the legend */
	const char *about; /* one line for the tooltip */
};

const struct kind_look *palette_look(enum frame_kind kind);

/* The same for a picture's legend: where not samples are counted (`unit` of struct picture), stubs
 * are the classes of what was allocated or waited for. */
const struct kind_look *palette_legend(enum frame_kind kind, const char *unit);

/* 0xRRGGBB: the kind's hue in a shade that depends on the name, so that a name has the same colour
 * in all pictures. Black text on it has a contrast of at least 4.5 (WCAG 2, AA). */
uint32_t palette_colour(enum frame_kind kind, const char *name, size_t len);

#endif
