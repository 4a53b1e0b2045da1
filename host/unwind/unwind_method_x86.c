// SPDX-License-Identifier: Apache-2.0
#include "unwind/unwind_arch.h"

#define WORD	  8u
#define MOVED_MAX 80u /* bytes that intrinsics take of the stack but by pushing */

void arch_settle(struct walk *w)
{
	(void)w;
}

/* At the start of an exit without "pop rbp" the return address is on top; a saved frame pointer
 * there is none. */
struct sender arch_exit(const struct walk *w, const struct snapfile_code *c)
{
	uint64_t sp = unwind_sp(&w->regs), word;

	(void)c;
	if (stack_read(w->stack, sp, &word) && walk_is_return(w, word))
		return walk_frameless(w);
	return (struct sender){.ret_at = sp + WORD, .fp_at = sp};
}

bool arch_take_left(struct walk *w, const struct snapfile_code *c)
{
	(void)c;
	return walk_take_found(w, walk_frameless(w));
}

/* C2's String.indexOf moves the stack pointer, by up to four words and a copy of the string
 * searched for, and keeps what it was on top (c2_MacroAssembler_x86.cpp string_indexof, JDK 8 to
 * 25). */
bool arch_take_moved(struct walk *w, const struct snapfile_code *c)
{
	uint64_t sp = unwind_sp(&w->regs), saved;

	return w->regs.exact && stack_read(w->stack, sp, &saved) && saved > sp &&
	       saved - sp <= MOVED_MAX && saved % WORD == 0 &&
	       walk_take_found(w, walk_body(c, saved));
}
