// SPDX-License-Identifier: Apache-2.0
#include "unwind/unwind_walk.h"

#define WORD 8u

/* ---- native ---- */

/* A function that keeps a frame pointer: where its file has no call frame information. */
static enum step native_by_pointer(struct stack_walk *w)
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

enum step walk_native(struct stack_walk *w)
{
	struct unwind_regs before = w->regs;
	struct cfi *cfi = NULL;
	uint64_t offset;

	if (!w->src->native(w->src->arg, walk_addr(w), &cfi, &offset) && w->count)
		return unwind_pc(&w->regs) ? STEP_LOST : STEP_ROOT;
	walk_add(w, UNWOUND_NATIVE, 0);
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

/* ---- method ---- */

/* Compiled methods and wrappers of native methods (HotSpot; cpu/x86/frame_x86.cpp,
 * cpu/aarch64/frame_aarch64.cpp of JDK 8 to 25).
 *
 * The frame, from the unextended stack pointer upwards: frame_size bytes, of which the last two
 * words are the caller's frame pointer and the return address. The frame pointer is saved with and
 * without PreserveFramePointer, since compiled code uses it as any other register. */

#define PUSHED_MAX 6u /* words that intrinsics push around a loop or a leaf call */

/* A return address that was replaced: the method is to be deoptimised as soon as it is returned to.
 * The real one is in the frame. */
static bool restore_pc(struct stack_walk *w, const struct snapfile_code *c)
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
static struct sender prologue_sender(const struct stack_walk *w, const struct snapfile_code *c,
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

struct sender walk_innermost(const struct stack_walk *w, const struct snapfile_code *c)
{
	uint64_t sp = unwind_sp(&w->regs), offset = unwind_pc(&w->regs) - c->start;
	const struct snap_exit *exit = snapfile_exit(c, offset);

	if (exit)
		return offset > exit->pop ? walk_frameless(w) : arch_exit(w, c);
	if (c->record->frame_complete == SNAP_NONE || offset < c->record->frame_complete)
		return prologue_sender(w, c, offset);
	return walk_body(c, sp);
}

/* True if the frame may have been removed although the code does not say so. After a method's last
 * region and exit are stubs that belong to it: the slow way of a return's poll runs there. The
 * wrapper of a native method keeps a frame pointer until it leaves, and then looks for an
 * exception. */
static bool is_left(const struct stack_walk *w, const struct snapfile_code *c)
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
bool walk_certain(struct stack_walk *w)
{
	struct returns_answer *a = walk_answer(w, unwind_pc(&w->regs));
	struct unwind_frame *f = &w->frames[w->count];
	uint64_t before = unwind_sp(&w->regs), sp, pc, fp;

	if (a->frame < 2 * WORD)
		return false;
	*f = (struct unwind_frame){
		.addr = walk_addr(w), .kind = UNWOUND_CODE, .code = a->codes[0], .answer = a};
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

enum step walk_method(struct stack_walk *w, const struct snapfile_code *c)
{
	uint64_t spilled = snapfile_spilled(c, unwind_pc(&w->regs) - c->start);
	struct sender s;

	arch_settle(w);
	unwind_set(&w->regs, UNWIND_SP, unwind_sp(&w->regs) + spilled);
	if (!restore_pc(w, c))
		return walk_missing(w, unwind_sp(&w->regs) + c->record->orig_pc);
	walk_add(w, UNWOUND_CODE, 0);
	s = w->regs.exact ? walk_innermost(w, c) : walk_body(c, unwind_sp(&w->regs));
	if (is_left(w, c) && arch_take_left(w, c))
		return STEP_ON;
	if (walk_take(w, s) || arch_take_moved(w, c) ||
	    (w->pushes && !s.link && walk_search(w, s, 1 + PUSHED_MAX)))
		return STEP_ON;
	return walk_missing(w, s.ret_at);
}

/* ---- stub ---- */

/* Code the JVM generated that is no method (HotSpot): leaf stubs such as copying and checksums,
 * stubs with a frame of their own, the call stub, and adapters. */

/* By the frame's size, and by what the code tells of its making and taking down. */
static bool by_size(struct stack_walk *w, const struct snapfile_code *c)
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

/* True if a stub's frame is known by its size only: it keeps no frame pointer. */
static bool is_sized(const struct snapfile_code *c)
{
	return c->record->kind == SNAP_RUNTIME && c->record->sub_end != SNAP_NONE &&
	       c->record->push_end == SNAP_NONE;
}

enum step walk_stub(struct stack_walk *w, const struct snapfile_code *c)
{
	uint64_t fp = unwind_fp(&w->regs);

	walk_add(w, UNWOUND_CODE, 0);
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
	if (arch_take_stub(w, c))
		return STEP_ON;
	return fp >= unwind_sp(&w->regs) ? walk_missing(w, fp + WORD) : STEP_LOST;
}

#define ENTRY_PLACES 16u  /* where a ContinuationEntry is looked for */
#define ENTRY_BYTES  256u /* from it up to where enterSpecial's frame pointer leads */

/* True if a ContinuationEntry is so many words above the outermost thawed frame. */
static bool is_entry(const struct stack_walk *w, uint64_t above)
{
	const uint64_t at = unwind_sp(&w->regs) + above * WORD;
	uint64_t cont, flags, arguments;

	if (!stack_read(w->stack, at + SNAP_ENTRY_CONT, &cont) ||
	    !stack_read(w->stack, at + SNAP_ENTRY_FLAGS, &flags))
		return false;
	arguments = flags >> 32;
	return cont && (uint32_t)flags <= 1 && (arguments == above || arguments + 1 == above);
}

/* Steps to the caller of enterSpecial, to which the frame pointer leads. */
static enum step below_entry(struct stack_walk *w)
{
	uint64_t fp = unwind_fp(&w->regs);

	return fp >= unwind_sp(&w->regs) && fp % WORD == 0 &&
			       walk_take_found(w, (struct sender){.ret_at = fp + WORD, .fp_at = fp})
		       ? STEP_ON
		       : STEP_ROOT;
}

/* Goes on with the carrier's frames. They are below that of Continuation.enterSpecial, in which the
 * ContinuationEntry is; the outermost thawed frame holds its frame pointer, or, if its caller is
 * compiled and in the heap, anything. While the JVM puts frames back, the frame pointer is right,
 * and where they are to be there is anything. */
enum step walk_frozen(struct stack_walk *w)
{
	const uint64_t enter = snapfile_objects(w->src->code)->virtual.enter_return;
	const struct snapfile_code *code[SNAPFILE_AROUND];
	uint64_t above = 0, fp = unwind_fp(&w->regs), entry;

	walk_add(w, UNWOUND_FROZEN, 0);
	if (w->pushes)
		return below_entry(w);
	while (above < ENTRY_PLACES && !is_entry(w, above))
		above++;
	entry = unwind_sp(&w->regs) + above * WORD;
	if (above == ENTRY_PLACES)
		return STEP_ROOT;
	if (snapfile_find(w->src->code, enter - 1, w->src->span, code)) {
		walk_set(w, enter, entry, fp);
		return STEP_ON;
	}
	return fp - entry <= ENTRY_BYTES ? below_entry(w) : STEP_ROOT;
}

/* ---- interp ---- */

/* Interpreted frames (HotSpot; cpu/x86/frame_x86.hpp, cpu/aarch64/frame_aarch64.hpp of JDK 8 to
 *25):
 *
 *	[fp + 8]	return address
 *	[fp]		the caller's frame pointer
 *	[fp - 8]	the caller's unextended stack pointer
 *	[fp + 8 * interpreter_method], ...
 */

bool walk_is_method(const struct stack_walk *w, uint64_t id)
{
	uint32_t ignored[SNAPFILE_AROUND];

	return id && snapfile_find_method(w->src->code, id, w->src->span, ignored);
}

bool walk_leave_interpreted(struct stack_walk *w, uint64_t method, uint64_t pc, uint64_t sp,
			    uint64_t fp_at)
{
	size_t before = w->count;

	walk_add(w, UNWOUND_INTERPRETED, method);
	if (walk_go(w, pc, sp, fp_at))
		return true;
	w->count = before;
	return false;
}

static enum step frame_step(struct stack_walk *w)
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
	/* The linkers of method handles remove an argument without adjusting the pointer. */
	if (sender < fp + 2 * WORD)
		sender = fp + 2 * WORD;
	if (!stack_read(w->stack, fp + (uint64_t)method_at, &method))
		method = 0; /* about to be pushed */
	return walk_leave_interpreted(w, method, pc, sender, fp) ? STEP_ON : STEP_LOST;
}

enum step walk_interpreter(struct stack_walk *w, const struct snapfile_code *c)
{
	size_t before = w->count;
	enum step s;

	(void)c;
	if (w->regs.exact && (arch_enter_step(w) || arch_leave_step(w)))
		return STEP_ON;
	s = frame_step(w);
	if (w->count == before) /* it is there, even if nothing more can be said */
		walk_add(w, UNWOUND_INTERPRETED, 0);
	return s;
}
