/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out call frame instructions (DWARF 5, section 6.4.2), for what a row of the flat tables
 * can say: where the cfa, the return address and the caller's frame pointer are. Bytes are a
 * container's. */
#ifndef DFG_BPF_FRAME_OPS_H
#define DFG_BPF_FRAME_OPS_H

#include "dfg/bytes.h"

#define FRAME_OPS_REMEMBERED 16u /* states that an instruction can return to */

/* Sums up what the instructions have said so far. */
struct frame_state {
	uint64_t cfa_reg; /* by DWARF's number */
	int64_t cfa;
	bool cfa_is_expr;
	enum { FP_UNCHANGED, FP_SAVED, FP_LOST } fp;
	int64_t fp_at; /* FP_SAVED: from the cfa */
	enum { RETURN_UNSAID, RETURN_SAVED, RETURN_NONE, RETURN_ELSEWHERE } ret;
	int64_t ret_at; /* RETURN_SAVED: from the cfa */
	bool sp_is_odd; /* the caller's stack pointer is not the cfa */
};

/* Instructions that are carried out one after the other. */
struct frame_ops {
	uint64_t code_align;
	int64_t data_align;
	struct frame_state first; /* which DW_CFA_restore goes back to */
	struct frame_state state, remembered[FRAME_OPS_REMEMBERED];
	unsigned depth;
	bool failed; /* an instruction is not known, or contradicts itself */
};

/* Carries out one instruction. Returns the bytes of code that it goes on by: then it has not
 * changed the state, which holds for them. */
uint64_t frame_op(struct frame_ops *f, struct bytes *b);

/* Numbers of .eh_frame. */
uint64_t frame_uleb(struct bytes *b);
int64_t frame_sleb(struct bytes *b);
uint64_t frame_address(struct bytes *b, uint8_t encoding); /* DW_EH_PE_*, but for its base */

#endif
