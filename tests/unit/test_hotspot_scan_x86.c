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

/* As C1 of JDK 17 makes it: the slow path of the poll stands between other stubs. */
static void test_polls(void)
{
	CODE(ADD, POP, 0x49, 0x3b, 0xa7, 0x48, 3, 0, 0, 0x0f, 0x87, 7, 0, 0, 0, RET, NOP, NOP, NOP,
	     NOP, NOP, NOP, 0x49, 0xba, 1, 0, 0, 0, 0, 0, 0, 0, 0x4d, 0x89, 0x97, 0x50, 3, 0, 0,
	     0xe9, 1, 2, 3, 4, NOP, ADD, POP, 0xe9, 1, 2, 3, 4);
	struct snap_exit exits[4];

	is_int(hs_scan_exits(&code, exits, 4), 3, "the slow path of a poll is an exit, too");
	is_int(exits[1].pop, 24, "from its first instruction on the frame is gone");
	is_int(exits[1].end, 47, "until it jumps");
	is_int(exits[2].pop, 52, "they ascend");
	is_int(hs_scan_exits(&code, exits, 1), 1, "no more than there is room for");
	code.size = 46;
	is_int(hs_scan_exits(&code, exits, 4), 1, "its jump is after the end");
}

/* As C1 makes it: a second prologue, for loops. */
static void test_entries(void)
{
	struct snap_exit exits[4];

	{
		CODE(BANG, PUSH, SUB, ADD, POP, RET, BANG, BANG, PUSH, SUB, 0xe9, 1, 2, 3, 4);
		code.frame_complete = 12;
		is_int(hs_scan_exits(&code, exits, 4), 3, "a second prologue is told as exits");
		is_int(exits[1].pop, 17, "there is no frame yet from its bangs on");
		is_int(exits[1].end, 33, "until the push");
		is_int(exits[2].pop, 33, "after it there is what a pop removes");
		is_int(exits[2].end, 34, "until the sub");
		is_int(hs_scan_exits(&code, exits, 3), 1, "no more than there is room for");
		code.frame_complete = SNAP_NONE;
		is_int(hs_scan_exits(&code, exits, 4), 1, "of code with a first one only");
		code.frame_complete = 12;
		code.frame_size = 16;
		is_int(hs_scan_exits(&code, exits, 4), 1, "and with a frame of some size");
	}
	{
		CODE(NOP, NOP, PUSH, 0x48, 0x8b, 0xec, SUB, NOP);
		code.frame_complete = 1;
		is_int(hs_scan_exits(&code, exits, 4), 3, "PreserveFramePointer");
		is_int(exits[2].pop, 6, "the same before the sub");
		is_int(exits[2].end, 7, "and only there");
	}
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

static void test_jumps(void)
{
	CODE(0x90, 0xeb, 0xfd, 0xe9, 0xf8, 0xff, 0xff, 0xff, 0xeb, 0xf5, 0xeb, 3, 0xeb, 4, 0x90,
	     0x90, 0xe9);

	is_int(hs_scan_jump(&code, 1), 0, "a short jump back");
	is_int(hs_scan_jump(&code, 3), 0, "a jump back");
	is_int(hs_scan_jump(&code, 8), SNAP_NONE, "one to before the code is none");
	is_int(hs_scan_jump(&code, 10), 15, "one forward");
	is_int(hs_scan_jump(&code, 12), SNAP_NONE, "one to after the code is none");
	is_int(hs_scan_jump(&code, 16), SNAP_NONE, "a part of one is none");
	is_int(hs_scan_jump(&code, 0), SNAP_NONE, "nor is another instruction");
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

/* Checks what hs_scan_spills has for each offset: a digit is a number of words. */
static void spilled_words(struct hs_code *code, const char *want, const char *what)
{
	struct snap_spill s[4];
	char got[64] = "";
	uint32_t n;

	code->frame_complete = 0;
	n = hs_scan_spills(code, s, 4);
	memset(got, '0', code->size);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t at = s[i].begin; at < s[i].end; at++)
			got[at] = (char)('0' + s[i].bytes / 8);
	ok(strcmp(got, want) == 0, "%s: %s", what, got);
}

static void test_subtype_checks(void)
{
	struct snap_spill s[3];

	{
		CODE(NOP, 0x56, 0x57, CALL, 0x5e, 0x5e, NOP);
		spilled_words(&code, "00122222210", "push rsi; push rdi; call; pop rsi; pop rsi");
		is_int(hs_scan_spills(&code, s, 2), 0, "it needs room for all three sizes");
		code.size -= 2;
		spilled_words(&code, "000000000", "its second pop is cut");
	}
	{
		CODE(NOP, 0x41, 0x50, 0x41, 0x51, CALL, 0x41, 0x58, 0x41, 0x58, NOP);
		spilled_words(&code, "000112222222110", "registers from r8 on");
	}
	{
		CODE(NOP, 0x56, 0x57, CALL, 0x5f, 0x5e, NOP);
		spilled_words(&code, "00000000000", "registers that are kept");
	}
	{
		CODE(NOP, 0x56, 0x57, CALL, 0x5e, 0x41, 0x5e);
		spilled_words(&code, "00000000000", "r14 after rsi");
	}
	{
		CODE(NOP, 0x57, CALL, 0x5e, 0x5e, NOP);
		spilled_words(&code, "0000000000", "one push");
	}
	{
		CODE(0x57, CALL, 0x5e, 0x5e);
		spilled_words(&code, "00000000", "one at the begin");
	}
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
		CODE(SUB, NOP, SUB, CALL, ADD, JUMP);
		one_spill(&code, 9, 18, 32, "one after a sub that no add takes back");
	}
	{
		CODE(SUB, CALL, 0x48, 0x83, 0xc4, 0x30, RET, NOP, CALL, ADD, JUMP);
		no_spill(&code, "a sub whose frame ends before the add");
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

/* ---- tables of what the assembler emits ---- */

#define INSN(...)                                                                                  \
	{                                                                                          \
		{__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__})                                    \
	}

struct insn {
	uint8_t bytes[12];
	uint8_t size;
};

/* Code of an exit with these bytes after its pop, and `after` bytes after them. */
static struct hs_code exit_of(const struct insn *insn, const uint8_t *after, size_t len)
{
	static uint8_t bytes[512];
	static const uint8_t front[] = {ADD, POP};

	memset(bytes, NOP, sizeof(bytes));
	memcpy(bytes, front, sizeof(front));
	memcpy(bytes + sizeof(front), insn->bytes, insn->size);
	memcpy(bytes + sizeof(front) + insn->size, after, len);
	return (struct hs_code){.bytes = bytes,
				.size = (uint32_t)(sizeof(front) + insn->size + len),
				.frame_size = 48};
}

static uint32_t exit_end_of(struct hs_code code)
{
	struct snap_exit exits[2] = {{0}};

	return hs_scan_exits(&code, exits, 2) == 1 ? exits[0].end : 0;
}

static void test_between(void)
{
	static const struct {
		struct insn insn;
		const char *what;
	} row[] = {
		{INSN(0x49, 0x3b, 0xa7, 1, 2, 3, 4), "cmp rsp, [r15 + n]"},
		{INSN(0x49, 0x3b, 0x67, 1), "cmp rsp, [r15 + n], short"},
		{INSN(0x49, 0x39, 0xa7, 1, 2, 3, 4), "cmp [r15 + n], rsp"},
		{INSN(0x49, 0x39, 0x67, 1), "cmp [r15 + n], rsp, short"},
		{INSN(0x0f, 0x87, 1, 2, 3, 4), "ja"},
		{INSN(0x0f, 0x82, 0xff, 0xff, 0xff, 0xff), "jb"},
		{INSN(0x0f, 0x86, 1, 2, 3, 4), "jbe"},
		{INSN(0x0f, 0x85, 1, 2, 3, 4), "jne"},
		{INSN(0x72, 0xf0), "jb, short"},
		{INSN(0x75, 1), "jne, short"},
		{INSN(0x76, 1), "jbe, short"},
		{INSN(0x77, 1), "ja, short"},
		{INSN(0x85, 0x05, 1, 2, 3, 4), "test eax, [rip + n]"},
		{INSN(0x49, 0xba, 1, 2, 3, 4, 5, 6, 7, 8), "mov r10, page"},
		{INSN(0x4d, 0x8b, 0x97, 1, 2, 3, 4), "mov r10, [r15 + n]"},
		{INSN(0x4d, 0x8b, 0x57, 1), "mov r10, [r15 + n], short"},
		{INSN(0x41, 0x85, 0x02), "test [r10], eax"},
		{INSN(0x49, 0x83, 0xbf, 1, 2, 3, 4, 0), "cmp [r15 + n], 0"},
		{INSN(0x49, 0x83, 0x7f, 1, 0), "cmp [r15 + n], 0, short"},
		{INSN(0x49, 0x81, 0xbf, 1, 2, 3, 4, 0, 0, 0, 0), "cmp [r15 + n], long 0"},
		{INSN(0x49, 0x81, 0x7f, 1, 0, 0, 0, 0), "cmp [r15 + n], long 0, short"},
		{INSN(0xc5, 0xf8, 0x77), "vzeroupper"},
	};
	static const uint8_t ret = RET;
	struct insn other;

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		is_int(exit_end_of(exit_of(&row[i].insn, &ret, 1)), 5u + row[i].insn.size + 1,
		       "%s may stand before a return", row[i].what);
		is_int(exit_end_of(exit_of(&row[i].insn, &ret, 0)), 0, "%s alone is no exit",
		       row[i].what);
		other = row[i].insn;
		other.size--;
		is_int(exit_end_of(exit_of(&other, &ret, 0)), 0, "%s that is cut is none",
		       row[i].what);
	}
}

static void test_returns(void)
{
	static const struct {
		struct insn insn;
		uint8_t want;
		const char *what;
	} row[] = {
		{INSN(0xc3), 1, "ret"},
		{INSN(0xc2, 8, 0), 3, "ret n"},
		{INSN(0xe9, 1, 2, 3, 4), 5, "jmp"},
		{INSN(0xeb, 1), 2, "jmp, short"},
		{INSN(0xff, 0xe0), 2, "jmp rax"},
		{INSN(0xff, 0xe7), 2, "jmp rdi"},
		{INSN(0x41, 0xff, 0xe0), 3, "jmp r8"},
		{INSN(0x41, 0xff, 0xe7), 3, "jmp r15"},
		{INSN(0xff, 0xd0), 0, "call rax"},
		{INSN(0xff, 0xf0), 0, "push rax"},
		{INSN(0x41, 0xc3), 0, "ret with a prefix"},
		{INSN(0x5a), 0, "pop rdx"},
		{INSN(0x59), 0, "pop rcx"},
	};
	struct insn cut;

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		is_int(exit_end_of(exit_of(&row[i].insn, (const uint8_t *)"", 0)),
		       row[i].want ? 5 + row[i].want : 0, "%s %s an exit", row[i].what,
		       row[i].want ? "ends" : "does not end");
		cut = row[i].insn;
		cut.size--;
		is_int(exit_end_of(exit_of(&cut, (const uint8_t *)"", 0)), 0,
		       "%s that is cut does not", row[i].what);
	}
}

/* An exit is short: so many bytes from its pop to its return. */
static void test_exit_length(void)
{
	static const struct insn none;
	uint8_t after[160];

	for (unsigned n = 42; n <= 43; n++) {
		for (unsigned i = 0; i < n; i++)
			memcpy(after + 3 * i, (uint8_t[]){0xc5, 0xf8, 0x77}, 3);
		after[3 * n] = RET;
		is_int(exit_end_of(exit_of(&none, after, 3 * n + 1)), n == 42 ? 5 + 127 : 0,
		       "an exit of %u bytes is %s", 3 * n + 1, n == 42 ? "found" : "too long");
	}
	for (unsigned by = 121; by <= 122; by++) {
		memset(after, 0x0f, sizeof(after));
		memcpy(after, (uint8_t[]){0x0f, 0x82, (uint8_t)by, 0, 0, 0}, 6);
		after[6 + by] = RET;
		is_int(exit_end_of(exit_of(&none, after, 7 + by)), by == 121 ? 5 + 128 : 0,
		       "a slow way of %u bytes is %s", by, by == 121 ? "jumped over" : "too long");
	}
	memset(after, 0x0f, sizeof(after));
	memcpy(after, (uint8_t[]){0x72, 125}, 2);
	after[127] = RET;
	is_int(exit_end_of(exit_of(&none, after, 128)), 5 + 128, "a short jump goes over as many");
}

static void test_adds(void)
{
	{
		CODE(0x48, 0x83, 0xc4, 0x80, POP, RET);
		code.frame_size = 0x80 + 16;
		no_exit(&code, "an add of a number with a sign");
	}
	{
		CODE(0x48, 0x81, 0xc4, 0x80, 0, 0, 0, POP, RET);
		code.frame_size = 0x80 + 16;
		one_exit(&code, 7, 9, "a long add of the same");
	}
	{
		CODE(0x48, 0x83, 0xc4, 0x7f, POP, RET);
		code.frame_size = 0x7f + 16;
		one_exit(&code, 4, 6, "the largest short add");
	}
	{
		CODE(0x48, 0x82, 0xc4, 0x20, POP, RET);
		no_exit(&code, "an instruction that is no add");
	}
	{
		CODE(0x49, 0x83, 0xc4, 0x20, POP, RET);
		no_exit(&code, "an add to another register");
	}
	{
		CODE(POP, RET);
		code.frame_size = 24;
		no_exit(&code, "a pop at the begin of the code");
		code.frame_size = 16;
		one_exit(&code, 0, 2, "but of the smallest frame");
		code.frame_size = 15;
		no_exit(&code, "there is no smaller one");
	}
}

/* The prologue is looked for in so many bytes before the frame is complete. */
static void test_prologue_length(void)
{
	static uint8_t bytes[400];
	static const uint8_t prologue[] = {PUSH, SUB};
	struct hs_code code = {.bytes = bytes, .frame_size = 48, .frame_complete = 300};
	struct hs_prologue p;

	code.size = sizeof(bytes);
	for (unsigned at = 43; at <= 44; at++) {
		memset(bytes, NOP, sizeof(bytes));
		memcpy(bytes + at, prologue, sizeof(prologue));
		hs_scan_prologue(&code, 0, &p);
		is_int(p.push_end, at == 44 ? at + 1 : SNAP_NONE,
		       "a push %u bytes before the frame is complete is %s", 300 - at,
		       at == 44 ? "found" : "too far away");
	}
	memset(bytes, NOP, sizeof(bytes));
	memcpy(bytes + 299, prologue, sizeof(prologue));
	hs_scan_prologue(&code, 299, &p);
	is_int(p.push_end, 300, "a push in the last byte before is found");
	hs_scan_prologue(&code, 300, &p);
	is_int(p.push_end, SNAP_NONE, "an entry after that has no prologue");
	code.size = 300;
	code.frame_size = 16;
	hs_scan_prologue(&code, 0, &p);
	is_int(p.push_end, 300, "a frame may be complete with the code's end");
	code.frame_size = 15;
	hs_scan_prologue(&code, 0, &p);
	is_int(p.push_end, SNAP_NONE, "no frame is smaller than 16 bytes");
}

static void test_frame_pointers(void)
{
	static const struct {
		uint8_t bytes[3];
		uint32_t want;
	} row[] = {{{0x48, 0x8b, 0xec}, 8},
		   {{0x48, 0x89, 0xe5}, 8},
		   {{0x48, 0x8b, 0xe5}, SNAP_NONE},
		   {{0x48, 0x89, 0xec}, SNAP_NONE},
		   {{0x49, 0x89, 0xe5}, SNAP_NONE}};
	struct hs_prologue p;

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		uint8_t bytes[] = {PUSH, 0, 0, 0, SUB};
		struct hs_code code = {
			.bytes = bytes, .size = 8, .frame_size = 48, .frame_complete = 8};

		memcpy(bytes + 1, row[i].bytes, 3);
		hs_scan_prologue(&code, 0, &p);
		is_int(p.sub_end, row[i].want, "%02x %02x %02x is %s after the push",
		       row[i].bytes[0], row[i].bytes[1], row[i].bytes[2],
		       row[i].want == 8 ? "allowed" : "not allowed");
	}
}

static void test_call_targets(void)
{
	static const struct {
		int32_t distance;
		uint32_t want;
		const char *what;
	} row[] = {{0x1000 - 5, 1, "the first byte"},
		   {0x0fff - 5, 0, "the byte before it"},
		   {0x1fff - 5, 1, "the last byte"},
		   {0x2000 - 5, 0, "the byte after it"},
		   {-5, 0, "itself"}};
	uint8_t bytes[] = {0xe8, 0, 0, 0, 0};
	struct hs_code code = {.bytes = bytes, .size = 5, .start = 0x10000};
	uint32_t calls[2];

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		memcpy(bytes + 1, &row[i].distance, 4);
		is_int(hs_scan_calls(&code, NULL, 0, 0x11000, 0x12000, calls, 2), row[i].want,
		       "a call of %s is %s", row[i].what, row[i].want ? "found" : "none");
	}
	code.start = 0x20000;
	memcpy(bytes + 1, &(int32_t){-0xf000}, 4);
	is_int(hs_scan_calls(&code, NULL, 0, 0x11000, 0x12000, calls, 2), 1, "a call may go back");
	code.size = 4;
	is_int(hs_scan_calls(&code, NULL, 0, 0x11000, 0x12000, calls, 2), 0, "a call is whole");
}

static void test_after_calls(void)
{
	static const struct {
		struct insn insn;
		bool want;
		const char *what;
	} row[] = {{INSN(0xe8, 0, 0, 0, 0), true, "call n"},
		   {INSN(0xe9, 0, 0, 0, 0), false, "jmp n"},
		   {INSN(0xff, 0xd0), true, "call rax"},
		   {INSN(0xff, 0xd7), true, "call rdi"},
		   {INSN(0xff, 0xe0), false, "jmp rax"},
		   {INSN(0xff, 0xc8), false, "dec eax"},
		   {INSN(0x41, 0xff, 0xd2), true, "call r10"},
		   {INSN(0xe8, 0, 0, 0), false, "a call that is cut"},
		   {INSN(0xd0), false, "a byte"}};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		is_int(hs_scan_is_after_call(row[i].insn.bytes, row[i].insn.size), row[i].want,
		       "after %s %s after a call", row[i].what, row[i].want ? "is" : "is not");
}

static void test_method_jump(void)
{
	CODE(0xff, 0x63, 0x40, 0xff, 0x64, 0x40, 0xfe, 0x63, 0x40, 0xff, 0x63);

	is_int(hs_scan_method_jump(&code, 0), 3, "jmp [rbx + n] is a jump to a method");
	is_int(hs_scan_method_jump(&code, 3), 0, "one by another register is none");
	is_int(hs_scan_method_jump(&code, 6), 0, "another instruction is none");
	is_int(hs_scan_method_jump(&code, 9), 0, "one that is cut is none");
	is_int(hs_scan_method_jump(&code, 1000), 0, "there is none after the code");
}

int main(void)
{
	test_between();
	test_returns();
	test_exit_length();
	test_adds();
	test_prologue_length();
	test_frame_pointers();
	test_call_targets();
	test_after_calls();
	test_method_jump();
	test_spills();
	test_subtype_checks();
	test_far_spill();
	test_prologue();
	test_exits();
	test_polls();
	test_entries();
	test_calls();
	test_jumps();
	test_places();
	return tap_done();
}
