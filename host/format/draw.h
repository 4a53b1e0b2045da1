/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks -> pictures. Pure: writes to a descriptor it is given. */
#ifndef DFG_FORMAT_DRAW_H
#define DFG_FORMAT_DRAW_H

#include "calltree/calltree.h"
#include "calltree/samples.h"
#include "common/err.h"

/* What is written beside the frames. All texts are clean (str.h); escaping is the writer's. */
struct picture {
	const char *title;    /* "web: 30 s at 99 Hz" */
	const char *subtitle; /* container, host, time; may be "" */
	struct quality quality;
	unsigned frequency; /* samples per second and processor, 0: unknown */
	double duration;    /* seconds, 0: unknown */
	/* Only for formats that ask for them, else NULL: the profile with places and samples, and
	 * the node of the drawn stacks for each node of its stacks. */
	const struct profile *details;
	const uint32_t *nodes;
};

/* Both draw children in the order they have: call stacks_sort first. */

/* Folded stacks: "frame;frame_[j] count\n" (FlameGraph's format); fold.h reads it. */
MUST_CHECK int draw_folded(const struct stacks *s, int fd, struct err *err);

/* Interactive SVG. */
MUST_CHECK int draw_svg(const struct stacks *s, const struct picture *p, int fd, struct err *err);

/* pprof's protocol buffer, gzipped; pprof.h reads it. With details it has the threads. */
MUST_CHECK int draw_pprof(const struct stacks *s, const struct picture *p, int fd, struct err *err);

/* One page that needs nothing else. Takes details where the picture has them. */
MUST_CHECK int draw_page(const struct stacks *s, const struct picture *p, int fd, struct err *err);

/* speedscope's JSON and the call tree as JSON of our own. */
MUST_CHECK int draw_speedscope(const struct stacks *s, const struct picture *p, int fd,
			       struct err *err);
MUST_CHECK int draw_tree(const struct stacks *s, const struct picture *p, int fd, struct err *err);

/* Firefox Profiler's JSON. */
MUST_CHECK int draw_firefox(const struct stacks *s, const struct picture *p, int fd,
			    struct err *err);

/* The quality line, appended without a newline: "51 466 samples · 0 lost · 99.7 % of Java stacks
 * complete · 0.1 % frames unknown · 0 % truncated". A share is 0 % or 100 % only when it is so
 * exactly. The stale share follows only where there is one. */
struct str;
void draw_quality(struct str *out, const struct quality *q);

#endif
