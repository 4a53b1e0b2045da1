/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks -> pictures. Pure: writes to a descriptor it is given. */
#ifndef DFG_DRAW_H
#define DFG_DRAW_H

#include "dfg/err.h"
#include "stacks.h"

/* What is written beside the frames. All texts are clean (str.h); escaping is the writer's. */
struct picture {
	const char *title;    /* "web: 30 s at 99 Hz" */
	const char *subtitle; /* container, host, time; may be "" */
	struct quality quality;
};

/* Folded stacks: "frame;frame_[j] count\n", sorted by name (FlameGraph's format). */
MUST_CHECK int draw_folded(const struct stacks *s, int fd, struct err *err);

/* Interactive SVG. */
MUST_CHECK int draw_svg(const struct stacks *s, const struct picture *p, int fd, struct err *err);

/* The quality line: "51466 samples, 0 lost, 99.7 % of Java stacks complete, …". */
struct str;
void draw_quality(struct str *out, const struct quality *q);

#endif
