// SPDX-License-Identifier: Apache-2.0
#include "unwind_walk.h"

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

	for (; c; c = snapfile_older(w->src->code, c, walk_addr(&before), w->src->time)) {
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
		w->code = walk_return_code(w, w->regs.exact ? 0 : unwind_pc(&w->regs));
		if (!w->code)
			w->code = snapfile_find(w->src->code, walk_addr(w), w->src->time);
	}
	if (w->code)
		older = snapfile_older(w->src->code, w->code, walk_addr(w), w->src->time);
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
