// SPDX-License-Identifier: Apache-2.0
/* The rules of unwinding Java, each on a stack made for it. */
#include "unwind.h"

#include "snapmake.h"
#include "tap.h"

#define BASE	0x700000u
#define WORDS	64
#define METHOD	0x90000u /* code of a compiled method, frame of 32 bytes */
#define CALLER	0x91000u /* another, of 48 bytes, made by "sub" alone */
#define INTERP	0xa0000u
#define STUBS	0xb0000u
#define RUNTIME 0xb1000u
#define ADAPTER 0xb2000u
#define BARRIER 0xb3000u
#define NATIVE	0xc0000u
#define RET	(METHOD + 0x40) /* return addresses */
#define UP	(CALLER + 0x40)
#define LEAF	(METHOD + 0x60) /* behind a call that has no region */
#define ENTRY	(STUBS + 0x10)	/* the call stub's */
#define INTO	(INTERP + 0x20)
#define RAX	0
#define RBX	3
#define R13	13
#define S(n)	(BASE + 8 * (n)) /* address of word n of the stack */

struct thread {
	struct unwind_regs regs;
	uint64_t stack[WORDS];
	size_t words; /* that were copied */
	bool limited;
};

static struct snapfile *snapshot;

static void make_methods(struct str *s)
{
	static const struct snap_region regions[] = {{.end = 0x40, .scope = SNAP_NONE},
						     {.end = 0x80, .scope = SNAP_NONE}};
	static const struct snap_exit exits[] = {{.pop = 0x50, .end = 0x58}};
	static const uint32_t calls[] = {0x60};
	struct sm_code c = {.head = {.start = METHOD,
				     .size = 0x100,
				     .kind = SNAP_COMPILED,
				     .method = 1,
				     .frame_size = 32,
				     .frame_complete = 0x10,
				     .push_end = 4,
				     .sub_end = 8,
				     .deopt = 0xf0,
				     .deopt_mh = SNAP_NONE,
				     .orig_pc = 8,
				     .region_count = 2,
				     .exit_count = 1,
				     .call_count = 1},
			    .regions = regions,
			    .exits = exits,
			    .calls = calls};

	sm_code(s, c);
	c.head.start = CALLER;
	c.head.frame_size = 48;
	c.head.push_end = SNAP_NONE;
	sm_code(s, c);
	sm_method(s, 1, "a.B.c", "");
	sm_method(s, 0x111, "a.B.interpreted", "");
}

/* Other code where METHOD was. */
static void add_replaced(struct snapfile *sf)
{
	CLEANUP(str_fini) struct str s = {0};
	struct err err;

	sm_head(&s, (struct snap_head){.call_stub_return = ENTRY,
				       .code_low = METHOD,
				       .code_high = BARRIER + 0x100,
				       .interpreter_method = -3});
	sm_code(&s, (struct sm_code){.head = {.start = METHOD,
					      .size = 0x100,
					      .kind = SNAP_COMPILED,
					      .method = 1,
					      .compile_id = 2,
					      .frame_size = 64,
					      .deopt = SNAP_NONE,
					      .deopt_mh = SNAP_NONE}});
	sm_done(&s);
	if (snapfile_add(sf, s.buf, s.len, &err) < 0)
		abort();
}

static struct snapfile *make_snapshot(uint64_t cont_return, bool replaced)
{
	CLEANUP(str_fini) struct str s = {0};
	struct snapfile *sf = snapfile_new();
	struct err err;

	sm_head(&s, (struct snap_head){.call_stub_return = ENTRY,
				       .code_low = METHOD,
				       .code_high = BARRIER + 0x100,
				       .cont_return = cont_return,
				       .interpreter_method = -3,
				       .interpreter_bcp = -8});
	make_methods(&s);
	sm_code(&s,
		(struct sm_code){.head = {.start = INTERP, .size = 0x100, .kind = SNAP_INTERPRETER},
				 .name = "Interpreter"});
	sm_code(&s, (struct sm_code){.head = {.start = STUBS, .size = 0x100, .kind = SNAP_STUBS},
				     .name = "StubRoutines (1)"});
	sm_code(&s, (struct sm_code){.head = {.start = BARRIER, .size = 0x100, .kind = SNAP_STUBS},
				     .name = "StubRoutines (continuationstubs)"});
	sm_code(&s, (struct sm_code){.head = {.start = RUNTIME,
					      .size = 0x100,
					      .kind = SNAP_RUNTIME,
					      .frame_size = 64},
				     .name = "resolve"});
	sm_code(&s,
		(struct sm_code){.head = {.start = ADAPTER, .size = 0x100, .kind = SNAP_ADAPTER},
				 .name = "I2C/C2I adapters"});
	sm_done(&s);
	if (snapfile_add(sf, s.buf, s.len, &err) < 0)
		abort();
	if (replaced)
		add_replaced(sf);
	snapfile_finish(sf);
	return sf;
}

static bool find_native(void *arg, uint64_t addr, struct cfi **ret_cfi, uint64_t *ret_offset)
{
	(void)arg;
	*ret_cfi = NULL;
	*ret_offset = addr;
	return addr >= NATIVE && addr < NATIVE + 0x1000;
}

static struct thread at(uint64_t pc, uint64_t fp)
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
static void bottom(struct thread *t, size_t n)
{
	t->stack[n + 4] = S(n + 8); /* the call stub's frame pointer */
	t->stack[n + 5] = ENTRY;
	t->stack[n + 8] = S(n + 12); /* with its caller: 0 */
	t->stack[n + 9] = NATIVE + 0x20;
}

/* The same for a caller that is the call stub: its frame is at word n. */
static void root(struct thread *t, size_t n)
{
	t->stack[n] = S(n + 4);
	t->stack[n + 1] = NATIVE + 0x20;
	t->stack[n + 5] = 0;
}

/* The kinds and addresses of the frames, and how it ended. */
static void is_stack(const struct thread *t, const char *want, const char *what)
{
	static const char *const ends[] = {"root", "truncated", "lost"};
	static struct unwind_frame frames[UNWIND_FRAMES_MAX];
	struct unwind_source src = {.code = snapshot, .native = find_native};
	struct stack_copy stack = {
		.base = BASE, .p = (const uint8_t *)t->stack, .len = 8 * t->words};
	CLEANUP(str_fini) struct str got = {0};
	enum unwind_end end;
	size_t n;

	end = unwind(&src, &t->regs, &stack, t->limited, frames, &n);
	for (size_t i = 0; i < n; i++) {
		str_addf(&got, "%c%llx", "ncif"[frames[i].kind],
			 (unsigned long long)frames[i].addr);
		if (frames[i].kind == UNWIND_INTERPRETED)
			str_addf(&got, ":%llx", (unsigned long long)frames[i].method);
		str_addc(&got, ' ');
	}
	str_adds(&got, ends[end]);
	is_str(got.buf, want, what);
}

#define BOTTOM "c9103f cb000f nc001f root"

static void test_body(void)
{
	struct thread t = at(METHOD + 0x20, 1);

	t.stack[2] = 0x5555;
	t.stack[3] = UP;
	bottom(&t, 4);
	is_stack(&t, "c90020 " BOTTOM, "a frame that is complete");
	t.stack[3] = UP + 1;
	is_stack(&t, "c90020 lost", "behind no call: what comes next is no caller of this one");
	t.stack[9] = t.stack[13] = 0;
	t.stack[3] = NATIVE + 0x20;
	is_stack(&t, "c90020 lost", "native code calls no compiled code");
	t.words = 3;
	is_stack(&t, "c90020 truncated", "behind the end of the copy");
	t.limited = false;
	is_stack(&t, "c90020 lost", "behind the end of the stack");
	t = at(METHOD + 0x20, 1);
	t.stack[3 + 2] = UP; /* two words pushed */
	bottom(&t, 6);
	is_stack(&t, "c90020 " BOTTOM, "words that are pushed for a while");
	t.stack[3 + 1] = RET; /* its caller would be at word 9 */
	is_stack(&t, "c90020 " BOTTOM, "a stale address among them");
	t = at(METHOD + 0x20, 1);
	t.stack[3 + 7] = UP;
	bottom(&t, 11);
	is_stack(&t, "c90020 lost", "more than are ever pushed");
}

static void test_prologue(void)
{
	struct thread t = at(METHOD + 3, S(9));

	t.stack[0] = UP;
	bottom(&t, 1);
	is_stack(&t, "c90003 " BOTTOM, "in front of push");
	t = at(METHOD + 4, 1);
	t.stack[1] = UP;
	bottom(&t, 2);
	is_stack(&t, "c90004 " BOTTOM, "behind push");
	t = at(METHOD + 8, 1);
	t.stack[3] = UP;
	bottom(&t, 4);
	is_stack(&t, "c90008 " BOTTOM, "behind sub");
	t = at(CALLER + 7, S(4));
	t.stack[0] = ENTRY;
	root(&t, 4);
	is_stack(&t, "c91007 cb000f nc001f root", "in front of sub, where there is no push");
	t = at(CALLER + 8, S(8));
	t.stack[4] = 1; /* not yet saved */
	t.stack[5] = ENTRY;
	root(&t, 8);
	is_stack(&t, "c91008 cb000f nc001f root", "behind it");
}

static void test_exit(void)
{
	struct thread t = at(METHOD + 0x50, 1);

	t.stack[1] = UP;
	bottom(&t, 2);
	is_stack(&t, "c90050 " BOTTOM, "at pop");
	t = at(METHOD + 0x51, 1);
	t.stack[0] = UP;
	bottom(&t, 1);
	is_stack(&t, "c90051 " BOTTOM, "behind it");
	t = at(METHOD + 0x50, 1);
	t.stack[0] = UP;
	bottom(&t, 1);
	is_stack(&t, "c90050 " BOTTOM, "an exit that has no pop");
	t = at(METHOD + 0x90, 1);
	t.stack[0] = UP;
	bottom(&t, 1);
	is_stack(&t, "c90090 " BOTTOM, "the slow way of the poll");
}

static void test_deopt(void)
{
	struct thread t = at(CALLER + 0x20, 1);

	t.stack[5] = METHOD + 0xf0;
	t.stack[6 + 1] = RET; /* orig_pc */
	t.stack[6 + 3] = UP;
	bottom(&t, 10);
	is_stack(&t, "c91020 c9003f " BOTTOM, "a return address that was replaced");
	t.stack[6 + 1] = UP;
	is_stack(&t, "c91020 lost", "by one of another method");
}

/* An interpreted frame with its frame pointer at word n, called by a return address. */
static void interpreted(struct thread *t, size_t n, uint64_t caller, size_t sender)
{
	t->stack[n - 3] = 0x111;
	t->stack[n - 1] = S(sender);
	t->stack[n + 1] = caller;
}

static void test_interpreter(void)
{
	struct thread t = at(INTERP + 8, S(6));

	interpreted(&t, 6, UP, 10);
	bottom(&t, 10);
	is_stack(&t, "ia0008:111 " BOTTOM, "a frame, called by compiled code");
	t.stack[5] = S(6); /* what cannot be */
	is_stack(&t, "ia0008:0 lost", "whose caller is below it");
	t = at(INTERP + 8, S(6));
	interpreted(&t, 6, INTO, 8);
	t.stack[6] = S(14);
	interpreted(&t, 14, ENTRY, 16);
	t.stack[14] = S(20);
	root(&t, 20);
	is_stack(&t, "ia0008:111 ia001f:111 cb000f nc001f root", "by the interpreter");
	t.stack[5] = S(7);
	is_stack(&t, "ia0008:111 ia001f:111 cb000f nc001f root", "by a method handle's linker");
	unwind_set(&t.regs, UNWIND_FP, 0x1234);
	is_stack(&t, "ia0008:0 lost", "a frame pointer that is none");
}

static struct thread entering(size_t sender)
{
	struct thread t = at(INTERP + 8, 1);

	unwind_set(&t.regs, RBX, 0x111);
	unwind_set(&t.regs, R13, S(sender));
	bottom(&t, sender);
	return t;
}

static void test_enter(void)
{
	struct thread t = entering(3);

	t.stack[0] = UP;
	is_stack(&t, "ia0008:111 " BOTTOM, "entered: the return address on top");
	t.stack[0] = 7;
	unwind_set(&t.regs, RAX, UP);
	is_stack(&t, "ia0008:111 " BOTTOM, "in rax");
	t = entering(4);
	unwind_set(&t.regs, RAX, UP);
	unwind_set(&t.regs, UNWIND_FP, S(9));
	t.stack[0] = S(9);
	t.stack[1] = UP;
	is_stack(&t, "ia0008:111 " BOTTOM, "below the frame pointer");
	t = entering(6);
	unwind_set(&t.regs, RAX, UP);
	unwind_set(&t.regs, UNWIND_FP, S(2));
	t.stack[3] = UP;
	is_stack(&t, "ia0008:111 " BOTTOM, "in the new frame");
	t = at(INTERP + 8, 1);
	unwind_set(&t.regs, RBX, S(2));
	unwind_set(&t.regs, R13, UP);
	bottom(&t, 2);
	is_stack(&t, "ia0008:0 " BOTTOM, "left: the return address in r13");
}

static void test_stubs(void)
{
	struct thread t = at(STUBS + 0x40, 1);

	t.stack[0] = LEAF;
	t.stack[4] = UP;
	bottom(&t, 5);
	is_stack(&t, "cb0040 c9005f " BOTTOM, "a leaf");
	t = at(STUBS + 0x40, S(12));
	t.stack[0] = S(12);
	t.stack[1] = LEAF;
	t.stack[5] = UP;
	bottom(&t, 6);
	is_stack(&t, "cb0040 c9005f " BOTTOM, "behind its push");
	t = at(STUBS + 0x40, S(3));
	t.stack[1] = UP; /* stale, though the one it leads to is valid */
	t.stack[1 + 6] = UP;
	t.stack[4] = LEAF;
	t.stack[8] = UP;
	bottom(&t, 9);
	is_stack(&t, "cb0040 c9005f " BOTTOM, "with a frame pointer");
	t = at(STUBS + 0x40, 1);
	t.stack[3] = LEAF;
	t.stack[7] = UP;
	bottom(&t, 8);
	is_stack(&t, "cb0040 c9005f " BOTTOM, "registers that it saved");
	t = at(STUBS + 0x40, 1);
	t.stack[0] = NATIVE + 0x30;
	unwind_set(&t.regs, UNWIND_FP, S(4));
	is_stack(&t, "cb0040 nc002f root", "called by the JVM");
	t = at(RUNTIME + 0x40, 1);
	t.stack[7] = UP;
	bottom(&t, 8);
	is_stack(&t, "cb1040 " BOTTOM, "a stub with a frame");
}

static void test_adapters(void)
{
	struct thread t = at(ADAPTER + 8, 1);

	unwind_set(&t.regs, R13, S(5));
	t.stack[0] = UP;
	bottom(&t, 1);
	is_stack(&t, "cb2008 " BOTTOM, "an adapter before it moves arguments");
	t = at(ADAPTER + 8, 1);
	unwind_set(&t.regs, R13, S(5));
	t.stack[0] = UP;
	bottom(&t, 5);
	is_stack(&t, "cb2008 " BOTTOM, "and behind");
	t.stack[0] = 1;
	unwind_set(&t.regs, RAX, UP);
	is_stack(&t, "cb2008 " BOTTOM, "and in between");
}

static void test_native(void)
{
	struct thread t = at(NATIVE + 8, S(2));

	t.stack[2] = S(10);
	t.stack[3] = NATIVE + 0x40;
	t.stack[10] = 0;
	t.stack[11] = 0;
	is_stack(&t, "nc0008 nc003f root", "native code by its frame pointers");
	t.stack[3] = UP;
	bottom(&t, 4);
	t.stack[2] = 1;
	is_stack(&t, "nc0008 " BOTTOM, "called by compiled code");
	t.stack[3] = 0x1234;
	is_stack(&t, "nc0008 lost", "called by nothing");
	t = at(0x1234, S(2));
	is_stack(&t, "n1234 root", "at no code at all");
}

static void test_frozen(uint64_t cont_return, const char *what)
{
	struct thread t = at(METHOD + 0x20, 1);

	snapshot = make_snapshot(cont_return, false);
	t.stack[2] = 1;
	t.stack[3] = BARRIER + 0x20;
	is_stack(&t, "c90020 fb301f root", what);
	t.stack[2] = S(10);
	t.stack[11] = UP;
	bottom(&t, 12);
	is_stack(&t, "c90020 fb301f " BOTTOM, "and its carrier");
	snapfile_free(snapshot);
}

/* A method that calls itself, deeper than anybody wants to know. */
static void test_depth(void)
{
	static uint64_t deep[4 * UNWIND_FRAMES_MAX + 8];
	static struct unwind_frame frames[UNWIND_FRAMES_MAX];
	struct unwind_source src = {.code = snapshot, .native = find_native};
	struct stack_copy stack = {.base = BASE, .p = (const uint8_t *)deep, .len = sizeof(deep)};
	struct thread t = at(METHOD + 0x20, 1);
	size_t n;

	for (size_t i = 3; i < ARRAY_LEN(deep); i += 4)
		deep[i] = RET;
	is_int(unwind(&src, &t.regs, &stack, true, frames, &n), UNWIND_TRUNCATED, "too deep");
	is_int((int64_t)n, UNWIND_FRAMES_MAX, "frames up to the limit");
}

/* METHOD's place has other code by the time of a second snapshot. */
static void test_replaced(void)
{
	struct thread t = at(CALLER + 0x20, 1);

	snapshot = make_snapshot(0, true);
	t.stack[5] = RET;
	t.stack[9] = UP;
	bottom(&t, 10);
	is_stack(&t, "c91020 c9003f " BOTTOM, "a caller that was replaced since");
	t = at(METHOD + 0x20, 1);
	t.stack[3] = UP;
	bottom(&t, 4);
	is_stack(&t, "c90020 " BOTTOM, "the innermost, too");
	snapfile_free(snapshot);
}

int main(void)
{
	snapshot = make_snapshot(0, false);
	test_body();
	test_prologue();
	test_exit();
	test_deopt();
	test_interpreter();
	test_enter();
	test_stubs();
	test_adapters();
	test_native();
	test_depth();
	snapfile_free(snapshot);
	test_replaced();
	test_frozen(BARRIER + 0x20, "a virtual thread");
	test_frozen(0, "one of a JVM that does not tell where they return to");
	return tap_done();
}
