/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the unwinder: what its files share. */
#ifndef DFG_UNWIND_UNWIND_WALK_H
#define DFG_UNWIND_UNWIND_WALK_H

#include "unwind/unwind.h"

enum step {
	STEP_ON, /* registers are the caller's */
	STEP_ROOT,
	STEP_CUT, /* needs memory behind the stack copy */
	STEP_LOST,
};

struct walk {
	const struct unwind_source *src;
	const struct snap_head *head;
	const struct stack_copy *stack;
	struct unwind_regs regs;
	const struct snapfile_code *code; /* of the frame at hand; NULL: native */
	/* The frame at hand is the first, or what it called is neither compiled nor interpreted
	 * Java: only then can there be words below its frame that it pushed for a while. */
	bool pushes;
	struct unwind_frame *frames;
	size_t count;
};

void walk_add(struct walk *w, enum unwind_kind kind, uint64_t method);

/* The address to look up for the frame at hand. */
static inline uint64_t walk_addr(const struct walk *w)
{
	return unwind_pc(&w->regs) - !w->regs.exact;
}

/* CUT when the address is behind the copy, but not out of all stacks, else LOST. */
enum step walk_missing(const struct walk *w, uint64_t addr);

/* What the snapshot says of a return address; valid until the next is asked for. */
const struct returns_answer *walk_find_answer(const struct walk *w, uint64_t addr);

static inline const struct returns_answer *walk_answer(const struct walk *w, uint64_t addr)
{
	const struct returns_answer *a =
		addr && w->src->code ? returns_slot(w->src->returns, addr) : NULL;

	return a && a->known ? a : walk_find_answer(w, addr);
}

/* The codes that could return to an address, see unwind.h: more than one where code was replaced at
 * about the time of the sample. Returns how many. */
size_t walk_return_codes(const struct walk *w, uint64_t addr,
			 const struct snapfile_code *ret[SNAPFILE_AROUND]);

/* The codes that the frame at hand may be in. */
size_t walk_codes(const struct walk *w, const struct snapfile_code *ret[SNAPFILE_AROUND]);

/* Whether there are codes that could return to an address. */
static inline bool walk_is_return(const struct walk *w, uint64_t addr)
{
	return walk_answer(w, addr)->returns != 0;
}

/* A return address in native code: only that the address is executable. */
bool walk_is_native(const struct walk *w, uint64_t addr);

/* Whether calls leave their return address in a register, and not on the stack. */
#define WALK_LINK (UNWIND_RA != UNWIND_PC)

/* Where a frame has its return address and, 0: nowhere, its caller's frame pointer. The caller's
 * stack pointer is the word behind ret_at, even where the address is in the link register. */
struct sender {
	uint64_t ret_at, fp_at;
	bool link;
};

/* Of a frame that is not made yet, or is gone. */
static inline struct sender walk_frameless(const struct walk *w)
{
	return (struct sender){.ret_at = unwind_sp(&w->regs) - WALK_LINK * sizeof(uint64_t),
			       .link = WALK_LINK};
}

/* A code address on the stack, without a signature; the same of the link register. */
static inline bool walk_read(const struct walk *w, uint64_t at, uint64_t *ret)
{
	if (!stack_read(w->stack, at, ret))
		return false;
	*ret &= UNWIND_ADDRESS;
	return true;
}

static inline uint64_t walk_link(const struct walk *w)
{
	return WALK_LINK ? unwind_get(&w->regs, UNWIND_RA) & UNWIND_ADDRESS : 0;
}

/* Goes to the caller; false, and nothing is changed, when there is no valid return address. */
bool walk_take(struct walk *w, struct sender s);

/* The same for a place that was searched for: if the caller is compiled, its own return address
 * must be valid, too, since an address that is left over from an earlier call looks like a valid
 * one. */
bool walk_take_found(struct walk *w, struct sender s);

/* The same for a caller that is native code. */
bool walk_take_native(struct walk *w, struct sender s);

/* The first of `count` places, a word apart, that walk_take_found takes. A word that could be the
 * address of code which the snapshot does not know, or knows only as it is now, ends the search:
 * behind it are callers of that. */
bool walk_search(struct walk *w, struct sender first, unsigned count);

/* Whether a caller at pc, whose stack pointer will be sp, has a valid return address. The caller of
 * a stub may have pushed arguments. */
bool walk_leads_on(const struct walk *w, uint64_t pc, uint64_t sp);

/* Where the frame of `c`, which is complete, has them, if the stack pointer is `sp`. */
struct sender walk_body(const struct snapfile_code *c, uint64_t sp);

/* The same for the innermost frame, by how far its code has come: frames are made and taken down.
 */
struct sender walk_innermost(const struct walk *w, const struct snapfile_code *c);

/* Whether a return address leads back into a virtual thread's frozen frames. */
bool walk_is_frozen(const struct walk *w, uint64_t addr);

/* The registers of a caller of Java code, which keeps none for it but the frame pointer. */
static inline void walk_set(struct walk *w, uint64_t pc, uint64_t sp, uint64_t fp)
{
	w->regs.known = 0;
	w->regs.exact = false;
	unwind_set(&w->regs, UNWIND_PC, pc);
	unwind_set(&w->regs, UNWIND_SP, sp);
	unwind_set(&w->regs, UNWIND_FP, fp);
}

/* Goes to the caller without a check of the address. */
bool walk_go(struct walk *w, uint64_t pc, uint64_t sp, uint64_t fp_at);

/* The steps for a frame by what its code is; each adds its frame. */
enum step walk_method(struct walk *w, const struct snapfile_code *c);	   /* unwind_method.c */
bool walk_certain(struct walk *w);					   /* unwind_method.c */
enum step walk_interpreter(struct walk *w, const struct snapfile_code *c); /* unwind_interp.c */
enum step walk_stub(struct walk *w, const struct snapfile_code *c);	   /* unwind_stub.c */
enum step walk_frozen(struct walk *w);					   /* unwind_stub.c */
enum step walk_native(struct walk *w);					   /* unwind_native.c */

/* unwind_method_*.c. Takes off what a call of native code has put on the stack below the frame. */
void arch_settle(struct walk *w);

/* At an exit's `pop` (snapshot.h). */
struct sender arch_exit(const struct walk *w, const struct snapfile_code *c);

/* The frame may be gone: if it is. */
bool arch_take_left(struct walk *w, const struct snapfile_code *c);

/* Intrinsics that move the stack pointer for a while. */
bool arch_take_moved(struct walk *w, const struct snapfile_code *c);

/* unwind_interp_*.c. While a method is entered: from its caller's jump up to where the frame
 * stands; while it is left: behind the end of the frame. Both add the frame. */
bool arch_enter_step(struct walk *w);
bool arch_leave_step(struct walk *w);

/* Whether a caller's stack pointer may be below the callee's frame. */
bool arch_sender_below(const struct walk *w, uint64_t pc);

/* unwind_stub_*.c: out of a stub of unknown frame, an adapter, and what passes exceptions on. */
bool arch_take_stub(struct walk *w);
bool arch_take_adapter(struct walk *w);
bool arch_take_exception(struct walk *w, const struct snapfile_code *c);

/* unwind_interp.c, for them: whether it is the id of a method; adds the interpreted frame and goes
 * to its caller. */
bool walk_is_method(const struct walk *w, uint64_t id);
bool walk_leave_interpreted(struct walk *w, uint64_t method, uint64_t pc, uint64_t sp,
			    uint64_t fp_at);

#endif
