// SPDX-License-Identifier: Apache-2.0
#include "userstack.h"

#include "dfg/str.h"

struct userstack {
	struct symbolizer *symbols;
	uint32_t frozen; /* frame */
	const struct process *process;
	struct unwind_frame unwound[UNWIND_FRAMES_MAX];
	uint32_t *frames;
	size_t count, cap;
	uint64_t stale;
};

struct userstack *userstack_new(struct symbolizer *sy, struct stacks *stacks)
{
	static const char frozen[] = "[frozen frames of a virtual thread]";
	struct userstack *us = xcalloc(1, sizeof(*us));

	us->symbols = sy;
	us->frozen = stacks_intern(stacks, frozen, strlen(frozen), FRAME_STUB);
	return us;
}

void userstack_free(struct userstack *us)
{
	if (!us)
		return;
	free(us->frames);
	free(us);
}

uint64_t userstack_stale(const struct userstack *us)
{
	return us->stale;
}

bool userstack_has(const struct perf_sample *s)
{
	return s->user_regs && s->stack_limit;
}

static bool find_native(void *arg, uint64_t addr, struct cfi **ret_cfi, uint64_t *ret_offset)
{
	const struct userstack *us = arg;

	return symbolizer_native(us->symbols, us->process, addr, ret_cfi, ret_offset);
}

static void add(struct userstack *us, uint32_t frame)
{
	us->frames = grow(us->frames, us->count, &us->cap, sizeof(*us->frames));
	us->frames[us->count++] = frame;
}

/* Code that is not what the last snapshot has there. */
static bool is_stale(const struct unwind_source *src, const struct unwind_frame *f)
{
	return f->kind == UNWIND_CODE && snapfile_find(src->code, f->addr, src->time) != f->code;
}

static void add_frame(struct userstack *us, const struct unwind_source *src,
		      const struct unwind_frame *f)
{
	uint32_t old[SNAPFILE_DEPTH];
	const uint32_t *frames;
	size_t n;

	switch (f->kind) {
	case UNWIND_FROZEN:
		add(us, us->frozen);
		break;
	case UNWIND_INTERPRETED:
		add(us, symbolize_method(us->symbols, us->process, f->method, src->time));
		break;
	default:
		if (is_stale(src, f)) {
			us->stale++;
			n = symbolize_code(us->symbols, f->code, f->addr, old);
			frames = old;
		} else {
			n = symbolize_frames(us->symbols, us->process, f->addr, src->time, &frames);
		}
		for (size_t i = 0; i < n; i++)
			add(us, frames[i]);
	}
}

size_t userstack_frames(struct userstack *us, const struct process *p, const struct perf_sample *s,
			uint64_t time, const uint32_t **ret, enum unwind_end *ret_end)
{
	struct unwind_source src = {.code = symbolizer_snapshot(us->symbols, p),
				    .time = time,
				    .native = find_native,
				    .arg = us};
	struct stack_copy stack = {.p = s->stack, .len = s->stack ? (size_t)s->stack_dyn : 0};
	struct unwind_regs regs;
	size_t n;

	us->count = 0;
	if (!unwind_from_perf(&regs, s->user_regs_abi, s->user_regs_mask, s->user_regs))
		return 0;
	stack.base = unwind_sp(&regs);
	us->process = p;
	*ret_end = unwind(&src, &regs, &stack, s->stack_dyn >= s->stack_len, us->unwound, &n);
	for (size_t i = 0; i < n; i++)
		add_frame(us, &src, &us->unwound[i]);
	*ret = us->frames;
	return us->count;
}
