/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown of a call tree: its methods by time of their own and with what they call, its
 * threads, and what the machine was busy with. Pure. */
#ifndef DFG_TOP_VIEW_H
#define DFG_TOP_VIEW_H

#include "calltree/calltree.h"
#include "top/lens.h"

/* What a sample is of: by its thread and its innermost frame. They add up to all samples. */
enum busy {
	BUSY_APPLICATION,
	BUSY_COMPILER,
	BUSY_GC,
	BUSY_JVM, /* its other threads */
	BUSY_KERNEL,
	BUSY_KINDS
};
const char *busy_name(enum busy b);

/* How a frame's code runs, finer than its kind. */
enum how {
	HOW_C2,
	HOW_C1,
	HOW_COMPILED, /* level unknown */
	HOW_INLINED,
	HOW_INTERPRETED,
	HOW_NATIVE,
	HOW_JVM,
	HOW_STUB,
	HOW_KERNEL,
	HOW_UNKNOWN,
	HOW_KINDS
};
const char *how_name(enum how h); /* at most 6 columns */

/* A method or function; of Java the same one however it ran. */
struct row {
	const char *name;	 /* of the stacks */
	enum frame_kind kind;	 /* FRAME_JAVA for all of Java */
	uint64_t self, total;	 /* samples; a recursive one counts once */
	uint64_t how[HOW_KINDS]; /* samples with it, by the outermost of its frames */
};

struct thread_row {
	const char *name;
	uint64_t total;
	uint64_t busy[BUSY_KINDS];
};

struct view {
	struct row *rows;
	size_t row_count;
	struct thread_row *threads; /* by total; all of them, whatever thread the lens has */
	size_t thread_count;
	uint64_t samples;	   /* in the lens' thread */
	uint64_t busy[BUSY_KINDS]; /* of these */
};

/* Names are valid as long as the stacks are. */
void view_make(const struct stacks *s, const struct lens *lens, struct view *ret);
void view_fini(struct view *v);

static inline void cleanup_view_fini(struct view *v)
{
	view_fini(v);
}

/* The way most of a row's samples ran. */
enum how row_how(const struct row *r);

#endif
