// SPDX-License-Identifier: Apache-2.0
/* Reads the frame of machine code: sequences as HotSpot's assembler makes them, and
 * instructions that only look like them (arm64). */
#include "hotspot/scan.h"
#include "lib/tap.h"

#define CODE(...)                                                                                  \
	static const uint32_t insns[] = {__VA_ARGS__};                                             \
	struct hs_code code = {.bytes = (const uint8_t *)insns,                                    \
			       .size = sizeof(insns),                                              \
			       .start = 0x7f0000000000,                                            \
			       .frame_size = 48,                                                   \
			       .frame_complete = sizeof(insns)}

#define NOP	 0xd503201f
#define SUB_48	 0xd100c3ff /* sub sp, sp, #48 */
#define STORE	 0xa9027bfd /* stp x29, x30, [sp, #32] */
#define LOAD	 0xa9427bfd
#define ADD_48	 0x9100c3ff
#define PUSH	 0xa9bf7bfd /* stp x29, x30, [sp, #-16]! */
#define POP	 0xa8c17bfd
#define MOV_FP	 0x910003fd /* mov x29, sp */
#define LEAVE	 0x910003bf /* mov sp, x29 */
#define SUB_1024 0xd11003ff
#define ADD_1024 0x911003ff
#define MOV_X8	 0xd2840008 /* mov x8, #8192 */
#define SUB_X8	 0xcb2863ff
#define ADD_X8	 0x8b2863ff
#define LDR_POLL 0xf941ac88 /* ldr x8, [x4, #856]: of no thread */
#define POLL	 0xf941af88 /* ldr x8, [x28, #856] */
#define CMP	 0xeb2863ff /* cmp sp, x8 */
#define B_HI	 0x54000088 /* 16 bytes on */
#define B_LO	 0x54000063 /* 12 bytes on */
#define B	 0x14000010
#define ADR_X8	 0x10ffff48
#define STR_X8	 0xf901ab88 /* str x8, [x28, #848] */
#define ADRP_X8	 0x90000008
#define RET	 0xd65f03c0
#define OTHER	 0xd4200000 /* brk */

static void prologue_is(const struct hs_code *code, uint32_t push, uint32_t sub, const char *what)
{
	struct hs_prologue p;

	hs_scan_prologue(code, 0, &p);
	is_int(p.push_end, push, "%s: the push", what);
	is_int(p.sub_end, sub, "  and the sub");
}

static void test_prologue(void)
{
	{
		CODE(NOP, 0xd1405be9, 0xf900013f, SUB_48, STORE, NOP);
		prologue_is(&code, SNAP_NONE, 16, "bang, all of the frame at once");
		code.frame_size = 64;
		prologue_is(&code, SNAP_NONE, SNAP_NONE, "another frame size");
		code.frame_size = 48;
		code.frame_complete = SNAP_NONE;
		prologue_is(&code, SNAP_NONE, SNAP_NONE, "a frame that is never complete");
	}
	{
		CODE(SUB_48, NOP);
		prologue_is(&code, SNAP_NONE, SNAP_NONE, "a sub alone");
	}
	{
		CODE(NOP, PUSH, SUB_1024, NOP);
		code.frame_size = 1040;
		prologue_is(&code, 8, 12, "a large frame");
	}
	{
		CODE(NOP, PUSH, MOV_FP, MOV_X8, SUB_X8);
		code.frame_size = 8208;
		prologue_is(&code, 8, 20, "a larger one, with a frame pointer");
	}
	{
		CODE(PUSH, MOV_FP, NOP);
		code.frame_size = 16;
		code.frame_complete = SNAP_NONE;
		code.leaves = true;
		prologue_is(&code, 4, 8, "a stub's smallest frame");
	}
}

static void one_exit(const struct hs_code *code, uint32_t pop, uint32_t end, const char *what)
{
	struct snap_exit exits[4] = {{0}};
	uint32_t n = hs_scan_exits(code, exits, 4);

	is_int(n, 1, "%s", what);
	is_int(exits[0].pop, pop, "  its pop");
	is_int(exits[0].end, end, "  its end");
}

static void no_exit(const struct hs_code *code, const char *what)
{
	struct snap_exit exits[4];

	is_int(hs_scan_exits(code, exits, 4), 0, "%s", what);
}

/* As C1 and C2 make it, in a code cache that is larger than a branch reaches, and in a smaller one.
 */
static void test_polls(void)
{
	{
		CODE(LOAD, ADD_48, POLL, CMP, B_HI, RET, NOP, NOP, ADR_X8, STR_X8, ADRP_X8,
		     0x91000108, 0xd61f0100, LOAD, ADD_48, RET);
		struct snap_exit exits[4];

		is_int(hs_scan_exits(&code, exits, 4), 3,
		       "the slow path of a poll is an exit, too");
		is_int(exits[1].pop, 31, "  from its first instruction on the frame is gone");
		is_int(exits[1].end, 52, "  until it jumps");
		is_int(exits[2].pop, 56, "  they ascend");
		is_int(hs_scan_exits(&code, exits, 1), 1, "  no more than there is room for");
	}
	{
		CODE(ADR_X8, STR_X8, B, LOAD, ADD_48, POLL, CMP, 0x54ffff28, RET);
		struct snap_exit exits[4];

		is_int(hs_scan_exits(&code, exits, 4), 2, "a branch back, and a short jump");
		is_int(exits[0].end, 12, "  which ends it");
	}
}

/* As C1 makes it: a second prologue, for loops. */
static void test_entries(void)
{
	struct snap_exit exits[4];

	{
		CODE(SUB_48, STORE, LOAD, ADD_48, RET, 0xd1405be9, 0xf900013f, SUB_48, STORE, B);
		code.frame_complete = 8;
		is_int(hs_scan_exits(&code, exits, 4), 3, "a second prologue is told as exits");
		is_int(exits[1].pop, 19, "  there is no frame yet from its bang on");
		is_int(exits[1].end, 32, "  until the sub");
		is_int(exits[2].pop, 32, "  after it there is what an add removes");
		is_int(exits[2].end, 36, "  until the store");
		is_int(hs_scan_exits(&code, exits, 2), 1, "  no more than there is room for");
	}
	{
		CODE(NOP, PUSH, MOV_FP, SUB_1024, NOP);
		code.frame_complete = 4;
		code.frame_size = 1040;
		is_int(hs_scan_exits(&code, exits, 4), 3, "with a frame pointer");
		is_int(exits[0].end, 8, "  until the push");
		is_int(exits[2].pop, 12, "  after it there is what a pop removes");
		is_int(exits[2].end, 16, "  until the sub");
	}
}

static void test_exits(void)
{
	{
		CODE(NOP, LOAD, ADD_48, POLL, CMP, B_HI, RET, NOP);
		one_exit(&code, 8, 28, "17 and later: ldr, cmp, b.hi, ret");
		code.size = 24;
		no_exit(&code, "the return is after the end");
		code.size = sizeof(insns);
		code.frame_size = 64;
		no_exit(&code, "another frame size");
	}
	{
		CODE(LOAD, ADD_48, 0x90000008, 0xb940011f, RET);
		one_exit(&code, 4, 20, "8: adrp, ldr, ret");
	}
	{
		CODE(LOAD, ADD_48, 0xd50323bf, RET);
		one_exit(&code, 4, 16, "a signed return address is checked");
	}
	{
		CODE(LOAD, ADD_48, B);
		one_exit(&code, 4, 12, "a jump in place of a return");
	}
	{
		CODE(LOAD, ADD_48, LDR_POLL, RET);
		no_exit(&code, "something else in between");
	}
	{
		CODE(LOAD, ADD_48, POLL, CMP, B_LO, OTHER, OTHER, RET);
		one_exit(&code, 4, 32, "the reserved stack's slow way is jumped over");
	}
	{
		CODE(ADD_1024, POP, RET, POP, RET);
		code.frame_size = 1040;
		one_exit(&code, 4, 12, "a large frame");
	}
	{
		CODE(ADD_X8, POP, RET);
		code.frame_size = 8208;
		one_exit(&code, 4, 12, "a larger one");
	}
	{
		CODE(LEAVE, POP, POLL, 0xb5000048, RET);
		no_exit(&code, "a frame pointer's where there is none");
		code.leaves = true;
		one_exit(&code, 4, 20, "a wrapper's, and its pending exception");
	}
}

static void test_calls(void)
{
	const struct snap_region region[] = {{.end = 4}, {.end = 12}};
	uint32_t calls[4] = {0};
	CODE(0x94000040, 0x94000040, 0x95000000, 0xd63f0100, 0x90000008, 0x91040108, 0xd63f0100,
	     0xd63f0100);

	is_int(hs_scan_calls(&code, region, 2, code.start, code.start + 4096, calls, 4), 2,
	       "calls into the heaps");
	is_int(calls[0], 8, "one that has no region");
	is_int(calls[1], 28, "and by an address in x8");
	is_int(hs_scan_calls(&code, NULL, 0, code.start, code.start + 4096, calls, 4), 3,
	       "without regions, all");
	is_int(hs_scan_calls(&code, NULL, 0, code.start, code.start + 4096, calls, 1), 1,
	       "no more than there is room for");
	ok(hs_scan_is_after_call(code.bytes, 4), "after bl");
	ok(hs_scan_is_after_call(code.bytes, 32), "after blr");
	ok(!hs_scan_is_after_call(code.bytes, 24), "after add");
}

static void test_jumps(void)
{
	CODE(0x14000002, 0x17ffffff, 0x17fffffd, 0x14000001, 0x94000000);

	is_int(hs_scan_jump(&code, 0), 8, "a branch forward");
	is_int(hs_scan_jump(&code, 4), 0, "a branch back");
	is_int(hs_scan_jump(&code, 8), SNAP_NONE, "one to before the code is none");
	is_int(hs_scan_jump(&code, 12), 16, "one to the last instruction");
	is_int(hs_scan_jump(&code, 16), SNAP_NONE, "a call is none");
	is_int(hs_scan_jump(&code, 20), SNAP_NONE, "after the code is none");
}

#define PUSH_2 0xa9be07e0 /* stp x0, x1, [sp, #-32]! */
#define NEXT_2 0xa9010fe2 /* stp x2, x3, [sp, #16] */
#define BACK_2 0xa9410fe2
#define POP_2  0xa8c207e0 /* ldp x0, x1, [sp], #32 */
#define PUSH_Q 0xadbf07e0 /* stp q0, q1, [sp, #-32]! */
#define POP_Q  0xacc107e0
#define PUSH_D 0xfc1f0fe0 /* str d0, [sp, #-16]! */
#define POP_D  0xfc4107e0
#define PUSH_K 0xa9bf03e4 /* stp x4, x0, [sp, #-16]! */
#define POP_K  0xf84107e4 /* ldr x4, [sp], #16 */
#define BLR    0xd63f0100

static void one_spill(struct hs_code *code, uint32_t begin, uint32_t end, uint32_t bytes,
		      const char *what)
{
	struct snap_spill s[2] = {{0}};

	code->frame_complete = 0;
	is_int(hs_scan_spills(code, s, 2), 1, "%s is found", what);
	is_int(s[0].begin, begin, "%s begins after its last push", what);
	is_int(s[0].end, end, "%s ends after its first pop", what);
	is_int(s[0].bytes, bytes, "%s has the size of its pushes", what);
}

static void no_spill(struct hs_code *code, const char *what)
{
	struct snap_spill s[2];

	code->frame_complete = 0;
	is_int(hs_scan_spills(code, s, 2), 0, "%s is none", what);
}

static void test_spills(void)
{
	{
		CODE(NOP, PUSH_2, NEXT_2, BLR, BACK_2, POP_2, B);
		one_spill(&code, 8, 24, 32, "a barrier's slow path");
		code.size -= 4;
		no_spill(&code, "one whose branch is not there");
	}
	{
		CODE(PUSH_2, PUSH_Q, PUSH_D, BLR, POP_D, POP_Q, POP_2, B);
		one_spill(&code, 12, 20, 80, "one with vector registers");
	}
	{
		CODE(PUSH_2, BLR, POP_2, B, PUSH_2, BLR, POP_2, B, PUSH_2, BLR, POP_2, B);
		struct snap_spill s[2] = {{0}};

		code.frame_complete = 0;
		is_int(hs_scan_spills(&code, s, 2), 2, "there are no more than there is room for");
		is_int(s[1].begin, 20, "the second begins after the first");
	}
	{
		CODE(NOP, PUSH_K, BLR, POP_K, RET);
		one_spill(&code, 8, 16, 16, "C1's check of a subtype");
	}
	{
		CODE(NOP, PUSH_K, NOP, NOP, BLR, POP_K, RET);
		one_spill(&code, 8, 24, 16, "one that calls from far");
	}
	{
		CODE(NOP, PUSH_K, BLR, NOP, POP_K, RET);
		no_spill(&code, "a register that is kept around a call");
	}
	{
		CODE(PUSH_2, BLR, POP_2, RET);
		no_spill(&code, "a frame that is removed");
	}
	{
		CODE(PUSH_2, BLR, POP_Q, POP_D, B);
		no_spill(&code, "pops of more than was pushed");
	}
	{
		CODE(PUSH_2, PUSH_D, BLR, POP_D, PUSH_D, B);
		no_spill(&code, "a push after a pop");
	}
}

int main(void)
{
	test_spills();
	test_prologue();
	test_exits();
	test_polls();
	test_entries();
	test_calls();
	test_jumps();
	return tap_done();
}
