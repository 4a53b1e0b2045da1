/* SPDX-License-Identifier: Apache-2.0 */
/* DWARF expressions of call frame information: arithmetic over the registers of a frame and the
 * copied stack (DWARF 5, 2.5). There are no branches, so that an evaluation ends with its text. */
#ifndef DFG_UNWIND_CFIEXPR_H
#define DFG_UNWIND_CFIEXPR_H

#include <elfutils/libdw.h>

#include "unwind/stack_copy.h"
#include "unwind/unwind_regs.h"

#define CFIEXPR_OPS   32 /* operations of one expression */
#define CFIEXPR_DEPTH 16 /* values on its stack */

struct cfiexpr_op {
	uint8_t atom; /* DW_OP_*; those that only differ by a number become one of their group */
	uint8_t reg;  /* DW_OP_bregx */
	int64_t n;
};

struct cfiexpr {
	uint8_t count;
	struct cfiexpr_op ops[CFIEXPR_OPS];
};

/* False when the expression is too long, or has an operation that is not among those. The result
 * is all zero bytes where nothing is said, so that equal expressions are equal in memory. */
bool cfiexpr_read(const Dwarf_Op *ops, size_t n, struct cfiexpr *ret);

/* cfa: for DW_OP_call_frame_cfa. False when it reads an unknown register or memory outside of the
 * stack copy, or takes from its empty stack. */
bool cfiexpr_eval(const struct cfiexpr *e, const struct unwind_regs *regs,
		  const struct stack_copy *stack, uint64_t cfa, uint64_t *ret);

#endif
