// SPDX-License-Identifier: Apache-2.0
/* Interpreted frames (HotSpot, x86-64; cpu/x86/frame_x86.hpp, templateInterpreterGenerator_x86.cpp,
 * interp_masm_x86.cpp of JDK 8 to 25):
 *
 *	[fp + 8]	return address
 *	[fp]		the caller's frame pointer
 *	[fp - 8]	the caller's unextended stack pointer
 *	[fp + 8 * interpreter_method], ...
 */
#include "unwind_walk.h"

#define WORD 8u

/* DWARF numbers */
#define RAX 0
#define RBX 3
#define R13 13

/* Words of parameters and locals between a frame and its caller's: 65535 are possible, but what
 * goes on below a small number is all that is plausible. */
#define LOCALS_MAX 1024u

/* Bytes, from where calls return to up to where the stack pointer is set anew. */
#define RETURN_ENTRY 16u

static bool is_method(const struct walk *w, uint64_t id)
{
	uint32_t ignored[SNAPFILE_AROUND];

	return id && snapfile_find_method(w->src->code, id, w->src->span, ignored);
}

/* Whether a register holds the stack pointer the caller will have. */
static bool is_sender_sp(const struct walk *w, uint64_t value)
{
	uint64_t sp = unwind_sp(&w->regs);

	return value > sp && value % WORD == 0 && value - sp <= LOCALS_MAX * WORD;
}

static bool leave_frame(struct walk *w, uint64_t method, uint64_t pc, uint64_t sp, uint64_t fp_at)
{
	size_t before = w->count;

	walk_add(w, UNWIND_INTERPRETED, method);
	if (walk_go(w, pc, sp, fp_at))
		return true;
	w->count = before;
	return false;
}

/* While a method is entered, rbx is the method and r13 the caller's stack pointer: later r13 points
 * to bytecode. The return address is on the stack, for some instructions in rax, and then in the
 * new frame, of which the last state comes first here since rax keeps it. */
static bool enter_step(struct walk *w)
{
	uint64_t sp = unwind_sp(&w->regs), fp = unwind_fp(&w->regs), pc = 0;
	uint64_t method = unwind_get(&w->regs, RBX), sender = unwind_get(&w->regs, R13), word;
	uint64_t fp_at = 0;

	if (!is_sender_sp(w, sender) || !is_method(w, method))
		return false;
	if (fp >= sp && fp - sp <= 4 * WORD && stack_read(w->stack, fp + WORD, &word) &&
	    walk_is_return(w, word)) {
		pc = word;
		fp_at = fp;
	} else if (stack_read(w->stack, sp, &word) && word == fp &&
		   stack_read(w->stack, sp + WORD, &word) && walk_is_return(w, word)) {
		pc = word;
		fp_at = sp;
	} else if (stack_read(w->stack, sp, &word) && walk_is_return(w, word)) {
		/* Compiled code has just returned there, and all is as at its call. */
		if (unwind_pc(&w->regs) - word < RETURN_ENTRY)
			return false;
		pc = word;
	} else if (walk_is_return(w, unwind_get(&w->regs, RAX))) {
		pc = unwind_get(&w->regs, RAX);
	}
	if (!pc)
		return false;
	return leave_frame(w, method, pc, sender, fp_at);
}

/* While a method is left: the frame is gone, rbx is the caller's stack pointer, and the return
 * address is on the stack or in r13. Which method it was cannot be told any more. */
static bool leave_step(struct walk *w)
{
	uint64_t sender = unwind_get(&w->regs, RBX), pc = unwind_get(&w->regs, R13), word;

	if (!is_sender_sp(w, sender) && sender != unwind_sp(&w->regs))
		return false;
	if (!walk_is_return(w, pc)) {
		if (!stack_read(w->stack, unwind_sp(&w->regs), &word) || !walk_is_return(w, word))
			return false;
		pc = word;
	}
	return leave_frame(w, 0, pc, sender, 0);
}

static enum step frame_step(struct walk *w)
{
	int64_t method_at = (int64_t)w->head->interpreter_method * (int64_t)WORD;
	uint64_t sp = unwind_sp(&w->regs), fp = unwind_fp(&w->regs), method, sender, pc;

	if (fp < sp || fp % WORD || method_at >= 0)
		return STEP_LOST;
	if (!stack_read(w->stack, fp + WORD, &pc))
		return walk_missing(w, fp + WORD);
	if (!stack_read(w->stack, fp - WORD, &sender) || sender <= fp || !walk_is_return(w, pc))
		return STEP_LOST;
	/* The linkers of method handles take an argument off, behind the pointer's back. */
	if (sender < fp + 2 * WORD)
		sender = fp + 2 * WORD;
	if (!stack_read(w->stack, fp + (uint64_t)method_at, &method))
		method = 0; /* about to be pushed */
	return leave_frame(w, method, pc, sender, fp) ? STEP_ON : STEP_LOST;
}

enum step walk_interpreter(struct walk *w, const struct snapfile_code *c)
{
	size_t before = w->count;
	enum step s;

	(void)c;
	if (w->regs.exact && (enter_step(w) || leave_step(w)))
		return STEP_ON;
	s = frame_step(w);
	if (w->count == before) /* it is there, even if nothing more can be said */
		walk_add(w, UNWIND_INTERPRETED, 0);
	return s;
}
