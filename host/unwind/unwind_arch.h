/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the unwinder: what is another one on each machine, in the files named *_x86.c and
 * *_arm64.c. The steps change nothing where they do not fit. */
#ifndef DFG_UNWIND_UNWIND_ARCH_H
#define DFG_UNWIND_UNWIND_ARCH_H

#include "unwind/unwind_walk.h"

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
