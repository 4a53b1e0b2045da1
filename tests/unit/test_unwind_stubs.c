// SPDX-License-Identifier: Apache-2.0
/* The rules of unwinding the interpreter and stubs, each on a stack made for it. */
#include "unwindmake.h"

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

int main(void)
{
	snapshot = make_snapshot(0, false);
	test_interpreter();
	test_enter();
	test_stubs();
	test_adapters();
	snapfile_free(snapshot);
	return tap_done();
}
