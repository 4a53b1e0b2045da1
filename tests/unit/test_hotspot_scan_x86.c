// SPDX-License-Identifier: Apache-2.0
/* Reads the frame of machine code: sequences as HotSpot's assembler makes them, and bytes
 * that only look like them (x86-64). */
#include <string.h>

#include "hotspot/scan.h"
#include "lib/tap.h"

#define CODE(...)                                                                                  \
	static const uint8_t bytes[] = {__VA_ARGS__};                                              \
	struct hs_code code = {.bytes = bytes,                                                     \
			       .size = sizeof(bytes),                                              \
			       .start = 0x7f0000000000,                                            \
			       .frame_size = 48,                                                   \
			       .frame_complete = sizeof(bytes)}

#define BANG 0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff
#define PUSH 0x55
#define SUB  0x48, 0x83, 0xec, 0x20
#define ADD  0x48, 0x83, 0xc4, 0x20
#define POP  0x5d
#define RET  0xc3
#define NOP  0x90

static void test_prologue(void)
{
	struct hs_prologue p;

	{
		CODE(NOP, NOP, BANG, PUSH, SUB, NOP);
		hs_scan_prologue(&code, 2, &p);
		is_int(p.push_end, 10, "bang, push, sub: the push");
		is_int(p.sub_end, 14, "and the sub");
		hs_scan_prologue(&code, 12, &p);
		is_int(p.push_end, SNAP_NONE, "an entry after all of it");
		code.frame_size = 64;
		hs_scan_prologue(&code, 2, &p);
		is_int(p.push_end, SNAP_NONE, "the sub of another frame size");
		code.frame_size = 48;
		code.frame_complete = SNAP_NONE;
		hs_scan_prologue(&code, 2, &p);
		is_int(p.sub_end, SNAP_NONE, "a frame that is never complete");
		code.frame_complete = 1000;
		hs_scan_prologue(&code, 2, &p);
		is_int(p.sub_end, SNAP_NONE, "a frame that is complete after the code");
	}
	{
		CODE(BANG, PUSH, 0x48, 0x8b, 0xec, 0x48, 0x81, 0xec, 0x20, 0, 0, 0);
		hs_scan_prologue(&code, 0, &p);
		is_int(p.push_end, 8, "PreserveFramePointer: the push");
		is_int(p.sub_end, 18, "and the long sub after mov rbp, rsp");
	}
	{
		CODE(0x48, 0x81, 0xec, 0x28, 0, 0, 0, 0x48, 0x89, 0x6c, 0x24, 0x20);
		hs_scan_prologue(&code, 0, &p);
		is_int(p.push_end, SNAP_NONE, "all of the frame at once: no push");
		is_int(p.sub_end, 7, "but a sub");
	}
	{
		CODE(BANG, PUSH, NOP);
		code.frame_size = 16;
		hs_scan_prologue(&code, 0, &p);
		is_int(p.push_end, 8, "the smallest frame: the push");
		is_int(p.sub_end, 8, "and no sub after it");
	}
	{
		CODE(BANG, PUSH, 0x48, 0x83);
		hs_scan_prologue(&code, 0, &p);
		is_int(p.sub_end, SNAP_NONE, "a sub that is cut");
	}
	{
		CODE(0x52, 0x48, 0x83, 0xec, 8, 0x48, 0x89, 0x2c, 0x24);
		code.frame_size = 16;
		code.frame_complete = SNAP_NONE;
		code.leaves = true;
		hs_scan_prologue(&code, 0, &p);
		is_int(p.sub_end, 5, "ExceptionBlob: the sub after its push");
		code.leaves = false;
		hs_scan_prologue(&code, 0, &p);
		is_int(p.sub_end, SNAP_NONE, "which methods do not have");
	}
}

static void one_exit(const struct hs_code *code, uint32_t pop, uint32_t end, const char *what)
{
	struct snap_exit exits[4] = {{0}};
	uint32_t n = hs_scan_exits(code, exits, 4);

	is_int(n, 1, "%s", what);
	is_int(exits[0].pop, pop, "its pop");
	is_int(exits[0].end, end, "its end");
}

static void no_exit(const struct hs_code *code, const char *what)
{
	struct snap_exit exits[4];

	is_int(hs_scan_exits(code, exits, 4), 0, "%s", what);
}

static void test_exits(void)
{
	struct snap_exit exits[2];

	{
		CODE(NOP, ADD, POP, 0x49, 0x3b, 0xa7, 0x58, 3, 0, 0, 0x0f, 0x87, 1, 0, 0, 0, RET);
		one_exit(&code, 5, 20, "17 and later: cmp, ja, ret");
		code.size--;
		no_exit(&code, "the return is after the end");
		code.size++;
		code.frame_size = 32;
		no_exit(&code, "the add of another frame size");
	}
	{
		CODE(0x48, 0x81, 0xc4, 0x20, 0, 0, 0, POP, 0x85, 0x05, 1, 2, 3, 4, RET, NOP);
		one_exit(&code, 7, 15, "8: test, ret, and a long add");
	}
	{
		CODE(ADD, POP, 0x4d, 0x8b, 0x97, 8, 1, 0, 0, 0x41, 0x85, 0x02, RET);
		one_exit(&code, 4, 16, "11: mov r10, test, ret");
	}
	{
		CODE(ADD, POP, 0xe9, 1, 2, 3, 4, NOP);
		one_exit(&code, 4, 10, "a jump in place of a return");
	}
	{
		CODE(ADD, POP, 0xc2, 8, 0);
		one_exit(&code, 4, 8, "a return that drops arguments");
	}
	{
		CODE(ADD, POP, 0xc5, 0xf8, 0x77, RET, ADD, POP, RET, ADD, POP, RET);
		is_int(hs_scan_exits(&code, exits, 2), 2, "no more than there is room for");
		is_int(exits[1].pop, 13, "in order");
	}
	{
		CODE(ADD, POP, 0x0f, 0x0b, RET);
		no_exit(&code, "something else between pop and return");
	}
	{
		CODE(NOP, POP, RET, 0x48, 0x83, 0xc4, 0x18, POP, RET);
		no_exit(&code, "a pop without the frame's add");
		code.frame_size = 16;
		is_int(hs_scan_exits(&code, exits, 2), 2,
		       "but in the smallest frame there is none");
		code.frame_size = 0;
		no_exit(&code, "code without a frame");
	}
	{
		CODE(ADD, POP, 0x49, 0x3b, 0xa7, 0x58, 3, 0, 0, 0x72, 5, 0x0f, 0x0b, 0x0f, 0x0b,
		     0x0f, RET);
		one_exit(&code, 4, 20, "the reserved stack's slow way is jumped over");
		code.size -= 3;
		no_exit(&code, "a jump after the end");
	}
	{
		CODE(ADD, POP, 0x0f, 0x82, 4, 0, 0, 0, 0x0f, 0x0b, 0x0f, 0x0b, RET);
		one_exit(&code, 4, 16, "by a long jump, too");
	}
	{
		CODE(ADD, POP, 0x72, 0xf0, 0x0f, 0x0b, RET);
		no_exit(&code, "a jump back");
	}
	{
		CODE(ADD, POP, 0x49, 0x81, 0x7f, 8, 0, 0, 0, 0, RET);
		one_exit(&code, 4, 14, "a wrapper's check of the pending exception, JDK 17");
	}
	{
		CODE(0x48, 0x8b, 0x2c, 0x24, 0x48, 0x83, 0xc4, 8, 0x5a, 0x4c, 0x8b, 0xc0);
		code.frame_size = 16;
		no_exit(&code, "a pop of rdx in a method");
		code.leaves = true;
		one_exit(&code, 8, 9, "ExceptionBlob takes the address off");
	}
	{
		CODE(ADD, POP, 0x5a, 0x41, 0xff, 0xe2);
		no_exit(&code, "a pop of rdx after a method's");
		code.leaves = true;
		one_exit(&code, 4, 6, "rethrow takes the address off");
	}
	{
		CODE(0xc9, 0x59, 0xff, 0xe1);
		code.leaves = true;
		one_exit(&code, 1, 2, "handle_exception_from_callee the handler's");
	}
	{
		CODE(0xc9, RET);
		no_exit(&code, "leave where there is none");
		code.leaves = true;
		one_exit(&code, 1, 2, "leave in a wrapper: the return alone");
	}
}

static void test_calls(void)
{
	const struct snap_region region[] = {{.end = 5}, {.end = 7}};
	uint32_t calls[4];
	CODE(0xe8, 0x00, 0x01, 0, 0, 0xe8, 0x00, 0x01, 0, 0, 0xe8, 0, 0, 0, 0x7f, 0xe8, 0, 0);

	is_int(hs_scan_calls(&code, region, 2, code.start, code.start + 4096, calls, 4), 1,
	       "a call into the heaps");
	is_int(calls[0], 10, "that has no region");
	is_int(hs_scan_calls(&code, NULL, 0, code.start, code.start + 4096, calls, 4), 2,
	       "without regions, both");
	is_int(hs_scan_calls(&code, NULL, 0, code.start, code.start + 4096, calls, 1), 1,
	       "no more than there is room for");
	is_int(hs_scan_calls(&code, NULL, 0, code.start, code.start, calls, 4), 0,
	       "none that goes elsewhere");
}

/* Code is looked through eight bytes at a time: whatever stands in front of, and after, an exit
 * or a call, it is found. */
static void test_places(void)
{
	static const uint8_t exit[] = {ADD, POP, RET}, call[] = {0xe8, 0x00, 0x01, 0, 0},
			     far[] = {0x49, 0xba, 0, 0, 0, 0, 0, 0x7f, 0, 0, 0x41, 0xff, 0xd2};
	uint8_t bytes[64];
	struct hs_code code = {.bytes = bytes, .start = 0x7f0000000000, .frame_size = 48};
	unsigned found = 0;

	for (uint32_t at = 0; at < 20; at++) {
		for (uint32_t after = 0; after < 20; after++) {
			struct snap_exit exits[2] = {{0}};
			uint32_t calls[2] = {0};

			memset(bytes, NOP, sizeof(bytes));
			memcpy(bytes + at, exit, sizeof(exit));
			code.size = at + (uint32_t)sizeof(exit) + after;
			found += hs_scan_exits(&code, exits, 2) == 1 && exits[0].pop == at + 4;
			memset(bytes, NOP, sizeof(bytes));
			memcpy(bytes + at, call, sizeof(call));
			code.size = at + (uint32_t)sizeof(call) + after;
			found += hs_scan_calls(&code, NULL, 0, code.start, code.start + 4096, calls,
					       2) == 1 &&
				 calls[0] == at + sizeof(call);
			memcpy(bytes + at, far, sizeof(far));
			code.size = at + (uint32_t)sizeof(far) + after;
			found += hs_scan_calls(&code, NULL, 0, code.start, code.start + 4096, calls,
					       2) == 1 &&
				 calls[0] == at + sizeof(far);
		}
	}
	is_int(found, 3 * 20 * 20, "exits and calls in all places");
}

#define SAVE 0x48, 0x89, 0x44, 0x24, 0x18 /* mov [rsp + 24], rax */
#define LOAD 0x48, 0x8b, 0x44, 0x24, 0x18
#define CALL 0xe8, 1, 2, 3, 4
#define JUMP 0xe9, 1, 2, 3, 4

static void one_spill(struct hs_code *code, uint32_t begin, uint32_t end, uint32_t bytes,
		      const char *what)
{
	struct snap_spill s[2] = {{0}};

	code->frame_complete = 0;
	is_int(hs_scan_spills(code, s, 2), 1, "%s is found", what);
	is_int(s[0].begin, begin, "%s begins after its sub", what);
	is_int(s[0].end, end, "%s ends after its add", what);
	is_int(s[0].bytes, bytes, "%s has the size of its sub", what);
}

static void no_spill(struct hs_code *code, const char *what)
{
	struct snap_spill s[2];

	code->frame_complete = 0;
	is_int(hs_scan_spills(code, s, 2), 0, "%s is none", what);
}

static void test_spills(void)
{
	struct snap_spill s[2];

	{
		CODE(NOP, SUB, SAVE, CALL, LOAD, ADD, JUMP);
		one_spill(&code, 5, 24, 32, "a barrier's slow path");
		code.size--;
		one_spill(&code, 5, 24, 32, "one whose jump is cut after two bytes");
		code.size = 25;
		no_spill(&code, "one whose jump is not there");
		code.size = sizeof(bytes);
		code.frame_complete = 2;
		is_int(hs_scan_spills(&code, s, 2), 0, "what makes the frame is no slow path");
	}
	{
		CODE(0x48, 0x81, 0xec, 0x50, 1, 0, 0, CALL, 0x48, 0x81, 0xc4, 0x50, 1, 0, 0, 0xeb,
		     1);
		one_spill(&code, 7, 19, 0x150, "one with vector registers and a short jump");
	}
	{
		CODE(SUB, CALL, ADD, JUMP, SUB, CALL, ADD, JUMP, SUB, CALL, ADD, JUMP);
		code.frame_complete = 0;
		is_int(hs_scan_spills(&code, s, 2), 2, "there are no more than there is room for");
		is_int(s[1].begin, 22, "the second begins after the first");
		is_int(hs_scan_spills(&code, s, 1), 1, "one has room for one");
	}
	{
		CODE(SUB, CALL, ADD, POP, RET);
		no_spill(&code, "a frame that is removed");
	}
	{
		CODE(SUB, CALL, 0x48, 0x83, 0xc4, 0x30, JUMP);
		no_spill(&code, "an add of another number");
	}
	{
		CODE(0x48, 0x83, 0xec, 0x28, CALL, 0x48, 0x83, 0xc4, 0x28, JUMP);
		no_spill(&code, "a stack pointer that would not be aligned");
	}
	{
		CODE(0x48, 0x81, 0xec, 0x10, 0x10, 0, 0, CALL, 0x48, 0x81, 0xc4, 0x10, 0x10, 0, 0,
		     JUMP);
		no_spill(&code, "more than all registers");
	}
	{
		CODE(0x48, 0x83, 0xec, 0, CALL, 0x48, 0x83, 0xc4, 0, JUMP);
		no_spill(&code, "a sub of nothing");
	}
}

/* The slow path's end is looked for in so many bytes only. */
static void test_far_spill(void)
{
	static uint8_t bytes[4096];
	static const uint8_t start[] = {SUB}, end[] = {ADD, JUMP};
	struct hs_code code = {.bytes = bytes, .size = sizeof(bytes), .frame_size = 48};

	memset(bytes, NOP, sizeof(bytes));
	memcpy(bytes, start, sizeof(start));
	memcpy(bytes + 4 + 2047, end, sizeof(end));
	one_spill(&code, 4, 4 + 2047 + 4, 32, "a long slow path");
	memset(bytes, NOP, sizeof(bytes));
	memcpy(bytes, start, sizeof(start));
	memcpy(bytes + 4 + 2048, end, sizeof(end));
	no_spill(&code, "an add that is too far away");
}

int main(void)
{
	test_spills();
	test_far_spill();
	test_prologue();
	test_exits();
	test_calls();
	test_places();
	return tap_done();
}
