// SPDX-License-Identifier: Apache-2.0
/* Stacks that just fit a rule of unwinding, and those that just do not. */
#include "lib/unwindmake.h"

#define WRAPPER 0xb4000u /* of a native method */
#define BARE	0xb4200u /* compiled, without a frame */
#define HANDLE	0xb4400u /* compiled, deoptimised at calls of method handles */
#define LOST	0xb4600u /* compiled, whose real return address is nowhere */

/* A thread: its words, the lowest first, its registers; `rest`: where the usual callers begin. */
struct edge {
	const char *what;
	uint64_t pc, fp;
	struct {
		unsigned at;
		uint64_t value;
	} words[6];
	struct {
		unsigned number;
		uint64_t value;
	} regs[3]; /* value 0: none */
	size_t rest;
	bool whole; /* the copy has the whole stack */
	const char *want;
};

static struct snapfile *make_edges(void)
{
	static const uint32_t calls[] = {0x40};
	CLEANUP(str_fini) struct str s = {0};
	struct snapfile *sf = snapfile_new();
	struct sm_code c = sm_compiled(WRAPPER);
	struct err err;

	sm_head(&s, (struct snap_head){.call_stub_return = ENTRY,
				       .code_low = METHOD,
				       .code_high = LOST + 0x100,
				       .cont_return = BARRIER + 0x20,
				       .interpreter_method = -3,
				       .interpreter_bcp = INTERP_BCP});
	make_methods(&s, 1);
	make_throwers(&s);
	c.head.kind = SNAP_NATIVE;
	c.head.call_count = 1;
	c.calls = calls;
	sm_code(&s, c);
	c.head.kind = SNAP_COMPILED;
	c.head.start = BARE;
	c.head.frame_size = 8;
	c.head.push_end = c.head.sub_end = SNAP_NONE;
	sm_code(&s, c);
	c.head.start = HANDLE;
	c.head.frame_size = 32;
	c.head.deopt_mh = 0xf8;
	c.head.orig_pc = 8;
	sm_code(&s, c);
	c.head.start = LOST;
	c.head.deopt = 0xf0;
	c.head.orig_pc = SNAP_NONE;
	sm_code(&s, c);
	c = (struct sm_code){.head = {.start = INTERP, .size = 0x100, .kind = SNAP_INTERPRETER},
			     .name = "Interpreter"};
	sm_code(&s, c);
	c.head.kind = SNAP_STUBS;
	c.head.start = STUBS;
	sm_code(&s, c);
	c.head.start = BARRIER;
	sm_code(&s, c);
	c.head.kind = SNAP_ADAPTER;
	c.head.start = ADAPTER;
	sm_code(&s, c);
	c.head.kind = SNAP_RUNTIME;
	c.head.start = RUNTIME;
	c.head.frame_size = 64;
	c.head.push_end = c.head.sub_end = SNAP_NONE;
	sm_code(&s, c);
	sm_done(&s);
	if (sm_read(sf, s.buf, s.len, &err) < 0)
		abort();
	snapfile_finish(sf);
	return sf;
}

static void try(const struct edge *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct edge *e = &list[i];
		struct thread t = at(e->pc, e->fp);

		t.limited = !e->whole;
		if (e->rest)
			bottom(&t, e->rest);
		for (size_t k = 0; k < ARRAY_LEN(e->words) && e->words[k].value; k++)
			t.stack[e->words[k].at] = e->words[k].value;
		for (size_t k = 0; k < ARRAY_LEN(e->regs) && e->regs[k].value; k++)
			unwind_set(&t.regs, e->regs[k].number, e->regs[k].value);
		is_stack(&t, e->want, e->what);
	}
}

#define TRY(...)                                                                                   \
	do {                                                                                       \
		static const struct edge list[] = {__VA_ARGS__};                                   \
                                                                                                   \
		try(list, ARRAY_LEN(list));                                                        \
	} while (0)

static void test_native(void)
{
	TRY({.what = "the last frame of the copy is read",
	     .pc = NATIVE + 8,
	     .fp = S(WORDS - 2),
	     .want = "nc0008 root"},
	    {.what = "a frame above the copy is above it",
	     .pc = NATIVE + 8,
	     .fp = S(WORDS - 1),
	     .want = "nc0008 truncated"},
	    {.what = "above a whole copy there is no stack",
	     .pc = NATIVE + 8,
	     .fp = S(WORDS - 1),
	     .whole = true,
	     .want = "nc0008 lost"},
	    {.what = "a frame may be a MiB above the copy",
	     .pc = NATIVE + 8,
	     .fp = S(WORDS) + (1 << 20) - 24,
	     .want = "nc0008 truncated"},
	    {.what = "further above there is no stack",
	     .pc = NATIVE + 8,
	     .fp = S(WORDS) + (1 << 20) - 16,
	     .want = "nc0008 lost"},
	    {.what = "no frame is below the stack pointer",
	     .pc = NATIVE + 8,
	     .fp = S(0) - 8,
	     .words = {{0, NATIVE + 0x20}},
	     .want = "nc0008 lost"},
	    {.what = "a frame may be at the stack pointer",
	     .pc = NATIVE + 8,
	     .fp = S(0),
	     .words = {{0, S(4)}, {1, NATIVE + 0x20}},
	     .want = "nc0008 nc001f root"},
	    {.what = "a frame pointer is a multiple of 8",
	     .pc = NATIVE + 8,
	     .fp = S(2) + 4,
	     .want = "nc0008 lost"},
	    {.what = "a return address is after its call",
	     .pc = NATIVE + 8,
	     .fp = S(2),
	     .words = {{2, S(6)}, {3, NATIVE}},
	     .want = "nc0008 lost"},
	    {.what = "the call may be the first byte of the code",
	     .pc = NATIVE + 8,
	     .fp = S(2),
	     .words = {{2, S(6)}, {3, NATIVE + 1}},
	     .want = "nc0008 nc0000 root"},
	    {.what = "the call may be the last one of the code",
	     .pc = NATIVE + 8,
	     .fp = S(2),
	     .words = {{2, S(6)}, {3, NATIVE + 0x1000}},
	     .want = "nc0008 nc0fff root"},
	    {.what = "a frame that leads to itself ends the stack",
	     .pc = NATIVE + 8,
	     .fp = S(2),
	     .words = {{2, S(2)}, {3, NATIVE + 0x20}},
	     .want = "nc0008 nc001f lost"});
}

static void test_method(void)
{
	TRY({.what = "a caller is in its frame, whatever is on top",
	     .pc = METHOD + 0x20,
	     .fp = 1,
	     .words = {{3, METHOD + 0xc8}, {12, UP}, {18, RET}, {15, UP}},
	     .rest = 16,
	     .want = "c90020 c900c7 " BOTTOM},
	    {.what = "intrinsics push up to six words",
	     .pc = METHOD + 0x20,
	     .fp = 1,
	     .words = {{9, UP}},
	     .rest = 10,
	     .want = "c90020 " BOTTOM},
	    {.what = "intrinsics do not push seven",
	     .pc = METHOD + 0x20,
	     .fp = 1,
	     .words = {{10, UP}},
	     .rest = 11,
	     .want = "c90020 lost"},
	    {.what = "code that no snapshot has ends the search",
	     .pc = METHOD + 0x20,
	     .fp = 1,
	     .words = {{4, METHOD + 0x500}, {5, UP}},
	     .rest = 6,
	     .want = "c90020 lost"},
	    {.what = "a stub's address does not end it",
	     .pc = METHOD + 0x20,
	     .fp = 1,
	     .words = {{4, RUNTIME + 0x41}, {5, UP}},
	     .rest = 6,
	     .want = "c90020 " BOTTOM},
	    {.what = "the lowest address of the code cache is no return address",
	     .pc = METHOD + 0x20,
	     .fp = 1,
	     .words = {{4, METHOD}, {5, UP}},
	     .rest = 6,
	     .want = "c90020 " BOTTOM},
	    {.what = "indexOf moves the stack pointer by up to 80 bytes",
	     .pc = METHOD + 0x20,
	     .fp = 1,
	     .words = {{0, S(10)}, {13, UP}},
	     .rest = 14,
	     .want = "c90020 " BOTTOM},
	    {.what = "indexOf does not move it by 88",
	     .pc = METHOD + 0x20,
	     .fp = 1,
	     .words = {{0, S(11)}, {14, UP}},
	     .rest = 15,
	     .want = "c90020 lost"},
	    {.what = "a moved stack pointer is a multiple of 8",
	     .pc = METHOD + 0x20,
	     .fp = 1,
	     .words = {{0, S(9) + 4}, {12, (uint64_t)UP << 32}, {13, (uint64_t)UP >> 32}},
	     .rest = 14,
	     .want = "c90020 lost"},
	    {.what = "without a frame the return address is on top",
	     .pc = BARE + 0x20,
	     .fp = 1,
	     .words = {{0, UP}},
	     .rest = 1,
	     .want = "cb4220 " BOTTOM},
	    {.what = "a caller without a frame has it on top, too",
	     .pc = METHOD + 0x20,
	     .fp = 1,
	     .words = {{3, BARE + 0x40}, {4, UP}},
	     .rest = 5,
	     .want = "c90020 cb423f " BOTTOM});
}

/* A native method's wrapper has a frame pointer until it leaves. */
static void test_wrapper(void)
{
	TRY({.what = "a wrapper with its frame is in it, whatever is on top",
	     .pc = WRAPPER + 0x20,
	     .fp = S(2),
	     .words = {{0, UP}, {6, RET}, {3, UP}},
	     .rest = 4,
	     .want = "cb4020 " BOTTOM},
	    {.what = "a wrapper without it has left",
	     .pc = WRAPPER + 0x20,
	     .fp = 1,
	     .words = {{0, UP}, {6, RET}, {3, UP}},
	     .rest = 4,
	     .want = "cb4020 c9103f c9003f lost"},
	    {.what = "a wrapper may be leaving as soon as its frame is complete",
	     .pc = WRAPPER + 0x10,
	     .fp = 1,
	     .words = {{0, UP}, {6, RET}, {3, UP}},
	     .rest = 4,
	     .want = "cb4010 c9103f c9003f lost"},
	    {.what = "a wrapper that is entered is not leaving",
	     .pc = WRAPPER + 0xf,
	     .fp = 1,
	     .words = {{0, UP}, {6, RET}, {3, UP}},
	     .rest = 4,
	     .want = "cb400f " BOTTOM},
	    {.what = "a wrapper that leaves needs a caller that leads on",
	     .pc = WRAPPER + 0x20,
	     .fp = 1,
	     .words = {{0, UP}, {3, UP}},
	     .rest = 4,
	     .want = "cb4020 " BOTTOM},
	    {.what = "a wrapper that calls is in its frame",
	     .pc = METHOD + 0x20,
	     .fp = 1,
	     .words = {{3, WRAPPER + 0x40}, {4, UP}, {7, UP}},
	     .rest = 8,
	     .want = "c90020 cb403f " BOTTOM});
}

static void test_deopt(void)
{
	TRY({.what = "the real return address is in the frame",
	     .pc = CALLER + 0x20,
	     .fp = 1,
	     .words = {{5, METHOD + 0xf0}, {7, RET}, {9, UP}},
	     .rest = 10,
	     .want = "c91020 c9003f " BOTTOM},
	    {.what = "it is so for calls of method handles",
	     .pc = CALLER + 0x20,
	     .fp = 1,
	     .words = {{5, HANDLE + 0xf8}, {7, HANDLE + 0x40}, {9, UP}},
	     .rest = 10,
	     .want = "c91020 cb443f " BOTTOM},
	    {.what = "the start of the method is no return address",
	     .pc = CALLER + 0x20,
	     .fp = 1,
	     .words = {{5, METHOD + 0xf0}, {7, METHOD}, {9, UP}},
	     .rest = 10,
	     .want = "c91020 lost"},
	    {.what = "the place after no call is none",
	     .pc = CALLER + 0x20,
	     .fp = 1,
	     .words = {{5, METHOD + 0xf0}, {7, METHOD + 0x41}, {9, UP}},
	     .rest = 10,
	     .want = "c91020 lost"},
	    {.what = "after the end of the method there is none",
	     .pc = CALLER + 0x20,
	     .fp = 1,
	     .words = {{5, METHOD + 0xf0}, {7, METHOD + 0x101}, {9, UP}},
	     .rest = 10,
	     .want = "c91020 lost"},
	    {.what = "a method that keeps no real one has no caller",
	     .pc = CALLER + 0x20,
	     .fp = 1,
	     .words = {{5, LOST + 0xf0}, {9, UP}},
	     .rest = 10,
	     .want = "c91020 lost"},
	    {.what = "a thread that is at that place itself has its own",
	     .pc = LOST + 0xf0,
	     .fp = 1,
	     .words = {{3, UP}},
	     .rest = 4,
	     .want = "cb46f0 " BOTTOM});
}

static void test_interpreter(void)
{
	TRY({.what = "the caller's stack pointer is above the frame pointer",
	     .pc = INTERP + 8,
	     .fp = S(6),
	     .words = {{3, 0x111}, {5, S(6) + 8}, {7, UP}},
	     .rest = 8,
	     .want = "ia0008:111 " BOTTOM},
	    {.what = "at the frame pointer it is not",
	     .pc = INTERP + 8,
	     .fp = S(6),
	     .words = {{3, 0x111}, {5, S(6)}, {7, UP}},
	     .rest = 8,
	     .want = "ia0008:0 lost"},
	    {.what = "a method that is about to be pushed is not known",
	     .pc = INTERP + 8,
	     .fp = S(2),
	     .words = {{1, S(4)}, {3, UP}},
	     .rest = 4,
	     .want = "ia0008:0 " BOTTOM},
	    {.what = "a frame above the copy is above it",
	     .pc = INTERP + 8,
	     .fp = S(WORDS - 1),
	     .want = "ia0008:0 truncated"},
	    {.what = "a frame pointer is a multiple of 8",
	     .pc = INTERP + 8,
	     .fp = S(WORDS) + 4,
	     .want = "ia0008:0 lost"},
	    {.what = "a frame pointer is not below the stack pointer",
	     .pc = INTERP + 8,
	     .fp = S(0) - 8,
	     .want = "ia0008:0 lost"},
	    {.what = "a caller that cannot be returned to is none",
	     .pc = INTERP + 8,
	     .fp = S(6),
	     .words = {{3, 0x111}, {5, S(8)}, {7, UP + 1}},
	     .rest = 8,
	     .want = "ia0008:0 lost"});
}

#define ENTERED(sender)                                                                            \
	{                                                                                          \
		{UNWIND_RBX, 0x111},                                                               \
		{                                                                                  \
			UNWIND_R13, sender                                                         \
		}                                                                                  \
	}

static void test_enter(void)
{
	TRY({.what = "parameters and locals are up to 1024 words",
	     .pc = INTERP + 8,
	     .fp = 1,
	     .words = {{0, UP}},
	     .regs = ENTERED(S(1024)),
	     .want = "ia0008:111 c9103f truncated"},
	    {.what = "parameters and locals are not 1025 words",
	     .pc = INTERP + 8,
	     .fp = 1,
	     .words = {{0, UP}},
	     .regs = ENTERED(S(1025)),
	     .want = "ia0008:0 lost"},
	    {.what = "the caller's stack pointer is a multiple of 8",
	     .pc = INTERP + 8,
	     .fp = 1,
	     .words = {{0, UP}},
	     .regs = ENTERED(S(3) + 4),
	     .rest = 3,
	     .want = "ia0008:0 lost"},
	    {.what = "it is above this one",
	     .pc = INTERP + 8,
	     .fp = 1,
	     .words = {{0, UP}},
	     .regs = ENTERED(S(0)),
	     .rest = 1,
	     .want = "ia0008:0 lost"},
	    {.what = "a method that no snapshot has is not entered",
	     .pc = INTERP + 8,
	     .fp = 1,
	     .words = {{0, UP}},
	     .regs = {{UNWIND_RBX, 0x222}, {UNWIND_R13, S(3)}},
	     .rest = 3,
	     .want = "ia0008:0 lost"},
	    {.what = "the new frame is up to four words above",
	     .pc = INTERP + 8,
	     .fp = S(4),
	     .words = {{5, UP}},
	     .regs = ENTERED(S(6)),
	     .rest = 6,
	     .want = "ia0008:111 " BOTTOM},
	    {.what = "it is not five words above",
	     .pc = INTERP + 8,
	     .fp = S(5),
	     .words = {{6, UP}},
	     .regs = ENTERED(S(7)),
	     .rest = 7,
	     .want = "ia0008:0 lost"},
	    {.what = "an address 16 bytes before is the caller's",
	     .pc = INTERP + 0x30,
	     .fp = 1,
	     .words = {{0, INTERP + 0x20}},
	     .regs = ENTERED(S(3)),
	     .want = "ia0030:111 ia001f:0 lost"},
	    {.what = "one 15 bytes before has just been returned to",
	     .pc = INTERP + 0x30,
	     .fp = 1,
	     .words = {{0, INTERP + 0x21}},
	     .regs = ENTERED(S(3)),
	     .want = "ia0030:0 lost"},
	    {.what = "without any return address there is no entry",
	     .pc = INTERP + 8,
	     .fp = 1,
	     .regs = ENTERED(S(3)),
	     .rest = 3,
	     .want = "ia0008:0 lost"});
}

static void test_leave(void)
{
	TRY({.what = "the return address of a method that is left is on the stack",
	     .pc = INTERP + 8,
	     .fp = 1,
	     .words = {{0, UP}},
	     .regs = {{UNWIND_RBX, S(2)}},
	     .rest = 2,
	     .want = "ia0008:0 " BOTTOM},
	    {.what = "the caller's stack pointer may be this one",
	     .pc = INTERP + 8,
	     .fp = 1,
	     .words = {{0, 7}},
	     .regs = {{UNWIND_RBX, S(0)}, {UNWIND_R13, UP}},
	     .rest = 0,
	     .want = "ia0008:0 c9103f lost"},
	    {.what = "it is not below this one",
	     .pc = INTERP + 8,
	     .fp = 1,
	     .regs = {{UNWIND_RBX, S(0) - 8}, {UNWIND_R13, UP}},
	     .want = "ia0008:0 lost"},
	    {.what = "it is up to 1024 words above",
	     .pc = INTERP + 8,
	     .fp = 1,
	     .regs = {{UNWIND_RBX, S(1024)}, {UNWIND_R13, UP}},
	     .want = "ia0008:0 c9103f truncated"},
	    {.what = "it is not 1025 words above",
	     .pc = INTERP + 8,
	     .fp = 1,
	     .regs = {{UNWIND_RBX, S(1025)}, {UNWIND_R13, UP}},
	     .want = "ia0008:0 lost"},
	    {.what = "a method that is left needs a return address",
	     .pc = INTERP + 8,
	     .fp = 1,
	     .words = {{0, NATIVE + 0x20}},
	     .regs = {{UNWIND_RBX, S(2)}},
	     .rest = 2,
	     .want = "ia0008:0 lost"});
}

static void test_stubs(void)
{
	TRY({.what = "a stub saves up to 16 words",
	     .pc = STUBS + 0x40,
	     .fp = 1,
	     .words = {{16, RET}, {20, UP}},
	     .rest = 21,
	     .want = "cb0040 c9003f " BOTTOM},
	    {.what = "a stub does not save 17",
	     .pc = STUBS + 0x40,
	     .fp = 1,
	     .words = {{17, RET}, {21, UP}},
	     .rest = 22,
	     .want = "cb0040 lost"},
	    {.what = "a stub's frame pointer is a multiple of 8",
	     .pc = STUBS + 0x40,
	     .fp = S(20) + 4,
	     .want = "cb0040 lost"},
	    {.what = "a frame of a runtime stub is known by its size",
	     .pc = RUNTIME + 0x40,
	     .fp = 1,
	     .words = {{7, UP}},
	     .rest = 8,
	     .want = "cb1040 " BOTTOM},
	    {.what = "a runtime stub may copy its return address",
	     .pc = RUNTIME + 0x40,
	     .fp = 1,
	     .words = {{8, UP}},
	     .rest = 9,
	     .want = "cb1040 " BOTTOM},
	    {.what = "a runtime stub that begins has no frame",
	     .pc = RUNTIME,
	     .fp = 1,
	     .words = {{0, UP}, {7, UP}},
	     .rest = 1,
	     .want = "cb1000 " BOTTOM},
	    {.what = "a stub without frame pointer has no other frame",
	     .pc = RETHROW + 0x36,
	     .fp = S(8),
	     .words = {{9, UP}},
	     .rest = 10,
	     .want = "cb2936 lost"},
	    {.what = "the call stub's frame is not below its stack pointer",
	     .pc = CALLER + 0x20,
	     .fp = 1,
	     .words = {{4, S(2)}, {5, ENTRY}},
	     .want = "c91020 cb000f lost"},
	    {.what = "the call stub's frame may be at its stack pointer",
	     .pc = CALLER + 0x20,
	     .fp = 1,
	     .words = {{4, S(6)}, {5, ENTRY}, {6, S(9)}, {7, NATIVE + 0x20}},
	     .want = "c91020 cb000f nc001f root"},
	    {.what = "the call stub's frame may be above the copy",
	     .pc = CALLER + 0x20,
	     .fp = 1,
	     .words = {{4, S(WORDS)}, {5, ENTRY}},
	     .want = "c91020 cb000f truncated"},
	    {.what = "the call stub is called by native code",
	     .pc = CALLER + 0x20,
	     .fp = 1,
	     .words = {{4, S(8)}, {5, ENTRY}, {9, UP}},
	     .rest = 10,
	     .want = "c91020 cb000f lost"});
}

static void test_adapters(void)
{
	TRY({.what = "an adapter moves up to 8192 bytes of arguments",
	     .pc = ADAPTER + 8,
	     .fp = 1,
	     .words = {{0, 7}},
	     .regs = {{UNWIND_R13, S(1024)}, {UNWIND_RAX, UP}},
	     .want = "cb2008 c9103f truncated"},
	    {.what = "an adapter does not move more",
	     .pc = ADAPTER + 8,
	     .fp = 1,
	     .words = {{0, 7}},
	     .regs = {{UNWIND_R13, S(1025)}, {UNWIND_RAX, UP}},
	     .want = "cb2008 lost"},
	    {.what = "the caller's stack pointer is a multiple of 8",
	     .pc = ADAPTER + 8,
	     .fp = 1,
	     .words = {{0, 7}},
	     .regs = {{UNWIND_R13, S(5) + 4}, {UNWIND_RAX, UP}},
	     .want = "cb2008 lost"},
	    {.what = "it is above this one",
	     .pc = ADAPTER + 8,
	     .fp = 1,
	     .words = {{0, 7}},
	     .regs = {{UNWIND_R13, S(0)}, {UNWIND_RAX, UP}},
	     .want = "cb2008 lost"},
	    {.what = "where both lead on, arguments are not moved yet",
	     .pc = ADAPTER + 8,
	     .fp = 1,
	     .words = {{0, UP}, {6, UP}, {12, ENTRY}, {11, S(20)}, {20, 1}, {21, NATIVE + 0x20}},
	     .regs = {{UNWIND_R13, S(7)}},
	     .want = "cb2008 c9103f c9103f cb000f nc001f lost"});
}

static void test_frozen(void)
{
	TRY({.what = "a carrier's frame pointer is a multiple of 8",
	     .pc = METHOD + 0x20,
	     .fp = 1,
	     .words = {{2, S(10) + 4}, {3, BARRIER + 0x20}, {6, 1}, {8, 1}},
	     .want = "c90020 fb301f root"},
	    {.what = "a carrier's frame is not below the stack pointer",
	     .pc = METHOD + 0x20,
	     .fp = 1,
	     .words = {{2, S(2)}, {3, BARRIER + 0x20}, {6, 1}, {8, 1}},
	     .rest = 4,
	     .want = "c90020 fb301f root"},
	    {.what = "a carrier's frame may be at the stack pointer",
	     .pc = METHOD + 0x20,
	     .fp = 1,
	     .words = {{2, S(4)}, {3, BARRIER + 0x20}, {5, UP}, {6, 1}, {8, 1}},
	     .rest = 6,
	     .want = "c90020 fb301f " BOTTOM},
	    {.what = "a carrier's caller leads on",
	     .pc = METHOD + 0x20,
	     .fp = 1,
	     .words = {{2, S(10)}, {3, BARRIER + 0x20}, {11, UP}, {6, 1}, {8, 1}},
	     .want = "c90020 fb301f root"},
	    {.what = "a carrier's frame is not far above the entry",
	     .pc = METHOD + 0x20,
	     .fp = 1,
	     .words = {{2, S(38)}, {3, BARRIER + 0x20}, {39, UP}, {6, 1}, {8, 1}},
	     .rest = 40,
	     .want = "c90020 fb301f root"},
	    {.what = "nor is there one without an entry",
	     .pc = METHOD + 0x20,
	     .fp = 1,
	     .words = {{2, S(4)}, {3, BARRIER + 0x20}, {5, UP}, {6, 1}, {8, 2}},
	     .rest = 6,
	     .want = "c90020 fb301f root"});
}

static void test_handlers(void)
{
	TRY({.what = "a handler is in compiled code",
	     .pc = CATCH + 0x84,
	     .fp = 1,
	     .words = {{0, STUBS + 0x40}, {4, UP}},
	     .regs = {},
	     .rest = 5,
	     .want = "cb2b84 " BOTTOM},
	    {.what = "a return address is no handler",
	     .pc = CATCH + 0x84,
	     .fp = 1,
	     .words = {{0, RET}, {4, UP}},
	     .regs = {},
	     .rest = 5,
	     .want = "cb2b84 c9003f " BOTTOM},
	    {.what = "a handler is in two registers",
	     .pc = CATCH + 0x85,
	     .fp = 1,
	     .words = {{3, UP}},
	     .regs = {{UNWIND_RCX, METHOD + 0x90}, {UNWIND_RAX, METHOD + 0x91}},
	     .rest = 4,
	     .want = "cb2b85 " BOTTOM},
	    {.what = "a handler is known after the exit only",
	     .pc = CATCH + 0x83,
	     .fp = 1,
	     .words = {{3, UP}},
	     .regs = {{UNWIND_RCX, METHOD + 0x90}, {UNWIND_RAX, METHOD + 0x90}},
	     .rest = 4,
	     .want = "cb2b83 " BOTTOM},
	    {.what = "a handler is in code that a snapshot has",
	     .pc = CATCH + 0x85,
	     .fp = 1,
	     .words = {{3, UP}},
	     .regs = {{UNWIND_RCX, 0x1234}, {UNWIND_RAX, 0x1234}},
	     .rest = 4,
	     .want = "cb2b85 " BOTTOM},
	    {.what = "a handler's method has a caller",
	     .pc = CATCH + 0x85,
	     .fp = 1,
	     .words = {{3, UP + 1}},
	     .regs = {{UNWIND_RCX, METHOD + 0x90}, {UNWIND_RAX, METHOD + 0x90}},
	     .rest = 0,
	     .want = "cb2b85 lost"});
}

int main(void)
{
	snapshot = make_edges();
	test_handlers();
	test_native();
	test_method();
	test_wrapper();
	test_deopt();
	test_interpreter();
	test_enter();
	test_leave();
	test_stubs();
	test_adapters();
	test_frozen();
	snapfile_free(snapshot);
	flat_proves(38);
	return tap_done();
}
