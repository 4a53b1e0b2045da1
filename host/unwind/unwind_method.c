// SPDX-License-Identifier: Apache-2.0
/* Compiled methods and wrappers of native methods (HotSpot; cpu/x86/frame_x86.cpp,
 * cpu/aarch64/frame_aarch64.cpp of JDK 8 to 25).
 *
 * The frame, from the unextended stack pointer upwards: frame_size bytes, of which the last two
 * words are the caller's frame pointer and the return address. The frame pointer is saved with and
 * without PreserveFramePointer, since compiled code uses it as any other register. */
#include "unwind/unwind_arch.h"

#define WORD	   8u
#define PUSHED_MAX 6u /* words that intrinsics push around a loop or a leaf call */

/* A return address that was replaced: the method is to be deoptimised as soon as it is returned to.
 * The real one is in the frame. */
static bool restore_pc(struct walk *w, const struct snapfile_code *c)
{
	uint64_t pc = unwind_pc(&w->regs), offset = pc - c->start, original;

	if (w->regs.exact || (offset != c->record->deopt && offset != c->record->deopt_mh))
		return true;
	if (c->record->orig_pc == SNAP_NONE ||
	    !walk_read(w, unwind_sp(&w->regs) + c->record->orig_pc, &original) ||
	    original <= c->start || original > c->end ||
	    !snapfile_is_return(c, original - c->start))
		return false;
	unwind_set(&w->regs, UNWIND_PC, original);
	return true;
}

struct sender walk_body(const struct snapfile_code *c, uint64_t sp)
{
	if (c->record->frame_size < 2 * WORD)
		return (struct sender){.ret_at = sp};
	return (struct sender){.ret_at = sp + c->record->frame_size - WORD,
			       .fp_at = sp + c->record->frame_size - 2 * WORD};
}

/* While the frame is made: "push rbp; sub rsp, n", or "sub rsp, n; mov [rsp + n - 16], rbp", or the
 * same of another machine. */
static struct sender prologue_sender(const struct walk *w, const struct snapfile_code *c,
				     uint64_t offset)
{
	const struct snap_code *r = c->record;
	uint64_t sp = unwind_sp(&w->regs);
	struct sender body = walk_body(c, sp);

	if (r->push_end != SNAP_NONE && offset < r->push_end)
		return walk_frameless(w);
	if (r->sub_end == SNAP_NONE || offset < r->sub_end)
		return r->push_end == SNAP_NONE ? walk_frameless(w)
						: (struct sender){.ret_at = sp + WORD, .fp_at = sp};
	if (r->push_end == SNAP_NONE && offset == r->sub_end) {
		body.fp_at = 0;
		body.link = WALK_LINK;
	}
	return body;
}

struct sender walk_innermost(const struct walk *w, const struct snapfile_code *c)
{
	uint64_t sp = unwind_sp(&w->regs), offset = unwind_pc(&w->regs) - c->start;
	const struct snap_exit *exit = snapfile_exit(c, offset);

	if (exit)
		return offset > exit->pop ? walk_frameless(w) : arch_exit(w, c);
	if (c->record->frame_complete == SNAP_NONE || offset < c->record->frame_complete)
		return prologue_sender(w, c, offset);
	return walk_body(c, sp);
}

/* Whether the frame may be gone where the code does not tell. Behind a method's last region and
 * exit are stubs that belong to it: the slow way of a return's poll runs there. The wrapper of a
 * native method keeps a frame pointer until it leaves, and then looks for an exception. */
static bool is_left(const struct walk *w, const struct snapfile_code *c)
{
	uint32_t count = c->record->region_count, exits = c->record->exit_count;
	uint64_t offset = unwind_pc(&w->regs) - c->start;

	if (!w->regs.exact)
		return false;
	if (c->record->kind == SNAP_NATIVE)
		return offset >= c->record->frame_complete &&
		       unwind_fp(&w->regs) !=
			       unwind_sp(&w->regs) + c->record->frame_size - 2 * WORD;
	return count && offset >= c->regions[count - 1].end &&
	       (!exits || offset >= c->exits[exits - 1].end);
}

/* walk_method, of a caller for which all that it takes is in the answer to its address: most are.
 * False, and nothing is changed, of others. */
bool walk_certain(struct walk *w)
{
	const struct returns_answer *a = walk_answer(w, unwind_pc(&w->regs));
	struct unwind_frame *f = &w->frames[w->count];
	uint64_t before = unwind_sp(&w->regs), sp, pc, fp;

	if (a->frame < 2 * WORD)
		return false;
	*f = (struct unwind_frame){.addr = walk_addr(w), .kind = UNWIND_CODE, .code = a->codes[0]};
	arch_settle(w);
	sp = unwind_sp(&w->regs) + a->frame;
	if (sp > before && walk_read(w, sp - WORD, &pc) && walk_is_return(w, pc) &&
	    stack_read(w->stack, sp - 2 * WORD, &fp)) {
		w->count++;
		w->code = f->code;
		w->pushes = false;
		walk_set(w, pc, sp, fp);
		return true;
	}
	unwind_set(&w->regs, UNWIND_SP, before);
	return false;
}

enum step walk_method(struct walk *w, const struct snapfile_code *c)
{
	struct sender s;

	arch_settle(w);
	if (!restore_pc(w, c))
		return walk_missing(w, unwind_sp(&w->regs) + c->record->orig_pc);
	walk_add(w, UNWIND_CODE, 0);
	s = w->regs.exact ? walk_innermost(w, c) : walk_body(c, unwind_sp(&w->regs));
	if (is_left(w, c) && arch_take_left(w, c))
		return STEP_ON;
	if (walk_take(w, s) || arch_take_moved(w, c) ||
	    (w->pushes && !s.link && walk_search(w, s, 1 + PUSHED_MAX)))
		return STEP_ON;
	return walk_missing(w, s.ret_at);
}
