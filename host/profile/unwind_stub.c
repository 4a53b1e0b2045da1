// SPDX-License-Identifier: Apache-2.0
/* Code the JVM generated that is no method (HotSpot, x86-64): leaf stubs such as copying and
 * checksums, stubs with a frame of their own, the call stub, and adapters. */
#include "unwind_walk.h"

#define WORD 8u

/* DWARF numbers */
#define RAX 0
#define R13 13

/* Registers a stub saves, and what else it keeps: the stubs of ciphers push most of them. */
#define SAVED_MAX 16u

/* A stub that native code of the JVM called: only where a frame pointer leads there. */
static bool to_native(struct walk *w)
{
	uint64_t fp = unwind_fp(&w->regs), pc;

	return fp >= unwind_sp(&w->regs) && fp % WORD == 0 &&
	       stack_read(w->stack, fp + WORD, &pc) && walk_is_native(w, pc) &&
	       walk_go(w, pc, fp + 2 * WORD, fp);
}

/* Nearly all stubs begin with "push rbp; mov rbp, rsp": either the return address is on top, or
 * that push is, or there is a frame. Without one, words below the return address are registers that
 * the stub saved. */
static bool by_frame(struct walk *w)
{
	uint64_t sp = unwind_sp(&w->regs), fp = unwind_fp(&w->regs), word;

	if (walk_take(w, (struct sender){.ret_at = sp}))
		return true;
	if (stack_read(w->stack, sp, &word) && word == fp &&
	    walk_take(w, (struct sender){.ret_at = sp + WORD}))
		return true;
	if (fp >= sp && fp % WORD == 0 &&
	    walk_take(w, (struct sender){.ret_at = fp + WORD, .fp_at = fp}))
		return true;
	for (unsigned i = 1; i <= SAVED_MAX; i++)
		if (walk_take(w, (struct sender){.ret_at = sp + i * WORD}))
			return true;
	return false;
}

/* Adapters take the return address off and put it back below the arguments that they move; in
 * between it is in rax, and r13 is what the caller's stack pointer was. */
static bool by_adapter(struct walk *w)
{
	uint64_t sp = unwind_sp(&w->regs), sender = unwind_get(&w->regs, R13);
	uint64_t pc = unwind_get(&w->regs, RAX), word;

	if (sender < sp || sender - sp > 1024 * WORD || sender % WORD)
		sender = sp;
	if (stack_read(w->stack, sp, &word) && walk_is_return(w, word))
		return walk_go(w, word, sender > sp ? sender : sp + WORD, 0);
	return w->regs.exact && sender > sp && walk_is_return(w, pc) && walk_go(w, pc, sender, 0);
}

static bool by_size(struct walk *w, const struct snapfile_code *c)
{
	uint64_t sp = unwind_sp(&w->regs);
	uint32_t size = c->record->frame_size;

	if (size < 2 * WORD)
		return false;
	return walk_take(
		w, (struct sender){.ret_at = sp + size - WORD, .fp_at = sp + size - 2 * WORD});
}

enum step walk_stub(struct walk *w, const struct snapfile_code *c)
{
	uint64_t fp = unwind_fp(&w->regs);

	walk_add(w, UNWIND_CODE, 0);
	if (unwind_pc(&w->regs) == w->head->call_stub_return && !w->regs.exact)
		return to_native(w) ? STEP_ON : walk_missing(w, fp + WORD);
	if (c->record->kind == SNAP_ADAPTER && by_adapter(w))
		return STEP_ON;
	if (c->record->kind == SNAP_RUNTIME && by_size(w, c))
		return STEP_ON;
	if (by_frame(w) || to_native(w))
		return STEP_ON;
	return fp >= unwind_sp(&w->regs) ? walk_missing(w, fp + WORD) : STEP_LOST;
}
