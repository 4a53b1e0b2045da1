// SPDX-License-Identifier: Apache-2.0
/* Code the JVM generated that is no method (HotSpot): leaf stubs such as copying and checksums,
 * stubs with a frame of their own, the call stub, and adapters. */
#include "unwind/unwind_arch.h"

#define WORD 8u

/* By the frame's size, and by what the code tells of its making and taking down. */
static bool by_size(struct walk *w, const struct snapfile_code *c)
{
	uint64_t sp = unwind_sp(&w->regs), offset = unwind_pc(&w->regs) - c->start;
	struct sender s = walk_body(c, sp);

	if (c->record->frame_size < 2 * WORD)
		return false;
	if (w->regs.exact && offset == 0)
		s = walk_frameless(w);
	else if (w->regs.exact && (c->record->sub_end != SNAP_NONE || snapfile_exit(c, offset)))
		s = walk_innermost(w, c);
	/* C2's rethrow copies its return address by a push and a pop. */
	return w->regs.exact ? walk_search(w, s, 2) : walk_take(w, s);
}

/* Whether nothing but its size tells where a stub's frame is: it keeps no frame pointer. */
static bool is_sized(const struct snapfile_code *c)
{
	return c->record->kind == SNAP_RUNTIME && c->record->sub_end != SNAP_NONE &&
	       c->record->push_end == SNAP_NONE;
}

enum step walk_stub(struct walk *w, const struct snapfile_code *c)
{
	uint64_t fp = unwind_fp(&w->regs);

	walk_add(w, UNWIND_CODE, 0);
	if (unwind_pc(&w->regs) == w->head->call_stub_return && !w->regs.exact)
		return fp >= unwind_sp(&w->regs) &&
				       walk_take_native(
					       w, (struct sender){.ret_at = fp + WORD, .fp_at = fp})
			       ? STEP_ON
			       : walk_missing(w, fp + WORD);
	if (c->record->kind == SNAP_ADAPTER && arch_take_adapter(w))
		return STEP_ON;
	if (w->regs.exact && arch_take_exception(w, c))
		return STEP_ON;
	if (c->record->kind == SNAP_RUNTIME && by_size(w, c))
		return STEP_ON;
	if (is_sized(c))
		return walk_missing(w, walk_body(c, unwind_sp(&w->regs)).ret_at);
	if (arch_take_stub(w))
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
