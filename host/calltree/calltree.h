/* SPDX-License-Identifier: Apache-2.0 */
/* The product of profiling: a call tree of named frames with counts, and how good it is.
 * Pure memory; knows nothing of perf, files or pictures. */
#ifndef DFG_CALLTREE_CALLTREE_H
#define DFG_CALLTREE_CALLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/frames.h"

/* A node of the call tree. Node 0 is the root of all (no frame). Children are a list in no
 * particular order; stacks_sort orders every list by name. Indices, not pointers: the arrays move
 * while the tree grows. */
struct stack_node {
	uint32_t frame;	 /* index for stacks_frame */
	uint32_t parent; /* node */
	uint32_t first;	 /* child, 0: none */
	uint32_t next;	 /* sibling, 0: none */
	uint64_t self;	 /* samples that end here */
};

/* Counts behind the shares of the quality line (design.md P5, section 5). */
struct quality {
	uint64_t samples;      /* read from the recording */
	uint64_t lost;	       /* samples the kernel or perf says it lost */
	uint64_t java_samples; /* taken in a thread that runs Java code */
	/* Of these, whose stack reaches the thread's first function. A virtual thread's frames that
	 * are in the heap do not count as missing: the graph marks where they are. */
	uint64_t java_complete;
	uint64_t frames;	  /* frames of all samples */
	uint64_t frames_unknown;  /* of these, FRAME_UNKNOWN */
	uint64_t frames_nameless; /* of these, frame_is_nameless */
	uint64_t truncated;	  /* samples whose stack was cut by a limit of the recording */
	uint64_t java_frames;	  /* of all frames, those of Java methods */
	/* Of these, which have no name since snapshots do not tell whose code, or which interpreted
	 * method, was there at the time of the sample; they count as unknown, too. */
	uint64_t stale;
	/* Java samples in code that was compiled without -XX:+DebugNonSafepoints: of methods
	 * inlined into each other, the one of the next safepoint counts. */
	uint64_t between_safepoints;
	uint64_t unrated; /* of all samples, from text, which says nothing of the others */
};

struct stacks;

struct stacks *stacks_new(void);
void stacks_free(struct stacks *s);

static inline void cleanup_stacks_free(struct stacks **s)
{
	stacks_free(*s);
}

/* Index of the frame, made if new. The name is copied. */
uint32_t stacks_intern(struct stacks *s, const char *name, size_t len, enum frame_kind kind);

/* The names. Where they keep places (frames_keep_places), the tree has a node for each. */
struct frames *stacks_frames(const struct stacks *s);

/* What makes a frame of another tree the same as one of this. */
enum graft_kinds {
	GRAFT_EXACT, /* name, kind and, where `to` keeps them, place */
	GRAFT_TEXT,  /* name and as much of the kind as folded text has (frame_suffix) */
	/* The same, and a Java method is one frame in all runs, however it ran: FRAME_JAVA,
	   hidden.h. A thread's first Java method stands next to the thread: how the JVM and
	   java.lang.Thread get there differs from JDK to JDK. */
	GRAFT_METHODS,
};

/* How one tree goes into another. All 0: as it is. */
struct graft {
	uint32_t under;	 /* the node of `to` that gets the stacks */
	bool skip_first; /* without their first frame, the thread */
	enum graft_kinds kinds;
};

/* Adds all samples of one tree to another. *ret_nodes, if asked for, is owned by the caller: the
 * node of `to` for each node of `from`. */
void stacks_graft(struct stacks *to, const struct stacks *from, const struct graft *how,
		  uint32_t **ret_nodes);

/* The tree with its places left out. *ret_nodes, if asked for, is owned by the caller: the node
 * there for each node here. */
struct stacks *stacks_plain(const struct stacks *s, uint32_t **ret_nodes);

/* Adds `count` samples of a stack of n frames, outermost first. Returns the node they end at. */
uint32_t stacks_add(struct stacks *s, const uint32_t *frames, size_t n, uint64_t count);

/* The child of a node for a frame, made if new, with `count` more samples that end there. */
uint32_t stacks_child(struct stacks *s, uint32_t parent, uint32_t frame, uint64_t count);

/* Orders all lists of children by frame name, then kind. */
void stacks_sort(struct stacks *s);

/* Borrowed; valid until the next stacks_intern or stacks_add. */
const struct frame *stacks_frame(const struct stacks *s, uint32_t frame);
const struct stack_node *stacks_node(const struct stacks *s, uint32_t node);
size_t stacks_node_count(const struct stacks *s);
size_t stacks_frame_count(const struct stacks *s);

/* Samples of each node and all below it, indexed by node. Owned by the caller. */
uint64_t *stacks_totals(const struct stacks *s);

#endif
