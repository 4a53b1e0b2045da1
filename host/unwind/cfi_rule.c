// SPDX-License-Identifier: Apache-2.0
#include "unwind/cfi_rule.h"

#include <dwarf.h>

#include "common/str.h"

/* ---- DWARF expressions (DWARF 5, 2.5), without branches: evaluation always ends ---- */

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

static bool cfiexpr_read(const Dwarf_Op *ops, size_t n, struct cfiexpr *ret)
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
	struct stack_copy *stack;
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

static bool cfiexpr_eval(const struct cfiexpr *e, const struct unwind_regs *regs,
			 struct stack_copy *stack, uint64_t cfa, uint64_t *ret)
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

/* ---- rules ---- */

#define EXPRS_MAX 1024

/* The expression's number, -1 when it cannot be had. */
static int32_t add_expr(struct cfi_exprs *exprs, const Dwarf_Op *ops, size_t n)
{
	struct cfiexpr e;

	if (!cfiexpr_read(ops, n, &e))
		return -1;
	for (size_t i = 0; i < exprs->count; i++)
		if (memcmp(&exprs->list[i], &e, sizeof(e)) == 0)
			return (int32_t)i;
	if (exprs->count == EXPRS_MAX)
		return -1;
	exprs->list = grow(exprs->list, exprs->count, &exprs->cap, sizeof(e));
	memcpy(&exprs->list[exprs->count], &e, sizeof(e));
	return (int32_t)exprs->count++;
}

static bool fits(int64_t n)
{
	return n >= INT32_MIN && n <= INT32_MAX;
}

static bool read_cfa(Dwarf_Frame *frame, struct cfi_exprs *exprs, struct cfi_rule *rule)
{
	Dwarf_Op *ops = NULL;
	struct cfiexpr e;
	size_t n = 0;

	if (dwarf_frame_cfa(frame, &ops, &n) != 0 || !n)
		return false;
	/* By far most: a register and an offset. */
	if (n == 1 && cfiexpr_read(ops, n, &e) && e.ops[0].atom == DW_OP_bregx &&
	    fits(e.ops[0].n)) {
		rule->cfa_reg = e.ops[0].reg;
		rule->cfa = (int32_t)e.ops[0].n;
		return true;
	}
	rule->cfa_is_expr = true;
	rule->cfa = add_expr(exprs, ops, n);
	return rule->cfa >= 0;
}

/* DW_OP_call_frame_cfa, alone or with an offset. */
static bool is_cfa_offset(const Dwarf_Op *ops, size_t n, int64_t *ret)
{
	*ret = n == 2 ? (int64_t)ops[1].number : 0;
	return n >= 1 && n <= 2 && ops[0].atom == DW_OP_call_frame_cfa &&
	       (n == 1 || ops[1].atom == DW_OP_plus_uconst) && fits(*ret);
}

/* Reads the number of a register that holds the value: DW_CFA_register, which libdw gives as
 * DW_OP_regx. */
static bool is_register(const Dwarf_Op *op, Dwarf_Word *ret)
{
	if (op->atom == DW_OP_regx)
		*ret = op->number;
	else if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		*ret = op->atom - DW_OP_reg0;
	else
		return false;
	return true;
}

/* A location description that dwarf_frame_register made; there is at least one operation. False
 * when it is of no use. */
static bool read_where(const Dwarf_Op *ops, size_t n, struct cfi_exprs *exprs,
		       struct cfi_where *ret)
{
	bool value = ops[n - 1].atom == DW_OP_stack_value;
	Dwarf_Word reg;
	int64_t offset;

	if (value)
		n--;
	if (is_cfa_offset(ops, n, &offset)) {
		ret->how = value ? CFI_IS : CFI_AT;
		ret->n = (int32_t)offset;
		return true;
	}
	if (n == 1 && !value && is_register(&ops[0], &reg)) {
		ret->how = CFI_COPY;
		ret->n = (int32_t)reg;
		return reg < UNWIND_REGS;
	}
	ret->how = value ? CFI_IS_EXPR : CFI_AT_EXPR;
	ret->n = add_expr(exprs, ops, n);
	return ret->n >= 0;
}

/* False when there is no caller to be found; the rule's result says why. */
static bool read_reg(Dwarf_Frame *frame, unsigned reg, struct cfi_exprs *exprs,
		     struct cfi_rule *rule)
{
	Dwarf_Op mem[3], *ops = NULL;
	struct cfi_where where = {0};
	size_t n = 0;
	bool good = dwarf_frame_register(frame, (int)reg, mem, &ops, &n) == 0;

	if (good && n && read_where(ops, n, exprs, &where)) {
		rule->regs[reg] = where;
		rule->set |= 1ull << reg;
	} else if (good && !n && !ops) {
		/* Rules rarely say so of a register that calls may change: then libdw assumes it.
		 */
		if (rule->signal || (uint64_t)UNWIND_CALLEE_SAVED >> reg & 1)
			rule->keep |= 1ull << reg;
	} else if (reg == UNWIND_RA) {
		rule->result = good && !n ? CFI_END : CFI_BAD;
		return false;
	}
	return true;
}

/* Makes the return address the caller's pc on machines that have a register for it. */
static void follow_link(struct cfi_rule *rule)
{
	if (rule->set >> UNWIND_RA & 1)
		rule->regs[UNWIND_PC] = rule->regs[UNWIND_RA];
	else if (rule->keep >> UNWIND_RA & 1)
		rule->regs[UNWIND_PC] = (struct cfi_where){.how = CFI_COPY, .n = UNWIND_RA};
	else
		return;
	rule->set |= 1ull << UNWIND_PC;
}

static void read_frame(Dwarf_Frame *frame, struct cfi_exprs *exprs, struct cfi_rule *rule,
		       Dwarf_Addr *ret_end)
{
	Dwarf_Addr start;
	bool signal = false;
	int ra = dwarf_frame_info(frame, &start, ret_end, &signal);

	rule->signal = signal;
	rule->result = CFI_BAD;
	if (ra != UNWIND_RA || !read_cfa(frame, exprs, rule))
		return;
	rule->result = CFI_OK;
	for (unsigned reg = 0; reg < UNWIND_REGS; reg++)
		if ((reg != UNWIND_PC || UNWIND_RA == UNWIND_PC) &&
		    !read_reg(frame, reg, exprs, rule))
			return;
	if (UNWIND_RA != UNWIND_PC)
		follow_link(rule);
	/* The stack pointer at the call is the frame's address, where nothing else is said. */
	if (!(rule->set >> UNWIND_SP & 1)) {
		rule->regs[UNWIND_SP] = (struct cfi_where){.how = CFI_IS};
		rule->set |= 1ull << UNWIND_SP;
		rule->keep &= ~(1ull << UNWIND_SP);
	}
	if (!(rule->set >> UNWIND_PC & 1))
		rule->result = CFI_BAD;
}

bool cfirule_read(Dwarf_CFI *table, uint64_t addr, struct cfi_exprs *exprs, struct cfi_rule *ret,
		  uint64_t *ret_end)
{
	CLEANUP(free) Dwarf_Frame *frame = NULL;
	Dwarf_Addr end = 0;

	memset(ret, 0, sizeof(*ret));
	if (dwarf_cfi_addrframe(table, addr, &frame) != 0)
		return false;
	read_frame(frame, exprs, ret, &end);
	*ret_end = end;
	return true;
}

static bool find_value(const struct cfi_where *w, const struct cfi_exprs *exprs, uint64_t cfa,
		       const struct unwind_regs *regs, struct stack_copy *stack, uint64_t *ret)
{
	uint64_t at;

	switch ((enum cfi_how)w->how) {
	case CFI_AT:
		return stack_read(stack, cfa + (uint64_t)(int64_t)w->n, ret);
	case CFI_IS:
		*ret = cfa + (uint64_t)(int64_t)w->n;
		return true;
	case CFI_COPY:
		*ret = regs->reg[w->n];
		return unwind_known(regs, (unsigned)w->n);
	case CFI_AT_EXPR:
		return cfiexpr_eval(&exprs->list[w->n], regs, stack, cfa, &at) &&
		       stack_read(stack, at, ret);
	case CFI_IS_EXPR:
		return cfiexpr_eval(&exprs->list[w->n], regs, stack, cfa, ret);
	}
	return false;
}

/* True if a register was saved at what is below the stack pointer now: it was popped and has its
 * value again. Compilers leave the rule unchanged until the return. */
static bool is_popped(const struct cfi_where *w, uint64_t cfa, const struct unwind_regs *regs)
{
	return w->how == CFI_AT && cfa + (uint64_t)(int64_t)w->n < unwind_sp(regs);
}

enum cfi_result cfirule_apply(const struct cfi_rule *rule, const struct cfi_exprs *exprs,
			      struct unwind_regs *regs, struct stack_copy *stack)
{
	struct unwind_regs up = *regs;
	uint64_t cfa;

	if (rule->result != CFI_OK)
		return (enum cfi_result)rule->result;
	if (rule->cfa_is_expr) {
		if (!cfiexpr_eval(&exprs->list[rule->cfa], regs, stack, 0, &cfa))
			return CFI_BAD;
	} else {
		if (!unwind_known(regs, rule->cfa_reg))
			return CFI_BAD;
		cfa = regs->reg[rule->cfa_reg] + (uint64_t)(int64_t)rule->cfa;
	}
	up.known &= rule->keep;
	for (uint64_t left = rule->set; left; left &= left - 1) {
		unsigned reg = (unsigned)__builtin_ctzll(left);
		unsigned now = reg == UNWIND_PC ? UNWIND_RA : reg;

		if (is_popped(&rule->regs[reg], cfa, regs)) {
			up.reg[reg] = regs->reg[now];
			up.known |= (regs->known >> now & 1) << reg;
		} else if (find_value(&rule->regs[reg], exprs, cfa, regs, stack, &up.reg[reg])) {
			up.known |= 1ull << reg;
		}
	}
	if (!unwind_known(&up, UNWIND_PC) || !unwind_known(&up, UNWIND_SP))
		return CFI_BAD;
	up.reg[UNWIND_PC] &= UNWIND_ADDRESS;
	if (!rule->signal && !unwind_is_up(regs, up.reg[UNWIND_SP]))
		return CFI_BAD;
	if (!up.reg[UNWIND_PC])
		return CFI_END;
	up.exact = rule->signal;
	*regs = up;
	return CFI_OK;
}
