// SPDX-License-Identifier: Apache-2.0
/* Code the JVM generated that is no method (HotSpot, x86-64): leaf stubs such as copying and
 * checksums, stubs with a frame of their own, the call stub, and adapters. */
#include "unwind_walk.h"

#define WORD 8u

/* DWARF numbers */
#define RAX 0
#define RDX 1
#define R8  8
#define R13 13

/* Registers a stub saves, and what else it keeps: the stubs of ciphers push most of them. */
#define SAVED_MAX     16u
#define LOCALS_MAX    1024u /* bytes between a stub's stack pointer and its frame pointer */
#define ARGUMENTS_MAX 8192u /* bytes */

/* A stub that native code of the JVM called. */
static bool to_native(struct walk *w, uint64_t ret_at, uint64_t fp_at)
{
	uint64_t pc;

	return stack_read(w->stack, ret_at, &pc) && walk_is_native(w, pc) &&
	       walk_go(w, pc, ret_at + WORD, fp_at);
}

/* Nearly all stubs begin with "push rbp; mov rbp, rsp": either the return address is on top, or
 * that push is, or there is a frame. Without one, words below the return address are registers that
 * the stub saved. */
static bool by_frame(struct walk *w)
{
	uint64_t sp = unwind_sp(&w->regs), fp = unwind_fp(&w->regs), word;
	bool framed = fp >= sp && fp % WORD == 0;

	if (walk_take_found(w, (struct sender){.ret_at = sp}))
		return true;
	if (stack_read(w->stack, sp, &word) && word == fp &&
	    walk_take_found(w, (struct sender){.ret_at = sp + WORD}))
		return true;
	if (framed && walk_take(w, (struct sender){.ret_at = fp + WORD, .fp_at = fp}))
		return true;
	if (framed && fp - sp <= LOCALS_MAX && to_native(w, fp + WORD, fp))
		return true;
	if (w->regs.exact && to_native(w, sp, 0))
		return true;
	return walk_search(w, (struct sender){.ret_at = sp + WORD}, SAVED_MAX);
}

/* Adapters take the return address off and put it back below the arguments that they move; in
 * between it is in rax, and r13 is what the caller's stack pointer was. Before that, and in the
 * stubs of virtual calls, r13 is anything. */
static bool by_adapter(struct walk *w)
{
	uint64_t sp = unwind_sp(&w->regs), sender = unwind_get(&w->regs, R13), word;
	uint64_t pc = unwind_get(&w->regs, RAX);
	bool moved = sender > sp && sender - sp <= ARGUMENTS_MAX && sender % WORD == 0;

	if (!stack_read(w->stack, sp, &word) || !walk_is_return(w, word))
		return w->regs.exact && moved && walk_is_return(w, pc) && walk_go(w, pc, sender, 0);
	moved = moved && !walk_leads_on(w, word, sp + WORD) && walk_leads_on(w, word, sender);
	return walk_go(w, word, moved ? sender : sp + WORD, 0);
}

static bool is_handler(const struct walk *w, uint64_t pc, uint64_t addr)
{
	const struct snapfile_code *c = snapfile_find(w->src->code, addr, w->src->time);

	return c && c == snapfile_find(w->src->code, pc - 1, w->src->time);
}

/* Where an exception goes on: ExceptionBlob is jumped to with the address that threw in rdx, and
 * pushes it; like the stub that throws again, it jumps to the handler (in rax, then r8) with the
 * address in rdx and no frame left. In between rdx is anything. */
static bool by_exception(struct walk *w, const struct snapfile_code *c)
{
	static const char name[] = "ExceptionBlob";
	uint64_t sp = unwind_sp(&w->regs), pc = unwind_get(&w->regs, RDX), word;
	bool blob = c->record->name_len == strlen(name) && memcmp(c->name, name, strlen(name)) == 0;

	if (!w->regs.exact)
		return false;
	if (!walk_is_return(w, pc))
		return false;
	if ((blob && unwind_pc(&w->regs) == c->start) ||
	    is_handler(w, pc, unwind_get(&w->regs, RAX)) ||
	    is_handler(w, pc, unwind_get(&w->regs, R8)))
		return walk_leads_on(w, pc, sp) && walk_go(w, pc, sp, 0);
	return blob && stack_read(w->stack, sp, &word) && word == pc &&
	       walk_go(w, pc, sp + WORD, 0);
}

static bool by_size(struct walk *w, const struct snapfile_code *c)
{
	uint64_t sp = unwind_sp(&w->regs);
	uint32_t size = c->record->frame_size;

	if (size < 2 * WORD)
		return false;
	if (w->regs.exact && unwind_pc(&w->regs) == c->start)
		return walk_take(w, (struct sender){.ret_at = sp});
	return walk_take(
		w, (struct sender){.ret_at = sp + size - WORD, .fp_at = sp + size - 2 * WORD});
}

enum step walk_stub(struct walk *w, const struct snapfile_code *c)
{
	uint64_t fp = unwind_fp(&w->regs);

	walk_add(w, UNWIND_CODE, 0);
	if (unwind_pc(&w->regs) == w->head->call_stub_return && !w->regs.exact)
		return fp >= unwind_sp(&w->regs) && to_native(w, fp + WORD, fp)
			       ? STEP_ON
			       : walk_missing(w, fp + WORD);
	if (c->record->kind == SNAP_ADAPTER && by_adapter(w))
		return STEP_ON;
	if (c->record->kind == SNAP_RUNTIME && (by_exception(w, c) || by_size(w, c)))
		return STEP_ON;
	if (by_frame(w))
		return STEP_ON;
	return fp >= unwind_sp(&w->regs) ? walk_missing(w, fp + WORD) : STEP_LOST;
}

/* The outermost thawed frame holds the frame pointer of Continuation.enterSpecial, below which the
 * carrier's frames are. */
enum step walk_frozen(struct walk *w)
{
	uint64_t fp = unwind_fp(&w->regs);

	walk_add(w, UNWIND_FROZEN, 0);
	if (fp >= unwind_sp(&w->regs) && fp % WORD == 0 &&
	    walk_take_found(w, (struct sender){.ret_at = fp + WORD, .fp_at = fp}))
		return STEP_ON;
	return STEP_ROOT;
}
