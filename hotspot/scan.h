/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the frame operations of a compiled method in its machine code: prologue, exits, calls. Only
 * sequences that HotSpot's assembler emits for this machine count (scan_x86.c, scan_arm64.c), and
 * only with the frame size of the method, so that data between code does not match. */
#ifndef HS_SCAN_H
#define HS_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dfg/snapshot.h"

struct hs_code {
	const uint8_t *bytes;
	uint32_t size;
	uint64_t start;		 /* address of bytes[0] in the target */
	uint32_t frame_size;	 /* bytes, as in snap_code */
	uint32_t frame_complete; /* SNAP_NONE: never */
	bool leaves;		 /* may use `leave`: native wrappers, runtime stubs */
};

struct hs_prologue {
	uint32_t push_end, sub_end; /* as in snap_code */
};

/* `from`: the offset of the entry. */
void hs_scan_prologue(const struct hs_code *code, uint32_t from, struct hs_prologue *ret);

/* Returns the number of exits found, at most cap. */
uint32_t hs_scan_exits(const struct hs_code *code, struct snap_exit *ret, uint32_t cap);

/* Adds an exit to n others, which ascend. Returns how many there are. */
static inline uint32_t hs_exit_add(struct snap_exit *list, uint32_t n, struct snap_exit exit)
{
	uint32_t at = n;

	for (; at && list[at - 1].end > exit.end; at--)
		list[at] = list[at - 1];
	list[at] = exit;
	return n + 1;
}

/* Returns the number of places found where the frame is larger for a while, at most cap: slow paths
 * of GC barriers that save registers, C1's calls of slow_subtype_check. */
uint32_t hs_scan_spills(const struct hs_code *code, struct snap_spill *ret, uint32_t cap);

/* Finds the offsets after calls to targets in [low, high) at which no region ends. */
uint32_t hs_scan_calls(const struct hs_code *code, const struct snap_region *region,
		       uint32_t region_count, uint64_t low, uint64_t high, uint32_t *ret,
		       uint32_t cap);

/* Returns where the code goes on after an unconditional jump at an offset; SNAP_NONE: elsewhere, or
 * there is none. */
uint32_t hs_scan_jump(const struct hs_code *code, uint32_t at);

/* Returns the length of a jump to a method's compiled entry, as a vtable or itable stub has it for
 * the method it has found. 0: none at this offset. */
uint32_t hs_scan_method_jump(const struct hs_code *code, uint32_t at);

/* An upper bound for the far jump that follows it in an itable stub. */
#if defined(__aarch64__)
#define HS_FAR_JUMP 12u
#else
#define HS_FAR_JUMP 5u
#endif

/* True if a call ends right before code[end]. */
bool hs_scan_is_after_call(const uint8_t *code, uint32_t end);

#endif
