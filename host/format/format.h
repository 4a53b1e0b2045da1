/* SPDX-License-Identifier: Apache-2.0 */
/* Writers and readers of all file formats. A writer draws a call tree, or the difference of two,
 * into a descriptor. A reader parses untrusted bytes in memory. Neither opens a file. */
#ifndef DFG_FORMAT_FORMAT_H
#define DFG_FORMAT_FORMAT_H

#include "calltree/calltree.h"
#include "calltree/difference.h"
#include "calltree/samples.h"
#include "calltree/subjects.h"
#include "calltree/verdict.h"
#include "common/err.h"
#include "session/session.h"

/* A page of the same recording. */
struct page_link {
	const char *name; /* of its event: "alloc" */
	char *file;	  /* beside this one; NULL: this one */
};

/* Text and data that accompany a call tree. All texts are clean (str.h); writers escape them. */
struct picture {
	const char *title;    /* "web: 30 s at 99 Hz" */
	const char *subtitle; /* container, host, time; may be "" */
	struct quality quality;
	unsigned frequency;		 /* samples per second and processor, 0: unknown */
	double duration;		 /* seconds, 0: unknown */
	const char *unit;		 /* of what is counted; NULL: samples */
	const struct verdict *verdict;	 /* NULL: none; then no warnings either */
	const struct subjects *subjects; /* NULL: none */
	const struct pauses *pauses;	 /* NULL: none */
	const struct compilation_list *compilations; /* NULL: none */
	const struct wall_list *wall;		     /* NULL: none */
	struct session_cpu cpu;			     /* shown with the verdict */
	const struct session *session;		     /* NULL: several, or text */
	/* The profile with places and samples, only for formats that use them, else NULL. */
	const struct profile *details;
	const uint32_t *nodes; /* by node of `details`: the node of the drawn tree */
	/* Roots in formats with details, in the page at first: "pool" (also for NULL), "name" or
	 * "merged"; full: frames that start a thread are not one (calltree/thread_root.h). */
	const char *threads;
	bool full;
	/* The pages of all events, this one's, too. */
	const struct page_link *links;
	size_t link_count;
};

/* The writers keep the order of children: call stacks_sort first. Output of those that take details
 * has times, threads and source lines where the picture has them. */

/* Folded stacks, FlameGraph's format: "frame;frame_[j] count\n". */
MUST_CHECK int draw_folded(const struct stacks *s, int fd, struct err *err);
MUST_CHECK int draw_svg(const struct stacks *s, const struct picture *p, int fd, struct err *err);

/* With details: a self-contained HTML page, pprof's gzipped protocol buffer, the JSON of speedscope
 * and of Firefox Profiler, and the call tree as JSON of dfg's own. */
MUST_CHECK int draw_html(const struct stacks *s, const struct picture *p, int fd, struct err *err);
MUST_CHECK int draw_pprof(const struct stacks *s, const struct picture *p, int fd, struct err *err);
MUST_CHECK int draw_speedscope(const struct stacks *s, const struct picture *p, int fd,
			       struct err *err);
MUST_CHECK int draw_firefox(const struct stacks *s, const struct picture *p, int fd,
			    struct err *err);
MUST_CHECK int draw_json(const struct stacks *s, const struct picture *p, int fd, struct err *err);

/* Text that accompanies a difference. All texts are clean (str.h). */
struct difference_picture {
	const char *title, *subtitle; /* name and date both sides; the subtitle may be "" */
	struct quality before_quality, after_quality;
	bool normalize;	  /* folded text: scale counts before to the samples after */
	const char *unit; /* of what is counted; NULL: samples */
};

/* The same for a difference. In SVG and HTML a frame's
 * width is the mean of its shares before and after, so that new and vanished frames are both
 * visible; red frames grew, blue ones shrank, the change of grey ones is not significant. */
MUST_CHECK int draw_difference_svg(const struct difference *d, const struct difference_picture *p,
				   int fd, struct err *err);
MUST_CHECK int draw_difference_html(const struct difference *d, const struct difference_picture *p,
				    int fd, struct err *err);

/* "frame;frame before after\n", as FlameGraph's difffolded.pl writes it. */
MUST_CHECK int draw_difference_folded(const struct difference *d,
				      const struct difference_picture *p, int fd, struct err *err);

/* Appends the quality line without a newline: "51,466 samples · 0 lost · 99.7 % of Java stacks
 * complete · 0.1 % frames unknown · 0 % truncated". A share is shown as 0 % or 100 % only if it is
 * exactly that. The stale share is shown only if it is not 0. */
struct str;
void draw_quality_of(struct str *out, const struct quality *q, const char *unit);
void draw_difference_quality(struct str *out, const struct difference_picture *p); /* both */

/* Reads folded text of any tool (docs/formats.md) and adds each line "frame;frame count". Names are
 * cleaned (str.h). The first frame becomes a FRAME_ROOT; a suffix gives the kind of the others, or
 * frame_kind_of_text without one. Adds the number of samples to *samples, if not NULL. Returns the
 * number of lines skipped: without a frame, without a count, or with one that would raise the sum
 * above 2^53 (the largest that JavaScript counts exactly). Empty lines are ignored. */
uint64_t fold_read(struct stacks *s, const char *text, size_t len, uint64_t *samples);

/* True if the data may be pprof's, judged by its first bytes. */
bool pprof_is(const void *data, size_t len);

/* Reads a profile in pprof's format, gzipped or not, written by any tool. The count of EVENT_CPU is
 * the number of samples or, in profiles without one, the default value (of time: as many samples as
 * the period gives); of events in bytes or ns the value that pprof_value_of has for that. A profile
 * without it is refused, as are other events: samples do not tell theirs. Stacks without a thread
 * name begin with the main program. Samples that are kept get time 0, since pprof has no times;
 * more than 2^27 (bytes, ns) are in the stacks only. Adds to quality.samples. */
MUST_CHECK int pprof_read(struct profile *p, const void *data, size_t len, enum event_kind event,
			  struct err *err);

#endif
