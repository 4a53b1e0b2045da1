// SPDX-License-Identifier: Apache-2.0
/* Compiled methods and wrappers of native methods (HotSpot, x86-64; cpu/x86/frame_x86.cpp and
 * c1_MacroAssembler_x86.cpp, macroAssembler_x86.cpp of JDK 8 to 25).
 *
 * The frame, from the unextended stack pointer upwards: frame_size bytes, of which the last two
 * words are the caller's frame pointer and the return address. The frame pointer is saved with and
 * without PreserveFramePointer, since compiled code uses it as any other register. */
#include "unwind_walk.h"

#define WORD	   8u
#define PUSHED_MAX 6u  /* words that intrinsics push around a loop or a leaf call */
#define MOVED_MAX  80u /* bytes that they take in other ways */

/* A return address that was replaced: the method is to be deoptimised as soon as it is returned to.
 * The real one is in the frame. */
static bool restore_pc(struct walk *w, const struct snapfile_code *c)
{
	uint64_t pc = unwind_pc(&w->regs), offset = pc - c->start, original;

	if (w->regs.exact || (offset != c->record->deopt && offset != c->record->deopt_mh))
		return true;
	if (c->record->orig_pc == SNAP_NONE ||
	    !stack_read(w->stack, unwind_sp(&w->regs) + c->record->orig_pc, &original) ||
	    original <= c->start || original > c->end ||
	    !snapfile_is_return(c, original - c->start))
		return false;
	unwind_set(&w->regs, UNWIND_PC, original);
	return true;
}

struct sender walk_body(const struct snapfile_code *c, uint64_t sp)
{
	if (c->record->frame_size < 2 * WORD)
		return (struct sender){.ret_at = sp};
	return (struct sender){.ret_at = sp + c->record->frame_size - WORD,
			       .fp_at = sp + c->record->frame_size - 2 * WORD};
}

/* While the frame is made: "push rbp; sub rsp, n", or "sub rsp, n; mov [rsp + n - 16], rbp". */
static struct sender prologue_sender(const struct snapfile_code *c, uint64_t sp, uint64_t offset)
{
	const struct snap_code *r = c->record;
	struct sender body = walk_body(c, sp);

	if (r->push_end != SNAP_NONE && offset < r->push_end)
		return (struct sender){.ret_at = sp};
	if (r->sub_end == SNAP_NONE || offset < r->sub_end)
		return r->push_end == SNAP_NONE ? (struct sender){.ret_at = sp}
						: (struct sender){.ret_at = sp + WORD, .fp_at = sp};
	if (r->push_end == SNAP_NONE && offset == r->sub_end)
		body.fp_at = 0;
	return body;
}

struct sender walk_innermost(const struct walk *w, const struct snapfile_code *c)
{
	uint64_t sp = unwind_sp(&w->regs), offset = unwind_pc(&w->regs) - c->start, word;
	const struct snap_exit *exit = snapfile_exit(c, offset);

	if (exit) {
		/* At the start of an exit without "pop rbp" the return address is on top; a saved
		 * frame pointer there is none. */
		if (offset > exit->pop ||
		    (stack_read(w->stack, sp, &word) && walk_is_return(w, word)))
			return (struct sender){.ret_at = sp};
		return (struct sender){.ret_at = sp + WORD, .fp_at = sp};
	}
	if (c->record->frame_complete == SNAP_NONE || offset < c->record->frame_complete)
		return prologue_sender(c, sp, offset);
	return walk_body(c, sp);
}

/* Whether the frame may be gone where the code does not tell. Behind a method's last region and
 * exit are stubs that belong to it: the slow way of a return's poll runs there. The wrapper of a
 * native method keeps a frame pointer until it leaves, and then looks for an exception. */
static bool is_left(const struct walk *w, const struct snapfile_code *c)
{
	uint32_t count = c->record->region_count, exits = c->record->exit_count;
	uint64_t offset = unwind_pc(&w->regs) - c->start;

	if (!w->regs.exact)
		return false;
	if (c->record->kind == SNAP_NATIVE)
		return offset >= c->record->frame_complete &&
		       unwind_fp(&w->regs) !=
			       unwind_sp(&w->regs) + c->record->frame_size - 2 * WORD;
	return count && offset >= c->regions[count - 1].end &&
	       (!exits || offset >= c->exits[exits - 1].end);
}

/* C2's String.indexOf moves the stack pointer, by up to four words and a copy of the string
 * searched for, and keeps what it was on top (c2_MacroAssembler_x86.cpp string_indexof, JDK 8 to
 * 25). */
static bool by_saved_pointer(struct walk *w, const struct snapfile_code *c)
{
	uint64_t sp = unwind_sp(&w->regs), saved;

	return w->regs.exact && stack_read(w->stack, sp, &saved) && saved > sp &&
	       saved - sp <= MOVED_MAX && saved % WORD == 0 &&
	       walk_take_found(w, walk_body(c, saved));
}

enum step walk_method(struct walk *w, const struct snapfile_code *c)
{
	uint64_t sp = unwind_sp(&w->regs);
	struct sender s;

	if (!restore_pc(w, c))
		return walk_missing(w, sp + c->record->orig_pc);
	walk_add(w, UNWIND_CODE, 0);
	s = w->regs.exact ? walk_innermost(w, c) : walk_body(c, sp);
	if (is_left(w, c) && walk_take_found(w, (struct sender){.ret_at = sp}))
		return STEP_ON;
	if (walk_take(w, s) || by_saved_pointer(w, c) ||
	    (w->pushes && walk_search(w, s, 1 + PUSHED_MAX)))
		return STEP_ON;
	return walk_missing(w, s.ret_at);
}
