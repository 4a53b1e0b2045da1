// SPDX-License-Identifier: Apache-2.0
#include "profile/resolve.h"

#include "common/str.h"
#include "perf/perfwrite.h"

#define PLACES_MAX 8192 /* of a stack: of a walked one more than of an unwound one */

_Static_assert(PLACES_MAX >= UNWIND_FRAMES_MAX, "room for both");

/* One for each JVM: few. */
struct jvm_returns {
	const struct snapfile *code;
	struct returns *returns;
};

#define LAST_STACKS 16 /* a power of two */

/* Key of a thread's previous stack: places are named the same while it is equal. */
struct stack_key {
	pid_t tid;
	uint32_t generation, code; /* of the process */
	struct snapfile_span span;
};

/* A thread's previous stack with its names, outermost place first. The next one shares most of its
 * outer places, which are not named again. Without this, --replay takes 8.5 % more processor time
 * (10 139 samples of javac), 4 % to folded text and SVG; it is one of the four caches of the path.
 */
struct last_stack {
	struct stack_key key;
	struct unwind_frame *places;
	uint32_t *ends; /* by place: how many frames there are up to and with it */
	size_t count, cap, ends_cap;
	struct stack_copy stack;
	bool whole; /* it was unwound to its root */
	uint32_t *frames;
	size_t frame_count, frame_cap;
};

struct userstack {
	struct symbolizer *symbols;
	struct jvm_returns *jvms;
	size_t jvm_count, jvm_cap;
	uint32_t frozen; /* frame */
	uint32_t one;	 /* result of name() */
	const struct process *process;
	/* Of the current sample, innermost first. */
	struct unwind_frame unwound[PLACES_MAX];
	/* Codes of walked frames, by number. */
	struct perf_code *codes;
	size_t code_count, code_cap;
	struct last_stack last[LAST_STACKS]; /* by thread */
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
	for (size_t i = 0; i < LAST_STACKS; i++) {
		free(us->last[i].places);
		free(us->last[i].ends);
		free(us->last[i].frames);
	}
	free(us->jvms);
	free(us->codes);
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
	us->jvms[us->jvm_count] = (struct jvm_returns){.code = code, .returns = returns_new()};
	return us->jvms[us->jvm_count++].returns;
}

/* The frames of code that was found by its return address are remembered there: most places of a
 * stack. */
static size_t name_code(struct userstack *us, const struct unwind_frame *at, const uint32_t **ret)
{
	struct returns_answer *a = at->answer;
	uint32_t none = 0, *names = &none;

	if (a && a->addr - 1 == at->addr && a->codes[0] == at->code)
		names = &a->names;
	return symbolize_code(us->symbols, us->process, at->code, at->addr, names, ret);
}

/* Finds the frames of a place, innermost first. */
static size_t name(struct userstack *us, const struct unwind_frame *at, const struct stack_key *m,
		   uint64_t time, const uint32_t **ret)
{
	uint32_t *one = &us->one;

	switch (at->kind) {
	case UNWOUND_CODE:
		return name_code(us, at, ret);
	case UNWOUND_ANY:
		return symbolize_frames(us->symbols, us->process, at->addr, time, ret);
	case UNWOUND_FROZEN:
		*one = us->frozen;
		break;
	case UNWOUND_STALE:
		*one = symbolizer_stale(us->symbols);
		break;
	case UNWOUND_INTERPRETED:
		*one = symbolize_method(us->symbols, us->process, at->method, m->span);
		break;
	case UNWOUND_NATIVE:
		*one = symbolize_native(us->symbols, us->process, at->addr);
		break;
	}
	*ret = one;
	return 1;
}

static bool same_place(const struct unwind_frame *a, const struct unwind_frame *b)
{
	return a->addr == b->addr && a->kind == b->kind && a->code == b->code &&
	       a->method == b->method;
}

static bool same_key(const struct stack_key *a, const struct stack_key *b)
{
	return a->tid == b->tid && a->generation == b->generation && a->code == b->code &&
	       a->span.first == b->span.first && a->span.last == b->span.last &&
	       a->span.unloads == b->span.unloads;
}

static void add_place(struct userstack *us, struct last_stack *l, const struct unwind_frame *at,
		      uint64_t time)
{
	const uint32_t *frames;
	size_t n = name(us, at, &l->key, time, &frames);

	while (l->frame_cap < l->frame_count + n)
		l->frames = grow(l->frames, l->frame_cap, &l->frame_cap, sizeof(*l->frames));
	while (n)
		l->frames[l->frame_count++] = frames[--n];
	l->places = grow(l->places, l->count, &l->cap, sizeof(*l->places));
	l->ends = grow(l->ends, l->count, &l->ends_cap, sizeof(*l->ends));
	l->places[l->count] = *at;
	l->ends[l->count++] = (uint32_t)l->frame_count;
}

/* Finds the thread's previous stack; an empty one if its places could be named otherwise now. */
static struct last_stack *last_stack_at(struct userstack *us, struct stack_key m)
{
	struct last_stack *l = &us->last[(size_t)m.tid % LAST_STACKS];

	if (!same_key(&l->key, &m)) {
		l->key = m;
		l->count = 0;
		l->whole = false;
	}
	return l;
}

/* Keeps the `same` outermost places. */
static void cut(struct last_stack *l, size_t same)
{
	l->count = same;
	l->frame_count = same ? l->ends[same - 1] : 0;
}

static struct userframes frames_of(const struct last_stack *l)
{
	return (struct userframes){.list = l->frames, .count = l->frame_count};
}

static struct stack_key key_of(const struct process *p, pid_t tid, const struct snapfile *code,
			       uint64_t time)
{
	struct stack_key m = {.tid = tid, .generation = p->generation, .code = p->code};

	if (code)
		m.span = snapfile_around(code, time);
	return m;
}

struct userframes userstack_chain(struct userstack *us, const struct process *p, pid_t tid,
				  const uint64_t *addrs, size_t n, uint64_t time)
{
	struct stack_key m = key_of(p, tid, symbolizer_snapshot(us->symbols, p), time);
	struct last_stack *l = last_stack_at(us, m);
	size_t same = 0;

	us->process = p;
	while (same < n && same < l->count && l->places[same].kind == UNWOUND_ANY &&
	       l->places[same].addr == addrs[n - 1 - same])
		same++;
	cut(l, same);
	for (n -= same; n;)
		add_place(us, l, &(struct unwind_frame){.addr = addrs[--n], .kind = UNWOUND_ANY},
			  time);
	return frames_of(l);
}

/* Names the n unwound places, from where they differ from the thread's previous stack. A place that
 * is named the same may have moved: the next stack is compared with where it is now. */
static void name_unwound(struct userstack *us, struct last_stack *l, size_t n, size_t same,
			 uint64_t time)
{
	while (n && same < l->count && same_place(&l->places[same], &us->unwound[n - 1]))
		l->places[same++] = us->unwound[--n];
	cut(l, same);
	while (n)
		add_place(us, l, &us->unwound[--n], time);
}

struct userframes userstack_unwind(struct userstack *us, const struct process *p, pid_t tid,
				   const struct perf_sample *s, uint64_t time,
				   enum unwind_end *ret_end)
{
	struct unwind_source src = {
		.code = symbolizer_snapshot(us->symbols, p), .native = find_native, .arg = us};
	struct stack_copy stack = {.p = s->stack, .len = s->stack ? (size_t)s->stack_dyn : 0};
	struct stack_key m = key_of(p, tid, src.code, time);
	struct last_stack *l = last_stack_at(us, m);
	struct unwind_regs regs;
	struct unwind_past past = {.frames = l->places, .stack = l->stack};
	size_t n, same;

	if (!unwind_from_perf(&regs, s->user_regs_abi, s->user_regs_mask, s->user_regs))
		return (struct userframes){0};
	stack.base = unwind_sp(&regs);
	us->process = p;
	if (src.code) {
		src.span = m.span;
		src.returns = returns_of(us, src.code);
		returns_at(src.returns, src.span);
	}
	past.count = l->whole ? l->count : 0;
	*ret_end = unwind_after(&past, &src, &regs, &stack, s->stack_dyn >= s->stack_len,
				us->unwound, &n, &same);
	name_unwound(us, l, n, same, time);
	l->stack = stack;
	l->whole = *ret_end == STACK_ROOT;
	return frames_of(l);
}

/* ---- walked stacks ------------------------------------------------------------------------ */

void userstack_define(struct userstack *us, const struct perf_code *c)
{
	if (c->number >= PERFWRITE_NUMBERS)
		return;
	while (us->code_count <= c->number) {
		us->codes = grow(us->codes, us->code_count, &us->code_cap, sizeof(*us->codes));
		us->codes[us->code_count++] = (struct perf_code){0};
	}
	us->codes[c->number] = *c;
}

bool userstack_is_walked(const struct perf_sample *s)
{
	return s->walked_count > 0;
}

/* The code that the frame's number stands for, if the snapshots around the time have it: the walk
 * went by the rules of this one. */
static void place_code(const struct userstack *us, const struct unwind_source *src, uint64_t value,
		       struct unwind_frame *ret)
{
	const uint64_t number = value >> 32;
	const struct perf_code *c = number < us->code_count ? &us->codes[number] : NULL;

	if (c && src->code) {
		ret->addr = c->start + (uint32_t)value;
		ret->code = snapfile_find_known(src->code, ret->addr, src->span, c->start,
						c->compile_id);
	}
	ret->kind = ret->code ? UNWOUND_CODE : UNWOUND_STALE;
}

static struct unwind_frame place_of(const struct userstack *us, const struct unwind_source *src,
				    uint64_t word)
{
	const uint64_t value = PERFWRITE_VALUE(word);
	struct unwind_frame at = {.kind = UNWOUND_NATIVE, .addr = value};

	switch (PERFWRITE_FRAME_KIND(word)) {
	case UNWOUND_CODE:
		place_code(us, src, value, &at);
		break;
	case UNWOUND_INTERPRETED:
		at = (struct unwind_frame){.kind = UNWOUND_INTERPRETED, .method = value};
		break;
	case UNWOUND_FROZEN:
		at = (struct unwind_frame){.kind = UNWOUND_FROZEN};
		break;
	default:
		break;
	}
	return at;
}

struct userframes userstack_walked(struct userstack *us, const struct process *p, pid_t tid,
				   const struct perf_sample *s, uint64_t time,
				   enum unwind_end *ret_end)
{
	struct unwind_source src = {.code = symbolizer_snapshot(us->symbols, p)};
	struct stack_key m = key_of(p, tid, src.code, time);
	struct last_stack *l = last_stack_at(us, m);
	struct bytes words = bytes_of(s->walked, s->walked_count * sizeof(uint64_t));
	size_t n = 0;

	us->process = p;
	src.span = m.span;
	*ret_end = s->walked_cut || s->walked_count > PLACES_MAX ? STACK_TRUNCATED : STACK_ROOT;
	while (words.len && n < PLACES_MAX) {
		us->unwound[n] = place_of(us, &src, bytes_u64(&words));
		if (us->unwound[n++].kind == UNWOUND_STALE) {
			*ret_end = STACK_LOST;
			break;
		}
	}
	name_unwound(us, l, n, 0, time);
	l->whole = false;
	return frames_of(l);
}
