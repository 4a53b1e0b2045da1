// SPDX-License-Identifier: Apache-2.0
/* Interpreted frames (HotSpot; cpu/x86/frame_x86.hpp, cpu/aarch64/frame_aarch64.hpp of JDK 8 to
 *25):
 *
 *	[fp + 8]	return address
 *	[fp]		the caller's frame pointer
 *	[fp - 8]	the caller's unextended stack pointer
 *	[fp + 8 * interpreter_method], ...
 */
#include "unwind/unwind_arch.h"

#define WORD 8u

bool walk_is_method(const struct walk *w, uint64_t id)
{
	uint32_t ignored[SNAPFILE_AROUND];

	return id && snapfile_find_method(w->src->code, id, w->src->span, ignored);
}

bool walk_leave_interpreted(struct walk *w, uint64_t method, uint64_t pc, uint64_t sp,
			    uint64_t fp_at)
{
	size_t before = w->count;

	walk_add(w, UNWIND_INTERPRETED, method);
	if (walk_go(w, pc, sp, fp_at))
		return true;
	w->count = before;
	return false;
}

static enum step frame_step(struct walk *w)
{
	int64_t method_at = (int64_t)w->head->interpreter_method * (int64_t)WORD;
	uint64_t sp = unwind_sp(&w->regs), fp = unwind_fp(&w->regs), method, sender, pc;

	if (fp < sp || fp % WORD || method_at >= 0)
		return STEP_LOST;
	if (!walk_read(w, fp + WORD, &pc))
		return walk_missing(w, fp + WORD);
	if (!stack_read(w->stack, fp - WORD, &sender) || !walk_is_return(w, pc) ||
	    (sender <= fp && !arch_sender_below(w, pc)))
		return STEP_LOST;
	/* The linkers of method handles take an argument off, behind the pointer's back. */
	if (sender < fp + 2 * WORD)
		sender = fp + 2 * WORD;
	if (!stack_read(w->stack, fp + (uint64_t)method_at, &method))
		method = 0; /* about to be pushed */
	return walk_leave_interpreted(w, method, pc, sender, fp) ? STEP_ON : STEP_LOST;
}

enum step walk_interpreter(struct walk *w, const struct snapfile_code *c)
{
	size_t before = w->count;
	enum step s;

	(void)c;
	if (w->regs.exact && (arch_enter_step(w) || arch_leave_step(w)))
		return STEP_ON;
	s = frame_step(w);
	if (w->count == before) /* it is there, even if nothing more can be said */
		walk_add(w, UNWIND_INTERPRETED, 0);
	return s;
}
