// SPDX-License-Identifier: Apache-2.0
/* The rules of unwinding that are arm64's own, each on a stack made for it. METHOD pushes x29 and
 * x30 first; CALLER makes its frame at once. */
#include "lib/unwindmake.h"

#define LINK   UNWIND_RA
#define THIS   12
#define SENDER 19
#define OLD    13
#define ESP    20
#define SIGNED (0x5aull << 56 | 0x31ull << 48) /* bits of a signature */

static struct thread linked(uint64_t pc, uint64_t fp, uint64_t link)
{
	struct thread t = at(pc, fp);

	unwind_set(&t.regs, LINK, link);
	return t;
}

static void test_prologue(void)
{
	struct thread t = linked(METHOD, S(9), UP);

	bottom(&t, 0);
	is_stack(&t, "c90000 " BOTTOM, "at the entry");
	t = linked(METHOD + 4, 1, 7);
	t.stack[1] = UP;
	bottom(&t, 2);
	is_stack(&t, "c90004 " BOTTOM, "after the push");
	t = linked(METHOD + 8, 1, 7);
	t.stack[3] = UP;
	bottom(&t, 4);
	is_stack(&t, "c90008 " BOTTOM, "after sub");
	t = linked(CALLER + 4, S(0), ENTRY);
	root(&t, 0);
	is_stack(&t, "c91004 cb000f nc001f root", "in front of a sub without a push");
	t = linked(CALLER + 8, S(6), ENTRY);
	t.stack[4] = t.stack[5] = 1; /* not yet saved */
	root(&t, 6);
	is_stack(&t, "c91008 cb000f nc001f root", "after it");
	t = linked(CALLER + 12, 1, 7);
	t.stack[4] = S(6);
	t.stack[5] = ENTRY;
	root(&t, 6);
	is_stack(&t, "c9100c cb000f nc001f root", "and after stp");
}

static void test_exit(void)
{
	struct thread t = linked(METHOD + 0x50, 1, 7);

	t.stack[1] = UP;
	bottom(&t, 2);
	is_stack(&t, "c90050 " BOTTOM, "at the pop");
	t = linked(METHOD + 0x54, 1, UP);
	bottom(&t, 0);
	is_stack(&t, "c90054 " BOTTOM, "after it");
	t = linked(CALLER + 0x50, S(6), ENTRY);
	t.stack[5] = 1;
	root(&t, 6);
	is_stack(&t, "c91050 cb000f nc001f root", "at the add, with all loaded");
	t = linked(CALLER + 0x54, S(0), ENTRY);
	root(&t, 0);
	is_stack(&t, "c91054 cb000f nc001f root", "after it");
	t = linked(METHOD + 0xb0, 1, UP);
	bottom(&t, 0);
	is_stack(&t, "c900b0 " BOTTOM, "the slow way of the poll");
	t = linked(METHOD + 0xb0, 1, RET);
	t.stack[3] = UP;
	bottom(&t, 4);
	is_stack(&t, "c900b0 " BOTTOM, "or another stub, after a call of the method's own");
}

static void test_signed(void)
{
	struct thread t = linked(METHOD + 0x20, 1, 7);

	t.stack[3] = UP | SIGNED;
	bottom(&t, 4);
	is_stack(&t, "c90020 " BOTTOM, "a signed return address");
	t = linked(METHOD, 1, UP | SIGNED);
	bottom(&t, 0);
	is_stack(&t, "c90000 " BOTTOM, "  in x30");
	t = at(NATIVE + 8, S(2));
	t.stack[3] = UP | SIGNED;
	bottom(&t, 4);
	t.stack[4 + 5] = ENTRY | SIGNED;
	t.stack[4 + 9] = (NATIVE + 0x20) | SIGNED;
	is_stack(&t, "nc0008 " BOTTOM, "  of all frames");
}

static void test_breadcrumb(void)
{
	struct thread t = linked(METHOD + 0x20, 1, 7);

	t.stack[1] = METHOD + 0x24;
	t.stack[2 + 3] = UP;
	bottom(&t, 6);
	is_stack(&t, "c90020 " BOTTOM, "about to call native code");
	t.regs.reg[UNWIND_PC] = METHOD + 0x24;
	is_stack(&t, "c90024 " BOTTOM, "back from it");
	t = at(NATIVE + 8, S(0));
	t.stack[0] = 1;
	t.stack[1] = t.stack[2 + 1] = RET;
	t.stack[4 + 3] = UP;
	bottom(&t, 8);
	is_stack(&t, "nc0008 c9003f " BOTTOM, "in it");
}

/* An interpreted frame with its frame pointer at word n. */
static void interpreted(struct thread *t, size_t n, uint64_t caller, size_t sender)
{
	t->stack[n - 3] = 0x111;
	t->stack[n - 1] = S(sender);
	t->stack[n + 1] = caller;
}

static void test_interpreter(void)
{
	struct thread t = linked(INTERP + 8, S(12), 7);

	interpreted(&t, 12, UP, 16);
	bottom(&t, 16);
	is_stack(&t, "ia0008:111 " BOTTOM, "an interpreted frame, called by compiled code");
	t.stack[11] = S(4);
	is_stack(&t, "ia0008:0 lost", "whose caller's stack pointer is below it");
	t = linked(INTERP + 8, S(12), 7);
	interpreted(&t, 12, INTO, 4);
	t.stack[12] = S(26);
	interpreted(&t, 26, ENTRY, 28);
	t.stack[26] = S(30);
	root(&t, 30);
	is_stack(&t, "ia0008:111 ia001f:111 cb000f nc001f root", "by the interpreter: it may be");
}

static void test_enter(unsigned sender)
{
	struct thread t = linked(INTERP + 0x40, 1, UP);

	unwind_set(&t.regs, THIS, 0x111);
	unwind_set(&t.regs, sender, S(4));
	bottom(&t, 4);
	is_stack(&t, "ia0040:111 " BOTTOM, "entered: no frame yet");
	t.regs.reg[UNWIND_FP] = S(10);
	t.stack[11] = UP;
	unwind_set(&t.regs, sender, S(12));
	bottom(&t, 12);
	is_stack(&t, "ia0040:111 " BOTTOM, "  a new frame without the caller's stack pointer");
	t = linked(INTERP + 0x40, S(14), INTO);
	unwind_set(&t.regs, THIS, 0x111);
	unwind_set(&t.regs, sender, S(0));
	interpreted(&t, 14, UP, 16);
	t.stack[12] = 1;
	bottom(&t, 16);
	is_stack(&t, "ia0040:111 ia001f:111 " BOTTOM, "  by the same method: it waits");
	t.stack[12] = 0;
	is_stack(&t, "ia0040:111 " BOTTOM, "  it does not: it has been returned to");
	t.stack[12] = 1;
	t.regs.reg[UNWIND_PC] = INTO + 4;
	is_stack(&t, "ia0024:111 " BOTTOM, "  it is about to go on");
}

static void test_leave(void)
{
	struct thread t = linked(INTERP + 0x40, 1, UP);

	unwind_set(&t.regs, ESP, S(4));
	bottom(&t, 4);
	is_stack(&t, "ia0040:0 " BOTTOM, "left: the caller's stack pointer in x20");
	t = linked(INTERP + 0x40, S(14), UP);
	unwind_set(&t.regs, ESP, S(4));
	interpreted(&t, 14, UP, 16);
	bottom(&t, 16);
	is_stack(&t, "ia0040:111 " BOTTOM, "not left: x30 is as it was at the entry");
}

static void test_stubs(void)
{
	struct thread t = linked(STUBS + 0x40, 1, LEAF);

	t.stack[3] = UP;
	bottom(&t, 4);
	is_stack(&t, "cb0040 c9005f " BOTTOM, "a leaf");
	t = linked(STUBS + 0x40, 1, LEAF);
	t.stack[4 + 3] = UP;
	bottom(&t, 8);
	is_stack(&t, "cb0040 c9005f " BOTTOM, "registers that it saved");
	t = linked(STUBS + 0x40, 1, LEAF);
	t.stack[0] = 1;
	t.stack[1] = LEAF;
	t.stack[2 + 3] = UP;
	bottom(&t, 6);
	is_stack(&t, "cb0040 c9005f " BOTTOM, "after its push");
	t = linked(STUBS + 0x40, S(6), 7);
	t.stack[7] = LEAF;
	t.stack[8 + 3] = UP;
	bottom(&t, 12);
	is_stack(&t, "cb0040 c9005f " BOTTOM, "with a frame pointer");
	t = linked(STUBS + 0x40, S(4), NATIVE + 0x30);
	t.stack[4] = t.stack[5] = 0;
	is_stack(&t, "cb0040 nc002f root", "called by the JVM");
	t = linked(STUBS + 0x40, 1ull << 40, 7);
	is_stack(&t, "cb0040 lost", "of nowhere");
	t = linked(RUNTIME + 0x40, 1, 7);
	t.stack[7] = UP;
	bottom(&t, 8);
	is_stack(&t, "cb1040 " BOTTOM, "a stub with a frame");
}

static void test_adapters(void)
{
	struct thread t = linked(ADAPTER + 8, 1, UP);

	unwind_set(&t.regs, SENDER, S(8));
	bottom(&t, 0);
	is_stack(&t, "cb2008 " BOTTOM, "an adapter before it moves arguments");
	t = linked(ADAPTER + 8, 1, UP);
	unwind_set(&t.regs, SENDER, S(4));
	bottom(&t, 4);
	is_stack(&t, "cb2008 " BOTTOM, "and after");
	t = linked(ADAPTER + 8, 1, UP);
	unwind_set(&t.regs, OLD, S(4));
	bottom(&t, 4);
	is_stack(&t, "cb2008 " BOTTOM, "JDK 17 and before");
}

/* perf's order of registers is DWARF's: x0 to x30, sp, pc. */
static void test_perf(void)
{
	uint64_t values[33];
	struct unwind_regs r;

	for (unsigned i = 0; i < 33; i++)
		values[i] = 100 + i;
	ok(unwind_from_perf(&r, 2, (1ull << 33) - 1, (const uint8_t *)values),
	   "a sample's registers");
	is_int(unwind_fp(&r), 129, "x29");
	is_int(unwind_get(&r, LINK), 130, "x30");
	is_int(unwind_sp(&r), 131, "sp");
	is_int(unwind_pc(&r), 132, "pc");
	ok(!unwind_from_perf(&r, 1, (1ull << 33) - 1, (const uint8_t *)values),
	   "of a 32-bit program");
}

int main(void)
{
	snapshot = make_snapshot(0, false);
	test_prologue();
	test_exit();
	test_signed();
	test_breadcrumb();
	test_interpreter();
	test_enter(SENDER);
	test_enter(OLD);
	test_leave();
	test_stubs();
	test_adapters();
	test_perf();
	snapfile_free(snapshot);
	flat_proves(40);
	return tap_done();
}
