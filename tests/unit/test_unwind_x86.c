// SPDX-License-Identifier: Apache-2.0
/* The rules of unwinding that are x86-64's own, each on a stack made for it. */
#include "lib/unwindmake.h"

static void test_prologue(void)
{
	struct thread t = at(METHOD + 3, S(9));

	t.stack[0] = UP;
	bottom(&t, 1);
	is_stack(&t, "c90003 " BOTTOM, "in front of push");
	t = at(METHOD + 4, 1);
	t.stack[1] = UP;
	bottom(&t, 2);
	is_stack(&t, "c90004 " BOTTOM, "after push");
	t = at(METHOD + 8, 1);
	t.stack[3] = UP;
	bottom(&t, 4);
	is_stack(&t, "c90008 " BOTTOM, "after sub");
	t = at(CALLER + 7, S(4));
	t.stack[0] = ENTRY;
	root(&t, 4);
	is_stack(&t, "c91007 cb000f nc001f root", "in front of sub, where there is no push");
	t = at(CALLER + 8, S(8));
	t.stack[4] = 1; /* not yet saved */
	t.stack[5] = ENTRY;
	root(&t, 8);
	is_stack(&t, "c91008 cb000f nc001f root", "after it");
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
	is_stack(&t, "c90051 " BOTTOM, "after it");
	t = at(METHOD + 0x50, 1);
	t.stack[0] = UP;
	bottom(&t, 1);
	is_stack(&t, "c90050 " BOTTOM, "an exit that has no pop");
	t = at(METHOD + 0xb0, 1);
	t.stack[0] = UP;
	bottom(&t, 1);
	is_stack(&t, "c900b0 " BOTTOM, "the slow way of the poll");
	t = at(METHOD + 0x90, 1);
	t.stack[0] = ENTRY; /* stale */
	t.stack[3] = UP;
	bottom(&t, 4);
	is_stack(&t, "c90090 " BOTTOM, "after the last region, but not the last exit");
}

/* Stubs at the end of a method's code that the method calls itself. */
static void test_own_stubs(void)
{
	struct thread t = at(METHOD + 0xb8, 1);

	t.stack[0] = RET;
	t.stack[4] = UP;
	bottom(&t, 5);
	is_stack(&t, "c900b8 " BOTTOM, "the stub of a call: the method is not there twice");
	t = at(METHOD + 0xf8, 1);
	t.stack[0] = METHOD + 0xf0;
	t.stack[4] = UP;
	bottom(&t, 5);
	is_stack(&t, "c900f8 " BOTTOM, "the deoptimisation handler: neither");
	t = at(METHOD + 0xb8, 1);
	t.stack[0] = RET; /* stale */
	t.stack[3] = UP;
	bottom(&t, 4);
	is_stack(&t, "c900b8 " BOTTOM, "a stub that is jumped to is in the method's frame");
}

static void test_moved(void)
{
	struct thread t = at(METHOD + 0x20, 1);
	t.stack[0] = S(9);
	t.stack[9 + 3] = UP;
	bottom(&t, 13);
	is_stack(&t, "c90020 " BOTTOM, "a stack pointer that indexOf keeps on top");
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

	unwind_set(&t.regs, UNWIND_RBX, 0x111);
	unwind_set(&t.regs, UNWIND_R13, S(sender));
	bottom(&t, sender);
	return t;
}

static void test_enter(void)
{
	struct thread t = entering(3);

	t.stack[0] = UP;
	is_stack(&t, "ia0008:111 " BOTTOM, "entered: the return address on top");
	t.stack[0] = 7;
	unwind_set(&t.regs, UNWIND_RAX, UP);
	is_stack(&t, "ia0008:111 " BOTTOM, "in rax");
	t = entering(4);
	unwind_set(&t.regs, UNWIND_RAX, UP);
	unwind_set(&t.regs, UNWIND_FP, S(9));
	t.stack[0] = S(9);
	t.stack[1] = UP;
	is_stack(&t, "ia0008:111 " BOTTOM, "below the frame pointer");
	t = entering(6);
	unwind_set(&t.regs, UNWIND_RAX, UP);
	unwind_set(&t.regs, UNWIND_FP, S(2));
	t.stack[3] = UP;
	is_stack(&t, "ia0008:111 " BOTTOM, "in the new frame");
	t = entering(1);
	t.stack[0] = INTERP + 6;
	interpreted(&t, 6, UP, 10);
	unwind_set(&t.regs, UNWIND_FP, S(6));
	bottom(&t, 10);
	is_stack(&t, "ia0008:111 " BOTTOM, "not entered: returned to, with all as at the call");
	t = at(INTERP + 8, 1);
	unwind_set(&t.regs, UNWIND_RBX, S(2));
	unwind_set(&t.regs, UNWIND_R13, UP);
	bottom(&t, 2);
	is_stack(&t, "ia0008:0 " BOTTOM, "left: the return address in r13");
	t = at(INTERP + 8, 1);
	unwind_set(&t.regs, UNWIND_RBX, S(0));
	unwind_set(&t.regs, UNWIND_R13, UP);
	bottom(&t, 0);
	is_stack(&t, "ia0008:0 " BOTTOM, "left, where the caller's stack is as it was");
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
	is_stack(&t, "cb0040 c9005f " BOTTOM, "after its push");
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

static void test_stub_callers(void)
{
	struct thread t = at(STUBS + 0x40, S(4));

	t.stack[5] = UINT64_MAX;
	t.stack[6] = RET;
	t.stack[10] = UP;
	bottom(&t, 11);
	is_stack(&t, "cb0040 c9003f " BOTTOM, "the cookie of a method's entry barrier");
	t = at(STUBS + 0x40, 1);
	t.stack[3] = LEAF;
	t.stack[4] = t.stack[5] = 7; /* arguments */
	t.stack[9] = UP;
	bottom(&t, 10);
	is_stack(&t, "cb0040 c9005f " BOTTOM, "a caller that pushed arguments");
	t = at(CHECK + 0x10, S(40));
	t.stack[4] = LEAF;
	t.stack[5] = t.stack[6] = 7;
	t.stack[10] = UP;
	t.stack[41] = UP; /* of an outer frame */
	bottom(&t, 11);
	bottom(&t, 42);
	is_stack(&t, "cb2c10 c9005f " BOTTOM, "a stub that has no frame, though an outer one has");
	t.stack[4] = METHOD + 0x42;
	is_stack(&t, "cb2c10 lost", "that frame is not its own");
	t = at(STUBS + 0x40, 1ull << 40);
	is_stack(&t, "cb0040 lost", "a frame pointer that points to no stack");
	t = at(STUBS + 0x40, S(WORDS + 4));
	is_stack(&t, "cb0040 truncated", "one that points above the copy");
}

static struct thread throwing(uint64_t pc, size_t caller)
{
	struct thread t = at(pc, 1);

	t.stack[caller + 3] = UP;
	bottom(&t, caller + 4);
	return t;
}

static void test_exception_blob(void)
{
	struct thread t = throwing(THROW, 0);

	unwind_set(&t.regs, UNWIND_RDX, RET);
	is_stack(&t, "cb2800 c9003f " BOTTOM, "ExceptionBlob: the address that threw is in rdx");
	t = throwing(THROW + 3, 1);
	t.stack[0] = RET;
	is_stack(&t, "cb2803 c9003f " BOTTOM, "  pushed");
	t = throwing(THROW + 0x3e, 2);
	t.stack[1] = RET;
	unwind_set(&t.regs, UNWIND_RAX, METHOD + 0x90);
	unwind_set(&t.regs, UNWIND_RDX, METHOD + 0x80); /* left over from the JVM's code */
	is_stack(&t, "cb283e c9003f " BOTTOM, "  in its frame, whatever rdx is");
	t = throwing(THROW + 0x5f, 1);
	t.stack[0] = RET;
	is_stack(&t, "cb285f c9003f " BOTTOM, "  about to be popped");
	t = throwing(THROW + 0x63, 0);
	t.stack[1] = RET; /* stale */
	unwind_set(&t.regs, UNWIND_RDX, RET);
	is_stack(&t, "cb2863 c9003f " BOTTOM, "  popped");
	unwind_set(&t.regs, UNWIND_RDX, 0x1234);
	t.stack[1] = 0;
	is_stack(&t, "cb2863 lost", "  not an address");
}

static void test_rethrow(void)
{
	struct thread t = throwing(RETHROW + 0x36, 4);

	t.stack[0] = RET; /* its copy */
	t.stack[3] = RET;
	unwind_set(&t.regs, UNWIND_R10, METHOD + 0x90);
	is_stack(&t, "cb2936 c9003f " BOTTOM, "rethrow: in its frame");
	t = throwing(RETHROW + 0x11, 5);
	t.stack[0] = t.stack[4] = RET;
	is_stack(&t, "cb2911 c9003f " BOTTOM, "  about to pop its copy of the address");
	t = throwing(RETHROW + 0x5d, 1);
	t.stack[0] = RET;
	unwind_set(&t.regs, UNWIND_R10, METHOD + 0x90);
	is_stack(&t, "cb295d c9003f " BOTTOM, "  about to pop the address");
	t = throwing(RETHROW + 0x5e, 0);
	unwind_set(&t.regs, UNWIND_R10, METHOD + 0x90);
	unwind_set(&t.regs, UNWIND_RDX, RET);
	is_stack(&t, "cb295e c9003f " BOTTOM, "  popped: the caller is not left out");
	t = throwing(UNWIND + 0x2e, 1);
	t.stack[0] = RET;
	unwind_set(&t.regs, UNWIND_RBX, METHOD + 0x90);
	unwind_set(&t.regs, UNWIND_RDX, RET);
	is_stack(&t, "cb2a2e c9003f " BOTTOM, "unwind_exception: about to pop it");
	t = throwing(UNWIND + 0x35, 0);
	unwind_set(&t.regs, UNWIND_RBX, METHOD + 0x90);
	unwind_set(&t.regs, UNWIND_RDX, RET);
	is_stack(&t, "cb2a35 c9003f " BOTTOM, "  popped");
	t = throwing(CATCH + 0x84, 1);
	t.stack[0] = METHOD + 0x90;
	is_stack(&t, "cb2b84 c90090 " BOTTOM, "handle_exception_from_callee: goes to a handler");
	t = throwing(CATCH + 0x83, 3);
	t.stack[2] = RET;
	t.stack[0] = UP;
	unwind_set(&t.regs, UNWIND_FP, S(1));
	is_stack(&t, "cb2b83 c9003f " BOTTOM, "  with an aligned stack pointer");
	t = throwing(CATCH + 0x85, 0);
	unwind_set(&t.regs, UNWIND_RCX, METHOD + 0x90);
	unwind_set(&t.regs, UNWIND_RAX, METHOD + 0x90);
	unwind_set(&t.regs, UNWIND_RDX, METHOD + 0xf0); /* left over from the JVM's code */
	is_stack(&t, "cb2b85 c90090 " BOTTOM, "  at once");
}

/* The address that threw is in rdx, the handler in one of four registers. */
static void test_thrown(void)
{
	static const struct {
		unsigned number;
		uint64_t handler;
		bool thrown;
	} t[] = {
		{UNWIND_RAX, METHOD + 0x90, true},  {UNWIND_RBX, METHOD + 0x90, true},
		{UNWIND_R8, METHOD + 0x90, true},   {UNWIND_R10, METHOD + 0x90, true},
		{UNWIND_RCX, METHOD + 0x90, false}, {UNWIND_RBX, METHOD, true},
		{UNWIND_RBX, METHOD + 0xff, true},  {UNWIND_RBX, METHOD + 0x100, false},
		{UNWIND_RBX, METHOD - 1, false},    {UNWIND_RBX, CALLER + 0x90, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct thread s = at(UNWIND + 0x35, 1);

		s.stack[3] = UP;
		bottom(&s, 4);
		unwind_set(&s.regs, UNWIND_RDX, RET);
		unwind_set(&s.regs, t[i].number, t[i].handler);
		is_stack(&s, t[i].thrown ? "cb2a35 c9003f " BOTTOM : "cb2a35 " BOTTOM,
			 "a handler is in the code that threw, and in one of some registers");
	}
}

static void test_adapters(void)
{
	struct thread t = at(ADAPTER + 8, 1);

	unwind_set(&t.regs, UNWIND_R13, S(5));
	t.stack[0] = UP;
	bottom(&t, 1);
	is_stack(&t, "cb2008 " BOTTOM, "an adapter before it moves arguments");
	t = at(ADAPTER + 8, 1);
	unwind_set(&t.regs, UNWIND_R13, S(5));
	t.stack[0] = UP;
	bottom(&t, 5);
	is_stack(&t, "cb2008 " BOTTOM, "and after");
	t.stack[0] = 1;
	unwind_set(&t.regs, UNWIND_RAX, UP);
	is_stack(&t, "cb2008 " BOTTOM, "and in between");
}

/* The return address is in rax only, and the caller's frame begins at the stack pointer. */
static struct thread taken_off(uint64_t sender)
{
	struct thread t = at(ADAPTER + 8, 1);

	unwind_set(&t.regs, UNWIND_RAX, UP);
	unwind_set(&t.regs, UNWIND_R13, sender);
	bottom(&t, 0);
	return t;
}

static void test_taken_off(void)
{
	struct thread t = taken_off(1);

	t.stack[1] = RET; /* stale, though the one it leads to is valid */
	is_stack(&t, "cb2008 " BOTTOM, "an adapter that has taken the return address off");
	t = taken_off(S(0));
	t.stack[0] = INTO; /* stale */
	is_stack(&t, "cb2008 " BOTTOM, "and notes the caller's stack pointer");
	t = taken_off(S(3));
	is_stack(&t, "cb2008 " BOTTOM, "which r13 is not before");
	t = at(ADAPTER + 8, 1);
	unwind_set(&t.regs, UNWIND_RAX, INTO); /* stale */
	t.stack[0] = UP;
	bottom(&t, 1);
	is_stack(&t, "cb2008 " BOTTOM, "the interpreter's addresses are not taken off");
	unwind_set(&t.regs, UNWIND_RAX, RET); /* stale */
	is_stack(&t, "cb2008 " BOTTOM, "nor is one that leads nowhere");
}

int main(void)
{
	snapshot = make_snapshot(0, false);
	test_prologue();
	test_exit();
	test_own_stubs();
	test_moved();
	test_interpreter();
	test_enter();
	test_stubs();
	test_stub_callers();
	test_exception_blob();
	test_rethrow();
	test_thrown();
	test_adapters();
	test_taken_off();
	snapfile_free(snapshot);
	flat_proves(63);
	return tap_done();
}
