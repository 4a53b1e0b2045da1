/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules that walk a thread's stack by the flat tables, on x86-64: those of the offline unwinder
 * (unwind/unwind_frames.c, unwind_x86.c) for one snapshot, which has the explanations. What they
 * cannot prove ends the walk with a reason, and the stack copy is unwound offline: a wrong frame is
 * worse. */
#ifndef DFG_BPF_FLAT_WALK_H
#define DFG_BPF_FLAT_WALK_H

#include "bpf/flat_lookup.h"

#define FLAT_SENDER_BYTES 8192u /* of locals between an interpreted frame and its caller's */
#define FLAT_RETURN_ENTRY                                                                          \
	16u /* bytes from where calls return to up to the stack pointer's setting */
#define FLAT_STUB_LOCALS 1024u /* bytes between a stub's stack pointer and its frame pointer */
#define FLAT_ARGUMENTS	 8192u /* bytes that an adapter moves */
#define FLAT_MOVED	 80u   /* bytes that intrinsics take of the stack but by pushing */
#define FLAT_PUSHED	 6u    /* words around a loop or a call of a leaf */
#define FLAT_SAVED	 16u   /* registers that a stub saves */

struct flat_sender {
	uint64_t ret_at, fp_at; /* fp_at 0: not saved */
};

/* ---- native ------------------------------------------------------------------------------- */

static inline enum flat_end flat_by_pointer(struct flat_walk *w)
{
	uint64_t pc = 0;

	if (w->fp < w->sp || w->fp % FLAT_WORD || !flat_read(w, w->fp + FLAT_WORD, &pc))
		return FLAT_POINTER;
	if (!pc)
		return FLAT_ROOT;
	if (!flat_find_mapping(w, pc - 1) && !flat_is_return(w, pc))
		return FLAT_POINTER;
	return flat_go(w, pc, w->fp + 2 * FLAT_WORD, w->fp) ? FLAT_ON : FLAT_POINTER;
}

static inline enum flat_end flat_by_row(struct flat_walk *w, const struct flat_row *row)
{
	uint64_t cfa = (row->rule == FLAT_FROM_FP ? w->fp : w->sp) + row->cfa, fp_at = 0, pc = 0;

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

FLAT_FUNCTION enum flat_end flat_native(struct flat_walk *w)
{
	const struct flat_mapping *m;
	const struct flat_row *row;
	uint32_t n, row_number;
	uint64_t addr;

	FLAT_NEED(w, FLAT_UNMAPPED);
	addr = w->pc - !w->exact;
	n = flat_find_mapping(w, addr);
	m = n ? flat_mapping(n - 1) : NULL;
	if (!m)
		return w->sample.count && !w->pc ? FLAT_ROOT : FLAT_UNMAPPED;
	flat_add(w, FLAT_FRAME(FLAT_FRAME_NATIVE, addr));
	if (!m->block_count)
		return flat_by_pointer(w);
	row_number = flat_find_row(m, (uint32_t)(addr + m->shift));
	row = row_number ? flat_row(row_number - 1) : NULL;
	if (!row || row->rule == FLAT_BY_COPY)
		return FLAT_RULE;
	if (row->rule == FLAT_OUTERMOST)
		return FLAT_ROOT;
	return row->rule == FLAT_BY_POINTER ? flat_by_pointer(w) : flat_by_row(w, row);
}

/* ---- method ------------------------------------------------------------------------------- */

FLAT_INLINE struct flat_sender flat_body(const struct flat_code *c, uint64_t sp)
{
	if (c->frame < 2 * FLAT_WORD)
		return (struct flat_sender){.ret_at = sp};
	return (struct flat_sender){.ret_at = sp + c->frame - FLAT_WORD,
				    .fp_at = sp + c->frame - 2 * FLAT_WORD};
}

FLAT_INLINE struct flat_sender flat_prologue(const struct flat_walk *w, const struct flat_code *c,
					     uint32_t offset)
{
	struct flat_sender s = flat_body(c, w->sp);

	if ((c->push_end != FLAT_NONE && offset < c->push_end) ||
	    (c->push_end == FLAT_NONE && (c->sub_end == FLAT_NONE || offset < c->sub_end)))
		return (struct flat_sender){.ret_at = w->sp};
	if (c->sub_end == FLAT_NONE || offset < c->sub_end)
		return (struct flat_sender){.ret_at = w->sp + FLAT_WORD, .fp_at = w->sp};
	if (c->push_end == FLAT_NONE && offset == c->sub_end)
		s.fp_at = 0;
	return s;
}

FLAT_INLINE struct flat_sender flat_innermost(struct flat_walk *w, const struct flat_code *c,
					      uint32_t offset)
{
	uint32_t n = flat_exit(c, offset);
	const struct flat_range *exit = n ? flat_range(n - 1) : NULL;
	uint64_t word = 0;

	if (exit) {
		if (offset > exit->begin || (flat_read(w, w->sp, &word) && flat_is_return(w, word)))
			return (struct flat_sender){.ret_at = w->sp};
		return (struct flat_sender){.ret_at = w->sp + FLAT_WORD, .fp_at = w->sp};
	}
	if (c->complete == FLAT_NONE || offset < c->complete)
		return flat_prologue(w, c, offset);
	return flat_body(c, w->sp);
}

static inline bool flat_is_left(const struct flat_walk *w, const struct flat_code *c,
				uint32_t offset)
{
	if (c->kind == FLAT_WRAPPER)
		return offset >= c->complete && w->fp != w->sp + c->frame - 2 * FLAT_WORD;
	return offset >= c->left;
}

static inline bool flat_restore_pc(struct flat_walk *w, const struct flat_code *c, uint32_t offset)
{
	uint64_t pc = 0;

	if (offset != c->deopt && offset != c->deopt_mh)
		return true;
	if (c->orig_pc == UINT16_MAX || !flat_read(w, w->sp + c->orig_pc, &pc) || pc <= c->start ||
	    pc - c->start > c->size || pc - c->start == c->deopt || pc - c->start == c->deopt_mh ||
	    !flat_is_return(w, pc))
		return false;
	w->pc = pc;
	return true;
}

static inline bool flat_take_moved(struct flat_walk *w, const struct flat_code *c)
{
	struct flat_sender s;
	uint64_t saved = 0;

	if (!flat_read(w, w->sp, &saved) || saved <= w->sp || saved - w->sp > FLAT_MOVED ||
	    saved % FLAT_WORD)
		return false;
	s = flat_body(c, saved);
	return flat_take_found(w, s.ret_at, s.fp_at);
}

FLAT_FUNCTION enum flat_end flat_in_method(struct flat_walk *w, const struct flat_code *c,
					   uint32_t number)
{
	struct flat_sender s;
	uint32_t offset;
	bool exact;

	FLAT_NEED(w && c, FLAT_NO_CODE);
	offset = (uint32_t)(w->pc - c->start);
	exact = w->exact;
	w->sp += flat_spilled(c, offset);
	if (!exact && !flat_restore_pc(w, c, offset))
		return FLAT_DEOPT;
	offset = (uint32_t)(w->pc - c->start);
	flat_add(w, FLAT_FRAME(FLAT_FRAME_CODE, FLAT_IN_CODE(number, offset - !exact)));
	s = exact ? flat_innermost(w, c, offset) : flat_body(c, w->sp);
	if (exact && flat_is_left(w, c, offset) && flat_take_found(w, w->sp, 0))
		return FLAT_ON;
	if (flat_take(w, s.ret_at, s.fp_at) || (exact && flat_take_moved(w, c)) ||
	    (w->pushes && flat_search(w, s.ret_at, s.fp_at, 1 + FLAT_PUSHED)))
		return FLAT_ON;
	return FLAT_RETURN;
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
	return flat_in_code(c, w->rax) || flat_in_code(c, w->rbx) || flat_in_code(c, w->r8) ||
	       flat_in_code(c, w->r10);
}

/* True if the offline unwinder might step to an exception's handler: by_handler of unwind_x86.c. */
static inline bool flat_may_catch(struct flat_walk *w, bool exit, bool behind)
{
	const struct flat_code *to;
	uint64_t word = w->rcx;

	if (exit ? !flat_read(w, w->sp, &word) || flat_is_return(w, word)
		 : !behind || word != w->rax)
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
		gone = behind && flat_is_thrown(w, w->rdx);
	else if (flat_read(w, w->sp, &word) && flat_is_thrown(w, word))
		return flat_take_found(w, w->sp, 0);
	else
		gone = flat_is_thrown(w, w->rdx);
	return gone && flat_is_return(w, w->rdx) && flat_leads_on(w, w->rdx, w->sp) &&
	       flat_go(w, w->rdx, w->sp, 0);
}

static inline bool flat_by_size(struct flat_walk *w, const struct flat_code *c, uint32_t offset)
{
	struct flat_sender s = flat_body(c, w->sp);

	if (c->frame < 2 * FLAT_WORD)
		return false;
	if (!w->exact)
		return flat_take(w, s.ret_at, s.fp_at);
	if (offset == 0)
		s = (struct flat_sender){.ret_at = w->sp};
	else if (c->sub_end != FLAT_NONE || flat_exit(c, offset))
		s = flat_innermost(w, c, offset);
	return flat_search(w, s.ret_at, s.fp_at, 2);
}

static inline bool flat_take_stub(struct flat_walk *w)
{
	bool framed = w->fp >= w->sp && w->fp % FLAT_WORD == 0;
	uint64_t word = 0;

	if (flat_take_found(w, w->sp, 0))
		return true;
	if (flat_read(w, w->sp, &word) && word == w->fp && flat_take_found(w, w->sp + FLAT_WORD, 0))
		return true;
	if (framed && flat_take(w, w->fp + FLAT_WORD, w->fp))
		return true;
	if (framed && flat_read(w, w->fp + FLAT_WORD, &word) && word == UINT64_MAX &&
	    flat_take(w, w->fp + 2 * FLAT_WORD, w->fp))
		return true;
	if (framed && w->fp - w->sp <= FLAT_STUB_LOCALS &&
	    flat_take_native(w, w->fp + FLAT_WORD, w->fp))
		return true;
	if (w->exact && flat_take_native(w, w->sp, 0))
		return true;
	return flat_search(w, w->sp + FLAT_WORD, 0, FLAT_SAVED);
}

static inline bool flat_take_adapter(struct flat_walk *w)
{
	bool moved = w->r13 > w->sp && w->r13 - w->sp <= FLAT_ARGUMENTS && w->r13 % FLAT_WORD == 0;
	uint64_t word = 0;

	if (!flat_read(w, w->sp, &word) || !flat_is_return(w, word))
		return moved && flat_is_return(w, w->rax) && flat_go(w, w->rax, w->r13, 0);
	moved = moved && !flat_leads_on(w, word, w->sp + FLAT_WORD) &&
		flat_leads_on(w, word, w->r13);
	return flat_go(w, word, moved ? w->r13 : w->sp + FLAT_WORD, 0);
}

FLAT_FUNCTION enum flat_end flat_in_stub(struct flat_walk *w, const struct flat_code *c,
					 uint32_t number)
{
	uint32_t offset;

	FLAT_NEED(w && c, FLAT_NO_CODE);
	offset = (uint32_t)(w->pc - c->start);
	flat_add(w, FLAT_FRAME(FLAT_FRAME_CODE, FLAT_IN_CODE(number, offset - !w->exact)));
	if (w->pc == w->process.call_stub_return && !w->exact)
		return w->fp >= w->sp && flat_take_native(w, w->fp + FLAT_WORD, w->fp) ? FLAT_ON
										       : FLAT_STUB;
	if (c->kind == FLAT_ADAPTER && !w->exact)
		return FLAT_IN_ADAPTER;
	if (c->kind == FLAT_ADAPTER && flat_take_adapter(w))
		return FLAT_ON;
	if (w->exact) {
		bool exit = flat_exit(c, offset);
		bool behind = offset && !exit && flat_exit(c, offset - 1);

		if (c->kind == FLAT_RUNTIME && flat_may_catch(w, exit, behind))
			return FLAT_THROWN;
		if (flat_by_exception(w, c, offset, behind))
			return FLAT_ON;
	}
	if (c->kind == FLAT_RUNTIME) {
		if (flat_by_size(w, c, offset))
			return FLAT_ON;
		if (c->sub_end != FLAT_NONE && c->push_end == FLAT_NONE)
			return FLAT_RETURN;
	}
	return flat_take_stub(w) ? FLAT_ON : FLAT_STUB;
}

static inline enum flat_end flat_frozen(struct flat_walk *w)
{
	flat_add(w, FLAT_FRAME(FLAT_FRAME_FROZEN, 0));
	return w->fp >= w->sp && w->fp % FLAT_WORD == 0 &&
			       flat_take_found(w, w->fp + FLAT_WORD, w->fp)
		       ? FLAT_ON
		       : FLAT_ROOT;
}

/* ---- interpreter -------------------------------------------------------------------------- */

static inline bool flat_is_sender_sp(const struct flat_walk *w, uint64_t value)
{
	return value > w->sp && value % FLAT_WORD == 0 && value - w->sp <= FLAT_SENDER_BYTES;
}

static inline bool flat_interpreted(struct flat_walk *w, uint64_t method, uint64_t pc, uint64_t sp,
				    uint64_t fp_at)
{
	if (!flat_go(w, pc, sp, fp_at))
		return false;
	flat_add(w, FLAT_FRAME(FLAT_FRAME_INTERPRETED, method & (~0ull >> 4)));
	return true;
}

/* While a method is entered; the sender's stack pointer is in r13. FLAT_SLOTS: it is not. */
static inline enum flat_end flat_enter(struct flat_walk *w)
{
	uint64_t pc = 0, fp_at = 0, top = 0, next = 0, word = 0;

	if (!flat_is_method(w, w->rbx))
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
	} else if (flat_is_return(w, w->rax)) {
		pc = w->rax;
	}
	return pc && flat_interpreted(w, w->rbx, pc, w->r13, fp_at) ? FLAT_ON : FLAT_SLOTS;
}

static inline bool flat_leave(struct flat_walk *w)
{
	uint64_t pc = w->r13;

	if (!flat_is_sender_sp(w, w->rbx) && w->rbx != w->sp)
		return false;
	if (!flat_is_return(w, pc) && !(flat_read(w, w->sp, &pc) && flat_is_return(w, pc)))
		return false;
	return flat_interpreted(w, 0, pc, w->rbx, 0);
}

FLAT_FUNCTION enum flat_end flat_in_interpreter(struct flat_walk *w)
{
	uint64_t method = 0, sender = 0, pc = 0;
	enum flat_end end;
	int64_t method_at;

	FLAT_NEED(w, FLAT_SLOTS);
	method_at = (int64_t)w->process.method_slot * (int64_t)FLAT_WORD;
	if (w->exact && flat_is_sender_sp(w, w->r13)) {
		end = flat_enter(w);
		if (end != FLAT_SLOTS)
			return end;
	}
	if (w->exact && flat_leave(w))
		return FLAT_ON;
	if (w->fp < w->sp || w->fp % FLAT_WORD || method_at >= 0 ||
	    !flat_read(w, w->fp + FLAT_WORD, &pc) || !flat_read(w, w->fp - FLAT_WORD, &sender) ||
	    !flat_is_return(w, pc) || sender <= w->fp)
		return FLAT_SLOTS;
	if (sender < w->fp + 2 * FLAT_WORD)
		sender = w->fp + 2 * FLAT_WORD;
	flat_read(w, w->fp + (uint64_t)method_at, &method);
	return flat_interpreted(w, method, pc, sender, w->fp) ? FLAT_ON : FLAT_SLOTS;
}

/* ---- the walk ----------------------------------------------------------------------------- */

static inline enum flat_end flat_step_in(struct flat_walk *w, const struct flat_code *c,
					 uint32_t number)
{
	if (!w->exact &&
	    (w->process.cont_return ? w->pc == w->process.cont_return : c->flags & FLAT_BARRIER))
		return flat_frozen(w);
	if (c->kind == FLAT_COMPILED || c->kind == FLAT_WRAPPER)
		return flat_in_method(w, c, number);
	if (c->kind == FLAT_INTERPRETER)
		return flat_in_interpreter(w);
	return flat_in_stub(w, c, number);
}

/* Makes one step. */
static inline enum flat_end flat_step(struct flat_walk *w)
{
	uint64_t addr = w->pc - !w->exact;
	const struct flat_code *c = flat_find(w, addr);
	enum flat_end end;

	if (!c && flat_in_cache(w, addr))
		return FLAT_NO_CODE;
	w->kind = c ? c->kind : 0;
	end = c ? flat_step_in(w, c, flat_number(w, addr)) : flat_native(w);
	w->pushes = !c || (c->kind != FLAT_COMPILED && c->kind != FLAT_WRAPPER &&
			   c->kind != FLAT_INTERPRETER);
	if (w->unread)
		return FLAT_UNREAD;
	if (w->unsure)
		return FLAT_UNSURE;
	return end == FLAT_ON && w->sample.count == FLAT_FRAMES_MAX ? FLAT_FULL : end;
}

#endif
