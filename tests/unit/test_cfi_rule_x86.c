// SPDX-License-Identifier: Apache-2.0
/* Call frame information written byte by byte: each operation of an expression, each kind of rule.
 */
#include "unwind/cfi_rule.h"

#include "lib/ehmake.h"
#include "lib/tap.h"

#define SP   0x10000u
#define CFA  (SP + 16) /* by EH_USUAL */
#define WORD 8u

/* Two fields of a table, two arguments. */
#define BYTES(...) {__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define PASS(...)  (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

/* Rules of rax, on which no other depends. */
#define VALUE_IS DW_CFA_val_expression, 0
#define VALUE_AT DW_CFA_expression, 0

static const uint64_t words[] = {11, 0x5555, 33, (uint64_t)-44, 55, 0, 77, 88};
static struct stack_copy stack = {.base = SP, .p = (const uint8_t *)words, .len = sizeof(words)};

/* A table with one function of ELFMAKE_FUNCTION bytes at ELFMAKE_CODE. */
struct frames {
	struct str file;
	Elf *elf;
	Dwarf_CFI *table;
	struct cfi_exprs exprs;
	uint8_t ra; /* the column of the return address; 0: the usual one */
	bool signal;
};

static void frames_make(struct frames *f, const uint8_t *rules, size_t len)
{
	const struct eh_function function = {.start = ELFMAKE_CODE, .rules = rules, .len = len};
	struct elfmake m;

	elfmake_start(&m);
	eh_add(&m, &function, 1, f->ra ? f->ra : UNWIND_RA, f->signal);
	elfmake_end(&m, &f->file);
	elf_version(EV_CURRENT);
	f->elf = elf_memory(f->file.buf, f->file.len);
	f->table = dwarf_getcfi_elf(f->elf);
	if (!f->table)
		abort();
}

static void frames_end(struct frames *f)
{
	dwarf_cfi_end(f->table);
	elf_end(f->elf);
	str_fini(&f->file);
	free(f->exprs.list);
	*f = (struct frames){0};
}

static struct unwind_regs usual_regs(void)
{
	struct unwind_regs r = {.exact = true};

	for (unsigned i = 0; i < UNWIND_REGS; i++)
		unwind_set(&r, i, 1000 + i);
	unwind_set(&r, UNWIND_SP, SP);
	r.known &= ~(1ull << 5); /* rdi */
	return r;
}

static uint64_t end; /* of the addresses of the rule read last */

static enum cfi_result apply(struct frames *f, struct unwind_regs *regs)
{
	struct cfi_rule rule;

	if (!cfirule_read(f->table, ELFMAKE_CODE, &f->exprs, &rule, &end))
		return CFI_NONE;
	return cfirule_apply(&rule, &f->exprs, regs, &stack);
}

/* One step by these rules, from the usual registers. */
static enum cfi_result step(const uint8_t *rules, size_t len, struct unwind_regs *ret)
{
	struct frames f = {0};
	enum cfi_result result;

	*ret = usual_regs();
	frames_make(&f, rules, len);
	result = apply(&f, ret);
	frames_end(&f);
	return result;
}

/* The usual rules and an expression that is rax's value, or where it is. */
static bool evaluate(uint8_t how, const uint8_t *expr, size_t len, uint64_t *ret)
{
	const uint8_t head[] = {EH_USUAL, how, 0, (uint8_t)len};
	uint8_t rules[sizeof(head) + 128];
	struct unwind_regs regs;

	memcpy(rules, head, sizeof(head));
	memcpy(rules + sizeof(head), expr, len);
	if (step(rules, sizeof(head) + len, &regs) != CFI_OK)
		abort();
	*ret = unwind_get(&regs, 0);
	return unwind_known(&regs, 0);
}

#define LIT(n)	 (DW_OP_lit0 + (n))
#define MINUS(n) LIT(n), DW_OP_neg

static void test_operations(void)
{
	static const struct {
		const char *name;
		uint8_t expr[16];
		size_t len;
		uint64_t want;
	} t[] = {
		{"the frame's address is on the stack first", BYTES(DW_OP_nop), CFA},
		{"lit0", BYTES(LIT(0)), 0},
		{"lit31", BYTES(LIT(31)), 31},
		{"const1u has no sign", BYTES(DW_OP_const1u, 0xfe), 0xfe},
		{"const1s has a sign", BYTES(DW_OP_const1s, 0xfe), (uint64_t)-2},
		{"const2u has no sign", BYTES(DW_OP_const2u, 0xfe, 0xff), 0xfffe},
		{"const2s has a sign", BYTES(DW_OP_const2s, 0xfe, 0xff), (uint64_t)-2},
		{"const4u has no sign", BYTES(DW_OP_const4u, 0xfe, 0xff, 0xff, 0xff), 0xfffffffe},
		{"const4s has a sign", BYTES(DW_OP_const4s, 0xfe, 0xff, 0xff, 0xff), (uint64_t)-2},
		{"const8u", BYTES(DW_OP_const8u, 1, 0, 0, 0, 0, 0, 0, 0x80), 0x8000000000000001},
		{"const8s", BYTES(DW_OP_const8s, 2, 0, 0, 0, 0, 0, 0, 0x80), 0x8000000000000002},
		{"constu", BYTES(DW_OP_constu, 0xac, 2), 300},
		{"consts", BYTES(DW_OP_consts, 0xd4, 0x7d), (uint64_t)-300},
		{"breg0 is rax", BYTES(DW_OP_breg0, 5), 1005},
		{"breg3 takes a negative offset", BYTES(DW_OP_breg3, 0x7f), 1002},
		{"breg16 is the pc", BYTES(DW_OP_breg16, 0), 1016},
		{"bregx", BYTES(DW_OP_bregx, 16, 1), 1017},
		{"plus_uconst", BYTES(LIT(3), DW_OP_plus_uconst, 4), 7},
		{"deref", BYTES(DW_OP_breg7, 16, DW_OP_deref), 33},
		{"not", BYTES(LIT(1), DW_OP_not), ~1ull},
		{"neg", BYTES(LIT(1), DW_OP_neg), UINT64_MAX},
		{"dup", BYTES(LIT(6), DW_OP_dup, DW_OP_plus), 12},
		{"drop", BYTES(LIT(6), LIT(7), DW_OP_drop), 6},
		{"over", BYTES(LIT(6), LIT(2), DW_OP_over, DW_OP_minus, DW_OP_minus), 10},
		{"swap", BYTES(LIT(6), LIT(2), DW_OP_swap, DW_OP_minus), (uint64_t)-4},
		{"over leaves what is below", BYTES(LIT(6), LIT(2), DW_OP_over, DW_OP_drop), 2},
		{"and", BYTES(LIT(12), LIT(10), DW_OP_and), 8},
		{"or", BYTES(LIT(12), LIT(10), DW_OP_or), 14},
		{"xor", BYTES(LIT(12), LIT(10), DW_OP_xor), 6},
		{"plus", BYTES(LIT(12), LIT(10), DW_OP_plus), 22},
		{"minus", BYTES(LIT(12), LIT(10), DW_OP_minus), 2},
		{"mul", BYTES(LIT(12), LIT(10), DW_OP_mul), 120},
		{"shl", BYTES(LIT(3), LIT(4), DW_OP_shl), 48},
		{"shl by 63", BYTES(LIT(3), DW_OP_const1u, 63, DW_OP_shl), 1ull << 63},
		{"shl by 64", BYTES(LIT(3), DW_OP_const1u, 64, DW_OP_shl), 0},
		{"shr", BYTES(LIT(31), LIT(2), DW_OP_shr), 7},
		{"shr has no sign", BYTES(MINUS(1), DW_OP_const1u, 63, DW_OP_shr), 1},
		{"shr by 64", BYTES(MINUS(1), DW_OP_const1u, 64, DW_OP_shr), 0},
		{"shra", BYTES(LIT(31), LIT(2), DW_OP_shra), 7},
		{"shra has a sign", BYTES(MINUS(31), LIT(2), DW_OP_shra), (uint64_t)-8},
		{"shra by nothing", BYTES(MINUS(31), LIT(0), DW_OP_shra), (uint64_t)-31},
		{"shra by 63", BYTES(MINUS(2), DW_OP_const1u, 63, DW_OP_shra), UINT64_MAX},
		{"shra by 64", BYTES(MINUS(2), DW_OP_const1u, 64, DW_OP_shra), UINT64_MAX},
		{"shra of a positive by 64", BYTES(LIT(2), DW_OP_const1u, 64, DW_OP_shra), 0},
		{"eq of equals", BYTES(LIT(2), LIT(2), DW_OP_eq), 1},
		{"eq of others", BYTES(LIT(2), LIT(3), DW_OP_eq), 0},
		{"ne of equals", BYTES(LIT(2), LIT(2), DW_OP_ne), 0},
		{"ne of others", BYTES(LIT(2), LIT(3), DW_OP_ne), 1},
		{"ge of equals", BYTES(LIT(2), LIT(2), DW_OP_ge), 1},
		{"ge of a negative", BYTES(MINUS(1), LIT(2), DW_OP_ge), 0},
		{"ge of a greater", BYTES(LIT(2), MINUS(1), DW_OP_ge), 1},
		{"gt of equals", BYTES(LIT(2), LIT(2), DW_OP_gt), 0},
		{"gt of a negative", BYTES(MINUS(1), LIT(2), DW_OP_gt), 0},
		{"gt of a greater", BYTES(LIT(2), MINUS(1), DW_OP_gt), 1},
		{"le of equals", BYTES(LIT(2), LIT(2), DW_OP_le), 1},
		{"le of a negative", BYTES(MINUS(1), LIT(2), DW_OP_le), 1},
		{"le of a greater", BYTES(LIT(2), MINUS(1), DW_OP_le), 0},
		{"lt of equals", BYTES(LIT(2), LIT(2), DW_OP_lt), 0},
		{"lt of a negative", BYTES(MINUS(1), LIT(2), DW_OP_lt), 1},
		{"lt of a greater", BYTES(LIT(2), MINUS(1), DW_OP_lt), 0},
		{"nop", BYTES(LIT(9), DW_OP_nop), 9},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		uint64_t got = 0;
		bool known = evaluate(DW_CFA_val_expression, t[i].expr, t[i].len, &got);

		ok(known && got == t[i].want, "an operation gives its value: %s (%#llx)", t[i].name,
		   (unsigned long long)got);
	}
}

static void test_no_value(void)
{
	static const struct {
		const char *name;
		uint8_t expr[16];
		size_t len;
	} t[] = {
		{"a register that is not known", BYTES(DW_OP_breg5, 0)},
		{"a register that there is not", BYTES(DW_OP_breg17, 0)},
		{"a register above all numbers", BYTES(DW_OP_bregx, 17, 0)},
		{"a register whose number's low byte is another's", BYTES(DW_OP_bregx, 0x80, 2, 0)},
		{"memory below the copy", BYTES(DW_OP_breg7, 0x7f, DW_OP_deref)},
		{"memory above the copy", BYTES(DW_OP_breg7, 0x39, DW_OP_deref)},
		{"a stack that is empty in the end", BYTES(DW_OP_drop)},
		{"drop of nothing", BYTES(DW_OP_drop, DW_OP_drop, LIT(1))},
		{"dup of nothing", BYTES(DW_OP_drop, DW_OP_dup)},
		{"not of nothing", BYTES(DW_OP_drop, DW_OP_not)},
		{"plus of one value", BYTES(DW_OP_plus)},
		{"over of one value", BYTES(DW_OP_over)},
		{"swap of one value", BYTES(DW_OP_swap)},
		{"div", BYTES(LIT(6), LIT(2), DW_OP_div)},
		{"abs", BYTES(LIT(6), DW_OP_abs)},
		{"pick", BYTES(DW_OP_pick, 0)},
		{"rot", BYTES(LIT(1), LIT(2), DW_OP_rot)},
		{"skip", BYTES(DW_OP_skip, 0, 0)},
		{"bra", BYTES(LIT(0), DW_OP_bra, 0, 0)},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		uint64_t got = 0;

		ok(!evaluate(DW_CFA_val_expression, t[i].expr, t[i].len, &got),
		   "an expression has no value: %s", t[i].name);
	}
}

/* The frame's address is one value and one operation, DW_OP_stack_value is no operation. */
static void test_limits(void)
{
	uint8_t expr[64];
	uint64_t got = 0;

	memset(expr, DW_OP_lit1, sizeof(expr));
	ok(evaluate(DW_CFA_val_expression, expr, 15, &got) && got == 1,
	   "an expression has up to 16 values on its stack");
	ok(!evaluate(DW_CFA_val_expression, expr, 16, &got), "17 values are too many");
	memset(expr, DW_OP_nop, sizeof(expr));
	ok(evaluate(DW_CFA_val_expression, expr, 31, &got) && got == CFA,
	   "an expression has up to 32 operations");
	ok(!evaluate(DW_CFA_val_expression, expr, 32, &got), "33 operations are too many");
}

static void test_values(void)
{
	static const struct {
		const char *name;
		uint8_t rules[16];
		size_t len;
		unsigned reg;
		bool known;
		uint64_t want;
	} t[] = {
		{"saved below the frame's address", BYTES(EH_USUAL, DW_CFA_offset | 3, 2), 3, true,
		 11},
		{"saved above it", BYTES(EH_USUAL, DW_CFA_offset_extended_sf, 3, 0x7f), 3, true,
		 (uint64_t)-44},
		{"saved above the copy", BYTES(EH_USUAL, DW_CFA_offset_extended_sf, 3, 0x70), 3,
		 false, 0},
		{"saved below the stack pointer: its value is back",
		 BYTES(EH_USUAL, DW_CFA_offset | 3, 3), 3, true, 1003},
		{"saved there, but not known", BYTES(EH_USUAL, DW_CFA_offset | 5, 3), 5, false, 0},
		{"an offset from the frame's address", BYTES(EH_USUAL, DW_CFA_val_offset, 3, 3), 3,
		 true, CFA - 24},
		{"an offset of nothing", BYTES(EH_USUAL, DW_CFA_val_offset, 3, 0), 3, true, CFA},
		{"in another register", BYTES(EH_USUAL, DW_CFA_register, 3, 1), 3, true, 1001},
		{"in a register that is not known", BYTES(EH_USUAL, DW_CFA_register, 3, 5), 3,
		 false, 0},
		{"in a register that there is not", BYTES(EH_USUAL, DW_CFA_register, 3, 17), 3,
		 false, 0},
		{"in memory that an expression finds",
		 BYTES(EH_USUAL, VALUE_AT, 2, DW_OP_breg7, 0x30), 0, true, 77},
		{"in memory next to the frame's address",
		 BYTES(EH_USUAL, VALUE_AT, 2, DW_OP_plus_uconst, 16), 0, true, 55},
		{"in memory at the frame's address", BYTES(EH_USUAL, VALUE_AT, 1, DW_OP_nop), 0,
		 true, 33},
		{"at an address that an expression lacks",
		 BYTES(EH_USUAL, VALUE_AT, 2, DW_OP_breg5, 0), 0, false, 0},
		{"the frame's address and a number",
		 BYTES(EH_USUAL, VALUE_IS, 2, DW_OP_plus_uconst, 16), 0, true, CFA + 16},
		{"the frame's address less a number",
		 BYTES(EH_USUAL, VALUE_IS, 3, LIT(1), DW_OP_neg, DW_OP_plus), 0, true, CFA - 1},
		{"a number that no offset of a rule holds",
		 BYTES(EH_USUAL, VALUE_IS, 6, DW_OP_plus_uconst, 0x80, 0x80, 0x80, 0x80, 8), 0,
		 true, CFA + (1ull << 31)},
		{"not changed", BYTES(EH_USUAL, DW_CFA_same_value, 3), 3, true, 1003},
		{"not changed where calls may change it", BYTES(EH_USUAL, DW_CFA_same_value, 0), 0,
		 false, 0},
		{"not said, of one that calls preserve", BYTES(EH_USUAL), 12, true, 1012},
		{"not said, of one that calls may change", BYTES(EH_USUAL), 1, false, 0},
		{"undefined", BYTES(EH_USUAL, DW_CFA_undefined, 3), 3, false, 0},
		{"the stack pointer is the frame's address", BYTES(EH_USUAL), UNWIND_SP, true, CFA},
		{"the stack pointer, where rules say another",
		 BYTES(EH_USUAL, DW_CFA_val_offset_sf, UNWIND_SP, 0x7f), UNWIND_SP, true, CFA + 8},
		{"the return address in a register", BYTES(EH_USUAL, DW_CFA_register, UNWIND_RA, 2),
		 UNWIND_PC, true, 1002},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct unwind_regs regs;
		enum cfi_result result = step(t[i].rules, t[i].len, &regs);

		ok(result == CFI_OK && unwind_known(&regs, t[i].reg) == t[i].known &&
			   unwind_get(&regs, t[i].reg) == t[i].want,
		   "a register's value in the caller: %s (%llu)", t[i].name,
		   (unsigned long long)unwind_get(&regs, t[i].reg));
	}
}

static void test_frame_address(void)
{
	static const struct {
		const char *name;
		uint8_t rules[16];
		size_t len;
		enum cfi_result want;
		uint64_t sp;
	} t[] = {
		{"another register",
		 BYTES(DW_CFA_def_cfa, UNWIND_SP, 32, DW_CFA_offset | UNWIND_RA, 1), CFI_OK,
		 SP + 32},
		{"a register that is not known",
		 BYTES(DW_CFA_def_cfa, 5, 16, DW_CFA_offset | UNWIND_RA, 1), CFI_BAD, 0},
		{"a register that there is not",
		 BYTES(DW_CFA_def_cfa, 17, 16, DW_CFA_offset | UNWIND_RA, 1), CFI_BAD, 0},
		{"an expression",
		 BYTES(DW_CFA_def_cfa_expression, 3, DW_OP_breg7, 8, DW_OP_nop,
		       DW_CFA_offset | UNWIND_RA, 0),
		 CFI_OK, SP + 8},
		{"an expression that has no value",
		 BYTES(DW_CFA_def_cfa_expression, 3, DW_OP_breg5, 8, DW_OP_nop,
		       DW_CFA_offset | UNWIND_RA, 0),
		 CFI_BAD, 0},
		{"an expression that is not known",
		 BYTES(DW_CFA_def_cfa_expression, 2, LIT(1), DW_OP_abs, DW_CFA_offset | UNWIND_RA,
		       1),
		 CFI_BAD, 0},
		{"an offset that no rule holds",
		 BYTES(DW_CFA_def_cfa, UNWIND_SP, 0x80, 0x80, 0x80, 0x80, 8, DW_CFA_register,
		       UNWIND_RA, 1),
		 CFI_OK, SP + (1ull << 31)},
		{"nothing", BYTES(DW_CFA_offset | UNWIND_RA, 1), CFI_BAD, 0},
		{"below the stack pointer",
		 BYTES(DW_CFA_def_cfa_sf, UNWIND_SP, 1, DW_CFA_register, UNWIND_RA, 1), CFI_BAD, 0},
		{"the stack pointer itself",
		 BYTES(DW_CFA_def_cfa, UNWIND_SP, 0, DW_CFA_register, UNWIND_RA, 1), CFI_BAD, 0},
		{"just above it",
		 BYTES(DW_CFA_def_cfa, UNWIND_SP, 1, DW_CFA_register, UNWIND_RA, 1), CFI_OK,
		 SP + 1},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct unwind_regs regs, before = usual_regs();
		enum cfi_result result = step(t[i].rules, t[i].len, &regs);

		is_int(result, t[i].want, "the frame's address is %s", t[i].name);
		if (result == CFI_OK)
			is_int(unwind_sp(&regs), t[i].sp, "the caller's stack pointer is it");
		else
			ok(memcmp(&regs, &before, sizeof(regs)) == 0, "registers are unchanged");
	}
}

static void test_return_address(void)
{
	static const struct {
		const char *name;
		uint8_t rules[16];
		size_t len;
		enum cfi_result want;
	} t[] = {
		{"on the stack", BYTES(EH_USUAL), CFI_OK},
		{"undefined", BYTES(EH_USUAL, DW_CFA_undefined, UNWIND_RA), CFI_END},
		{"zero", BYTES(DW_CFA_def_cfa, UNWIND_SP, 48, DW_CFA_offset | UNWIND_RA, 1),
		 CFI_END},
		{"above the copy",
		 BYTES(DW_CFA_def_cfa, UNWIND_SP, 72, DW_CFA_offset | UNWIND_RA, 1), CFI_BAD},
		{"partly above the copy",
		 BYTES(DW_CFA_def_cfa, UNWIND_SP, 65, DW_CFA_offset | UNWIND_RA, 1), CFI_BAD},
		{"not changed", BYTES(EH_USUAL, DW_CFA_same_value, UNWIND_RA), CFI_BAD},
		{"by an expression that is not known",
		 BYTES(EH_USUAL, DW_CFA_val_expression, UNWIND_RA, 2, LIT(1), DW_OP_abs), CFI_BAD},
		{"by an expression that has no value",
		 BYTES(EH_USUAL, DW_CFA_val_expression, UNWIND_RA, 1, DW_OP_drop), CFI_BAD},
		{"by an expression", BYTES(EH_USUAL, DW_CFA_val_expression, UNWIND_RA, 1, LIT(9)),
		 CFI_OK},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct unwind_regs regs, before = usual_regs();
		enum cfi_result result = step(t[i].rules, t[i].len, &regs);

		is_int(result, t[i].want, "the return address is %s", t[i].name);
		ok(result == CFI_OK ? !regs.exact : memcmp(&regs, &before, sizeof(regs)) == 0,
		   result == CFI_OK ? "the caller's pc is a return address"
				    : "registers are unchanged");
	}
}

static void test_column(void)
{
	struct frames f = {.ra = 15};
	struct unwind_regs regs = usual_regs();

	frames_make(&f, PASS(EH_USUAL, DW_CFA_offset | 15, 1));
	is_int(apply(&f, &regs), CFI_BAD, "a return address in another column gives no caller");
	frames_end(&f);
}

/* Another stack may be below, and all registers are as they were. */
static void test_signal(void)
{
	struct frames f = {.signal = true};
	struct unwind_regs regs = usual_regs();

	frames_make(&f, PASS(EH_USUAL, DW_CFA_val_offset, UNWIND_SP, 4, DW_CFA_same_value, 8));
	is_int(apply(&f, &regs), CFI_OK, "a signal's frame may have its caller's stack below it");
	is_int(unwind_sp(&regs), CFA - 32, "the stack pointer is what the rule says");
	ok(regs.exact, "the caller's pc is no return address");
	is_int(unwind_get(&regs, 8), 1008,
	       "a register that calls may change is kept where the rule says so");
	ok(!unwind_known(&regs, 2), "one that no rule speaks of is not known");
	frames_end(&f);
}

static void test_places(void)
{
	struct frames f = {0};
	struct cfi_rule first, last, other;

	frames_make(&f, PASS(EH_USUAL, DW_CFA_val_expression, 0, 1, LIT(9), DW_CFA_advance_loc | 8,
			     DW_CFA_def_cfa_offset, 24));
	ok(cfirule_read(f.table, ELFMAKE_CODE + 7, &f.exprs, &first, &end) &&
		   cfirule_read(f.table, ELFMAKE_CODE, &f.exprs, &other, &end) &&
		   memcmp(&first, &other, sizeof(first)) == 0,
	   "places with equal rules have rules of the same bytes");
	ok(cfirule_read(f.table, ELFMAKE_CODE + ELFMAKE_FUNCTION - 1, &f.exprs, &last, &end) &&
		   last.cfa == 24 && end == ELFMAKE_CODE + ELFMAKE_FUNCTION,
	   "the rule of the last byte is the last one");
	ok(memcmp(&first, &last, sizeof(first)) != 0, "other rules are other bytes");
	is_int(f.exprs.count, 1, "an expression is kept once");
	ok(!cfirule_read(f.table, ELFMAKE_CODE + ELFMAKE_FUNCTION, &f.exprs, &last, &end),
	   "after the function there is no rule");
	ok(!cfirule_read(f.table, ELFMAKE_CODE - 1, &f.exprs, &last, &end), "nor before it");
	frames_end(&f);
}

/* Sets rax to a number after one byte of code. */
static void add_expression(struct str *rules, unsigned n)
{
	const uint8_t expr[] = {DW_CFA_val_expression, 0,	   3,
				DW_OP_const2u,	       (uint8_t)n, (uint8_t)(n >> 8),
				DW_CFA_advance_loc | 1};

	str_add(rules, (const char *)expr, sizeof(expr));
}

/* A hostile file has as many expressions as it likes. */
static void test_many(void)
{
	static const uint8_t usual[] = {EH_USUAL};
	struct unwind_regs regs;
	struct cfi_rule rule;
	unsigned known = 0;

	for (unsigned at = 0, number = 0; at < 20; at++) {
		static struct cfi_exprs exprs;
		CLEANUP(str_fini) struct str rules = {0};
		struct frames f = {.exprs = exprs};

		str_add(&rules, (const char *)usual, sizeof(usual));
		for (unsigned i = 0; i < ELFMAKE_FUNCTION; i++)
			add_expression(&rules, number++);
		frames_make(&f, (const uint8_t *)rules.buf, rules.len);
		for (unsigned i = 0; i < ELFMAKE_FUNCTION; i++) {
			regs = usual_regs();
			if (!cfirule_read(f.table, ELFMAKE_CODE + i, &f.exprs, &rule, &end) ||
			    cfirule_apply(&rule, &f.exprs, &regs, &stack) != CFI_OK)
				abort();
			known += unwind_known(&regs, 0) &&
				 unwind_get(&regs, 0) == at * ELFMAKE_FUNCTION + i;
		}
		exprs = f.exprs;
		f.exprs = (struct cfi_exprs){0};
		if (at == 19)
			f.exprs = exprs;
		frames_end(&f);
	}
	is_int(known, 1024,
	       "of more than 1024 expressions the first are known, others are no value");
}

int main(void)
{
	test_operations();
	test_no_value();
	test_limits();
	test_values();
	test_frame_address();
	test_return_address();
	test_column();
	test_signal();
	test_places();
	test_many();
	return tap_done();
}
