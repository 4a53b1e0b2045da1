// SPDX-License-Identifier: Apache-2.0
#include "bpf/frame_ops.h"

#include <dwarf.h>

#include "unwind/unwind_regs.h"

/* DW_CFA_AARCH64_negate_ra_state (DWARF for the Arm 64-bit Architecture, 4.4): the return address
 * is signed, or no longer; UNWIND_ADDRESS takes that off. Not of other machines. */
#ifdef __aarch64__
#define SIGNS_RETURN 0x2d
#else
#define SIGNS_RETURN DW_CFA_nop
#endif

/* ---- numbers ------------------------------------------------------------------------------ */

uint64_t frame_uleb(struct bytes *b)
{
	uint64_t value = 0;
	uint8_t byte = 0x80;

	for (unsigned shift = 0; byte & 0x80 && shift < 64; shift += 7) {
		byte = bytes_u8(b);
		value |= (uint64_t)(byte & 0x7f) << shift;
	}
	return value;
}

int64_t frame_sleb(struct bytes *b)
{
	uint64_t value = 0;
	uint8_t byte = 0x80;
	unsigned shift = 0;

	for (; byte & 0x80 && shift < 64; shift += 7) {
		byte = bytes_u8(b);
		value |= (uint64_t)(byte & 0x7f) << shift;
	}
	if (byte & 0x40 && shift < 64)
		value |= ~0ull << shift;
	return (int64_t)value;
}

/* Reads a number of an address's size; an encoding of another size is bad. */
uint64_t frame_address(struct bytes *b, uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return bytes_u64(b);
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return bytes_u32(b);
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		return bytes_u16(b);
	default:
		b->bad = true;
		return 0;
	}
}

static int64_t times(int64_t a, int64_t b)
{
	int64_t product;

	return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* ---- instructions ------------------------------------------------------------------------- */

static void define_cfa(struct frame_state *s, uint64_t reg, int64_t offset)
{
	s->cfa_reg = reg;
	s->cfa = offset;
	s->cfa_is_expr = false;
}

static void save_at(struct frame_state *s, uint64_t reg, int64_t offset)
{
	if (reg == UNWIND_FP) {
		s->fp = FP_SAVED;
		s->fp_at = offset;
	} else if (reg == UNWIND_RA) {
		s->ret = RETURN_SAVED;
		s->ret_at = offset;
	} else if (reg == UNWIND_SP) {
		s->sp_is_odd = true;
	}
}

/* The register has a value that a row cannot say. */
static void lose(struct frame_state *s, uint64_t reg)
{
	if (reg == UNWIND_FP)
		s->fp = FP_LOST;
	else if (reg == UNWIND_RA)
		s->ret = RETURN_ELSEWHERE;
	else if (reg == UNWIND_SP)
		s->sp_is_odd = true;
}

static void restore(struct frame_state *s, const struct frame_state *first, uint64_t reg)
{
	if (reg == UNWIND_FP) {
		s->fp = first->fp;
		s->fp_at = first->fp_at;
	} else if (reg == UNWIND_RA) {
		s->ret = first->ret;
		s->ret_at = first->ret_at;
	} else if (reg == UNWIND_SP) {
		s->sp_is_odd = first->sp_is_odd;
	}
}

static void skip_block(struct bytes *b)
{
	bytes_take(b, frame_uleb(b));
}

/* Those that change the rule of one register. */
static void change_register(struct frame_ops *f, uint8_t op, struct bytes *b)
{
	uint64_t reg = frame_uleb(b);
	const int64_t align = f->data_align;
	struct frame_state *s = &f->state;

	switch (op) {
	case DW_CFA_offset_extended:
		save_at(s, reg, times((int64_t)frame_uleb(b), align));
		break;
	case DW_CFA_offset_extended_sf:
		save_at(s, reg, times(frame_sleb(b), align));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		save_at(s, reg, times((int64_t)frame_uleb(b), -align));
		break;
	case DW_CFA_restore_extended:
		restore(s, &f->first, reg);
		break;
	case DW_CFA_undefined:
		lose(s, reg);
		if (reg == UNWIND_RA)
			s->ret = RETURN_NONE;
		break;
	case DW_CFA_same_value:
		lose(s, reg);
		if (reg == UNWIND_FP)
			s->fp = FP_UNCHANGED;
		else if (reg == UNWIND_RA)
			s->ret = RETURN_UNSAID;
		break;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		lose(s, reg);
		skip_block(b);
		break;
	default: /* DW_CFA_register, DW_CFA_val_offset, DW_CFA_val_offset_sf */
		lose(s, reg);
		frame_uleb(b);
	}
}

/* Those that change the cfa. */
static void change_cfa(struct frame_state *s, uint8_t op, int64_t align, struct bytes *b)
{
	uint64_t reg = s->cfa_reg;

	if (op == DW_CFA_def_cfa || op == DW_CFA_def_cfa_sf || op == DW_CFA_def_cfa_register)
		reg = frame_uleb(b);
	if (op == DW_CFA_def_cfa_register)
		define_cfa(s, reg, s->cfa);
	else if (op == DW_CFA_def_cfa_sf || op == DW_CFA_def_cfa_offset_sf)
		define_cfa(s, reg, times(frame_sleb(b), align));
	else
		define_cfa(s, reg, (int64_t)frame_uleb(b));
}

static void remember(struct frame_ops *f)
{
	if (f->depth == FRAME_OPS_REMEMBERED)
		f->failed = true;
	else
		f->remembered[f->depth++] = f->state;
}

static void recall(struct frame_ops *f)
{
	if (!f->depth)
		f->failed = true;
	else
		f->state = f->remembered[--f->depth];
}

/* Carries out an instruction other than those that advance. */
static void carry_out(struct frame_ops *f, uint8_t op, struct bytes *b)
{
	struct frame_state *s = &f->state;

	if ((op & 0xc0) == DW_CFA_offset)
		save_at(s, op & 0x3f, times((int64_t)frame_uleb(b), f->data_align));
	else if ((op & 0xc0) == DW_CFA_restore)
		restore(s, &f->first, op & 0x3f);
	else if (op == DW_CFA_remember_state)
		remember(f);
	else if (op == DW_CFA_restore_state)
		recall(f);
	else if (op == DW_CFA_def_cfa_expression) {
		s->cfa_is_expr = true;
		skip_block(b);
	} else if (op == DW_CFA_GNU_args_size)
		frame_uleb(b);
	else if ((op >= DW_CFA_def_cfa && op <= DW_CFA_def_cfa_offset) || op == DW_CFA_def_cfa_sf ||
		 op == DW_CFA_def_cfa_offset_sf)
		change_cfa(s, op, f->data_align, b);
	else if ((op >= DW_CFA_offset_extended && op <= DW_CFA_register) ||
		 (op >= DW_CFA_expression && op <= DW_CFA_offset_extended_sf) ||
		 (op >= DW_CFA_val_offset && op <= DW_CFA_val_expression) ||
		 op == DW_CFA_GNU_negative_offset_extended)
		change_register(f, op, b);
	else if (op != DW_CFA_nop && op != SIGNS_RETURN)
		f->failed = true;
}

/* Bytes of code that an instruction goes on by; 0: it is another one. */
static uint64_t advance(const struct frame_ops *f, uint8_t op, struct bytes *b)
{
	uint64_t n = 0;

	if ((op & 0xc0) == DW_CFA_advance_loc)
		n = op & 0x3f;
	else if (op == DW_CFA_advance_loc1)
		n = bytes_u8(b);
	else if (op == DW_CFA_advance_loc2)
		n = bytes_u16(b);
	else if (op == DW_CFA_advance_loc4)
		n = bytes_u32(b);
	return n * f->code_align;
}

static bool advances(uint8_t op)
{
	return (op & 0xc0) == DW_CFA_advance_loc ||
	       (op >= DW_CFA_advance_loc1 && op <= DW_CFA_advance_loc4);
}

uint64_t frame_op(struct frame_ops *f, struct bytes *b)
{
	uint8_t op = bytes_u8(b);
	uint64_t n = 0;

	if (advances(op))
		n = advance(f, op, b);
	else
		carry_out(f, op, b);
	f->failed |= b->bad;
	return n;
}
