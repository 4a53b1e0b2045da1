/* SPDX-License-Identifier: Apache-2.0 */
/* The product of profiling: a call tree of named frames with sample counts, and its quality. */
#ifndef DFG_CALLTREE_CALLTREE_H
#define DFG_CALLTREE_CALLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/frames.h"

/* A node of the call tree. Node 0 is the root of all (no frame). Children form a list without order
 * until stacks_sort. Indices, not pointers: the arrays move while the tree grows. */
struct stack_node {
	uint32_t frame;	 /* index for stacks_frame */
	uint32_t parent; /* node */
	uint32_t first;	 /* child, 0: none */
	uint32_t next;	 /* sibling, 0: none */
	uint64_t self;	 /* samples that end here */
	uint32_t hash;	 /* of the frames from the root to it */
};

/* Counts from which the shares of the quality line are computed. */
struct quality {
	uint64_t samples;      /* read from the recording */
	uint64_t lost;	       /* reported as lost by the kernel or perf */
	uint64_t java_samples; /* taken in a thread that runs Java code */
	/* Java samples whose stack reaches the thread's first function. Frames of a virtual thread
	 * that are in the heap do not count as missing: the graph marks their place. */
	uint64_t java_complete;
	uint64_t frames;	  /* of all samples */
	uint64_t frames_unknown;  /* of these, FRAME_UNKNOWN */
	uint64_t frames_nameless; /* of these, those with frame.nameless */
	uint64_t truncated;	  /* samples whose stack was cut by a limit of the recording */
	uint64_t java_frames;	  /* of all frames, those of Java methods */
	/* Java frames without a name since the snapshots do not say which code or interpreted
	 * method was there at the time of the sample. They count as unknown, too. */
	uint64_t stale;
	/* Java samples in code that was compiled without -XX:+DebugNonSafepoints: of methods
	 * inlined into each other, the one of the next safepoint counts. */
	uint64_t between_safepoints;
	uint64_t unrated; /* samples read from text, which has none of the other counts */
};

/* Counts end here instead of wrapping around: the greatest integer that JavaScript has exactly.
 * Only forged input gets there. */
#define COUNT_MAX (UINT64_C(1) << 53)

static inline uint64_t count_add(uint64_t a, uint64_t b)
{
	return a < COUNT_MAX && b < COUNT_MAX - a ? a + b : COUNT_MAX;
}

/* Adds all counts. */
void quality_add(struct quality *to, const struct quality *from);

struct stacks;

struct stacks *stacks_new(void);
void stacks_free(struct stacks *s);

static inline void cleanup_stacks_free(struct stacks **s)
{
	stacks_free(*s);
}

/* Returns the number of the frame, which is added if it is new. The name is copied. */
uint32_t stacks_intern(struct stacks *s, const char *name, size_t len, enum frame_kind kind);

/* The frames. If they keep places (frames_keep_places), the tree has a node for each place. */
struct frames *stacks_frames(const struct stacks *s);

/* The rule by which a frame of another tree is the same as one of this tree. */
enum graft_kinds {
	GRAFT_EXACT,  /* name, kind and, where `to` keeps them, place */
	GRAFT_JOINED, /* name, and kind but for Java methods, which are FRAME_JAVA */
	GRAFT_TEXT,   /* name and as much of the kind as folded text has (frame_suffix) */
	/* The same, and a Java method is one frame in all runs, compiled or not: FRAME_JAVA,
	   frame_add_stable_name. The first Java method of a thread becomes a child of the thread:
	   the frames of the JVM and of java.lang.Thread between them differ from JDK to JDK. */
	GRAFT_METHODS,
};

/* Options for adding one tree to another. All 0: unchanged. */
struct graft {
	uint32_t under;	 /* the node of `to` that gets the stacks */
	bool skip_first; /* without their first frame, the thread */
	bool pools;	 /* with the thread's pool instead of the thread (thread_root.h) */
	bool fold_start; /* with one frame for those that start a thread (thread_root.h) */
	enum graft_kinds kinds;
};

/* Adds all samples of one tree to another. *ret_nodes (may be NULL) is owned by the caller: the
 * node of `to` for each node of `from`. */
void stacks_graft(struct stacks *to, const struct stacks *from, const struct graft *how,
		  uint32_t **ret_nodes);

/* Returns the number of a frame of another tree, which is added if it is new (GRAFT_EXACT). */
uint32_t stacks_copy_frame(struct stacks *to, const struct stacks *from, uint32_t frame);

/* Copies the tree without places. *ret_nodes as above. */
struct stacks *stacks_plain(const struct stacks *s, uint32_t **ret_nodes);

/* Copies the tree without places, with one node for a Java method and all its ways to run at a
 * place: it has the kind in which most of the node's samples ran. For pictures: no samples can be
 * added. */
struct stacks *stacks_join_methods(const struct stacks *s);

/* Adds `count` samples of a stack of n frames, outermost first. Returns the node they end at. */
uint32_t stacks_add(struct stacks *s, const uint32_t *frames, size_t n, uint64_t count);

/* Adds `count` samples to the child of a node for a frame, which is made if new. Returns the child.
 */
uint32_t stacks_child(struct stacks *s, uint32_t parent, uint32_t frame, uint64_t count);

/* Adds `count` samples to a node. */
void stacks_count(struct stacks *s, uint32_t node, uint64_t count);

/* Orders all lists of children by frame name, then kind. */
void stacks_sort(struct stacks *s);

/* Borrowed; valid until the next stacks_intern or stacks_add. */
const struct frame *stacks_frame(const struct stacks *s, uint32_t frame);
const struct stack_node *stacks_node(const struct stacks *s, uint32_t node);
size_t stacks_node_count(const struct stacks *s);
size_t stacks_frame_count(const struct stacks *s);

/* Returns the samples of each node and of all below it, by node. Owned by the caller. */
uint64_t *stacks_totals(const struct stacks *s);

#endif
