// SPDX-License-Identifier: Apache-2.0
#include "userstack.h"

#include "dfg/str.h"

/* One for each JVM: few. */
struct jvm {
	const struct snapfile *code;
	struct returns *returns;
};

struct userstack {
	struct symbolizer *symbols;
	struct jvm *jvms;
	size_t jvm_count, jvm_cap;
	uint32_t frozen; /* frame */
	const struct process *process;
	struct unwind_frame unwound[UNWIND_FRAMES_MAX];
	uint32_t *frames;
	size_t count, cap;
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
	for (size_t i = 0; i < us->jvm_count; i++)
		returns_free(us->jvms[i].returns);
	free(us->jvms);
	free(us->frames);
	free(us);
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

static struct returns *returns_of(struct userstack *us, const struct snapfile *code)
{
	for (size_t i = 0; i < us->jvm_count; i++)
		if (us->jvms[i].code == code)
			return us->jvms[i].returns;
	us->jvms = grow(us->jvms, us->jvm_count, &us->jvm_cap, sizeof(*us->jvms));
	us->jvms[us->jvm_count] = (struct jvm){.code = code, .returns = returns_new()};
	return us->jvms[us->jvm_count++].returns;
}

static void add(struct userstack *us, uint32_t frame)
{
	us->frames = grow(us->frames, us->count, &us->cap, sizeof(*us->frames));
	us->frames[us->count++] = frame;
}

static void add_frame(struct userstack *us, const struct unwind_source *src,
		      const struct unwind_frame *f)
{
	const uint32_t *frames;
	size_t n;

	switch (f->kind) {
	case UNWIND_FROZEN:
		add(us, us->frozen);
		return;
	case UNWIND_STALE:
		add(us, symbolizer_stale(us->symbols));
		return;
	case UNWIND_INTERPRETED:
		add(us, symbolize_method(us->symbols, us->process, f->method, src->span));
		return;
	case UNWIND_NATIVE:
		add(us, symbolize_native(us->symbols, us->process, f->addr));
		return;
	case UNWIND_CODE:
		break;
	}
	n = symbolize_code(us->symbols, us->process, f->code, f->addr, &frames);
	for (size_t i = 0; i < n; i++)
		add(us, frames[i]);
}

size_t userstack_frames(struct userstack *us, const struct process *p, const struct perf_sample *s,
			uint64_t time, const uint32_t **ret, enum unwind_end *ret_end)
{
	struct unwind_source src = {
		.code = symbolizer_snapshot(us->symbols, p), .native = find_native, .arg = us};
	struct stack_copy stack = {.p = s->stack, .len = s->stack ? (size_t)s->stack_dyn : 0};
	struct unwind_regs regs;
	size_t n;

	us->count = 0;
	if (!unwind_from_perf(&regs, s->user_regs_abi, s->user_regs_mask, s->user_regs))
		return 0;
	stack.base = unwind_sp(&regs);
	us->process = p;
	if (src.code) {
		src.span = snapfile_around(src.code, time);
		src.returns = returns_of(us, src.code);
		returns_at(src.returns, src.span);
	}
	*ret_end = unwind(&src, &regs, &stack, s->stack_dyn >= s->stack_len, us->unwound, &n);
	for (size_t i = 0; i < n; i++)
		add_frame(us, &src, &us->unwound[i]);
	*ret = us->frames;
	return us->count;
}
