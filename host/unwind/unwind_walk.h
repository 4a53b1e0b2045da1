/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to the unwinder: the state of a walk, and the checks that its steps share. */
#ifndef DFG_UNWIND_UNWIND_WALK_H
#define DFG_UNWIND_UNWIND_WALK_H

#include "unwind/unwind.h"

enum step {
	STEP_ON, /* registers are the caller's */
	STEP_ROOT,
	STEP_CUT, /* needs memory above the stack copy */
	STEP_LOST,
};

struct stack_walk {
	const struct unwind_source *src;
	const struct snap_head *head;
	struct stack_copy *stack;
	struct unwind_regs regs;
	const struct snapfile_code *code; /* of the current frame; NULL: native */
	/* The current frame is the first, or what it called is neither compiled nor interpreted
	 * Java: only then can there be words below its frame that it pushed for a while. */
	bool pushes;
	struct unwind_frame *frames;
	size_t count;
};

void walk_add(struct stack_walk *w, enum unwind_kind kind, uint64_t method);

/* Returns the address to look up for the current frame. */
static inline uint64_t walk_addr(const struct stack_walk *w)
{
	return unwind_pc(&w->regs) - !w->regs.exact;
}

/* Returns CUT if the address is above the copy and could be in the stack, else LOST. */
enum step walk_missing(const struct stack_walk *w, uint64_t addr);

/* Looks up a return address in the snapshot; valid until the next call. */
struct returns_answer *walk_find_answer(const struct stack_walk *w, uint64_t addr);

static inline struct returns_answer *walk_answer(const struct stack_walk *w, uint64_t addr)
{
	struct returns_answer *a =
		addr && w->src->code ? returns_slot(w->src->returns, addr) : NULL;

	return a && a->known ? a : walk_find_answer(w, addr);
}

/* Finds the codes that could return to an address, see unwind.h: more than one if code was
 * replaced at about the time of the sample. Returns their number. */
size_t walk_return_codes(const struct stack_walk *w, uint64_t addr,
			 const struct snapfile_code *ret[SNAPFILE_AROUND]);

/* Finds the codes that the current frame may be in. */
size_t walk_codes(const struct stack_walk *w, const struct snapfile_code *ret[SNAPFILE_AROUND]);

/* True if any code could return to an address. */
static inline bool walk_is_return(const struct stack_walk *w, uint64_t addr)
{
	return walk_answer(w, addr)->returns != 0;
}

/* True if a return address can be native code: that it is executable is all that is checked. */
bool walk_is_native(const struct stack_walk *w, uint64_t addr);

/* True if calls leave their return address in a register, not on the stack. */
#define WALK_LINK (UNWIND_RA != UNWIND_PC)

/* Addresses of a frame's return address and of its caller's frame pointer (0: not saved). The
 * caller's stack pointer is the word above ret_at, also if the return address is in the link
 * register. */
struct sender {
	uint64_t ret_at, fp_at;
	bool link;
};

/* Sender of a frame that is not built yet, or has been removed. */
static inline struct sender walk_frameless(const struct stack_walk *w)
{
	return (struct sender){.ret_at = unwind_sp(&w->regs) - WALK_LINK * sizeof(uint64_t),
			       .link = WALK_LINK};
}

/* Reads a code address on the stack, without its signature; walk_link: of the link register. */
static inline bool walk_read(const struct stack_walk *w, uint64_t at, uint64_t *ret)
{
	if (!stack_read(w->stack, at, ret))
		return false;
	*ret &= UNWIND_ADDRESS;
	return true;
}

static inline uint64_t walk_link(const struct stack_walk *w)
{
	return WALK_LINK ? unwind_get(&w->regs, UNWIND_RA) & UNWIND_ADDRESS : 0;
}

/* Steps to the caller. False, and nothing is changed, without a valid return address. */
bool walk_take(struct stack_walk *w, struct sender s);

/* The same for a place that was searched for: if the caller is compiled, its own return address
 * must be valid, too, since a stale one of an earlier call looks valid. */
bool walk_take_found(struct stack_walk *w, struct sender s);

/* The same for a caller that is native code. */
bool walk_take_native(struct stack_walk *w, struct sender s);

/* Tries walk_take_found at `count` places, a word apart. A word that could be an address in code
 * that the snapshot lacks, or has replaced since, ends the search: above it are callers of that. */
bool walk_search(struct stack_walk *w, struct sender first, unsigned count);

/* True if a caller at pc, whose stack pointer will be sp, has a valid return address. The caller of
 * a stub may have pushed arguments. */
bool walk_leads_on(const struct stack_walk *w, uint64_t pc, uint64_t sp);

/* Sender of a complete frame of `c` with stack pointer `sp`. */
struct sender walk_body(const struct snapfile_code *c, uint64_t sp);

/* Sender of the innermost frame, which may be being built or removed at its pc. */
struct sender walk_innermost(const struct stack_walk *w, const struct snapfile_code *c);

/* True if a return address leads back into a virtual thread's frozen frames. */
bool walk_is_frozen(const struct stack_walk *w, uint64_t addr);

/* Sets the registers of a caller of Java code, which preserves the frame pointer only. */
static inline void walk_set(struct stack_walk *w, uint64_t pc, uint64_t sp, uint64_t fp)
{
	w->regs.known = 0;
	w->regs.exact = false;
	unwind_set(&w->regs, UNWIND_PC, pc);
	unwind_set(&w->regs, UNWIND_SP, sp);
	unwind_set(&w->regs, UNWIND_FP, fp);
}

/* Steps to the caller without checking the address. */
bool walk_go(struct stack_walk *w, uint64_t pc, uint64_t sp, uint64_t fp_at);

/* unwind_frames.c: one step for each kind of code; each adds its frame. */
enum step walk_method(struct stack_walk *w, const struct snapfile_code *c);
bool walk_certain(struct stack_walk *w);
enum step walk_interpreter(struct stack_walk *w, const struct snapfile_code *c);
enum step walk_stub(struct stack_walk *w, const struct snapfile_code *c);
enum step walk_frozen(struct stack_walk *w);
enum step walk_native(struct stack_walk *w);

/* ---- unwind_x86.c, unwind_arm64.c: what differs by machine ---- */

/* Skips what a call of native code has pushed below the frame. */
void arch_settle(struct stack_walk *w);

/* Sender at an exit's `pop` (snapshot.h). */
struct sender arch_exit(const struct stack_walk *w, const struct snapfile_code *c);

/* Steps out of a frame that may have been removed. */
bool arch_take_left(struct stack_walk *w, const struct snapfile_code *c);

/* Steps out of intrinsics that move the stack pointer. */
bool arch_take_moved(struct stack_walk *w, const struct snapfile_code *c);

/* Step out of an interpreted method while it is entered, from its caller's jump until the frame is
 * complete, or left, after the frame has been removed. Both add the frame. */
bool arch_enter_step(struct stack_walk *w);
bool arch_leave_step(struct stack_walk *w);

/* True if a caller's stack pointer may be below the callee's frame. */
bool arch_sender_below(const struct stack_walk *w, uint64_t pc);

/* Step out of a stub of unknown frame, an adapter, a stub that forwards an exception. */
bool arch_take_stub(struct stack_walk *w, const struct snapfile_code *c);
bool arch_take_adapter(struct stack_walk *w);
bool arch_take_exception(struct stack_walk *w, const struct snapfile_code *c);

/* unwind_frames.c, for these: true if it is the id of a method; adds the interpreted frame and
 * steps to its caller. */
bool walk_is_method(const struct stack_walk *w, uint64_t id);
bool walk_leave_interpreted(struct stack_walk *w, uint64_t method, uint64_t pc, uint64_t sp,
			    uint64_t fp_at);

#endif
