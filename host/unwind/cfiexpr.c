// SPDX-License-Identifier: Apache-2.0
#include "unwind/cfiexpr.h"

#include <dwarf.h>

static bool read_op(const Dwarf_Op *op, struct cfiexpr_op *ret)
{
	*ret = (struct cfiexpr_op){.atom = op->atom, .n = (int64_t)op->number};
	switch (op->atom) {
	case DW_OP_lit0 ... DW_OP_lit31:
		ret->n = op->atom - DW_OP_lit0;
		ret->atom = DW_OP_constu;
		return true;
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		ret->atom = DW_OP_constu;
		return true;
	case DW_OP_breg0 ... DW_OP_breg31:
		ret->reg = (uint8_t)(op->atom - DW_OP_breg0);
		ret->atom = DW_OP_bregx;
		return ret->reg < UNWIND_REGS;
	case DW_OP_bregx:
		ret->reg = (uint8_t)op->number;
		ret->n = (int64_t)op->number2;
		return op->number < UNWIND_REGS;
	case DW_OP_plus_uconst:
	case DW_OP_call_frame_cfa:
	case DW_OP_deref:
	case DW_OP_dup:
	case DW_OP_drop:
	case DW_OP_over:
	case DW_OP_swap:
	case DW_OP_and:
	case DW_OP_or:
	case DW_OP_xor:
	case DW_OP_plus:
	case DW_OP_minus:
	case DW_OP_mul:
	case DW_OP_shl:
	case DW_OP_shr:
	case DW_OP_shra:
	case DW_OP_eq:
	case DW_OP_ne:
	case DW_OP_ge:
	case DW_OP_gt:
	case DW_OP_le:
	case DW_OP_lt:
	case DW_OP_not:
	case DW_OP_neg:
	case DW_OP_nop:
		return true;
	default:
		return false;
	}
}

bool cfiexpr_read(const Dwarf_Op *ops, size_t n, struct cfiexpr *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (n > CFIEXPR_OPS)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!read_op(&ops[i], &ret->ops[i]))
			return false;
	ret->count = (uint8_t)n;
	return true;
}

struct machine {
	const struct unwind_regs *regs;
	const struct stack_copy *stack;
	uint64_t cfa;
	uint64_t v[CFIEXPR_DEPTH];
	unsigned depth;
};

static bool push(struct machine *m, uint64_t v)
{
	if (m->depth == CFIEXPR_DEPTH)
		return false;
	m->v[m->depth++] = v;
	return true;
}

static uint64_t shift(uint8_t atom, uint64_t a, uint64_t n)
{
	bool negative = atom == DW_OP_shra && a >> 63;

	if (n > 63)
		return negative ? UINT64_MAX : 0;
	if (atom == DW_OP_shl)
		return a << n;
	return a >> n | (negative && n ? ~(UINT64_MAX >> n) : 0);
}

/* The operations that make one value of two; comparisons are signed (DWARF 5, 2.5.1.5). */
static uint64_t combine(uint8_t atom, uint64_t a, uint64_t b)
{
	switch (atom) {
	case DW_OP_and:
		return a & b;
	case DW_OP_or:
		return a | b;
	case DW_OP_xor:
		return a ^ b;
	case DW_OP_plus:
		return a + b;
	case DW_OP_minus:
		return a - b;
	case DW_OP_mul:
		return a * b;
	case DW_OP_eq:
		return a == b;
	case DW_OP_ne:
		return a != b;
	case DW_OP_ge:
		return (int64_t)a >= (int64_t)b;
	case DW_OP_gt:
		return (int64_t)a > (int64_t)b;
	case DW_OP_le:
		return (int64_t)a <= (int64_t)b;
	case DW_OP_lt:
		return (int64_t)a < (int64_t)b;
	default:
		return shift(atom, a, b);
	}
}

/* Operations upon the topmost value; there is one. */
static bool change_top(struct machine *m, const struct cfiexpr_op *op)
{
	uint64_t *top = &m->v[m->depth - 1];

	switch (op->atom) {
	case DW_OP_plus_uconst:
		*top += (uint64_t)op->n;
		return true;
	case DW_OP_deref:
		return stack_read(m->stack, *top, top);
	case DW_OP_not:
		*top = ~*top;
		return true;
	case DW_OP_neg:
		*top = 0 - *top;
		return true;
	case DW_OP_dup:
		return push(m, *top);
	case DW_OP_drop:
		m->depth--;
		return true;
	default:
		return false;
	}
}

/* Operations upon the two topmost values; there are two. */
static bool change_two(struct machine *m, const struct cfiexpr_op *op)
{
	uint64_t *a = &m->v[m->depth - 2], *b = a + 1, t = *a;

	if (op->atom == DW_OP_over)
		return push(m, *a);
	if (op->atom == DW_OP_swap) {
		*a = *b;
		*b = t;
		return true;
	}
	*a = combine(op->atom, *a, *b);
	m->depth--;
	return true;
}

static bool run(struct machine *m, const struct cfiexpr_op *op)
{
	switch (op->atom) {
	case DW_OP_nop:
		return true;
	case DW_OP_constu:
		return push(m, (uint64_t)op->n);
	case DW_OP_call_frame_cfa:
		return push(m, m->cfa);
	case DW_OP_bregx:
		return unwind_known(m->regs, op->reg) &&
		       push(m, m->regs->reg[op->reg] + (uint64_t)op->n);
	case DW_OP_plus_uconst:
	case DW_OP_deref:
	case DW_OP_not:
	case DW_OP_neg:
	case DW_OP_dup:
	case DW_OP_drop:
		return m->depth >= 1 && change_top(m, op);
	default:
		return m->depth >= 2 && change_two(m, op);
	}
}

bool cfiexpr_eval(const struct cfiexpr *e, const struct unwind_regs *regs,
		  const struct stack_copy *stack, uint64_t cfa, uint64_t *ret)
{
	struct machine m = {.regs = regs, .stack = stack, .cfa = cfa};

	for (unsigned i = 0; i < e->count; i++)
		if (!run(&m, &e->ops[i]))
			return false;
	if (!m.depth)
		return false;
	*ret = m.v[m.depth - 1];
	return true;
}
