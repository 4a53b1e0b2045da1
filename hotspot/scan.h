/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine code of a compiled method says about its frame: where the prologue makes it,
 * where it is taken down, what it calls. Only sequences that HotSpot's assembler emits for this
 * machine are taken (hs_scan_x86.c, hs_scan_arm64.c), and only with the very frame size that the
 * method has, so that data between code passes for none. */
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
	bool leaves;		 /* it may end with `leave`: native wrappers, runtime stubs */
};

struct hs_prologue {
	uint32_t push_end, sub_end; /* as in snap_code */
};

/* `from`: the offset of the entry. */
void hs_scan_prologue(const struct hs_code *code, uint32_t from, struct hs_prologue *ret);

/* Returns how many, at most cap. */
uint32_t hs_scan_exits(const struct hs_code *code, struct snap_exit *ret, uint32_t cap);

/* Offsets behind calls to what lies in low to high, and where no region ends. */
uint32_t hs_scan_calls(const struct hs_code *code, const struct snap_region *region,
		       uint32_t region_count, uint64_t low, uint64_t high, uint32_t *ret,
		       uint32_t cap);

/* Whether a call ends in front of code[end]. */
bool hs_scan_is_behind_call(const uint8_t *code, uint32_t end);

#endif
