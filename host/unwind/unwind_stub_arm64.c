// SPDX-License-Identifier: Apache-2.0
/* cpu/aarch64/stubGenerator_aarch64.cpp, sharedRuntime_aarch64.cpp of JDK 8 to 25. */
#include "unwind/unwind_arch.h"

#define WORD	      8u
#define SAVED_MAX     32u   /* words that a stub pushes */
#define LOCALS_MAX    1024u /* bytes between a stub's stack pointer and its frame pointer */
#define ARGUMENTS_MAX 8192u /* bytes */

/* A leaf's return address stays in x30, whatever it pushes: its caller's stack pointer is where
 * that caller has a valid return address of its own. */
static bool by_link(struct walk *w)
{
	struct sender s = walk_frameless(w);

	for (unsigned i = 0; i <= SAVED_MAX; i += 2, s.ret_at += 2 * WORD)
		if (walk_take_found(w, s))
			return true;
	return false;
}

/* Stubs with a frame begin with `stp x29, x30, [sp, #-16]!; mov x29, sp`. */
bool arch_take_stub(struct walk *w)
{
	uint64_t sp = unwind_sp(&w->regs), fp = unwind_fp(&w->regs), word;
	struct sender by_fp = {.ret_at = fp + WORD, .fp_at = fp};
	struct sender pushed = {.ret_at = sp + WORD, .fp_at = sp};
	bool framed = fp >= sp && fp % (2 * WORD) == 0;

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
bool arch_take_adapter(struct walk *w)
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
bool arch_take_exception(struct walk *w, const struct snapfile_code *c)
{
	(void)w;
	(void)c;
	return false;
}
