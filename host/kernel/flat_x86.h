/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rules of a walk that hold on x86-64 only: those of unwind/unwind_x86.c, which explains them.
 */
#ifndef DFG_KERNEL_FLAT_X86_H
#define DFG_KERNEL_FLAT_X86_H

#include "kernel/flat_lookup.h"

#define FLAT_SENDER_BYTES 8192u /* of locals between an interpreted frame and its caller's */
#define FLAT_RETURN_ENTRY                                                                          \
	16u /* bytes from where calls return to up to the stack pointer's setting */
#define FLAT_STUB_LOCALS 1024u /* bytes between a stub's stack pointer and its frame pointer */
#define FLAT_ARGUMENTS	 8192u /* bytes that an adapter moves */
#define FLAT_MOVED	 80u   /* bytes that intrinsics take of the stack but by pushing */
#define FLAT_SAVED	 16u   /* registers that a stub saves */

/* ---- native ------------------------------------------------------------------------------- */

static inline enum flat_end flat_by_row(struct flat_walk *w, const struct flat_row *row)
{
	uint64_t base = row->rule == FLAT_FROM_FP ? w->fp : w->sp, fp_at = 0, pc = 0;
	uint64_t cfa = base + row->cfa * FLAT_WORD;

	if (cfa - FLAT_WORD < w->sp || cfa <= w->sp || !flat_read(w, cfa - FLAT_WORD, &pc))
		return FLAT_RULE;
	if (row->fp)
		fp_at = cfa - row->fp * FLAT_WORD;
	if (fp_at < w->sp) /* popped: it has its value again */
		fp_at = 0;
	if (!pc)
		return FLAT_ROOT;
	return flat_go(w, pc, cfa, fp_at) ? FLAT_ON : FLAT_RULE;
}

/* ---- method ------------------------------------------------------------------------------- */

static inline void flat_settle(struct flat_walk *w)
{
	(void)w;
}

FLAT_INLINE struct flat_sender flat_at_exit(struct flat_walk *w, const struct flat_code *c)
{
	uint64_t word = 0;

	(void)c;
	if (flat_read(w, w->sp, &word) && flat_is_return(w, word))
		return flat_frameless(w);
	return (struct flat_sender){.ret_at = w->sp + FLAT_WORD, .fp_at = w->sp};
}

static inline bool flat_take_left(struct flat_walk *w, const struct flat_code *c)
{
	uint64_t word = 0;

	if (flat_read(w, w->sp, &word) && word > c->start && word - c->start <= c->size &&
	    flat_is_return(w, word))
		return flat_take(w, flat_body(c, w->sp + FLAT_WORD));
	return flat_take_found(w, flat_frameless(w));
}

static inline bool flat_take_moved(struct flat_walk *w, const struct flat_code *c)
{
	uint64_t saved = 0;

	if (!flat_read(w, w->sp, &saved) || saved <= w->sp || saved - w->sp > FLAT_MOVED ||
	    saved % FLAT_WORD)
		return false;
	return flat_take_found(w, flat_body(c, saved));
}

/* ---- stub --------------------------------------------------------------------------------- */

static inline bool flat_in_code(const struct flat_code *c, uint64_t addr)
{
	return c && addr - c->start < c->size;
}

/* True if a jump to a handler in the code of this address is about to happen. */
FLAT_FUNCTION bool flat_is_thrown(struct flat_walk *w, uint64_t pc)
{
	const struct flat_code *c;

	FLAT_NEED(w, false);
	if (!flat_is_return(w, pc))
		return false;
	c = flat_find(w, pc - 1);
	return flat_in_code(c, w->first.rax) || flat_in_code(c, w->first.rbx) ||
	       flat_in_code(c, w->first.r8) || flat_in_code(c, w->first.r10);
}

/* True if the offline unwinder might step to an exception's handler: by_handler of unwind_x86.c. */
static inline bool flat_may_catch(struct flat_walk *w, bool exit, bool behind)
{
	const struct flat_code *to;
	uint64_t word = w->first.rcx;

	if (exit ? !flat_read(w, w->sp, &word) || flat_is_return(w, word)
		 : !behind || word != w->first.rax)
		return false;
	to = flat_find(w, word);
	return to && to->kind == FLAT_COMPILED;
}

/* Steps out of stubs that go to an exception's handler. */
static inline bool flat_by_exception(struct flat_walk *w, const struct flat_code *c,
				     uint32_t offset, bool behind)
{
	bool gone;
	uint64_t word = 0;

	if (c->flags & FLAT_THROWS)
		gone = offset == 0 || offset >= c->left;
	else if (c->kind == FLAT_RUNTIME)
		gone = behind && flat_is_thrown(w, w->first.rdx);
	else if (flat_read(w, w->sp, &word) && flat_is_thrown(w, word))
		return flat_take_found(w, flat_frameless(w));
	else
		gone = flat_is_thrown(w, w->first.rdx);
	return gone && flat_is_return(w, w->first.rdx) && flat_leads_on(w, w->first.rdx, w->sp) &&
	       flat_go(w, w->first.rdx, w->sp, 0);
}

/* Steps out of a stub that forwards an exception. FLAT_ENDS: it does not. */
static inline enum flat_end flat_take_exception(struct flat_walk *w, const struct flat_code *c,
						uint32_t offset)
{
	bool exit = flat_exit(c, offset);
	bool behind = offset && !exit && flat_exit(c, offset - 1);

	if (c->kind == FLAT_RUNTIME && flat_may_catch(w, exit, behind))
		return FLAT_THROWN;
	return flat_by_exception(w, c, offset, behind) ? FLAT_ON : FLAT_ENDS;
}

static inline bool flat_take_stub(struct flat_walk *w, const struct flat_code *c)
{
	const struct flat_sender pushed = {.ret_at = w->sp + FLAT_WORD};
	bool framed = w->fp >= w->sp && w->fp % FLAT_WORD == 0;
	uint64_t word = 0;

	if (flat_take_found(w, flat_frameless(w)))
		return true;
	if (c->flags & FLAT_PUSHES)
		return flat_search(w, pushed, FLAT_SAVED);
	if (flat_read(w, w->sp, &word) && word == w->fp && flat_take_found(w, pushed))
		return true;
	if (framed && flat_take(w, flat_framed(w)))
		return true;
	if (framed && flat_read(w, w->fp + FLAT_WORD, &word) && word == UINT64_MAX &&
	    flat_take(w, (struct flat_sender){.ret_at = w->fp + 2 * FLAT_WORD, .fp_at = w->fp}))
		return true;
	if (framed && w->fp - w->sp <= FLAT_STUB_LOCALS && flat_take_native(w, flat_framed(w)))
		return true;
	if (w->exact && flat_take_native(w, flat_frameless(w)))
		return true;
	return flat_search(w, pushed, FLAT_SAVED);
}

static inline bool flat_is_compiled(struct flat_walk *w, uint64_t pc)
{
	const struct flat_code *c = flat_is_return(w, pc) ? flat_find(w, pc - 1) : NULL;

	return c && (c->kind == FLAT_COMPILED || c->kind == FLAT_WRAPPER);
}

static inline bool flat_take_adapter(struct flat_walk *w)
{
	bool moved = w->first.r13 > w->sp && w->first.r13 - w->sp <= FLAT_ARGUMENTS &&
		     w->first.r13 % FLAT_WORD == 0;
	uint64_t word = 0;

	if (flat_is_compiled(w, w->first.rax)) {
		if (moved && flat_leads_on(w, w->first.rax, w->first.r13))
			return flat_go(w, w->first.rax, w->first.r13, 0);
		if (flat_leads_on(w, w->first.rax, w->sp))
			return flat_go(w, w->first.rax, w->sp, 0);
	}
	if (!flat_read(w, w->sp, &word) || !flat_is_return(w, word))
		return moved && flat_is_return(w, w->first.rax) &&
		       flat_go(w, w->first.rax, w->first.r13, 0);
	moved = moved && !flat_leads_on(w, word, w->sp + FLAT_WORD) &&
		flat_leads_on(w, word, w->first.r13);
	return flat_go(w, word, moved ? w->first.r13 : w->sp + FLAT_WORD, 0);
}

/* ---- interpreter -------------------------------------------------------------------------- */

static inline bool flat_is_sender_sp(const struct flat_walk *w, uint64_t value)
{
	return value > w->sp && value % FLAT_WORD == 0 && value - w->sp <= FLAT_SENDER_BYTES;
}

/* While a method is entered; the sender's stack pointer is in r13. FLAT_SLOTS: it is not. */
static inline enum flat_end flat_enter(struct flat_walk *w)
{
	uint64_t pc = 0, fp_at = 0, top = 0, next = 0, word = 0;

	if (!flat_is_method(w, w->first.rbx))
		return FLAT_ENTERED;
	flat_read(w, w->sp, &top);
	flat_read(w, w->sp + FLAT_WORD, &next);
	if (w->fp >= w->sp && w->fp - w->sp <= 4 * FLAT_WORD &&
	    flat_read(w, w->fp + FLAT_WORD, &word) && flat_is_return(w, word)) {
		pc = word;
		fp_at = w->fp;
	} else if (top == w->fp && flat_is_return(w, next)) {
		pc = next;
		fp_at = w->sp;
	} else if (flat_is_return(w, top)) {
		/* Compiled code has just returned there. */
		if (w->pc - top < FLAT_RETURN_ENTRY)
			return FLAT_SLOTS;
		pc = top;
	} else if (flat_is_return(w, w->first.rax)) {
		pc = w->first.rax;
	}
	return pc && flat_interpreted(w, w->first.rbx, pc, w->first.r13, fp_at) ? FLAT_ON
										: FLAT_SLOTS;
}

static inline bool flat_leave(struct flat_walk *w)
{
	uint64_t pc = w->first.r13;

	if (!flat_is_sender_sp(w, w->first.rbx) && w->first.rbx != w->sp)
		return false;
	if (!flat_is_return(w, pc) && !(flat_read(w, w->sp, &pc) && flat_is_return(w, pc)))
		return false;
	return flat_interpreted(w, 0, pc, w->first.rbx, 0);
}

/* Steps out of a method that is entered or left. FLAT_SLOTS: it is neither. */
static inline enum flat_end flat_enter_or_leave(struct flat_walk *w)
{
	enum flat_end end = FLAT_SLOTS;

	if (flat_is_sender_sp(w, w->first.r13))
		end = flat_enter(w);
	if (end == FLAT_SLOTS && flat_leave(w))
		end = FLAT_ON;
	return end;
}

static inline bool flat_sender_below(struct flat_walk *w, uint64_t pc)
{
	(void)w;
	(void)pc;
	return false;
}

#endif
