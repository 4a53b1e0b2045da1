/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregates a call tree for tables and the verdict: methods with self and total samples, threads,
 * and the shares of application, compiler, garbage collection, JVM and kernel. Pure. */
#ifndef DFG_CALLTREE_VIEW_H
#define DFG_CALLTREE_VIEW_H

#include <regex.h>

#include "calltree/calltree.h"
#include "calltree/wall.h"

enum lens_order {
	ORDER_SELF,
	ORDER_TOTAL,
};

/* Selects the part of a call tree that is shown, and its order. */
struct lens {
	enum lens_order order;
	const char *thread; /* only stacks of this thread; NULL: all */
	const char *filter; /* only names that match (name_filter); NULL: all */
	bool hides_agent;   /* without the thread of dfg's own agent */
};

bool lens_has_thread(const struct lens *lens, const char *name);

/* A search, by the same rules as in the page and the SVG: a regular expression (POSIX extended),
 * or plain text if it is not a valid one. Ignores case unless the text has a capital letter; '/'
 * and
 * '#' find '.', too: "java/util/HashMap#put" finds "java.util.HashMap.put". */
struct name_filter {
	regex_t regex;
	bool on; /* false: all names pass */
};

/* `text` NULL: all names pass. To be released with name_filter_fini. */
void name_filter_make(struct name_filter *ret, const char *text);
bool name_filter_passes(const struct name_filter *f, const char *name);
void name_filter_fini(struct name_filter *f);

static inline void cleanup_name_filter_fini(struct name_filter *f)
{
	name_filter_fini(f);
}

/* The stacks of the thread with a frame that passes the filter, without places. Owned by the
 * caller.
 */
struct stacks *lens_stacks(const struct stacks *s, const struct lens *lens);

/* A sample's purpose, by its thread and its innermost frame. The shares add up to all samples. */
enum busy {
	BUSY_APPLICATION, /* all threads that HotSpot does not name */
	BUSY_COMPILER,
	BUSY_GC,
	BUSY_JVM, /* its other threads */
	BUSY_KERNEL,
	BUSY_KINDS
};
const char *busy_name(enum busy b);

/* Returns what a thread is for, by its frame's name. */
enum busy busy_thread(const char *name);

/* The way a frame's code runs, finer than its kind. */
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

/* Java methods are of one kind however they run. */
static inline enum frame_kind method_kind(enum frame_kind kind)
{
	return frame_is_java(kind) ? FRAME_JAVA : kind;
}

/* A method or function: all frames with its name and method_kind. */
struct row {
	const char *name; /* borrowed from the stacks */
	enum frame_kind kind;
	uint64_t self, total;	 /* samples; recursion counts once */
	uint64_t how[HOW_KINDS]; /* samples with it, by its outermost frame */
};

struct thread_row {
	const char *name;
	uint64_t total;
	uint64_t busy[BUSY_KINDS];
	/* Of the wall clock by enum wall_cause; the last one is idle, and not in the total. */
	uint64_t causes[WALL_CAUSES + 1];
};

struct view {
	struct row *rows;
	size_t row_count;
	struct thread_row *threads; /* by total; all threads, whatever the lens */
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
