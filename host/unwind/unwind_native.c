// SPDX-License-Identifier: Apache-2.0
#include "unwind/unwind_walk.h"

/* A function that keeps a frame pointer: where its file has no call frame information. */
static enum step native_by_pointer(struct walk *w)
{
	uint64_t fp = unwind_fp(&w->regs), pc;

	if (fp < unwind_sp(&w->regs) || fp % sizeof(fp))
		return STEP_LOST;
	if (!walk_read(w, fp + sizeof(fp), &pc))
		return walk_missing(w, fp + sizeof(fp));
	if (!pc)
		return STEP_ROOT;
	if (!walk_is_native(w, pc) && !walk_is_return(w, pc))
		return STEP_LOST;
	return walk_go(w, pc, fp + 2 * sizeof(fp), fp) ? STEP_ON : STEP_LOST;
}

enum step walk_native(struct walk *w)
{
	struct unwind_regs before = w->regs;
	struct cfi *cfi = NULL;
	uint64_t offset;

	if (!w->src->native(w->src->arg, walk_addr(w), &cfi, &offset) && w->count)
		return unwind_pc(&w->regs) ? STEP_LOST : STEP_ROOT;
	walk_add(w, UNWIND_NATIVE, 0);
	if (!cfi)
		return native_by_pointer(w);
	offset += !w->regs.exact;
	switch (cfi_step(cfi, offset, !w->regs.exact, &w->regs, w->stack)) {
	case CFI_OK:
		if (!w->regs.exact && !unwind_is_up(&before, unwind_sp(&w->regs)))
			return STEP_LOST;
		return STEP_ON;
	case CFI_END:
		return STEP_ROOT;
	case CFI_BAD:
		return STEP_CUT;
	default:
		return native_by_pointer(w);
	}
}
