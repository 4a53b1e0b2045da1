// SPDX-License-Identifier: Apache-2.0
/* cpu/aarch64/macroAssembler_aarch64.cpp build_frame and remove_frame, aarch64.ad
 * aarch64_enc_java_to_runtime of JDK 8 to 25. */
#include "unwind/unwind_arch.h"

#define WORD	   8u
#define INSN	   4u
#define BREADCRUMB 16u

/* A call of native code that is no safepoint leaves {0, its return address} below the frame, from
 * in front of the call to behind it: `stp xzr, x9, [sp, #-16]!; blr x8; add sp, sp, #16`. */
void arch_settle(struct walk *w)
{
	uint64_t sp = unwind_sp(&w->regs), zero, pc;

	if (stack_read(w->stack, sp, &zero) && zero == 0 && walk_read(w, sp + WORD, &pc) &&
	    pc - unwind_pc(&w->regs) <= (w->regs.exact ? INSN : 0))
		unwind_set(&w->regs, UNWIND_SP, sp + BREADCRUMB);
}

/* x29 and x30 are about to be popped or, where the frame was made at once, have been loaded. */
struct sender arch_exit(const struct walk *w, const struct snapfile_code *c)
{
	uint64_t sp = unwind_sp(&w->regs);

	if (c->record->push_end == SNAP_NONE)
		return (struct sender){.ret_at = sp + c->record->frame_size - WORD, .link = true};
	return (struct sender){.ret_at = sp + WORD, .fp_at = sp};
}

/* Behind a call of its own, x30 is a return address in the method itself. */
bool arch_take_left(struct walk *w, const struct snapfile_code *c)
{
	uint64_t pc = walk_link(w);

	return (pc <= c->start || pc > c->end) && walk_take_found(w, walk_frameless(w));
}

bool arch_take_moved(struct walk *w, const struct snapfile_code *c)
{
	(void)w;
	(void)c;
	return false;
}
