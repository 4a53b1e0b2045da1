/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames of a virtual thread that are in the heap (JDK 21 to 27): when a thread goes on, only its
 * innermost ones are put back on the stack, and return to a barrier that does the same for the next
 * ones. The rest is in StackChunks, one after another, laid out as on the stack: compiled frames by
 * their size; of interpreted ones, what refers to the frame itself is relative to it, in words
 * (runtime/continuationFreezeThaw.cpp, oops/stackChunkOop.hpp). */
#ifndef DFG_KERNEL_FLAT_FROZEN_H
#define DFG_KERNEL_FLAT_FROZEN_H

#include "kernel/flat_lookup.h"

#define FLAT_CHUNK_WORDS (1u << 20)

/* Places in a ContinuationEntry, as SNAP_ENTRY_CONT and so on. */
#define FLAT_ENTRY_CONT	     16u
#define FLAT_ENTRY_FLAGS     32u
#define FLAT_ENTRY_ARGUMENTS 36u
#define FLAT_ENTRY_PLACES    16u  /* where one is looked for */
#define FLAT_ENTRY_BYTES     256u /* up to where enterSpecial's frame pointer leads */

static inline uint32_t flat_int_at(uint64_t object, uint32_t place)
{
	return (uint32_t)word_at(object, place);
}

/* Takes the caller's frame pointer, where a frame in the heap has it. */
static inline bool flat_take_link(struct flat_walk *w, uint64_t at)
{
	uint64_t words = 0;

	if (!flat_read(w, at, &words))
		return false;
	w->fp = at + words * FLAT_WORD;
	return true;
}

/* True if the innermost frame of a chunk can be there: after a call, or in the code of a native
 * method, which says of itself where it is (JDK 24: Object.wait). */
static inline bool flat_may_freeze(struct flat_walk *w, uint64_t pc)
{
	const struct flat_code *c;

	if (flat_is_return(w, pc))
		return true;
	c = flat_find(w, pc - 1);
	return c && c->kind == FLAT_WRAPPER;
}

/* Goes to the first frame of a chunk. False: it is none. */
FLAT_FUNCTION bool flat_enter_chunk(struct flat_walk *w, uint64_t chunk)
{
	const struct flat_virtual *v;
	uint32_t size, sp, bottom;
	uint64_t pc = 0;

	FLAT_NEED(w, false);
	v = &w->process.objects.virtual;
	size = flat_int_at(chunk, v->chunk_size);
	sp = flat_int_at(chunk, v->chunk_sp);
	bottom = v->chunk_bottom == FLAT_NONE ? size - flat_int_at(chunk, v->chunk_arguments)
					      : flat_int_at(chunk, v->chunk_bottom);
	if (!chunk || !size || size > FLAT_CHUNK_WORDS || sp > size || bottom > size)
		return false;
	w->chunk = chunk;
	w->base = chunk + v->chunk_stack;
	w->sp = w->base + sp * FLAT_WORD;
	w->chunk_end = w->base + bottom * FLAT_WORD;
	w->exact = false;
	if (sp >= bottom) /* a chain of these may have been made to have no end */
		return w->searches++ < FLAT_SEARCHES_MAX;
	if (!flat_read_pc(w, w->sp - FLAT_WORD, &pc) || !flat_may_freeze(w, pc) ||
	    !flat_take_link(w, w->sp - 2 * FLAT_WORD))
		return false;
	w->pc = pc;
	return true;
}

/* Goes on with the frame below enterSpecial's, to which the frame pointer points. */
static inline enum flat_end flat_below_entry(struct flat_walk *w)
{
	return w->fp >= w->sp && w->fp % FLAT_WORD == 0 && flat_take_found(w, flat_framed(w))
		       ? FLAT_ON
		       : FLAT_ROOT;
}

/* Goes on with the frames of the carrier, from the ContinuationEntry on, which is in the frame of
 * enterSpecial. A JVM that does not tell where frames return to that leaves this frame out: the
 * frame pointer leads there, or, if the outermost frame's caller is compiled and in the heap,
 * anywhere. */
static inline enum flat_end flat_leave_heap(struct flat_walk *w, uint64_t pc)
{
	const uint64_t enter = w->process.objects.virtual.enter_return;

	w->chunk = 0;
	w->base = w->mount_base;
	w->sp = w->mount;
	w->fp = w->mount_fp;
	w->pc = flat_find(w, enter - 1) ? enter : pc;
	if (!w->mount)
		return FLAT_ROOT;
	if (w->pc)
		return FLAT_ON;
	return w->fp - w->sp <= FLAT_ENTRY_BYTES ? flat_below_entry(w) : FLAT_ROOT;
}

/* Says that there are frames which cannot be walked, and goes on with the carrier's. */
static inline enum flat_end flat_lose_frozen(struct flat_walk *w)
{
	flat_add(w, FLAT_FRAME(FLAT_FRAME_FROZEN, 0));
	return flat_leave_heap(w, 0);
}

/* True if a ContinuationEntry is so many words above the outermost frame. */
FLAT_FUNCTION bool flat_is_entry(struct flat_walk *w, uint32_t above)
{
	uint64_t at;
	uint32_t words;

	FLAT_NEED(w, false);
	at = w->sp + above * FLAT_WORD;
	words = flat_int_at(at, FLAT_ENTRY_ARGUMENTS);
	return flat_int_at(at, FLAT_ENTRY_FLAGS) <= 1 && word_at(at, FLAT_ENTRY_CONT) &&
	       (words == above || words + 1 == above);
}

/* Finds the ContinuationEntry, which is above the arguments of the outermost frame on the stack. */
static inline uint64_t flat_find_entry(struct flat_walk *w)
{
	for (uint32_t i = 0; i < FLAT_ENTRY_PLACES; i++)
		if (flat_is_entry(w, i))
			return w->sp + i * FLAT_WORD;
	return 0;
}

/* True if the JVM is just putting the frames on the stack into the chunk, which begins with them
 * already: no other ones begin where the JVM was called. */
static inline bool flat_is_freezing(const struct flat_walk *w)
{
	return w->pc == w->called || w->pc == w->caller;
}

/* Goes on in the heap, from where frames return to the barrier. */
FLAT_FUNCTION enum flat_end flat_frozen(struct flat_walk *w)
{
	const struct flat_objects *o;

	FLAT_NEED(w, FLAT_ROOT);
	/* The barrier has called the JVM, which is putting frames back: the stack is not theirs. */
	if (w->pushes) {
		flat_add(w, FLAT_FRAME(FLAT_FRAME_FROZEN, 0));
		return flat_below_entry(w);
	}
	o = &w->process.objects;
	w->mount_fp = w->fp;
	w->mount_base = w->base;
	w->mount = flat_find_entry(w);
	if (!w->mount || o->virtual.chunk == FLAT_NONE ||
	    !flat_enter_chunk(w,
			      object_in(o, word_at(w->mount, FLAT_ENTRY_CONT), o->virtual.chunk)) ||
	    flat_is_freezing(w))
		return flat_lose_frozen(w);
	return FLAT_ON;
}

/* The frames of a chunk end: those of the next one follow, or the carrier's. */
FLAT_FUNCTION enum flat_end flat_leave_chunk(struct flat_walk *w)
{
	const struct flat_objects *o;
	uint64_t next;

	FLAT_NEED(w, FLAT_ROOT);
	o = &w->process.objects;
	next = object_in(o, w->chunk, o->virtual.chunk_parent);
	if (next)
		return flat_enter_chunk(w, next) ? FLAT_ON : flat_lose_frozen(w);
	return flat_leave_heap(w, w->pc);
}

/* Adds a frame in the heap, and steps to its caller. False: it contradicts itself. */
FLAT_FUNCTION bool flat_in_chunk(struct flat_walk *w, const struct flat_code *c, uint32_t number)
{
	const int64_t method_at = (int64_t)(w ? w->process.method_slot : 0) * (int64_t)FLAT_WORD;
	uint64_t frame, link, sp, pc = 0;

	FLAT_NEED(w && c, false);
	if (c->kind == FLAT_INTERPRETER) {
		frame = FLAT_FRAME(FLAT_FRAME_INTERPRETED,
				   word_at(w->fp + (uint64_t)method_at, 0) & (~0ull >> 4));
		link = w->fp;
		sp = w->fp + word_at(w->fp - FLAT_WORD, 0) * FLAT_WORD;
	} else if (c->kind <= FLAT_WRAPPER || c->kind == FLAT_RUNTIME) {
		if (c->frame < 2 * FLAT_WORD ||
		    !flat_restore_pc(w, c, (uint32_t)(w->pc - c->start)))
			return false;
		frame = FLAT_FRAME(FLAT_FRAME_CODE,
				   FLAT_IN_CODE(number, (uint32_t)(w->pc - c->start) - 1));
		link = w->sp + c->frame - 2 * FLAT_WORD;
		sp = w->sp + c->frame;
	} else {
		return false;
	}
	if (sp <= w->sp || link < w->sp || link % FLAT_WORD)
		return false;
	/* Of the outermost one the address may be missing. */
	if (!flat_read_pc(w, link + FLAT_WORD, &pc) || !flat_is_return(w, pc))
		pc = 0;
	if (sp < w->chunk_end && (!pc || !flat_take_link(w, link)))
		return false;
	flat_add(w, frame);
	w->pc = pc;
	w->sp = sp;
	return true;
}

#endif
