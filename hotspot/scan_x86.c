// SPDX-License-Identifier: Apache-2.0
/* Byte sequences of HotSpot's x86-64 assembler (C1 and C2, JDK 8 to 25: c1_MacroAssembler_x86.cpp,
 * macroAssembler_x86.cpp verified_entry, x86_64.ad MachEpilogNode). */
#include "hotspot/scan.h"

/* A prologue is at most a stack bang, a check of the class's state, and the frame. */
#define PROLOGUE_MAX 256u
/* From `pop rbp` to the end of the return: reserved stack check with its slow path, poll, return.
 */
#define EXIT_MAX 128u
/* All registers, of AVX-512, too, and the code that saves and restores them. */
#define SPILL_MAX      4096u
#define SPILL_CODE_MAX 2048u
#define PUSH	       0x50 /* and the register */
#define POP	       0x58
#define PUSH_BP	       0x55
#define PUSH_DX	       0x52
#define POP_CX	       0x59
#define POP_DX	       0x5a
#define POP_BP	       0x5d
#define LEAVE	       0xc9
#define CALL	       0xe8
#define JUMP	       0xe9
#define JUMP_SHORT     0xeb
#define REX_W	       0x48
#define REX_B	       0x41
#define MOV_R10	       0xba /* after 0x49 */

/* Returns the bytes at an offset, NULL if there are fewer than len. */
static const uint8_t *bytes_at(const struct hs_code *c, uint32_t at, uint32_t len)
{
	return at <= c->size && len <= c->size - at ? c->bytes + at : NULL;
}

/* Returns the length of `add rsp, n` (c4) or `sub rsp, n` (ec) at an offset, 0: none. */
static uint32_t any_adjust_at(const struct hs_code *c, uint32_t at, uint8_t modrm, uint32_t *ret_n)
{
	const uint8_t *p = bytes_at(c, at, 4);

	if (!p || p[0] != 0x48 || p[2] != modrm)
		return 0;
	*ret_n = p[3];
	if (p[1] == 0x83)
		return *ret_n < 0x80 ? 4 : 0;
	if (p[1] != 0x81 || !bytes_at(c, at, 7))
		return 0;
	__builtin_memcpy(ret_n, p + 3, 4);
	return 7;
}

/* The same of one n; 0: another one. */
static uint32_t adjust_at(const struct hs_code *c, uint32_t at, uint8_t modrm, uint32_t n)
{
	uint32_t value, len = any_adjust_at(c, at, modrm, &value);

	return len && value == n ? len : 0;
}

/* Returns the length of `mov rbp, rsp`, in either encoding, or 0. */
static uint32_t move_bp_at(const struct hs_code *c, uint32_t at)
{
	const uint8_t *p = bytes_at(c, at, 3);

	return p && p[0] == 0x48 &&
			       ((p[1] == 0x8b && p[2] == 0xec) || (p[1] == 0x89 && p[2] == 0xe5))
		       ? 3
		       : 0;
}

/* Matches a prologue at an offset. */
static bool prologue_at(const struct hs_code *c, uint32_t from, struct hs_prologue *ret)
{
	uint32_t at = from + 1, len;

	if (c->bytes[from] == PUSH_BP) {
		at += move_bp_at(c, at);
		len = adjust_at(c, at, 0xec, c->frame_size - 16);
		if (len == 0 && c->frame_size > 16)
			return false;
		*ret = (struct hs_prologue){.push_end = from + 1, .sub_end = at + len};
		return true;
	}
	/* Without a bang C2 allocates the whole frame at once and stores rbp in it. ExceptionBlob
	 * pushes its return address first. */
	at = from + (c->leaves && c->bytes[from] == PUSH_DX);
	len = adjust_at(c, at, 0xec, c->frame_size - 8);
	*ret = (struct hs_prologue){.push_end = SNAP_NONE, .sub_end = at + len};
	return len > 0;
}

void hs_scan_prologue(const struct hs_code *c, uint32_t from, struct hs_prologue *ret)
{
	uint32_t end = c->frame_complete;

	if (end == SNAP_NONE && c->leaves) /* a stub starts with it */
		end = from + 1;
	*ret = (struct hs_prologue){.push_end = SNAP_NONE, .sub_end = SNAP_NONE};
	if (c->frame_size < 16 || end == SNAP_NONE || end > c->size || from >= end)
		return;
	if (end - from > PROLOGUE_MAX)
		from = end - PROLOGUE_MAX;
	for (uint32_t i = from; i < end; i++)
		if (prologue_at(c, i, ret))
			return;
	*ret = (struct hs_prologue){.push_end = SNAP_NONE, .sub_end = SNAP_NONE};
}

/* Instructions allowed between `pop rbp` and the return, by their first bytes. */
static const struct {
	uint8_t len, match, bytes[4];
} between[] = {
	{7, 3, {0x49, 0x3b, 0xa7}}, /* cmp rsp, [r15 + n]: the poll, 17 and later */
	{4, 3, {0x49, 0x3b, 0x67}}, /* the same with a short offset */
	{7, 3, {0x49, 0x39, 0xa7}}, /* cmp [r15 + n], rsp */
	{4, 3, {0x49, 0x39, 0x67}},
	{6, 2, {0x0f, 0x87}}, /* ja: to the poll's stub */
	{6, 2, {0x0f, 0x82}}, /* jb, jbe: there, and the reserved stack's check */
	{6, 2, {0x0f, 0x86}},
	{6, 2, {0x0f, 0x85}}, /* jne: to where the pending exception is thrown */
	{2, 1, {0x72}},	      /* the same four with short offsets */
	{2, 1, {0x75}},
	{2, 1, {0x76}},
	{2, 1, {0x77}},
	{6, 2, {0x85, 0x05}},	    /* test eax, [rip + n]: the poll, 8 */
	{10, 2, {0x49, 0xba}},	    /* mov r10, page: the poll of C1, 8 */
	{7, 3, {0x4d, 0x8b, 0x97}}, /* mov r10, [r15 + n]: the poll, 11 */
	{4, 3, {0x4d, 0x8b, 0x57}},
	{3, 3, {0x41, 0x85, 0x02}}, /* test [r10], eax */
	{8, 3, {0x49, 0x83, 0xbf}}, /* cmp [r15 + n], 0: the pending exception */
	{5, 3, {0x49, 0x83, 0x7f}},
	{11, 3, {0x49, 0x81, 0xbf}}, /* the same as JDK 17 writes it */
	{8, 3, {0x49, 0x81, 0x7f}},
	{3, 3, {0xc5, 0xf8, 0x77}}, /* vzeroupper */
};

static uint32_t between_at(const struct hs_code *c, uint32_t at)
{
	for (size_t i = 0; i < sizeof(between) / sizeof(*between); i++) {
		const uint8_t *p = bytes_at(c, at, between[i].len);

		if (p && __builtin_memcmp(p, between[i].bytes, between[i].match) == 0)
			return between[i].len;
	}
	return 0;
}

/* Returns the length of a return, of a tail jump, or of the `pop` that removes the return address
 * in a stub that jumps to an exception handler. */
static uint32_t return_at(const struct hs_code *c, uint32_t at)
{
	const uint8_t *p = bytes_at(c, at, 1);
	uint32_t len;

	if (!p)
		return 0;
	if (*p == 0xc3 || (c->leaves && (*p == POP_DX || *p == POP_CX)))
		return 1;
	if (*p == 0xc2)
		return bytes_at(c, at, 3) ? 3 : 0;
	if (*p == JUMP)
		return bytes_at(c, at, 5) ? 5 : 0;
	if (*p == JUMP_SHORT)
		return bytes_at(c, at, 2) ? 2 : 0;
	len = *p == 0x41 ? 1 : 0;
	p = bytes_at(c, at, len + 2);
	return p && p[len] == 0xff && (p[len + 1] & 0xf8) == 0xe0 ? len + 2 : 0;
}

/* Finds the first offset from `at` on with one of three bytes; the code's size: none. */
static uint32_t find(const struct hs_code *c, uint32_t at, uint8_t x, uint8_t y, uint8_t z)
{
	while (at < c->size && c->bytes[at] != x && c->bytes[at] != y && c->bytes[at] != z)
		at++;
	return at;
}

/* Returns the target of a forward `jb`, 0: it is none. */
static uint32_t below_at(const struct hs_code *c, uint32_t at)
{
	const uint8_t *p = bytes_at(c, at, 2);
	uint32_t distance;

	if (p && p[0] == 0x72 && p[1] < 0x80)
		return at + 2 + p[1];
	p = p && p[0] == 0x0f && p[1] == 0x82 ? bytes_at(c, at, 6) : NULL;
	if (!p)
		return 0;
	__builtin_memcpy(&distance, p + 2, 4);
	return distance < EXIT_MAX ? at + 6 + distance : 0;
}

/* Returns the offset after the return that follows, 0: none, so this is no exit. */
static uint32_t exit_end(const struct hs_code *c, uint32_t from, uint32_t *ret_return)
{
	uint32_t at = from, over = 0, len;

	while (at - from < EXIT_MAX) {
		*ret_return = at;
		len = return_at(c, at);
		if (len > 0)
			return at + len;
		if (below_at(c, at))
			over = below_at(c, at);
		len = between_at(c, at);
		/* `jb` skips the slow path of the reserved stack check (JEP 270). */
		if (len == 0 && over <= at)
			return 0;
		at = len ? at + len : over;
	}
	return 0;
}

/* True if an `add rsp` that removes the frame ends at an offset. */
static bool is_after_add(const struct hs_code *c, uint32_t at)
{
	uint32_t n = c->frame_size - 16;

	return (at >= 4 && adjust_at(c, at - 4, 0xc4, n) == 4) ||
	       (at >= 7 && adjust_at(c, at - 7, 0xc4, n) == 7);
}

/* Matches ExceptionBlob's `pop rdx` after an add of its whole frame. */
static bool pops_pc(const struct hs_code *c, uint32_t at)
{
	return c->leaves && c->bytes[at] == POP_DX && at >= 4 &&
	       adjust_at(c, at - 4, 0xc4, c->frame_size - 8) == 4;
}

/* Returns the target of a `ja`, 0: it is none. */
static uint32_t above_at(const struct hs_code *c, uint32_t at)
{
	const uint8_t *p = bytes_at(c, at, 6);
	uint32_t distance;

	if (!p || p[0] != 0x0f || p[1] != 0x87)
		return 0;
	__builtin_memcpy(&distance, p + 2, 4);
	return at + 6 + distance;
}

/* Matches the slow path of a return's poll: `mov r10, address; mov [r15 + n], r10`, and a jump
 * (C1SafepointPollStub, C2SafepointPollStub, JDK 16 and later). */
static bool poll_at(const struct hs_code *c, uint32_t at, struct snap_exit *ret)
{
	const uint8_t *p = at ? bytes_at(c, at, 13) : NULL;
	uint32_t jump;

	if (!p || p[0] != 0x49 || p[1] != MOV_R10 || p[10] != 0x4d || p[11] != 0x89 ||
	    (p[12] != 0x57 && p[12] != 0x97))
		return false;
	*ret = (struct snap_exit){.pop = at - 1,
				  .end = exit_end(c, at + (p[12] == 0x57 ? 14 : 17), &jump)};
	return ret->end > 0;
}

/* Adds an exit and the slow path of its poll; returns how many exits there are. */
static uint32_t add_exit(const struct hs_code *c, struct snap_exit exit, struct snap_exit *list,
			 uint32_t n, uint32_t cap)
{
	struct snap_exit poll;

	n = hs_exit_add(list, n, exit);
	for (uint32_t at = exit.pop; at < exit.end && n < cap; at++)
		if (poll_at(c, above_at(c, at), &poll))
			n = hs_exit_add(list, n, poll);
	return n;
}

/* Returns where the stack bangs begin that end at an offset. */
static uint32_t bangs_before(const struct hs_code *c, uint32_t end)
{
	while (end >= 7 && c->bytes[end - 7] == 0x89 && c->bytes[end - 6] == 0x84 &&
	       c->bytes[end - 5] == 0x24)
		end -= 7;
	return end;
}

/* Adds the places of C1's second prologue where the frame is not whole; returns how many exits
 * there are then. (c1_LIRAssembler_x86.cpp osr_entry, JDK 8 to 27.) */
static uint32_t add_entry(const struct hs_code *c, struct snap_exit *list, uint32_t n, uint32_t cap)
{
	struct hs_prologue p;
	uint32_t at = c->frame_complete;

	if (c->leaves || c->frame_size == 16)
		return n;
	for (; (at = find(c, at, PUSH_BP, PUSH_BP, PUSH_BP)) < c->size && n + 3 <= cap; at++) {
		if (!prologue_at(c, at, &p))
			continue;
		n = hs_exit_add(list, n, (struct snap_exit){bangs_before(c, at) - 1, p.push_end});
		n = hs_exit_add(list, n, (struct snap_exit){p.push_end, p.push_end + 1});
		at += 1 + move_bp_at(c, p.push_end);
		if (at > p.push_end)
			n = hs_exit_add(list, n, (struct snap_exit){at, at + 1});
	}
	return n;
}

uint32_t hs_scan_exits(const struct hs_code *c, struct snap_exit *ret, uint32_t cap)
{
	uint8_t other = c->leaves ? LEAVE : POP_BP, third = c->leaves ? POP_DX : POP_BP;
	bool bare = c->frame_size == 16;
	uint32_t n = 0, end, ret_at;

	if (c->frame_size < 16)
		return 0;
	for (uint32_t i = 0; (i = find(c, i, POP_BP, other, third)) < c->size && n < cap; i++) {
		uint8_t b = c->bytes[i];

		if (pops_pc(c, i)) {
			n = hs_exit_add(ret, n, (struct snap_exit){.pop = i, .end = i + 1});
			continue;
		}
		if (b == POP_DX || (b == POP_BP && !bare && !is_after_add(c, i)))
			continue;
		end = exit_end(c, i + 1, &ret_at);
		if (end == 0)
			continue;
		/* After `leave` only the return address is left. */
		ret_at = b == POP_BP ? i : ret_at;
		n = add_exit(c, (struct snap_exit){.pop = ret_at, .end = end}, ret, n, cap);
		i = end - 1;
	}
	return add_entry(c, ret, n, cap);
}

/* Returns the offset after a call, 0: none. `at` is the opcode of `call n`, or the second byte of
 * `mov r10, address; call r10`. */
static uint32_t call_end(const struct hs_code *c, uint32_t at, uint64_t *ret_target)
{
	const uint8_t *p = bytes_at(c, at, 5);
	int32_t distance;

	if (p && p[0] == CALL) {
		__builtin_memcpy(&distance, p + 1, 4);
		*ret_target = c->start + at + 5 + (uint64_t)(int64_t)distance;
		return at + 5;
	}
	p = at > 0 ? bytes_at(c, at - 1, 13) : NULL;
	if (!p || p[0] != 0x49 || p[1] != MOV_R10 || p[10] != 0x41 || p[11] != 0xff ||
	    p[12] != 0xd2)
		return 0;
	__builtin_memcpy(ret_target, p + 2, 8);
	return at + 12;
}

uint32_t hs_scan_calls(const struct hs_code *c, const struct snap_region *region,
		       uint32_t region_count, uint64_t low, uint64_t high, uint32_t *ret,
		       uint32_t cap)
{
	uint32_t n = 0, r = 0;

	for (uint32_t i = 0; (i = find(c, i, CALL, MOV_R10, CALL)) < c->size && n < cap; i++) {
		uint64_t target = 0;
		uint32_t end = call_end(c, i, &target);

		if (end == 0 || target < low || target >= high)
			continue;
		while (r < region_count && region[r].end < end)
			r++;
		if (r < region_count && region[r].end == end)
			continue;
		ret[n++] = end;
	}
	return n;
}

/* Matches a slow path of a GC barrier in C2's code: `sub rsp, n`, registers are stored, a call,
 * they are loaded, `add rsp, n`, and a jump back (SaveLiveRegisters of
 * gc/shared/barrierSetAssembler_x86.cpp; ZSaveLiveRegisters of gc/z up to JDK 21). String.indexOf's
 * intrinsic subtracts 16 and restores the stack pointer from a register: no other change of it is
 * between the two. */
static bool spill_at(const struct hs_code *c, uint32_t at, struct snap_spill *ret)
{
	uint32_t n, other, begin = at + any_adjust_at(c, at, 0xec, &n), end = begin, len = 0;

	if (begin == at || n == 0 || n % 16 || n > SPILL_MAX)
		return false;
	while (len == 0 && ++end < c->size && end - begin < SPILL_CODE_MAX &&
	       !any_adjust_at(c, end, 0xec, &other))
		len = any_adjust_at(c, end, 0xc4, &other);
	*ret = (struct snap_spill){.begin = begin, .end = end + len, .bytes = n};
	return len > 0 && other == n && bytes_at(c, end + len, 2) &&
	       (c->bytes[end + len] == JUMP || c->bytes[end + len] == JUMP_SHORT);
}

/* Returns the length of a push of a register that ends at an offset, 0: there is none. */
static uint32_t push_before(const struct hs_code *c, uint32_t end)
{
	const uint8_t *p = end >= 2 ? bytes_at(c, end - 2, 2) : NULL;

	if (!p || (p[1] & 0xf8) != PUSH)
		return 0;
	return p[0] == REX_B ? 2 : 1;
}

/* The same of a pop that begins there; *ret_r: its register. */
static uint32_t pop_at(const struct hs_code *c, uint32_t at, uint32_t *ret_r)
{
	const uint8_t *p = bytes_at(c, at, 2);
	const bool high = p && p[0] == REX_B;

	if (!p || (p[high] & 0xf8) != POP)
		return 0;
	*ret_r = p[high] - POP + 8u * high;
	return 1 + high;
}

/* Matches C1's call of slow_subtype_check: `push klass; push super; call; pop klass; pop klass`
 * (c1_LIRAssembler_x86.cpp emit_typecheck_helper, JDK 8 to 27). Stores the three sizes of the stack
 * that there are in turn. */
static bool subtype_check_at(const struct hs_code *c, uint32_t call, struct snap_spill ret[3])
{
	const uint32_t pushed = push_before(c, call), back = call + 5;
	uint32_t r = 0, other = 1, first = pop_at(c, back, &r);
	uint32_t second = first ? pop_at(c, back + first, &other) : 0;

	if (!pushed || !push_before(c, call - pushed) || !second || r != other)
		return false;
	ret[0] = (struct snap_spill){.begin = call - pushed, .end = call, .bytes = 8};
	ret[1] = (struct snap_spill){.begin = call, .end = back + first, .bytes = 16};
	ret[2] = (struct snap_spill){
		.begin = back + first, .end = back + first + second, .bytes = 8};
	return true;
}

uint32_t hs_scan_spills(const struct hs_code *c, struct snap_spill *ret, uint32_t cap)
{
	uint32_t n = 0, at = c->frame_complete;

	while ((at = find(c, at, REX_W, CALL, CALL)) < c->size && n < cap) {
		uint32_t found = 0;

		if (c->bytes[at] == REX_W)
			found = spill_at(c, at, &ret[n]);
		else if (n + 3 <= cap && subtype_check_at(c, at, &ret[n]))
			found = 3;
		n += found;
		at = found ? ret[n - 1].end : at + 1;
	}
	return n;
}

uint32_t hs_scan_jump(const struct hs_code *c, uint32_t at)
{
	const uint8_t *p = bytes_at(c, at, 2);
	int32_t distance;
	int64_t to;

	if (!p || (*p != JUMP && *p != JUMP_SHORT) || (*p == JUMP && !bytes_at(c, at, 5)))
		return SNAP_NONE;
	if (*p == JUMP)
		__builtin_memcpy(&distance, p + 1, 4);
	else
		distance = (int8_t)p[1];
	to = (int64_t)at + (*p == JUMP ? 5 : 2) + distance;
	return to >= 0 && to < c->size ? (uint32_t)to : SNAP_NONE;
}

uint32_t hs_scan_method_jump(const struct hs_code *c, uint32_t at)
{
	const uint8_t *p = bytes_at(c, at, 3); /* jmp [rbx + n] */

	return p && p[0] == 0xff && p[1] == 0x63 ? 3 : 0;
}

bool hs_scan_is_after_call(const uint8_t *code, uint32_t end)
{
	return (end >= 5 && code[end - 5] == CALL) ||
	       (end >= 2 && code[end - 2] == 0xff && code[end - 1] >> 3 == 0x1a);
}
