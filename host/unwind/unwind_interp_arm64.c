// SPDX-License-Identifier: Apache-2.0
/* cpu/aarch64/templateInterpreterGenerator_aarch64.cpp generate_fixed_frame,
 * interp_masm_aarch64.cpp prepare_to_jump_from_interpreted and remove_activation of JDK 8 to 25.
 *
 * The stack pointer is below all that an interpreted frame may push; values are pushed at x20. So
 * what it calls has its frame above the caller's stack pointer. */
#include "unwind/unwind_arch.h"

#define WORD 8u

/* What stands in registers while a method is entered: the method, and the caller's stack pointer in
 * x19 or, up to JDK 17, x13. Behind its end: the caller's stack pointer in x20. */
#define METHOD	 12
#define SENDER	 19
#define OLD	 13
#define LAST_ESP 20

#define LAST_SP (2 * WORD) /* below the frame pointer: not 0 while the frame calls Java code */

#define SENDER_MAX   8192u /* bytes */
#define RETURN_ENTRY 16u   /* bytes from where calls return to, up to where LAST_SP is 0 again */

static bool is_interpreter(const struct walk *w, uint64_t pc)
{
	const struct snapfile_code *c[SNAPFILE_AROUND];

	return walk_return_codes(w, pc, c) && c[0]->record->kind == SNAP_INTERPRETER;
}

bool arch_sender_below(const struct walk *w, uint64_t pc)
{
	return is_interpreter(w, pc);
}

/* Whether the frame pointer is that of a frame which returns to pc. */
static bool has_frame(const struct walk *w, uint64_t pc)
{
	uint64_t fp = unwind_fp(&w->regs), word;

	return fp >= unwind_sp(&w->regs) && walk_read(w, fp + WORD, &word) && word == pc;
}

/* Whether the frame has been made up to its frame pointer, and nothing is below it yet: it has the
 * words down to the bytecode pointer, and one. */
static bool is_new_frame(const struct walk *w, uint64_t pc)
{
	uint64_t words = (uint64_t)(1 - (int64_t)w->head->interpreter_bcp);

	return has_frame(w, pc) && unwind_fp(&w->regs) - unwind_sp(&w->regs) == words * WORD;
}

/* Whether the caller, with its frame pointer at hand, waits for what it called. */
static bool is_calling(const struct walk *w, uint64_t pc, uint64_t fp)
{
	uint64_t last_sp;

	if (!walk_is_return(w, pc) || unwind_pc(&w->regs) - pc < RETURN_ENTRY)
		return false;
	return !is_interpreter(w, pc) ||
	       (stack_read(w->stack, fp - LAST_SP, &last_sp) && last_sp != 0);
}

/* Goes to a caller whose stack pointer was `sender`. */
static bool go_to(struct walk *w, uint64_t method, uint64_t sender, uint64_t fp_at)
{
	uint64_t sp = unwind_sp(&w->regs), pc = walk_link(w);

	sender &= ~15ull;
	if (is_interpreter(w, pc)) /* it goes by its frame pointer */
		sender = sender > sp && sender - sp <= SENDER_MAX ? sender : sp;
	else if (sender < sp || sender - sp > SENDER_MAX || !walk_leads_on(w, pc, sender))
		return false;
	return walk_leave_interpreted(w, method, pc, sender, fp_at);
}

bool arch_enter_step(struct walk *w)
{
	uint64_t pc = walk_link(w), fp = unwind_fp(&w->regs), caller = fp;
	uint64_t method = unwind_get(&w->regs, METHOD);
	bool made = is_new_frame(w, pc);

	if (!walk_is_method(w, method) || (has_frame(w, pc) && !made) ||
	    (made && !stack_read(w->stack, fp, &caller)) || !is_calling(w, pc, caller))
		return false;
	return go_to(w, method, unwind_get(&w->regs, SENDER), made ? fp : 0) ||
	       go_to(w, method, unwind_get(&w->regs, OLD), made ? fp : 0);
}

/* Which method it was cannot be told any more. */
bool arch_leave_step(struct walk *w)
{
	uint64_t pc = walk_link(w);

	return !has_frame(w, pc) && is_calling(w, pc, unwind_fp(&w->regs)) &&
	       go_to(w, 0, unwind_get(&w->regs, LAST_ESP), 0);
}
