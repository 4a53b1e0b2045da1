// SPDX-License-Identifier: Apache-2.0
/* The rules of unwinding compiled and native code, each on a stack made for it. */
#include "lib/unwindmake.h"

static void test_body(void)
{
	struct thread t = at(METHOD + 0x20, 1);

	t.stack[2] = 0x5555;
	t.stack[3] = UP;
	bottom(&t, 4);
	is_stack(&t, "c90020 " BOTTOM, "a frame that is complete");
	t.stack[3] = UP + 1;
	is_stack(&t, "c90020 lost", "after no call: what comes next is no caller of this one");
	t.stack[9] = t.stack[13] = 0;
	t.stack[3] = NATIVE + 0x20;
	is_stack(&t, "c90020 lost", "native code calls no compiled code");
	t.words = 3;
	is_stack(&t, "c90020 truncated", "above the end of the copy");
	t.limited = false;
	is_stack(&t, "c90020 lost", "above the end of the stack");
	t = at(METHOD + 0x20, 1);
	t.stack[3 + 2] = UP; /* two words pushed */
	bottom(&t, 6);
	is_stack(&t, "c90020 " BOTTOM, "words that are pushed for a while");
	t.stack[3 + 1] = RET; /* its caller would be at word 9 */
	is_stack(&t, "c90020 " BOTTOM, "a stale address among them");
	t = at(METHOD + 0x20, 1);
	t.stack[3] = RUNTIME + 0x30; /* what is no method stays: no caller that is not known */
	t.stack[3 + 2] = UP;
	bottom(&t, 6);
	is_stack(&t, "c90020 " BOTTOM, "a stub's address among them");
	t = at(METHOD + 0x20, 1);
	t.stack[3 + 7] = UP;
	bottom(&t, 11);
	is_stack(&t, "c90020 lost", "more than are ever pushed");
}

/* Registers are below the frame while a GC barrier calls the collector. */
static void test_spilled(void)
{
	struct thread t = at(METHOD + 0xc0, 1);

	t.stack[3] = ENTRY; /* stale */
	t.stack[8 + 3] = UP;
	bottom(&t, 12);
	is_stack(&t, "c900c0 " BOTTOM, "the frame is above the registers that a barrier saves");
	t = at(METHOD + 0xd0, 1);
	t.stack[3] = UP;
	bottom(&t, 4);
	is_stack(&t, "c900d0 " BOTTOM, "the frame is where it was after the barrier");
	t = at(RUNTIME + 8, 1);
	t.stack[7] = METHOD + 0xc8;
	t.stack[8 + 8 + 3] = UP;
	bottom(&t, 20);
	is_stack(&t, "cb1008 c900c7 " BOTTOM, "a stub that a barrier calls has its caller");
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
	t.stack[6] = 1; /* the ContinuationEntry's continuation */
	t.stack[8] = 1; /* it is a virtual thread's, and there are no arguments */
	is_stack(&t, "c90020 fb301f root", what);
	t.stack[2] = S(10);
	t.stack[11] = UP;
	bottom(&t, 12);
	is_stack(&t, "c90020 fb301f " BOTTOM, "and its carrier");
	t = at(NATIVE + 8, S(2));
	t.stack[2] = S(10);
	t.stack[3] = BARRIER + 0x20;
	t.stack[11] = UP;
	bottom(&t, 12);
	is_stack(&t, "nc0008 fb301f " BOTTOM, "the same while its frames are put back");
	snapfile_free(snapshot);
}

/* A method that calls itself, deeper than anybody wants to know. */
static void test_depth(void)
{
	static uint64_t deep[4 * UNWIND_FRAMES_MAX + 8];
	static struct unwind_frame frames[UNWIND_FRAMES_MAX];
	CLEANUP(returns_free) struct returns *returns = returns_new();
	struct unwind_source src = {.code = snapshot, .returns = returns, .native = find_native};
	struct stack_copy stack = {.base = BASE, .p = (const uint8_t *)deep, .len = sizeof(deep)};
	struct thread t = at(METHOD + 0x20, 1);
	size_t n;

	for (size_t i = 3; i < ARRAY_LEN(deep); i += 4)
		deep[i] = RET;
	is_int(unwind(&src, &t.regs, &stack, true, frames, &n), STACK_TRUNCATED, "too deep");
	is_int((int64_t)n, UNWIND_FRAMES_MAX, "frames up to the limit");
}

/* A stack with a few frames more than the limit, after one with a few less. */
static void test_after_depth(void)
{
	static uint64_t deep[4 * UNWIND_FRAMES_MAX + 16];
	static struct unwind_frame frames[UNWIND_FRAMES_MAX];
	CLEANUP(returns_free) struct returns *returns = returns_new();
	struct unwind_source src = source_of(returns);
	struct thread t = at(METHOD + 0x20, 1), was = t;
	struct stack_copy now = {.base = BASE, .p = (const uint8_t *)deep, .len = sizeof(deep)};
	struct stack_copy then = {
		.base = S(40), .p = (const uint8_t *)&deep[40], .len = sizeof(deep) - 8 * 40};
	size_t n = 4 * UNWIND_FRAMES_MAX, same;
	struct unwind_past past;

	for (size_t i = 3; i < n; i += 4)
		deep[i] = i + 1 < n ? RET : UP;
	deep[n + 5] = ENTRY;
	deep[n + 4] = S(n + 8);
	deep[n + 9] = NATIVE + 0x20;
	deep[n + 8] = S(n + 12);
	unwind_set(&was.regs, UNWIND_SP, S(40));
	is_int(unwind(&src, &was.regs, &then, false, frames, &n), STACK_ROOT, "not too deep");
	past = past_of(frames, n, &then);
	ok(same_after(&past, &src, &t, &now, &same), "the limit counts the frames of the past");
}

/* A stack after one of the same thread of which any word was another. */
static void test_after(void)
{
	static const uint64_t others[] = {0, 1, 0x1234, RET, UP, NATIVE + 0x40, S(10), S(16)};
	static struct unwind_frame frames[UNWIND_FRAMES_MAX];
	CLEANUP(returns_free) struct returns *returns = returns_new();
	struct unwind_source src = source_of(returns);
	struct thread t = at(METHOD + 0x20, 1), was;
	struct stack_copy then = {.base = BASE, .p = (const uint8_t *)was.stack},
			  now = {.base = BASE, .p = (const uint8_t *)t.stack, .len = 8 * t.words};
	size_t n, same, wrong = 0, rejoined = 0, tried = 0;
	struct unwind_past past;

	then.len = now.len;
	for (size_t i = 0; i < 4; i++) {
		t.stack[4 * i + 2] = S(60 + i);
		t.stack[4 * i + 3] = i < 3 ? RET : UP;
	}
	bottom(&t, 16);
	was = t;
	if (!is_int(unwind(&src, &was.regs, &then, false, frames, &n), STACK_ROOT,
		    "a stack of five methods"))
		return;
	past = past_of(frames, n, &then);
	ok(same_after(&past, &src, &t, &now, &same), "the next one is found to be the same");
	ok(same >= 4, "by its outer frames: %zu of %zu", same, n);
	for (size_t i = 0; i < 40; i++)
		for (size_t k = 0; k < ARRAY_LEN(others); k++, tried++) {
			t = was;
			t.stack[i] = others[k];
			wrong += !same_after(&past, &src, &t, &now, &same);
			rejoined += same > 0;
		}
	is_int(wrong, 0, "no word that has changed leads to other frames than by itself");
	ok(rejoined > 0 && rejoined < tried, "%zu of %zu were known from outside", rejoined, tried);
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
	t.stack[3] = 0;
	t.stack[7] = UP;
	bottom(&t, 8);
	is_stack(&t, "c90020 " BOTTOM, "or what has replaced it");
	t.stack[3] = ENTRY;
	t.stack[7] = ENTRY;
	is_stack(&t, "s90020 lost", "either of them: ambiguous");
	t = at(AGAIN + 0x20, 1);
	t.stack[3] = UP;
	bottom(&t, 4);
	is_stack(&t, "c92020 " BOTTOM,
		 "the same method compiled again: it is all one which it was");
	t = at(CALLER + 0x20, 1);
	t.stack[5] = AGAIN + 0x40;
	t.stack[9] = UP;
	bottom(&t, 10);
	is_stack(&t, "c91020 c9203f " BOTTOM, "a caller, too");
	t = at(OTHER + 0x20, 1);
	t.stack[3] = UP;
	bottom(&t, 4);
	is_stack(&t, "s93020 lost", "another method in a frame like it: ambiguous");
	t = at(METHOD + 0x180, 1);
	is_stack(&t, "s90180 lost", "in the code cache, but in no snapshot");
	snapfile_free(snapshot);
}

int main(void)
{
	snapshot = make_snapshot(0, false);
	test_body();
	test_spilled();
	test_deopt();
	test_native();
	test_depth();
	test_after_depth();
	test_after();
	snapfile_free(snapshot);
	test_replaced();
	test_frozen(BARRIER + 0x20, "a virtual thread");
	test_frozen(0, "one of a JVM that does not tell where they return to");
	flat_proves(16);
	return tap_done();
}
