// SPDX-License-Identifier: Apache-2.0
#include "unwind/unwind_walk.h"

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

static bool leads_on(struct walk *w, const struct snapfile_code *c)
{
	w->code = c;
	return step_in(w) == STEP_ON && walk_leads_on(w, unwind_pc(&w->regs), unwind_sp(&w->regs));
}

/* What the frame is in cannot be known, so neither can what called it. */
static enum step step_stale(struct walk *w)
{
	w->code = NULL;
	walk_add(w, UNWIND_STALE, 0);
	return STEP_LOST;
}

/* Whether two codes make the same frame with the same caller: then it is all one which it was. */
static bool is_same(const struct walk *a, const struct unwind_frame *x, const struct walk *b,
		    const struct unwind_frame *y)
{
	return x->kind == y->kind && x->addr == y->addr && x->method == y->method &&
	       snapfile_agree(x->code, y->code, x->addr) && a->pushes == b->pushes &&
	       unwind_pc(&a->regs) == unwind_pc(&b->regs) &&
	       unwind_sp(&a->regs) == unwind_sp(&b->regs) &&
	       unwind_fp(&a->regs) == unwind_fp(&b->regs);
}

/* Code was replaced at about the time of the sample: it was the one that leads to a caller, if only
 * one does, or all that do say the same. What needs no search comes first. */
static enum step step_ambiguous(struct walk *w, const struct snapfile_code *const *c, size_t n)
{
	const struct walk before = *w;

	for (unsigned search = 0; search <= before.pushes; search++) {
		const struct snapfile_code *found = NULL;
		struct walk first = before;
		struct unwind_frame frame = {0};

		for (size_t i = 0; i < n; i++) {
			w->pushes = search;
			if (leads_on(w, c[i])) {
				const struct unwind_frame *made = &w->frames[before.count];

				if (found && !is_same(&first, &frame, w, made)) {
					*w = before;
					return step_stale(w);
				}
				found = c[i];
				first = *w;
				frame = *made;
			}
			*w = before;
		}
		if (found) {
			w->pushes = search;
			w->code = found;
			return step_in(w);
		}
	}
	return step_stale(w);
}

static enum step step(struct walk *w)
{
	const struct snapfile_code *c[SNAPFILE_AROUND];
	uint64_t addr = walk_addr(w);
	size_t n;

	if (!w->regs.exact && walk_certain(w))
		return STEP_ON;
	n = walk_codes(w, c);
	if (n > 1)
		return step_ambiguous(w, c, n);
	if (n == 0 && addr >= w->head->code_low && addr < w->head->code_high)
		return step_stale(w);
	w->code = n ? c[0] : NULL;
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
	uint64_t done = 0;

	while (s == STEP_ON && w.count < UNWIND_FRAMES_MAX) {
		stack_prefetch(stack, unwind_sp(&w.regs), &done);
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
