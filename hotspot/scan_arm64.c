// SPDX-License-Identifier: Apache-2.0
/* Instructions of HotSpot's arm64 assembler (C1 and C2, JDK 8 to 25: macroAssembler_aarch64.cpp
 * build_frame, remove_frame; aarch64.ad MachEpilogNode, c1_LIRAssembler_aarch64.cpp return_op).
 * A frame below 528 bytes is allocated at once, with the frame pointer and the return address at
 * its end; for others, and for native wrappers and stubs, these two are pushed first. */
#include "hotspot/scan.h"

#define INSN	     4u
#define PROLOGUE_MAX 256u
#define EXIT_MAX     128u
#define AT_ONCE_MAX  528u
#define IMMEDIATE    4096u /* larger numbers are in x8 */
/* All registers and the code that saves and restores them. */
#define SPILL_CODE_MAX 1024u

#define PUSH	   0xa9bf7bfdu /* stp x29, x30, [sp, #-16]! */
#define POP	   0xa8c17bfdu /* ldp x29, x30, [sp], #16 */
#define FP_FROM_SP 0x910003fdu
#define SP_FROM_FP 0x910003bfu
#define SUB_X8	   0xcb2863ffu /* sub sp, sp, x8 */
#define ADD_X8	   0x8b2863ffu
#define SUB(n)	   (0xd10003ffu | (n) << 10)
#define ADD(n)	   (0x910003ffu | (n) << 10)
#define STORE(n)   (0xa9007bfdu | (n) / 8 << 15) /* stp x29, x30, [sp, #n] */
#define LOAD(n)	   (0xa9407bfdu | (n) / 8 << 15)
#define IS_BL(i)   (((i)&0xfc000000u) == 0x94000000u)
#define IS_BLR(i)  (((i)&0xfffffc1fu) == 0xd63f0000u)
#define IS_B(i)	   (((i)&0xfc000000u) == 0x14000000u)
#define IS_COND(i) (((i)&0xff000010u) == 0x54000000u)

/* Returns the instruction at an offset; 0, which is none, after the code. */
static uint32_t insn_at(const struct hs_code *c, uint32_t at)
{
	uint32_t insn;

	if (at % INSN || at > c->size || c->size - at < INSN)
		return 0;
	__builtin_memcpy(&insn, c->bytes + at, INSN);
	return insn;
}

/* True if the instruction changes the stack pointer by n. For an n in x8 only the register is
 * checked: there are several ways to load it. */
static bool adjusts_at(const struct hs_code *c, uint32_t at, uint32_t immediate, uint32_t by_x8,
		       uint32_t n)
{
	return insn_at(c, at) == (n < IMMEDIATE ? immediate : by_x8);
}

static bool is_at_once(const struct hs_code *c)
{
	return c->frame_size < AT_ONCE_MAX;
}

/* Matches a prologue at an offset. */
static bool prologue_at(const struct hs_code *c, uint32_t from, struct hs_prologue *ret)
{
	uint32_t at = from + INSN, n = c->frame_size - 16;

	if (is_at_once(c) && insn_at(c, from) == SUB(c->frame_size) && insn_at(c, at) == STORE(n)) {
		*ret = (struct hs_prologue){.push_end = SNAP_NONE, .sub_end = at};
		return true;
	}
	if (insn_at(c, from) != PUSH)
		return false;
	if (insn_at(c, at) == FP_FROM_SP)
		at += INSN;
	if (n >= IMMEDIATE) /* x8 is loaded by one or two instructions */
		for (uint32_t i = 0; i < 2 && insn_at(c, at) != SUB_X8; i++)
			at += INSN;
	if (n > 0 && !adjusts_at(c, at, SUB(n), SUB_X8, n))
		return false;
	*ret = (struct hs_prologue){.push_end = from + INSN, .sub_end = n ? at + INSN : at};
	return true;
}

void hs_scan_prologue(const struct hs_code *c, uint32_t from, struct hs_prologue *ret)
{
	uint32_t end = c->frame_complete;

	if (end == SNAP_NONE && c->leaves) /* a stub starts with it */
		end = from + INSN;
	*ret = (struct hs_prologue){.push_end = SNAP_NONE, .sub_end = SNAP_NONE};
	if (c->frame_size < 16 || end == SNAP_NONE || end > c->size || from >= end)
		return;
	if (end - from > PROLOGUE_MAX)
		from = end - PROLOGUE_MAX;
	for (uint32_t i = (from + INSN - 1) & ~(INSN - 1); i < end; i += INSN)
		if (prologue_at(c, i, ret))
			return;
}

/* Instructions allowed between the restored registers and the return. */
static const struct {
	uint32_t mask, insn;
} between[] = {
	{0xfffff01f, 0xd503201f}, /* hints: of signed return addresses, nop */
	{0xffc003e0, 0xf9400380}, /* ldr x, [x28, n]: poll, reserved stack, pending exception */
	{0x9f00001f, 0x90000008}, /* adrp x8: the poll, 8 */
	{0xffc003ff, 0xb940011f}, /* ldr wzr, [x8, n]: the poll, 8 and 11 */
	{0xffffffff, 0xeb2863ff}, /* cmp sp, x8: the poll, 17 and later; reserved stack */
	{0xff000010, 0x54000000}, /* b.cond */
	{0x7e000000, 0x34000000}, /* cbz, cbnz */
	{0x7e000000, 0x36000000}, /* tbz, tbnz */
};

static bool is_between(uint32_t insn)
{
	for (size_t i = 0; i < sizeof(between) / sizeof(*between); i++)
		if ((insn & between[i].mask) == between[i].insn)
			return true;
	return false;
}

/* Matches a return or a tail jump. */
static bool is_return(uint32_t insn)
{
	return insn == 0xd65f03c0 || (insn & 0xfffffc1f) == 0xd61f0000 ||
	       (insn & 0xfc000000) == 0x14000000;
}

/* Returns the target of a forward `b.lo`, 0: it is none. */
static uint32_t below_at(const struct hs_code *c, uint32_t at)
{
	uint32_t insn = insn_at(c, at), distance = (insn >> 5 & 0x7ffff) * INSN;

	return IS_COND(insn) && (insn & 0xf) == 3 && distance < EXIT_MAX ? at + distance : 0;
}

/* Returns the offset after the return that follows, 0: none, so this is no exit. */
static uint32_t exit_end(const struct hs_code *c, uint32_t from)
{
	uint32_t over = 0;

	for (uint32_t at = from; at - from < EXIT_MAX;) {
		uint32_t insn = insn_at(c, at);

		if (is_return(insn))
			return at + INSN;
		if (below_at(c, at))
			over = below_at(c, at);
		if (is_between(insn))
			at += INSN;
		else if (over > at) /* the slow path of the reserved stack check (JEP 270) */
			at = over;
		else
			return 0;
	}
	return 0;
}

/* Returns the snap_exit.pop of the exit that begins at an offset, SNAP_NONE: none. */
static uint32_t exit_at(const struct hs_code *c, uint32_t at)
{
	uint32_t insn = insn_at(c, at), n = c->frame_size - 16;

	if (is_at_once(c) && insn == LOAD(n) && insn_at(c, at + INSN) == ADD(c->frame_size))
		return at + INSN;
	if (insn != POP)
		return SNAP_NONE;
	if (n == 0 || adjusts_at(c, at - INSN, ADD(n), ADD_X8, n) ||
	    (c->leaves && insn_at(c, at - INSN) == SP_FROM_FP))
		return at;
	return SNAP_NONE;
}

/* Returns the target of a conditional branch. */
static uint32_t branch_target(const struct hs_code *c, uint32_t at)
{
	return at + (uint32_t)((int32_t)(insn_at(c, at) << 8) >> 13) * INSN;
}

/* Returns the offset after a jump to a stub, `b` or `adrp x8, page; add x8, x8, n; br x8`, 0: it is
 * none. */
static uint32_t far_jump_end(const struct hs_code *c, uint32_t at)
{
	if (IS_B(insn_at(c, at)))
		return at + INSN;
	return (insn_at(c, at) & 0x9f00001f) == 0x90000008 &&
			       (insn_at(c, at + INSN) & 0xffc003ff) == 0x91000108 &&
			       insn_at(c, at + 2 * INSN) == 0xd61f0100
		       ? at + 3 * INSN
		       : 0;
}

/* Matches the slow path of a return's poll: `adr x8, n; str x8, [x28, n]`, and a jump
 * (C1SafepointPollStub, C2SafepointPollStub, JDK 16 and later). */
static bool poll_at(const struct hs_code *c, uint32_t at, struct snap_exit *ret)
{
	*ret = (struct snap_exit){.pop = at - 1, .end = far_jump_end(c, at + 2 * INSN)};
	return (insn_at(c, at) & 0x9f00001f) == 0x10000008 &&
	       (insn_at(c, at + INSN) & 0xffc003ff) == 0xf9000388 && ret->end > 0;
}

/* Returns where the stack bangs, `sub x9, sp, n; str xzr, [x9]`, begin that end at an offset. */
static uint32_t bangs_before(const struct hs_code *c, uint32_t end)
{
	while (end >= 2 * INSN && insn_at(c, end - INSN) == 0xf900013f &&
	       (insn_at(c, end - 2 * INSN) & 0xff8003ff) == 0xd10003e9)
		end -= 2 * INSN;
	return end;
}

/* Adds the places of C1's second prologue where the frame is not whole; returns how many exits
 * there are then. (c1_LIRAssembler_aarch64.cpp osr_entry, JDK 8 to 27.) */
static uint32_t add_entry(const struct hs_code *c, struct snap_exit *list, uint32_t n, uint32_t cap)
{
	struct hs_prologue p;

	if (c->leaves || c->frame_size == 16)
		return n;
	for (uint32_t at = c->frame_complete; at < c->size && n + 2 <= cap; at += INSN) {
		uint32_t made;

		if (!prologue_at(c, at, &p))
			continue;
		made = p.push_end == SNAP_NONE ? p.sub_end : p.push_end;
		n = hs_exit_add(list, n, (struct snap_exit){bangs_before(c, at) - 1, made});
		do
			n = hs_exit_add(list, n, (struct snap_exit){made, made + INSN});
		while ((made += INSN) < p.sub_end && n < cap);
	}
	return n;
}

uint32_t hs_scan_exits(const struct hs_code *c, struct snap_exit *ret, uint32_t cap)
{
	struct snap_exit poll;
	uint32_t n = 0;

	if (c->frame_size < 16)
		return 0;
	for (uint32_t i = 0; i < c->size && n < cap; i += INSN) {
		uint32_t pop = exit_at(c, i), end;

		end = pop == SNAP_NONE ? 0 : exit_end(c, pop + INSN);
		if (end == 0)
			continue;
		n = hs_exit_add(ret, n, (struct snap_exit){.pop = pop, .end = end});
		for (uint32_t at = pop; at < end && n < cap; at += INSN)
			if (IS_COND(insn_at(c, at)) && poll_at(c, branch_target(c, at), &poll))
				n = hs_exit_add(ret, n, poll);
		i = end - INSN;
	}
	return add_entry(c, ret, n, cap);
}

/* Returns the address made by `adrp x8, page; add x8, x8, n` before an offset; 0: none. */
static uint64_t far_target(const struct hs_code *c, uint32_t at)
{
	uint32_t page = at >= 2 * INSN ? insn_at(c, at - 2 * INSN) : 0;
	uint32_t add = at >= 2 * INSN ? insn_at(c, at - INSN) : 0;
	uint64_t distance;

	if ((page & 0x9f00001f) != 0x90000008 || (add & 0xffc003ff) != 0x91000108)
		return 0;
	distance = (page >> 5 & 0x7ffff) << 2 | (page >> 29 & 3);
	if (distance & 1u << 20)
		distance -= 1u << 21;
	return ((c->start + at - 2 * INSN) & ~0xfffull) + (distance << 12) + (add >> 10 & 0xfff);
}

/* Returns the target of the call at an offset; 0: no call, or an unknown target. */
static uint64_t call_target(const struct hs_code *c, uint32_t at)
{
	uint32_t insn = insn_at(c, at);
	uint64_t distance = insn & 0x3ffffff;

	if (IS_BLR(insn))
		return (insn >> 5 & 0x1f) == 8 ? far_target(c, at) : 0;
	if (!IS_BL(insn))
		return 0;
	if (distance & 1u << 25)
		distance -= 1u << 26;
	return c->start + at + (distance << 2);
}

uint32_t hs_scan_calls(const struct hs_code *c, const struct snap_region *region,
		       uint32_t region_count, uint64_t low, uint64_t high, uint32_t *ret,
		       uint32_t cap)
{
	uint32_t n = 0, r = 0;

	for (uint32_t i = 0; i < c->size && n < cap; i += INSN) {
		uint64_t target = call_target(c, i);

		if (target == 0 || target < low || target >= high)
			continue;
		while (r < region_count && region[r].end < i + INSN)
			r++;
		if (r < region_count && region[r].end == i + INSN)
			continue;
		ret[n++] = i + INSN;
	}
	return n;
}

uint32_t hs_scan_jump(const struct hs_code *c, uint32_t at)
{
	uint32_t insn = insn_at(c, at);
	int64_t to = at + (int64_t)((int32_t)(insn << 6) >> 6) * INSN;

	return IS_B(insn) && to >= 0 && to < c->size ? (uint32_t)to : SNAP_NONE;
}

/* Returns by how many bytes a store or load of one or two registers moves the stack pointer: less
 * than 0 for `stp …, [sp, #-n]!`, more for `ldp …, [sp], #n`, 0 for other instructions. */
static int32_t moves_sp(uint32_t insn)
{
	uint32_t pair = insn & 0x3bc003e0, one = insn & 0x3b200fe0;
	bool vector = insn & 1u << 26;
	int32_t n;

	if (pair == 0x298003e0 || pair == 0x28c003e0) {
		n = (int32_t)(insn << 10) >> 25;
		n *= vector ? 4 << (insn >> 30) : 8;
		return (n < 0) == (pair == 0x298003e0) ? n : 0;
	}
	if (one != 0x38000fe0 && one != 0x380007e0)
		return 0;
	n = (int32_t)(insn << 11) >> 23;
	return (n < 0) == (one == 0x38000fe0) ? n : 0;
}

#define IS_PUSH_OF_TWO(insn) (((insn)&0xffff83e0) == 0xa9bf03e0) /* stp x, x, [sp, #-16]! */
#define IS_POP_OF_ONE(insn)  (((insn)&0xffffffe0) == 0xf84107e0) /* ldr x, [sp], #16 */

/* True for C1's call of slow_subtype_check, between these (c1_LIRAssembler_aarch64.cpp
 * emit_typecheck_helper, JDK 8 to 27). */
static bool is_subtype_check(const struct hs_code *c, const struct snap_spill *s)
{
	return s->end - s->begin <= 4 * INSN && IS_PUSH_OF_TWO(insn_at(c, s->begin - INSN)) &&
	       IS_POP_OF_ONE(insn_at(c, s->end - INSN)) &&
	       hs_scan_is_after_call(c->bytes, s->end - INSN);
}

/* Matches that, and a slow path of a GC barrier in C2's code: pushes of registers, a call, pops,
 * and a branch back (SaveLiveRegisters of gc/shared/barrierSetAssembler_aarch64.cpp;
 * ZSaveLiveRegisters of gc/z up to JDK 21). Where it is pushing or popping the sizes are not told.
 */
static bool spill_at(const struct hs_code *c, uint32_t at, struct snap_spill *ret)
{
	int32_t depth = 0;

	*ret = (struct snap_spill){0};
	for (uint32_t i = at; i < c->size && i - at < SPILL_CODE_MAX; i += INSN) {
		int32_t n = moves_sp(insn_at(c, i));

		depth -= n;
		if (n > 0 && !ret->end)
			ret->end = i + INSN;
		if (n < 0 && !ret->end) {
			ret->begin = i + INSN;
			ret->bytes = (uint32_t)depth;
		}
		if (depth <= 0 || (n < 0 && ret->end))
			return n > 0 && depth == 0 &&
			       (IS_B(insn_at(c, i + INSN)) || is_subtype_check(c, ret));
	}
	return false;
}

uint32_t hs_scan_spills(const struct hs_code *c, struct snap_spill *ret, uint32_t cap)
{
	uint32_t n = 0, at = c->frame_complete;

	while (at < c->size && n < cap)
		if (moves_sp(insn_at(c, at)) < 0 && spill_at(c, at, &ret[n]))
			at = ret[n++].end;
		else
			at += INSN;
	return n;
}

uint32_t hs_scan_method_jump(const struct hs_code *c, uint32_t at)
{
	/* ldr x8, [x12, n]; br x8 */
	return (insn_at(c, at) & 0xffc003ff) == 0xf9400188 && insn_at(c, at + INSN) == 0xd61f0100
		       ? 2 * INSN
		       : 0;
}

bool hs_scan_is_after_call(const uint8_t *code, uint32_t end)
{
	uint32_t insn;

	if (end < INSN)
		return false;
	__builtin_memcpy(&insn, code + end - INSN, INSN);
	return IS_BL(insn) || IS_BLR(insn);
}
