/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rules of a walk that hold on arm64 only: those of unwind/unwind_arm64.c, which explains them.
 */
#ifndef DFG_KERNEL_FLAT_ARM64_H
#define DFG_KERNEL_FLAT_ARM64_H

#include "kernel/flat_lookup.h"

#define FLAT_ARGUMENTS	  8192u /* bytes of arguments and locals between two frames */
#define FLAT_INSN	  4u
#define FLAT_BREADCRUMB	  16u
#define FLAT_RETURN_ENTRY 16u	/* bytes from where calls return to up to where last_sp is 0 */
#define FLAT_LAST_SP	  16u	/* bytes below the frame pointer */
#define FLAT_SAVED	  32u	/* words that a stub pushes */
#define FLAT_STUB_LOCALS  1024u /* bytes between a stub's stack pointer and its frame pointer */

/* ---- native ------------------------------------------------------------------------------- */

/* Finds the return address: see struct flat_row. */
FLAT_INLINE struct flat_sender flat_row_sender(const struct flat_row *row, uint64_t cfa)
{
	uint64_t at = cfa - row->fp * FLAT_WORD;

	if (!row->fp)
		return (struct flat_sender){.link = true};
	if (row->alone)
		return (struct flat_sender){.ret_at = at};
	return (struct flat_sender){.ret_at = at + FLAT_WORD, .fp_at = at};
}

static inline enum flat_end flat_by_row(struct flat_walk *w, const struct flat_row *row)
{
	uint64_t base = row->rule == FLAT_FROM_FP ? w->fp : w->sp, pc = 0;
	uint64_t cfa = base + row->cfa * FLAT_WORD;
	struct flat_sender s = flat_row_sender(row, cfa);

	if (cfa < w->sp || (s.link && !w->exact) || !flat_sender_pc(w, s.ret_at, s.link, &pc))
		return FLAT_RULE;
	if (!pc)
		return FLAT_ROOT;
	return flat_go(w, pc, cfa, s.fp_at) ? FLAT_ON : FLAT_RULE;
}

/* ---- method ------------------------------------------------------------------------------- */

/* Skips what a call of native code has pushed below the frame. */
static inline void flat_settle(struct flat_walk *w)
{
	uint64_t zero = 1, pc = 0;

	if (flat_read(w, w->sp, &zero) && !zero && flat_read_pc(w, w->sp + FLAT_WORD, &pc) &&
	    pc - w->pc <= (w->exact ? FLAT_INSN : 0))
		w->sp += FLAT_BREADCRUMB;
}

FLAT_INLINE struct flat_sender flat_at_exit(struct flat_walk *w, const struct flat_code *c)
{
	if (c->push_end == FLAT_NONE)
		return (struct flat_sender){.ret_at = w->sp + c->frame - FLAT_WORD, .link = true};
	return (struct flat_sender){.ret_at = w->sp + FLAT_WORD, .fp_at = w->sp};
}

static inline bool flat_take_left(struct flat_walk *w, const struct flat_code *c)
{
	uint64_t pc = flat_link(w);

	return (pc <= c->start || pc - c->start > c->size) && flat_take_found(w, flat_frameless(w));
}

static inline bool flat_take_moved(struct flat_walk *w, const struct flat_code *c)
{
	(void)w;
	(void)c;
	return false;
}

/* ---- stub --------------------------------------------------------------------------------- */

static inline enum flat_end flat_take_exception(struct flat_walk *w, const struct flat_code *c,
						uint32_t offset)
{
	(void)w;
	(void)c;
	(void)offset;
	return FLAT_ENDS;
}

static inline bool flat_by_link(struct flat_walk *w)
{
	struct flat_sender s = flat_frameless(w);

	for (uint32_t i = 0; i <= FLAT_SAVED; i += 2, s.ret_at += 2 * FLAT_WORD)
		if (flat_take_found(w, s))
			return true;
	return false;
}

/* Steps out of a stub whose frame is made, or is being made, while x30 is not used otherwise. */
static inline bool flat_take_linked(struct flat_walk *w, bool framed)
{
	const struct flat_sender pushed = {.ret_at = w->sp + FLAT_WORD, .fp_at = w->sp};
	uint64_t link = flat_link(w), word = 0;

	if (framed && flat_read_pc(w, w->fp + FLAT_WORD, &word) && word == link &&
	    flat_take_found(w, flat_framed(w)))
		return true;
	if (flat_read(w, w->sp, &word) && word == w->fp &&
	    flat_read_pc(w, w->sp + FLAT_WORD, &word) && word == link && flat_take_found(w, pushed))
		return true;
	return flat_by_link(w);
}

static inline bool flat_take_stub(struct flat_walk *w, const struct flat_code *c)
{
	bool framed = w->fp >= w->sp && w->fp % (2 * FLAT_WORD) == 0;

	(void)c; /* without a frame the return address is in x30 */
	if (w->exact && flat_take_linked(w, framed))
		return true;
	if (framed && (flat_take(w, flat_framed(w)) ||
		       (w->fp - w->sp <= FLAT_STUB_LOCALS && flat_take_native(w, flat_framed(w)))))
		return true;
	return w->exact && flat_take_native(w, flat_frameless(w));
}

/* Steps out of an adapter whose caller's stack pointer was `sender`. */
static inline bool flat_take_sender(struct flat_walk *w, uint64_t pc, uint64_t sender)
{
	return sender > w->sp && sender - w->sp <= FLAT_ARGUMENTS && sender % FLAT_WORD == 0 &&
	       flat_leads_on(w, pc, sender) && flat_go(w, pc, sender, 0);
}

static inline bool flat_take_adapter(struct flat_walk *w)
{
	uint64_t pc = flat_link(w), sp = w->sp;

	if (!flat_is_return(w, pc))
		return false;
	if (flat_leads_on(w, pc, sp))
		return flat_go(w, pc, sp, 0);
	return flat_take_sender(w, pc, w->first.x19) || flat_take_sender(w, pc, w->first.x13) ||
	       flat_go(w, pc, sp, 0);
}

/* ---- interpreter -------------------------------------------------------------------------- */

static inline bool flat_is_interpreter(struct flat_walk *w, uint64_t pc)
{
	const struct flat_code *c = flat_is_return(w, pc) ? flat_find(w, pc - 1) : NULL;

	return c && c->kind == FLAT_INTERPRETER;
}

static inline bool flat_sender_below(struct flat_walk *w, uint64_t pc)
{
	return flat_is_interpreter(w, pc);
}

/* True if the frame pointer is that of a frame which returns to pc. */
static inline bool flat_has_frame(struct flat_walk *w, uint64_t pc)
{
	uint64_t word = 0;

	return w->fp >= w->sp && flat_read_pc(w, w->fp + FLAT_WORD, &word) && word == pc;
}

/* True if the caller, whose frame pointer is known, waits for what it called. */
static inline bool flat_is_calling(struct flat_walk *w, uint64_t pc, uint64_t fp)
{
	uint64_t last_sp = 0;

	if (!flat_is_return(w, pc) || w->pc - pc < FLAT_RETURN_ENTRY)
		return false;
	return !flat_is_interpreter(w, pc) ||
	       (flat_read(w, fp - FLAT_LAST_SP, &last_sp) && last_sp != 0);
}

/* Steps from an interpreted method to a caller whose stack pointer was `sender`. */
FLAT_FUNCTION bool flat_go_to(struct flat_walk *w, uint64_t method, uint64_t sender, uint64_t fp_at)
{
	uint64_t pc;

	FLAT_NEED(w, false);
	pc = flat_link(w);
	sender &= ~15ull;
	if (flat_is_interpreter(w, pc))
		sender = sender > w->sp && sender - w->sp <= FLAT_ARGUMENTS ? sender : w->sp;
	else if (sender < w->sp || sender - w->sp > FLAT_ARGUMENTS || !flat_leads_on(w, pc, sender))
		return false;
	return flat_interpreted(w, method, pc, sender, fp_at);
}

/* Steps out of a method that is entered or left. FLAT_SLOTS: it is neither. */
static inline enum flat_end flat_enter_or_leave(struct flat_walk *w)
{
	uint64_t pc = flat_link(w), caller = w->fp, fp_at = 0;

	if (flat_has_frame(w, pc)) {
		uint64_t words = (uint64_t)(1 - (int64_t)w->process.bcp_slot);

		if (w->fp - w->sp != words * FLAT_WORD || !flat_read(w, w->fp, &caller))
			return FLAT_SLOTS;
		fp_at = w->fp; /* the frame is new */
	}
	if (!flat_is_calling(w, pc, caller))
		return FLAT_SLOTS;
	if (!flat_is_method(w, w->first.x12))
		return FLAT_ENTERED;
	if (flat_go_to(w, w->first.x12, w->first.x19, fp_at) ||
	    flat_go_to(w, w->first.x12, w->first.x13, fp_at) ||
	    (!fp_at && flat_go_to(w, 0, w->first.x20, 0)))
		return FLAT_ON;
	return FLAT_SLOTS;
}

#endif
