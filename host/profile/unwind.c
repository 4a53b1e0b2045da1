// SPDX-License-Identifier: Apache-2.0
#include "unwind_walk.h"

void walk_add(struct walk *w, enum unwind_kind kind, uint64_t method)
{
	if (w->count < UNWIND_FRAMES_MAX)
		w->frames[w->count++] = (struct unwind_frame){
			.addr = walk_addr(w), .method = method, .kind = kind, .code = w->code};
}

enum step walk_missing(const struct walk *w, uint64_t addr)
{
	return addr + sizeof(uint64_t) - w->stack->base > w->stack->len ? STEP_CUT : STEP_LOST;
}

bool walk_is_native(const struct walk *w, uint64_t addr)
{
	struct cfi *cfi;
	uint64_t offset;

	return addr && w->src->native(w->src->arg, addr - 1, &cfi, &offset);
}

static bool is_return_in(const struct snapfile_code *c, uint64_t addr)
{
	uint64_t offset = addr - c->start;

	switch (c->record->kind) {
	case SNAP_INTERPRETER:
		return true;
	case SNAP_COMPILED:
	case SNAP_NATIVE:
		return snapfile_is_return(c, offset) || offset == c->record->deopt ||
		       offset == c->record->deopt_mh;
	default:
		return snapfile_is_return(c, offset);
	}
}

bool walk_go(struct walk *w, uint64_t pc, uint64_t sp, uint64_t fp_at)
{
	uint64_t fp = unwind_fp(&w->regs);

	/* Only the first frame can be without any stack of its own. */
	if (sp < unwind_sp(&w->regs) || (sp == unwind_sp(&w->regs) && !w->regs.exact) ||
	    (fp_at && !stack_read(w->stack, fp_at, &fp)))
		return false;
	w->regs.known = 0; /* Java code keeps no register for its caller but this one */
	w->regs.exact = false;
	unwind_set(&w->regs, UNWIND_PC, pc);
	unwind_set(&w->regs, UNWIND_SP, sp);
	unwind_set(&w->regs, UNWIND_FP, fp);
	return true;
}

bool walk_take(struct walk *w, struct sender s)
{
	uint64_t pc;

	return stack_read(w->stack, s.ret_at, &pc) && walk_is_return(w, pc) &&
	       walk_go(w, pc, s.ret_at + sizeof(pc), s.fp_at);
}

/* The code that returns to an address: by the latest snapshot in which it can, since code may have
 * been replaced between a sample and the last snapshot. NULL: none can. */
static const struct snapfile_code *return_code(const struct walk *w, uint64_t addr)
{
	const struct snapfile_code *c =
		addr && w->src->code ? snapfile_find(w->src->code, addr - 1) : NULL;

	while (c && !is_return_in(c, addr) && addr != w->head->call_stub_return &&
	       !walk_is_frozen(w, addr))
		c = snapfile_older(w->src->code, c, addr - 1);
	return c;
}

bool walk_is_return(const struct walk *w, uint64_t addr)
{
	return return_code(w, addr) != NULL;
}

bool walk_leads_on(const struct walk *w, uint64_t pc, uint64_t sp)
{
	const struct snapfile_code *c = return_code(w, pc);
	uint64_t next;

	if (!c || (c->record->kind != SNAP_COMPILED && c->record->kind != SNAP_NATIVE))
		return true;
	return stack_read(w->stack, sp + c->record->frame_size - sizeof(next), &next)
		       ? walk_is_return(w, next)
		       : walk_missing(w, sp + c->record->frame_size) == STEP_CUT;
}

bool walk_take_found(struct walk *w, struct sender s)
{
	uint64_t pc;

	return stack_read(w->stack, s.ret_at, &pc) && walk_is_return(w, pc) &&
	       walk_leads_on(w, pc, s.ret_at + sizeof(pc)) &&
	       walk_go(w, pc, s.ret_at + sizeof(pc), s.fp_at);
}

bool walk_search(struct walk *w, struct sender first, unsigned count)
{
	uint64_t word;

	for (unsigned i = 0; i < count; i++) {
		if (walk_take_found(w, first))
			return true;
		if (!stack_read(w->stack, first.ret_at, &word) ||
		    (word > w->head->code_low && word <= w->head->code_high &&
		     !walk_is_return(w, word)))
			return false;
		first.ret_at += sizeof(word);
		first.fp_at += first.fp_at ? sizeof(word) : 0;
	}
	return false;
}

/* A function that keeps a frame pointer: where its file has no call frame information. */
static enum step native_by_pointer(struct walk *w)
{
	uint64_t fp = unwind_fp(&w->regs), pc;

	if (fp < unwind_sp(&w->regs) || fp % sizeof(fp))
		return STEP_LOST;
	if (!stack_read(w->stack, fp + sizeof(fp), &pc))
		return walk_missing(w, fp + sizeof(fp));
	if (!pc)
		return STEP_ROOT;
	if (!walk_is_native(w, pc) && !walk_is_return(w, pc))
		return STEP_LOST;
	return walk_go(w, pc, fp + 2 * sizeof(fp), fp) ? STEP_ON : STEP_LOST;
}

enum step walk_native(struct walk *w)
{
	struct unwind_regs before = w->regs;
	struct cfi *cfi = NULL;
	uint64_t offset;

	if (!w->src->native(w->src->arg, walk_addr(w), &cfi, &offset) && w->count)
		return unwind_pc(&w->regs) ? STEP_LOST : STEP_ROOT;
	walk_add(w, UNWIND_NATIVE, 0);
	if (!cfi)
		return native_by_pointer(w);
	offset += !w->regs.exact;
	switch (cfi_step(cfi, offset, !w->regs.exact, &w->regs, w->stack)) {
	case CFI_OK:
		if (unwind_sp(&w->regs) <= unwind_sp(&before) && !w->regs.exact)
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

static enum step step_in(struct walk *w)
{
	enum step result;

	if (!w->regs.exact && w->code && walk_is_frozen(w, unwind_pc(&w->regs)))
		return walk_frozen(w);
	switch (w->code ? w->code->record->kind : 0) {
	case 0:
		result = walk_native(w);
		w->pushes = true;
		break;
	case SNAP_COMPILED:
	case SNAP_NATIVE:
		result = walk_method(w, w->code);
		w->pushes = false;
		break;
	case SNAP_INTERPRETER:
		result = walk_interpreter(w, w->code);
		w->pushes = false;
		break;
	default:
		result = walk_stub(w, w->code);
		w->pushes = true;
		break;
	}
	return result;
}

/* By `c` and the code that was there before it, the latest that leads to a caller. */
static bool step_by(struct walk *w, const struct snapfile_code *c, bool pushes)
{
	const struct walk before = *w;

	for (; c; c = snapfile_older(w->src->code, c, walk_addr(&before))) {
		*w = before;
		w->code = c;
		w->pushes = pushes;
		if (step_in(w) == STEP_ON)
			return true;
	}
	*w = before;
	return false;
}

static enum step step(struct walk *w)
{
	const struct snapfile_code *older = NULL;

	if (w->src->code) {
		w->code = return_code(w, w->regs.exact ? 0 : unwind_pc(&w->regs));
		if (!w->code)
			w->code = snapfile_find(w->src->code, walk_addr(w));
	}
	if (w->code)
		older = snapfile_older(w->src->code, w->code, walk_addr(w));
	/* Code was replaced: what needs no search comes first. */
	if (older && (step_by(w, w->code, false) || step_by(w, w->code, w->pushes)))
		return STEP_ON;
	return step_in(w);
}

enum unwind_end unwind(const struct unwind_source *src, const struct unwind_regs *regs,
		       const struct stack_copy *stack, bool limited,
		       struct unwind_frame ret[UNWIND_FRAMES_MAX], size_t *ret_count)
{
	static const struct snap_head no_head;
	struct walk w = {.src = src,
			 .head = src->code ? snapfile_head(src->code) : &no_head,
			 .stack = stack,
			 .regs = *regs,
			 .pushes = true,
			 .frames = ret};
	enum step s = STEP_ON;

	while (s == STEP_ON && w.count < UNWIND_FRAMES_MAX) {
		s = step(&w);
	}
	*ret_count = w.count;
	switch (s) {
	case STEP_ON:
		return UNWIND_TRUNCATED;
	case STEP_ROOT:
		return UNWIND_ROOT;
	case STEP_CUT:
		return limited ? UNWIND_TRUNCATED : UNWIND_LOST;
	default:
		return UNWIND_LOST;
	}
}
