// SPDX-License-Identifier: Apache-2.0
#include "unwind/unwind_walk.h"

#define FRAME_MAX     (1u << 20) /* bytes: an address further above the copy is in no stack */
#define ARGUMENTS_MAX 2u	 /* words that C1 pushes for a stub: slow_subtype_check's classes */

void walk_add(struct stack_walk *w, enum unwind_kind kind, uint64_t method)
{
	struct unwind_frame *f;

	if (w->count >= UNWIND_FRAMES_MAX)
		return;
	f = &w->frames[w->count++];
	f->addr = walk_addr(w);
	f->method = method;
	f->kind = kind;
	f->code = w->code;
	f->answer = NULL;
}

enum step walk_missing(const struct stack_walk *w, uint64_t addr)
{
	uint64_t behind = addr + sizeof(addr) - w->stack->base;

	return behind > w->stack->len && behind < w->stack->len + FRAME_MAX ? STEP_CUT : STEP_LOST;
}

bool walk_is_native(const struct stack_walk *w, uint64_t addr)
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

bool walk_go(struct stack_walk *w, uint64_t pc, uint64_t sp, uint64_t fp_at)
{
	uint64_t fp = unwind_fp(&w->regs);

	/* Only the first frame can have no stack of its own. */
	if (sp < unwind_sp(&w->regs) || (sp == unwind_sp(&w->regs) && !w->regs.exact) ||
	    (fp_at && !stack_read(w->stack, fp_at, &fp)))
		return false;
	walk_set(w, pc, sp, fp);
	return true;
}

static bool read_sender(const struct stack_walk *w, struct sender s, uint64_t *ret_pc)
{
	if (!s.link)
		return walk_read(w, s.ret_at, ret_pc);
	*ret_pc = walk_link(w);
	return true;
}

bool walk_take(struct stack_walk *w, struct sender s)
{
	uint64_t pc;

	return read_sender(w, s, &pc) && walk_is_return(w, pc) &&
	       walk_go(w, pc, s.ret_at + sizeof(pc), s.fp_at);
}

bool walk_take_native(struct stack_walk *w, struct sender s)
{
	uint64_t pc;

	return read_sender(w, s, &pc) && walk_is_native(w, pc) &&
	       walk_go(w, pc, s.ret_at + sizeof(pc), s.fp_at);
}

/* Computes `frame` of struct returns_answer. */
static uint32_t certain_frame(const struct returns_answer *a)
{
	const struct snapfile_code *c = a->codes[0];
	uint64_t offset;

	if (a->returns != 1 || a->frozen ||
	    (c->record->kind != SNAP_COMPILED && c->record->kind != SNAP_NATIVE))
		return 0;
	offset = a->addr - c->start;
	if (offset == c->record->deopt || offset == c->record->deopt_mh ||
	    snapfile_spilled(c, offset))
		return 0;
	return c->record->frame_size;
}

static void find_answer(const struct stack_walk *w, struct returns_answer *ret)
{
	const struct snapfile_code *c[SNAPFILE_AROUND];
	size_t n = snapfile_find(w->src->code, ret->addr - 1, w->src->span, c);
	bool marked;

	ret->frozen = w->head->cont_return ? ret->addr == w->head->cont_return
					   : n == 1 && snapfile_is_barrier(c[0]);
	marked = ret->frozen || ret->addr == w->head->call_stub_return;
	ret->count = ret->returns = 0;
	for (size_t i = 0; i < n; i++)
		if (marked || is_return_in(c[i], ret->addr))
			ret->codes[ret->count++] = c[i];
	ret->returns = ret->count;
	for (size_t i = 0; i < n; i++)
		if (!marked && !is_return_in(c[i], ret->addr))
			ret->codes[ret->count++] = c[i];
	ret->frame = certain_frame(ret);
	ret->names = 0;
	ret->known = true;
}

struct returns_answer *walk_find_answer(const struct stack_walk *w, uint64_t addr)
{
	static struct returns_answer none; /* never changed: its frame is 0 */
	struct returns_answer *a;

	if (!addr || !w->src->code)
		return &none;
	a = returns_slot(w->src->returns, addr);
	if (!a->known)
		find_answer(w, a);
	return a;
}

bool walk_is_frozen(const struct stack_walk *w, uint64_t addr)
{
	return walk_answer(w, addr)->frozen;
}

size_t walk_return_codes(const struct stack_walk *w, uint64_t addr,
			 const struct snapfile_code *ret[SNAPFILE_AROUND])
{
	const struct returns_answer *a = walk_answer(w, addr);

	memcpy(ret, a->codes, sizeof(a->codes));
	return a->returns;
}

size_t walk_codes(const struct stack_walk *w, const struct snapfile_code *ret[SNAPFILE_AROUND])
{
	uint64_t pc = unwind_pc(&w->regs);
	const struct returns_answer *a = walk_answer(w, pc + w->regs.exact);

	/* Of several, the cache has those first that can return after the pc, not the earliest. */
	if (w->regs.exact && a->count > 1)
		return snapfile_find(w->src->code, pc, w->src->span, ret);
	memcpy(ret, a->codes, sizeof(a->codes));
	return w->regs.exact || !a->returns ? a->count : a->returns;
}

/* walk_leads_on, for one code that the caller may be in. */
static bool code_leads_on(const struct stack_walk *w, const struct snapfile_code *c, uint64_t pc,
			  uint64_t sp)
{
	uint64_t at, next;

	if (c->record->kind != SNAP_COMPILED && c->record->kind != SNAP_NATIVE)
		return true;
	at = sp + snapfile_spilled(c, pc - c->start) + c->record->frame_size - sizeof(next);
	if (!walk_read(w, at, &next))
		return walk_missing(w, at) == STEP_CUT;
	return walk_is_return(w, next) ||
	       (w->code && w->code->record->kind == SNAP_STUBS &&
		walk_read(w, at + ARGUMENTS_MAX * sizeof(next), &next) && walk_is_return(w, next));
}

bool walk_leads_on(const struct stack_walk *w, uint64_t pc, uint64_t sp)
{
	const struct snapfile_code *c[SNAPFILE_AROUND];
	size_t n = walk_return_codes(w, pc, c);

	for (size_t i = 0; i < n; i++)
		if (code_leads_on(w, c[i], pc, sp))
			return true;
	return n == 0;
}

bool walk_take_found(struct stack_walk *w, struct sender s)
{
	uint64_t pc;

	return read_sender(w, s, &pc) && walk_is_return(w, pc) &&
	       walk_leads_on(w, pc, s.ret_at + sizeof(pc)) &&
	       walk_go(w, pc, s.ret_at + sizeof(pc), s.fp_at);
}

/* True if a word could be the return address of an unknown caller: code that the snapshot lacks or
 * has replaced since. Stubs are never replaced. */
static bool may_be_code(const struct stack_walk *w, uint64_t word)
{
	const struct returns_answer *a = walk_answer(w, word);
	uint32_t kind = a->count ? a->codes[0]->record->kind : SNAP_COMPILED;

	return word > w->head->code_low && word <= w->head->code_high && !a->returns &&
	       (kind == SNAP_COMPILED || kind == SNAP_NATIVE);
}

bool walk_search(struct stack_walk *w, struct sender first, unsigned count)
{
	uint64_t word;

	for (unsigned i = 0; i < count; i++) {
		if (walk_take_found(w, first))
			return true;
		if (!walk_read(w, first.ret_at, &word) || may_be_code(w, word))
			return false;
		first.ret_at += sizeof(word);
		first.fp_at += first.fp_at ? sizeof(word) : 0;
	}
	return false;
}

static enum step step_in(struct stack_walk *w)
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

static bool leads_on(struct stack_walk *w, const struct snapfile_code *c)
{
	w->code = c;
	return step_in(w) == STEP_ON && walk_leads_on(w, unwind_pc(&w->regs), unwind_sp(&w->regs));
}

/* The frame's code is unknown, hence its caller, too. */
static enum step step_stale(struct stack_walk *w)
{
	w->code = NULL;
	walk_add(w, UNWOUND_STALE, 0);
	return STEP_LOST;
}

/* True if both candidates yield the same frame and caller, so that the ambiguity is harmless. */
static bool is_same(const struct stack_walk *a, const struct unwind_frame *x,
		    const struct stack_walk *b, const struct unwind_frame *y)
{
	return x->kind == y->kind && x->addr == y->addr && x->method == y->method &&
	       snapfile_agree(x->code, y->code, x->addr) && a->pushes == b->pushes &&
	       unwind_pc(&a->regs) == unwind_pc(&b->regs) &&
	       unwind_sp(&a->regs) == unwind_sp(&b->regs) &&
	       unwind_fp(&a->regs) == unwind_fp(&b->regs);
}

/* Resolves code that was replaced at about the time of the sample: the frame is in the candidate
 * that leads to a caller, if only one does or all that do agree. Steps without a search are tried
 * first. */
static enum step step_ambiguous(struct stack_walk *w, const struct snapfile_code *const *c,
				size_t n)
{
	const struct stack_walk before = *w;

	for (unsigned search = 0; search <= before.pushes; search++) {
		const struct snapfile_code *found = NULL;
		struct stack_walk first = before;
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

static enum step step(struct stack_walk *w)
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

/* True if a stack has the same bytes in two copies. */
static bool same_bytes(const struct stack_copy *a, const struct stack_copy *b, uint64_t from,
		       uint64_t len)
{
	uint64_t in_a = from - a->base, in_b = from - b->base;

	return in_a <= a->len && len <= a->len - in_a && in_b <= b->len && len <= b->len - in_b &&
	       !memcmp(a->p + in_a, b->p + in_b, (size_t)len);
}

/* Returns how many bytes above the stack pointer of the outermost frame were read for frame `i` and
 * its callers; UINT64_MAX: bytes below a frame, too. */
static uint64_t read_above(const struct unwind_frame *f, size_t i)
{
	uint64_t above = 0;

	for (size_t k = 0; k <= i; k++) {
		uint64_t below = f->sp - f[k].sp;

		if (f[k].reach == UINT16_MAX)
			return UINT64_MAX;
		if (f[k].reach > below && f[k].reach - below > above)
			above = f[k].reach - below;
	}
	return above;
}

/* True if the callers of frame `i` of the past stack are those of now: of frames whose size is
 * certain their return addresses and frame pointers are the same, of others all bytes up to the
 * highest one read for any of them: a rule of call frame information may read anywhere. So are
 * those of all frames where a call may push words below the frame (arch_settle). */
static bool has_callers(const struct stack_walk *w, const struct unwind_past *past, size_t i)
{
	const struct unwind_frame *f = past->frames;
	uint64_t pc, fp;

	for (; !WALK_LINK && i > 0 && f[i].answer && f[i - 1].plain; i--)
		if (f[i - 1].sp <= f[i].sp || !walk_read(w, f[i - 1].sp - sizeof(pc), &pc) ||
		    pc - 1 != f[i - 1].addr ||
		    !stack_read(w->stack, f[i - 1].sp - 2 * sizeof(fp), &fp) || fp != f[i - 1].fp)
			return false;
	return same_bytes(w->stack, &past->stack, f[i].sp, f->sp - f[i].sp) &&
	       same_bytes(w->stack, &past->stack, f->sp, read_above(f, i));
}

/* True if the walk goes on as the past one did, from frame *at - 1 on. */
static bool has_rejoined(const struct stack_walk *w, const struct unwind_past *past, size_t *at)
{
	uint64_t sp = unwind_sp(&w->regs);
	const struct unwind_frame *f;

	while (*at && past->frames[*at - 1].sp < sp)
		--*at;
	if (!*at)
		return false;
	f = &past->frames[*at - 1];
	return f->plain && f->sp == sp && f->fp == unwind_fp(&w->regs) && f->addr == walk_addr(w) &&
	       f->pushes == w->pushes && w->count + *at < UNWIND_FRAMES_MAX &&
	       has_callers(w, past, *at - 1);
}

/* True if all that is known are the registers that walk_set sets. */
static bool is_plain(const struct stack_walk *w)
{
	return !w->regs.exact &&
	       w->regs.known == (1ull << UNWIND_PC | 1ull << UNWIND_SP | 1ull << UNWIND_FP);
}

/* Makes a step, and notes in its frames from where it began and how far it has read. */
static enum step step_from(struct stack_walk *w)
{
	struct unwind_frame from = {.sp = unwind_sp(&w->regs),
				    .fp = unwind_fp(&w->regs),
				    .plain = is_plain(w),
				    .pushes = w->pushes};
	size_t first = w->count;
	enum step s;

	w->stack->from = from.sp;
	w->stack->reach = 0;
	s = step(w);
	from.reach = w->stack->reach < UINT16_MAX ? (uint16_t)w->stack->reach : UINT16_MAX;
	for (size_t i = first; i < w->count; i++) {
		w->frames[i].sp = from.sp;
		w->frames[i].fp = from.fp;
		w->frames[i].plain = from.plain && i == first;
		w->frames[i].pushes = from.pushes;
		w->frames[i].reach = from.reach;
	}
	return s;
}

enum unwind_end unwind_after(const struct unwind_past *past, const struct unwind_source *src,
			     const struct unwind_regs *regs, const struct stack_copy *stack,
			     bool limited, struct unwind_frame ret[UNWIND_FRAMES_MAX],
			     size_t *ret_count, size_t *ret_same)
{
	static const struct snap_head no_head;
	struct stack_copy read = *stack;
	struct stack_walk w = {.src = src,
			       .head = src->code ? snapfile_head(src->code) : &no_head,
			       .stack = &read,
			       .regs = *regs,
			       .pushes = true,
			       .frames = ret};
	enum step s = STEP_ON;
	size_t at = past->count;
	uint64_t done = 0;

	*ret_same = 0;
	while (s == STEP_ON && w.count < UNWIND_FRAMES_MAX) {
		if (at && is_plain(&w) && has_rejoined(&w, past, &at)) {
			*ret_same = at;
			s = STEP_ROOT;
			break;
		}
		stack_prefetch(stack, unwind_sp(&w.regs), &done);
		s = step_from(&w);
	}
	*ret_count = w.count;
	switch (s) {
	case STEP_ON:
		return STACK_TRUNCATED;
	case STEP_ROOT:
		return STACK_ROOT;
	case STEP_CUT:
		return limited ? STACK_TRUNCATED : STACK_LOST;
	default:
		return STACK_LOST;
	}
}

enum unwind_end unwind(const struct unwind_source *src, const struct unwind_regs *regs,
		       const struct stack_copy *stack, bool limited,
		       struct unwind_frame ret[UNWIND_FRAMES_MAX], size_t *ret_count)
{
	static const struct unwind_past none;
	size_t same;

	return unwind_after(&none, src, regs, stack, limited, ret, ret_count, &same);
}
