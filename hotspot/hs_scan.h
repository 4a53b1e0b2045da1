/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine code of a compiled method says about its frame: where the prologue's pushes are,
 * where the frame is taken down, what it calls. Only byte sequences that HotSpot's x86-64 assembler
 * emits are taken (C1 and C2, JDK 8 to 25: c1_MacroAssembler_x86.cpp, macroAssembler_x86.cpp
 * verified_entry, x86_64.ad MachEpilogNode), and only with the very frame size that the method has,
 * so that data between code passes for none. Other machines: nothing is found. */
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

#endif
