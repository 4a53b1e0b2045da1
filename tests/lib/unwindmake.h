/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up threads and the snapshot they run in, for tests of unwinding. */
#ifndef DFG_LIB_UNWINDMAKE_H
#define DFG_LIB_UNWINDMAKE_H

#include "unwind/unwind.h"

#include "lib/flatwalk.h"
#include "lib/snapmake.h"
#include "lib/tap.h"

#define BASE	0x700000u
#define WORDS	64
#define METHOD	0x90000u /* code of a compiled method, frame of 32 bytes */
#define CALLER	0x91000u /* another, of 48 bytes, made by "sub" alone */
#define AGAIN	0x92000u /* a copy of METHOD, compiled again where it was by the second snapshot */
#define OTHER	0x93000u /* the same of another method */
#define INTERP	0xa0000u
#define STUBS	0xb0000u
#define RUNTIME 0xb1000u
#define ADAPTER 0xb2000u
#define THROW	0xb2800u /* ExceptionBlob */
#define RETHROW 0xb2900u
#define UNWIND	0xb2a00u /* C1's unwind_exception */
#define CATCH	0xb2b00u /* C1's handle_exception_from_callee */
#define CHECK	0xb2c00u /* C1's slow_subtype_check */
#define BARRIER 0xb3000u
#define NATIVE	0xc0000u
#define RET	(METHOD + 0x40) /* return addresses */
#define UP	(CALLER + 0x40)
#define LEAF	(METHOD + 0x60) /* after a call that has no region */
#define ENTRY	(STUBS + 0x10)	/* the call stub's */
#define INTO	(INTERP + 0x20)
#ifdef __aarch64__
#define INTERP_BCP -9
#else
#define INTERP_BCP -8
#endif
#define S(n) (BASE + 8 * (n)) /* address of word n of the stack */

struct thread {
	struct unwind_regs regs;
	uint64_t stack[WORDS];
	size_t words; /* that were copied */
	bool limited;
};

#define TIME 100u /* of the sample: when code is replaced, before the second snapshot */

static struct snapfile *snapshot;

/* All of them as compilation 1, or those that are compiled again as another. */
__attribute__((unused)) static void make_methods(struct str *s, uint32_t id)
{
	static const struct snap_region regions[] = {{.end = 0x40, .scope = SNAP_NONE},
						     {.end = 0x80, .scope = SNAP_NONE}};
	static const struct snap_exit exits[] = {{.pop = 0x50, .end = 0x58},
						 {.pop = 0xa0, .end = 0xa8}};
	static const uint32_t calls[] = {0x60, 0xc8};
	static const struct snap_spill spills[] = {{.begin = 0xc0, .end = 0xd0, .bytes = 64}};
	struct sm_code c = sm_compiled(AGAIN);

	c.head.deopt = 0xf0;
	c.head.orig_pc = 8;
	c.head.region_count = ARRAY_LEN(regions);
	c.head.exit_count = ARRAY_LEN(exits);
	c.head.call_count = ARRAY_LEN(calls);
	c.regions = regions;
	c.exits = exits;
	c.calls = calls;
	c.spills = spills;
	c.spill_count = ARRAY_LEN(spills);
	c.head.compile_id = id;
	sm_code(s, c);
	c.head.start = OTHER;
	c.head.method = id == 1 ? 1 : 0x111;
	sm_code(s, c);
	if (id != 1)
		return;
	c.head.start = METHOD;
	sm_code(s, c);
	c.head.start = CALLER;
	c.head.frame_size = 48;
	c.head.push_end = SNAP_NONE;
	sm_code(s, c);
	sm_method(s, 1, "a.B.c", "");
	sm_method(s, 0x111, "a.B.interpreted", "");
}

/* The stubs that exceptions go through, with the offsets of JDK 17's. */
__attribute__((unused)) static void make_throwers(struct str *s)
{
	static const struct snap_exit throw[] = {{.pop = 0x5f, .end = 0x60}},
				      rethrow[] = {{.pop = 0x5c, .end = 0x5e},
						   {.pop = 0x71, .end = 0x75}},
				      catch[] = {{.pop = 0x84, .end = 0x85},
						 {.pop = 0x88, .end = 0x89}};

	sm_code(s, (struct sm_code){.head = {.start = THROW,
					     .size = 0x80,
					     .kind = SNAP_RUNTIME,
					     .frame_size = 16,
					     .frame_complete = 5,
					     .push_end = SNAP_NONE,
					     .sub_end = 5,
					     .exit_count = 1},
				    .exits = throw,
				    .name = "ExceptionBlob"});
	sm_code(s, (struct sm_code){.head = {.start = RETHROW,
					     .size = 0x78,
					     .kind = SNAP_RUNTIME,
					     .frame_size = 32,
					     .frame_complete = 7,
					     .push_end = SNAP_NONE,
					     .sub_end = 7,
					     .exit_count = 2},
				    .exits = rethrow,
				    .name = "_rethrow_Java"});
	sm_code(s, (struct sm_code){.head = {.start = UNWIND, .size = 0x38, .kind = SNAP_STUBS},
				    .name = "unwind_exception Runtime1 stub"});
	sm_code(s, (struct sm_code){.head = {.start = CATCH,
					     .size = 0x90,
					     .kind = SNAP_RUNTIME,
					     .frame_size = 16,
					     .frame_complete = 4,
					     .push_end = 1,
					     .sub_end = 4,
					     .exit_count = 2},
				    .exits = catch,
				    .name = "handle_exception_from_callee Runtime1 stub"});
}

/* Other code where METHOD, AGAIN and OTHER were, soon after the sample. */
__attribute__((unused)) static void make_replaced(struct str *s)
{
	sm_head(s, (struct snap_head){.flags = SNAP_DELTA,
				      .time = TIME + 1,
				      .call_stub_return = ENTRY,
				      .code_low = METHOD,
				      .code_high = BARRIER + 0x100,
				      .interpreter_method = -3});
	sm_code(s, (struct sm_code){.head = {.start = METHOD,
					     .size = 0x100,
					     .kind = SNAP_COMPILED,
					     .method = 1,
					     .compile_id = 2,
					     .frame_size = 64,
					     .deopt = SNAP_NONE,
					     .deopt_mh = SNAP_NONE}});
	make_methods(s, 2);
	sm_done(s);
}

__attribute__((unused)) static void make_first(struct str *s, uint64_t cont_return)
{
	sm_head(s, (struct snap_head){.call_stub_return = ENTRY,
				      .code_low = METHOD,
				      .code_high = BARRIER + 0x100,
				      .cont_return = cont_return,
				      .interpreter_method = -3,
				      .interpreter_bcp = INTERP_BCP});
	make_methods(s, 1);
	sm_code(s,
		(struct sm_code){.head = {.start = INTERP, .size = 0x100, .kind = SNAP_INTERPRETER},
				 .name = "Interpreter"});
	sm_code(s, (struct sm_code){.head = {.start = STUBS, .size = 0x100, .kind = SNAP_STUBS},
				    .name = "StubRoutines (1)"});
	sm_code(s, (struct sm_code){.head = {.start = BARRIER, .size = 0x100, .kind = SNAP_STUBS},
				    .name = "StubRoutines (continuationstubs)"});
	sm_code(s, (struct sm_code){.head = {.start = RUNTIME,
					     .size = 0x100,
					     .kind = SNAP_RUNTIME,
					     .frame_size = 64,
					     .push_end = SNAP_NONE,
					     .sub_end = SNAP_NONE},
				    .name = "resolve"});
	make_throwers(s);
	sm_code(s, (struct sm_code){.head = {.start = CHECK, .size = 0x48, .kind = SNAP_STUBS},
				    .name = "slow_subtype_check Runtime1 stub"});
	sm_code(s, (struct sm_code){.head = {.start = ADAPTER, .size = 0x100, .kind = SNAP_ADAPTER},
				    .name = "I2C/C2I adapters"});
	sm_done(s);
}

__attribute__((unused)) static struct snapfile *make_snapshot(uint64_t cont_return, bool replaced)
{
	CLEANUP(str_fini) struct str first = {0};
	CLEANUP(str_fini) struct str second = {0};
	struct snapfile *sf = snapfile_new();
	struct err err;

	make_first(&first, cont_return);
	make_replaced(&second);
	if (sm_read(sf, first.buf, first.len, &err) < 0 ||
	    (replaced && sm_read(sf, second.buf, second.len, &err) < 0))
		abort();
	snapfile_finish(sf);
	return sf;
}

__attribute__((unused)) static bool find_native(void *arg, uint64_t addr, struct cfi **ret_cfi,
						uint64_t *ret_offset)
{
	(void)arg;
	*ret_cfi = NULL;
	*ret_offset = addr;
	return addr >= NATIVE && addr < NATIVE + 0x1000;
}

__attribute__((unused)) static struct thread at(uint64_t pc, uint64_t fp)
{
	struct thread t = {.words = WORDS, .limited = true};

	t.regs.exact = true;
	unwind_set(&t.regs, UNWIND_PC, pc);
	unwind_set(&t.regs, UNWIND_SP, BASE);
	unwind_set(&t.regs, UNWIND_FP, fp);
	return t;
}

/* The caller CALLER, called by the call stub, called by the JVM, which is the first function; from
 * word n on, where CALLER's stack pointer is. */
__attribute__((unused)) static void bottom(struct thread *t, size_t n)
{
	t->stack[n + 4] = S(n + 8); /* the call stub's frame pointer */
	t->stack[n + 5] = ENTRY;
	t->stack[n + 8] = S(n + 12); /* with its caller: 0 */
	t->stack[n + 9] = NATIVE + 0x20;
}

/* The same for a caller that is the call stub: its frame is at word n. */
__attribute__((unused)) static void root(struct thread *t, size_t n)
{
	t->stack[n] = S(n + 4);
	t->stack[n + 1] = NATIVE + 0x20;
	t->stack[n + 5] = 0;
}

/* Turns frames into the past stack: outermost first. */
__attribute__((unused)) static struct unwind_past past_of(const struct unwind_frame *frames,
							  size_t n, const struct stack_copy *stack)
{
	static struct unwind_frame past[UNWIND_FRAMES_MAX];

	for (size_t i = 0; i < n; i++)
		past[i] = frames[n - 1 - i];
	return (struct unwind_past){.frames = past, .count = n, .stack = *stack};
}

/* True if a stack is unwound to the same frames after a past one as by itself. */
__attribute__((unused)) static bool same_after(const struct unwind_past *past,
					       const struct unwind_source *src,
					       const struct thread *t,
					       const struct stack_copy *stack, size_t *ret_same)
{
	static struct unwind_frame alone[UNWIND_FRAMES_MAX], after[UNWIND_FRAMES_MAX];
	size_t n, k;
	enum unwind_end end = unwind(src, &t->regs, stack, t->limited, alone, &n);
	bool same =
		unwind_after(past, src, &t->regs, stack, t->limited, after, &k, ret_same) == end &&
		k + *ret_same == n;

	for (size_t i = 0; same && i < n; i++) {
		const struct unwind_frame *f = i < k ? &after[i] : &past->frames[n - 1 - i];

		same = f->addr == alone[i].addr && f->kind == alone[i].kind &&
		       f->method == alone[i].method && f->code == alone[i].code;
	}
	return same;
}

/* The snapshot at the time of the tests' stacks. */
__attribute__((unused)) static struct unwind_source source_of(struct returns *returns)
{
	return (struct unwind_source){.code = snapshot,
				      .span = snapfile_around(snapshot, TIME),
				      .returns = returns,
				      .native = find_native};
}

static unsigned flat_proved; /* stacks that the flat walk claimed */

#define flat_proves(n) is_int(flat_proved, n, "of these stacks the flat walk proves %d", n)

/* Checks that the flat walk gives a whole stack's frames, or leaves it to the unwinder. Not where
 * two snapshots are held against each other. */
__attribute__((unused)) static void flat_agrees(const struct thread *t, struct stack_copy *stack,
						const struct unwind_frame *f, size_t n,
						enum unwind_end end, const char *what)
{
	CLEANUP(flat_tables_free) struct flat_tables *tables = NULL;
	struct flat_process p;
	struct err err;
	bool same;

	if (!snapshot || snapfile_around(snapshot, SNAPFILE_LATEST).last)
		return;
	tables = flat_tables_new();
	if (flat_add_process(tables, snapshot, &p, &err) < 0)
		abort();
	flat_add_mapping(tables, &p, NATIVE, NATIVE + 0x1000, 0, NULL);
	flat_tables = tables;
	if (flat_walk_from(&p, &t->regs, stack) != FLAT_ROOT)
		return;
	flat_proved++;
	same = flat_made.sample.count == n && end == STACK_ROOT;
	for (size_t i = 0; same && i < n; i++)
		same = flat_is_frame(flat_made.frames[i], &f[i]);
	if (!same)
		ok(false, "%s: the same in the kernel", what);
}

/* The kinds and addresses of the frames, and how it ended. */
__attribute__((unused)) static void is_stack(const struct thread *t, const char *want,
					     const char *what)
{
	static const char *const ends[] = {"root", "truncated", "lost"};
	static struct unwind_frame frames[UNWIND_FRAMES_MAX];
	CLEANUP(returns_free) struct returns *returns = returns_new();
	struct unwind_source src = source_of(returns);
	struct stack_copy stack = {
		.base = BASE, .p = (const uint8_t *)t->stack, .len = 8 * t->words};
	CLEANUP(str_fini) struct str got = {0};
	enum unwind_end end;
	size_t n;

	end = unwind(&src, &t->regs, &stack, t->limited, frames, &n);
	if (end == STACK_ROOT) {
		struct unwind_past past = past_of(frames, n, &stack);
		size_t same;

		if (!same_after(&past, &src, t, &stack, &same))
			ok(false, "%s: the same after itself", what);
	}
	flat_agrees(t, &stack, frames, n, end, what);
	for (size_t i = 0; i < n; i++) {
		str_addf(&got, "%c%llx", "ncifs"[frames[i].kind],
			 (unsigned long long)frames[i].addr);
		if (frames[i].kind == UNWOUND_INTERPRETED)
			str_addf(&got, ":%llx", (unsigned long long)frames[i].method);
		str_addc(&got, ' ');
	}
	str_adds(&got, ends[end]);
	is_str(got.buf, want, "%s", what);
}

#define BOTTOM "c9103f cb000f nc001f root"

#endif
