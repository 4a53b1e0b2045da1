/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules that walk a thread's stack by the flat tables: those of the offline unwinder
 * (unwind/unwind_frames.c) for one snapshot, which has the explanations. What they cannot prove
 * ends the walk with a reason, and the stack copy is unwound offline: a wrong frame is worse. */
#ifndef DFG_KERNEL_FLAT_WALK_H
#define DFG_KERNEL_FLAT_WALK_H

#include "kernel/flat_frozen.h"
#ifdef FLAT_ARM64
#include "kernel/flat_arm64.h"
#else
#include "kernel/flat_x86.h"
#endif

#define FLAT_PUSHED 6u /* words around a loop or a call of a leaf */

/* ---- native ------------------------------------------------------------------------------- */

static inline enum flat_end flat_by_pointer(struct flat_walk *w)
{
	uint64_t pc = 0;

	if (w->fp < w->sp || w->fp % FLAT_WORD || !flat_read_pc(w, w->fp + FLAT_WORD, &pc))
		return FLAT_POINTER;
	if (!pc)
		return FLAT_ROOT;
	if (!flat_find_mapping(w, pc - 1) && !flat_is_return(w, pc))
		return FLAT_POINTER;
	return flat_go(w, pc, w->fp + 2 * FLAT_WORD, w->fp) ? FLAT_ON : FLAT_POINTER;
}

/* The place of what is found for an address; NULL: there is none. */
static inline volatile uint64_t *flat_found_at(const struct flat_walk *w, uint64_t addr)
{
	return w->process.mapping_count
		       ? flat_found(w->process.found + flat_hash(addr) % FLAT_FOUND_ROWS)
		       : NULL;
}

/* Returns the number of the row that has been found for an address; 0: none. */
static inline uint32_t flat_found_row(const struct flat_walk *w, uint64_t addr)
{
	const volatile uint64_t *place = flat_found_at(w, addr);
	const uint64_t found = place ? *place : 0;

	return (found & ((1ull << FLAT_FOUND_BITS) - 1)) == addr
		       ? (uint32_t)(found >> FLAT_FOUND_BITS)
		       : 0;
}

static inline void flat_keep_row(const struct flat_walk *w, uint64_t addr, uint32_t row)
{
	volatile uint64_t *place = flat_found_at(w, addr);

	if (place && addr >> FLAT_FOUND_BITS == 0)
		*place = (uint64_t)row << FLAT_FOUND_BITS | addr;
}

/* Looks up the row of an address. FLAT_ON: in *ret_row; FLAT_POINTER: no file is mapped there. */
static inline enum flat_end flat_look_up(struct flat_walk *w, uint64_t addr, uint32_t *ret_row)
{
	const uint32_t n = flat_find_mapping(w, addr);
	const struct flat_mapping *m = n ? flat_mapping(n - 1) : NULL;

	if (!m)
		return w->sample.count && !w->pc ? FLAT_ROOT : FLAT_UNMAPPED;
	if (!m->block_count)
		return FLAT_POINTER;
	*ret_row = flat_find_row(m, (uint32_t)(addr + m->shift));
	flat_keep_row(w, addr, *ret_row);
	return FLAT_ON;
}

FLAT_FUNCTION enum flat_end flat_native(struct flat_walk *w)
{
	enum flat_end end = FLAT_ON;
	const struct flat_row *row;
	uint32_t number;
	uint64_t addr;

	FLAT_NEED(w, FLAT_UNMAPPED);
	addr = w->pc - !w->exact;
	number = flat_found_row(w, addr);
	if (!number)
		end = flat_look_up(w, addr, &number);
	if (end == FLAT_ROOT || end == FLAT_UNMAPPED)
		return end;
	flat_add(w, FLAT_FRAME(FLAT_FRAME_NATIVE, addr));
	if (end == FLAT_POINTER)
		return flat_by_pointer(w);
	row = number ? flat_row(number) : NULL;
	if (!row || row->rule == FLAT_BY_COPY)
		return FLAT_RULE;
	if (row->rule == FLAT_OUTERMOST)
		return FLAT_ROOT;
	return row->rule == FLAT_BY_POINTER ? flat_by_pointer(w) : flat_by_row(w, row);
}

/* ---- method ------------------------------------------------------------------------------- */

FLAT_INLINE struct flat_sender flat_prologue(const struct flat_walk *w, const struct flat_code *c,
					     uint32_t offset)
{
	struct flat_sender s = flat_body(c, w->sp);

	if ((c->push_end != FLAT_NONE && offset < c->push_end) ||
	    (c->push_end == FLAT_NONE && (c->sub_end == FLAT_NONE || offset < c->sub_end)))
		return flat_frameless(w);
	if (c->sub_end == FLAT_NONE || offset < c->sub_end)
		return (struct flat_sender){.ret_at = w->sp + FLAT_WORD, .fp_at = w->sp};
	if (c->push_end == FLAT_NONE && offset == c->sub_end) {
		s.fp_at = 0;
		s.link = FLAT_LINK;
	}
	return s;
}

FLAT_INLINE struct flat_sender flat_innermost(struct flat_walk *w, const struct flat_code *c,
					      uint32_t offset)
{
	uint32_t n = flat_exit(c, offset);
	const struct flat_range *exit = n ? flat_range(n - 1) : NULL;

	if (exit)
		return offset > exit->begin ? flat_frameless(w) : flat_at_exit(w, c);
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

FLAT_FUNCTION enum flat_end flat_in_method(struct flat_walk *w, const struct flat_code *c,
					   uint32_t number)
{
	struct flat_sender s;
	uint32_t offset;
	bool exact;

	FLAT_NEED(w && c, FLAT_NO_CODE);
	offset = (uint32_t)(w->pc - c->start);
	exact = w->exact;
	flat_settle(w);
	w->sp += flat_spilled(c, offset);
	if (!exact && !flat_restore_pc(w, c, offset))
		return FLAT_DEOPT;
	offset = (uint32_t)(w->pc - c->start);
	flat_add(w, FLAT_FRAME(FLAT_FRAME_CODE, FLAT_IN_CODE(number, offset - !exact)));
	s = exact ? flat_innermost(w, c, offset) : flat_body(c, w->sp);
	if (exact && flat_is_left(w, c, offset) && flat_take_left(w, c))
		return FLAT_ON;
	if (flat_take(w, s) || (exact && flat_take_moved(w, c)) ||
	    (w->pushes && !s.link && flat_search(w, s, 1 + FLAT_PUSHED)))
		return FLAT_ON;
	return FLAT_RETURN;
}

/* ---- stub --------------------------------------------------------------------------------- */

static inline bool flat_by_size(struct flat_walk *w, const struct flat_code *c, uint32_t offset)
{
	struct flat_sender s = flat_body(c, w->sp);

	if (c->frame < 2 * FLAT_WORD)
		return false;
	if (!w->exact)
		return flat_take(w, s);
	if (offset == 0)
		s = flat_frameless(w);
	else if (c->sub_end != FLAT_NONE || flat_exit(c, offset))
		s = flat_innermost(w, c, offset);
	return flat_search(w, s, 2);
}

FLAT_FUNCTION enum flat_end flat_in_stub(struct flat_walk *w, const struct flat_code *c,
					 uint32_t number)
{
	enum flat_end end;
	uint32_t offset;

	FLAT_NEED(w && c, FLAT_NO_CODE);
	offset = (uint32_t)(w->pc - c->start);
	flat_add(w, FLAT_FRAME(FLAT_FRAME_CODE, FLAT_IN_CODE(number, offset - !w->exact)));
	if (w->pc == w->process.call_stub_return && !w->exact) {
		w->entry = w->fp;
		return w->fp >= w->sp && flat_take_native(w, flat_framed(w)) ? FLAT_ON : FLAT_STUB;
	}
	if (c->kind == FLAT_ADAPTER && !w->exact)
		return FLAT_IN_ADAPTER;
	if (c->kind == FLAT_ADAPTER && flat_take_adapter(w))
		return FLAT_ON;
	end = w->exact ? flat_take_exception(w, c, offset) : FLAT_ENDS;
	if (end != FLAT_ENDS)
		return end;
	if (c->kind == FLAT_RUNTIME) {
		if (flat_by_size(w, c, offset))
			return FLAT_ON;
		if (c->sub_end != FLAT_NONE && c->push_end == FLAT_NONE)
			return FLAT_RETURN;
	}
	return flat_take_stub(w, c) ? FLAT_ON : FLAT_STUB;
}

/* ---- interpreter -------------------------------------------------------------------------- */

FLAT_FUNCTION enum flat_end flat_in_interpreter(struct flat_walk *w)
{
	uint64_t method = 0, sender = 0, pc = 0;
	int64_t method_at;

	FLAT_NEED(w, FLAT_SLOTS);
	method_at = (int64_t)w->process.method_slot * (int64_t)FLAT_WORD;
	if (w->exact) {
		enum flat_end end = flat_enter_or_leave(w);

		if (end != FLAT_SLOTS)
			return end;
	}
	if (w->fp < w->sp || w->fp % FLAT_WORD || method_at >= 0 ||
	    !flat_read_pc(w, w->fp + FLAT_WORD, &pc) || !flat_read(w, w->fp - FLAT_WORD, &sender) ||
	    !flat_is_return(w, pc) || (sender <= w->fp && !flat_sender_below(w, pc)))
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

/* Makes a step in the heap. */
static inline enum flat_end flat_step_frozen(struct flat_walk *w)
{
	const struct flat_code *c;

	if (w->sp >= w->chunk_end)
		return flat_leave_chunk(w);
	c = flat_find(w, w->pc - 1);
	return c && flat_in_chunk(w, c, flat_number(w, w->pc - 1)) ? FLAT_ON : flat_lose_frozen(w);
}

/* Makes one step. */
static inline enum flat_end flat_step(struct flat_walk *w)
{
	uint64_t addr = w->pc - !w->exact;
	const struct flat_code *c = w->chunk ? NULL : flat_find(w, addr);
	const bool called = c && !w->called && (w->exact ? c->kind == FLAT_WRAPPER : !w->kind);
	enum flat_end end;

	if (!c && !w->chunk && flat_in_cache(w, addr))
		return FLAT_NO_CODE;
	w->kind = c ? c->kind : 0;
	if (called)
		w->called = w->pc;
	end = w->chunk ? flat_step_frozen(w)
	      : c      ? flat_step_in(w, c, flat_number(w, addr))
		       : flat_native(w);
	if (called && w->kind == FLAT_WRAPPER)
		w->caller = w->pc;
	w->pushes = !c || (c->kind != FLAT_COMPILED && c->kind != FLAT_WRAPPER &&
			   c->kind != FLAT_INTERPRETER);
	if (w->unread)
		return FLAT_UNREAD;
	if (w->unsure)
		return FLAT_UNSURE;
	return end == FLAT_ON && w->sample.count == FLAT_FRAMES_MAX ? FLAT_FULL : end;
}

#endif
