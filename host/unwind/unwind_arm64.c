// SPDX-License-Identifier: Apache-2.0
#include "unwind/unwind_walk.h"

#define WORD	      8u
#define ARGUMENTS_MAX 8192u /* bytes of arguments and locals between two frames */

/* ---- method ---- */

/* cpu/aarch64/macroAssembler_aarch64.cpp build_frame and remove_frame, aarch64.ad
 * aarch64_enc_java_to_runtime of JDK 8 to 25. */

#define INSN	   4u
#define BREADCRUMB 16u

/* A call of native code that is no safepoint leaves {0, its return address} below the frame, from
 * before the call until after it: `stp xzr, x9, [sp, #-16]!; blr x8; add sp, sp, #16`. */
void arch_settle(struct stack_walk *w)
{
	uint64_t sp = unwind_sp(&w->regs), zero, pc;

	if (stack_read(w->stack, sp, &zero) && zero == 0 && walk_read(w, sp + WORD, &pc) &&
	    pc - unwind_pc(&w->regs) <= (w->regs.exact ? INSN : 0))
		unwind_set(&w->regs, UNWIND_SP, sp + BREADCRUMB);
}

/* x29 and x30 are about to be popped or, where the frame was made at once, have been loaded. */
struct sender arch_exit(const struct stack_walk *w, const struct snapfile_code *c)
{
	uint64_t sp = unwind_sp(&w->regs);

	if (c->record->push_end == SNAP_NONE)
		return (struct sender){.ret_at = sp + c->record->frame_size - WORD, .link = true};
	return (struct sender){.ret_at = sp + WORD, .fp_at = sp};
}

/* After a call of its own, x30 is a return address in the method itself. */
bool arch_take_left(struct stack_walk *w, const struct snapfile_code *c)
{
	uint64_t pc = walk_link(w);

	return (pc <= c->start || pc > c->end) && walk_take_found(w, walk_frameless(w));
}

bool arch_take_moved(struct stack_walk *w, const struct snapfile_code *c)
{
	(void)w;
	(void)c;
	return false;
}

/* ---- interp ---- */

/* cpu/aarch64/templateInterpreterGenerator_aarch64.cpp generate_fixed_frame,
 * interp_masm_aarch64.cpp prepare_to_jump_from_interpreted and remove_activation of JDK 8 to 25.
 *
 * The stack pointer is below all that an interpreted frame may push; values are pushed at x20. So
 * what it calls has its frame above the caller's stack pointer. */

/* Registers while a method is entered: the method, and the caller's stack pointer in x19 or, up to
 * JDK 17, x13. After its end: the caller's stack pointer in x20. */
#define METHOD	 12
#define SENDER	 19
#define OLD	 13
#define LAST_ESP 20

#define LAST_SP (2 * WORD) /* below the frame pointer: not 0 while the frame calls Java code */

#define RETURN_ENTRY 16u /* bytes from where calls return to, up to where LAST_SP is 0 again */

static bool is_interpreter(const struct stack_walk *w, uint64_t pc)
{
	const struct snapfile_code *c[SNAPFILE_AROUND];

	return walk_return_codes(w, pc, c) && c[0]->record->kind == SNAP_INTERPRETER;
}

bool arch_sender_below(const struct stack_walk *w, uint64_t pc)
{
	return is_interpreter(w, pc);
}

/* True if the frame pointer is that of a frame which returns to pc. */
static bool has_frame(const struct stack_walk *w, uint64_t pc)
{
	uint64_t fp = unwind_fp(&w->regs), word;

	return fp >= unwind_sp(&w->regs) && walk_read(w, fp + WORD, &word) && word == pc;
}

/* True if the frame is built up to its frame pointer, with nothing below it yet: it has the words
 * down to the bytecode pointer, and one. */
static bool is_new_frame(const struct stack_walk *w, uint64_t pc)
{
	uint64_t words = (uint64_t)(1 - (int64_t)w->head->interpreter_bcp);

	return has_frame(w, pc) && unwind_fp(&w->regs) - unwind_sp(&w->regs) == words * WORD;
}

/* True if the caller, whose frame pointer is known, waits for what it called. */
static bool is_calling(const struct stack_walk *w, uint64_t pc, uint64_t fp)
{
	uint64_t last_sp;

	if (!walk_is_return(w, pc) || unwind_pc(&w->regs) - pc < RETURN_ENTRY)
		return false;
	return !is_interpreter(w, pc) ||
	       (stack_read(w->stack, fp - LAST_SP, &last_sp) && last_sp != 0);
}

/* Goes to a caller whose stack pointer was `sender`. */
static bool go_to(struct stack_walk *w, uint64_t method, uint64_t sender, uint64_t fp_at)
{
	uint64_t sp = unwind_sp(&w->regs), pc = walk_link(w);

	sender &= ~15ull;
	if (is_interpreter(w, pc)) /* it goes by its frame pointer */
		sender = sender > sp && sender - sp <= ARGUMENTS_MAX ? sender : sp;
	else if (sender < sp || sender - sp > ARGUMENTS_MAX || !walk_leads_on(w, pc, sender))
		return false;
	return walk_leave_interpreted(w, method, pc, sender, fp_at);
}

bool arch_enter_step(struct stack_walk *w)
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

/* The method is no longer known. */
bool arch_leave_step(struct stack_walk *w)
{
	uint64_t pc = walk_link(w);

	return !has_frame(w, pc) && is_calling(w, pc, unwind_fp(&w->regs)) &&
	       go_to(w, 0, unwind_get(&w->regs, LAST_ESP), 0);
}

/* ---- stub ---- */

/* cpu/aarch64/stubGenerator_aarch64.cpp, sharedRuntime_aarch64.cpp of JDK 8 to 25. */

#define SAVED_MAX  32u	 /* words that a stub pushes */
#define LOCALS_MAX 1024u /* bytes between a stub's stack pointer and its frame pointer */

/* A leaf's return address stays in x30, whatever it pushes: its caller's stack pointer is where
 * that caller has a valid return address of its own. */
static bool by_link(struct stack_walk *w)
{
	struct sender s = walk_frameless(w);

	for (unsigned i = 0; i <= SAVED_MAX; i += 2, s.ret_at += 2 * WORD)
		if (walk_take_found(w, s))
			return true;
	return false;
}

/* Stubs with a frame begin with `stp x29, x30, [sp, #-16]!; mov x29, sp`. */
bool arch_take_stub(struct stack_walk *w, const struct snapfile_code *c)
{
	uint64_t sp = unwind_sp(&w->regs), fp = unwind_fp(&w->regs), word;
	struct sender by_fp = {.ret_at = fp + WORD, .fp_at = fp};
	struct sender pushed = {.ret_at = sp + WORD, .fp_at = sp};
	bool framed = fp >= sp && fp % (2 * WORD) == 0;

	(void)c; /* without a frame the return address is in x30 */
	if (w->regs.exact) {
		uint64_t link = walk_link(w);

		if (framed && walk_read(w, by_fp.ret_at, &word) && word == link &&
		    walk_take_found(w, by_fp))
			return true;
		if (stack_read(w->stack, sp, &word) && word == fp &&
		    walk_read(w, pushed.ret_at, &word) && word == link &&
		    walk_take_found(w, pushed))
			return true;
		if (by_link(w))
			return true;
	}
	if (framed &&
	    (walk_take(w, by_fp) || (fp - sp <= LOCALS_MAX && walk_take_native(w, by_fp))))
		return true;
	return w->regs.exact && walk_take_native(w, walk_frameless(w));
}

/* Adapters leave the return address in x30. What they take for arguments is above the stack
 * pointer, and in x19 or, up to JDK 17, x13 is what that was before; in the stubs of virtual calls
 * these are anything. */
bool arch_take_adapter(struct stack_walk *w)
{
	static const unsigned char senders[] = {19, 13};
	uint64_t sp = unwind_sp(&w->regs), pc = walk_link(w);

	if (!w->regs.exact || !walk_is_return(w, pc))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(senders) && !walk_leads_on(w, pc, sp); i++) {
		uint64_t sender = unwind_get(&w->regs, senders[i]);

		if (sender > sp && sender - sp <= ARGUMENTS_MAX && sender % WORD == 0 &&
		    walk_leads_on(w, pc, sender))
			return walk_go(w, pc, sender, 0);
	}
	return walk_go(w, pc, sp, 0);
}

/* Stubs that jump to an exception's handler keep the address that threw in their frame up to their
 * last instructions; from there to the handler the stack ends. */
bool arch_take_exception(struct stack_walk *w, const struct snapfile_code *c)
{
	(void)w;
	(void)c;
	return false;
}
