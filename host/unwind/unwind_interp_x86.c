// SPDX-License-Identifier: Apache-2.0
/* cpu/x86/templateInterpreterGenerator_x86.cpp, interp_masm_x86.cpp of JDK 8 to 25. */
#include "unwind/unwind_arch.h"

#define WORD 8u

/* Words of parameters and locals between a frame and its caller's: 65535 are possible, but what
 * goes on below a small number is all that is plausible. */
#define LOCALS_MAX 1024u

/* Bytes, from where calls return to up to where the stack pointer is set anew. */
#define RETURN_ENTRY 16u

/* Whether a register holds the stack pointer the caller will have. */
static bool is_sender_sp(const struct walk *w, uint64_t value)
{
	uint64_t sp = unwind_sp(&w->regs);

	return value > sp && value % WORD == 0 && value - sp <= LOCALS_MAX * WORD;
}

/* While a method is entered, rbx is the method and r13 the caller's stack pointer: later r13 points
 * to bytecode. The return address is on the stack, for some instructions in rax, and then in the
 * new frame, of which the last state comes first here since rax keeps it. */
bool arch_enter_step(struct walk *w)
{
	uint64_t sp = unwind_sp(&w->regs), fp = unwind_fp(&w->regs), pc = 0;
	uint64_t method = unwind_get(&w->regs, UNWIND_RBX),
		 sender = unwind_get(&w->regs, UNWIND_R13), word;
	uint64_t fp_at = 0;

	if (!is_sender_sp(w, sender) || !walk_is_method(w, method))
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
	} else if (walk_is_return(w, unwind_get(&w->regs, UNWIND_RAX))) {
		pc = unwind_get(&w->regs, UNWIND_RAX);
	}
	if (!pc)
		return false;
	return walk_leave_interpreted(w, method, pc, sender, fp_at);
}

/* While a method is left: the frame is gone, rbx is the caller's stack pointer, and the return
 * address is on the stack or in r13. Which method it was cannot be told any more. */
bool arch_leave_step(struct walk *w)
{
	uint64_t sender = unwind_get(&w->regs, UNWIND_RBX), pc = unwind_get(&w->regs, UNWIND_R13),
		 word;

	if (!is_sender_sp(w, sender) && sender != unwind_sp(&w->regs))
		return false;
	if (!walk_is_return(w, pc)) {
		if (!stack_read(w->stack, unwind_sp(&w->regs), &word) || !walk_is_return(w, word))
			return false;
		pc = word;
	}
	return walk_leave_interpreted(w, 0, pc, sender, 0);
}

bool arch_sender_below(const struct walk *w, uint64_t pc)
{
	(void)w;
	(void)pc;
	return false;
}
