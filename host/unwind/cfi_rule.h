/* SPDX-License-Identifier: Apache-2.0 */
/* Rule that finds a frame's caller from one place in the code: its compact form, reading it from
 * libdw, applying it. */
#ifndef DFG_UNWIND_CFI_RULE_H
#define DFG_UNWIND_CFI_RULE_H

#include <elfutils/libdw.h>

#include "unwind/cfi.h"

/* Kinds of a caller's register value. */
enum cfi_how {
	CFI_AT = 0,  /* in memory at cfa + n */
	CFI_IS,	     /* cfa + n */
	CFI_COPY,    /* what register n is now */
	CFI_AT_EXPR, /* in memory at expression n */
	CFI_IS_EXPR, /* expression n */
};

struct cfi_where {
	uint32_t how; /* enum cfi_how */
	int32_t n;
};

/* All zero bytes where nothing is said, and without padding: equal rules are equal in memory. */
struct cfi_rule {
	uint8_t result; /* enum cfi_result; other than CFI_OK nothing else is said */
	uint8_t signal;
	uint8_t cfa_is_expr;
	uint8_t cfa_reg;
	int32_t cfa;   /* offset from cfa_reg, or number of the expression */
	uint64_t keep; /* registers that the frame left alone */
	uint64_t set;  /* registers that regs[] tells of; others are not known any more */
	struct cfi_where regs[UNWIND_REGS];
};

_Static_assert(sizeof(struct cfi_rule) == 24 + 8 * UNWIND_REGS, "compared as bytes");

/* The expressions of a file's rules, each once. Zero-initialised; released by the owner. */
struct cfi_exprs {
	struct cfiexpr *list;
	size_t count, cap;
};

/* The rule that one table has for an address (as linked), and where the addresses end that it holds
 * for. False: none. */
bool cfirule_read(Dwarf_CFI *table, uint64_t addr, struct cfi_exprs *exprs, struct cfi_rule *ret,
		  uint64_t *ret_end);

/* cfi_step, of a rule. */
enum cfi_result cfirule_apply(const struct cfi_rule *rule, const struct cfi_exprs *exprs,
			      struct unwind_regs *regs, struct stack_copy *stack);

#endif
