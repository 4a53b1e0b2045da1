/* SPDX-License-Identifier: Apache-2.0 */
/* The registers of one frame, numbered as DWARF does, so that call frame information applies as it
 * is (System V psABI for x86-64, 3.6.2, figure 3.36).
 *
 * Another architecture brings its own block of the macros below and its own order of perf's
 * registers; users of this header name registers by UNWIND_PC, UNWIND_SP and UNWIND_FP only. */
#ifndef DFG_UNWIND_REGS_H
#define DFG_UNWIND_REGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dfg/compiler.h"

#if defined(__x86_64__)
#define UNWIND_REGS	    17 /* rax rdx rcx rbx rsi rdi rbp rsp r8-r15 ra */
#define UNWIND_FP	    6
#define UNWIND_SP	    7
#define UNWIND_PC	    16
#define UNWIND_PERFABI	    2	    /* PERF_SAMPLE_REGS_ABI_64 */
#define UNWIND_CALLEE_SAVED 0xf048u /* rbx rbp r12-r15: what calls preserve, but sp */
/* DWARF number of each of perf's registers (enum perf_event_x86_regs, arch/x86/include/uapi/asm/
 * perf_regs.h: AX BX CX DX SI DI BP SP IP FLAGS CS SS DS ES FS GS R8-R15); -1: none. */
#define UNWIND_PERF_ORDER                                                                          \
	{                                                                                          \
		0, 3, 2, 1, 4, 5, 6, 7, 16, -1, -1, -1, -1, -1, -1, -1, 8, 9, 10, 11, 12, 13, 14,  \
			15                                                                         \
	}
#else
#error "no register numbers for this architecture"
#endif

struct unwind_regs {
	uint64_t reg[UNWIND_REGS];
	uint32_t known; /* bit per register; the others' values mean nothing */
	/* pc is the instruction the thread was at (a sample's own, or one that a signal broke in
	 * upon). Otherwise it is a return address, and what it belongs to is at pc - 1. */
	bool exact;
};

static inline bool unwind_known(const struct unwind_regs *r, unsigned n)
{
	return n < UNWIND_REGS && (r->known >> n & 1);
}

static inline void unwind_set(struct unwind_regs *r, unsigned n, uint64_t value)
{
	r->reg[n] = value;
	r->known |= 1u << n;
}

/* 0 where the register is not known. */
static inline uint64_t unwind_get(const struct unwind_regs *r, unsigned n)
{
	return unwind_known(r, n) ? r->reg[n] : 0;
}

static inline uint64_t unwind_pc(const struct unwind_regs *r)
{
	return unwind_get(r, UNWIND_PC);
}

static inline uint64_t unwind_sp(const struct unwind_regs *r)
{
	return unwind_get(r, UNWIND_SP);
}

static inline uint64_t unwind_fp(const struct unwind_regs *r)
{
	return unwind_get(r, UNWIND_FP);
}

/* From a sample: abi, mask and values as in struct perf_sample (one u64 for each bit of the mask,
 * in the order of the bits, maybe not aligned). False when the sample has no registers of this
 * architecture's 64-bit programs, or neither pc nor stack pointer can be told. */
static inline bool unwind_from_perf(struct unwind_regs *r, uint64_t abi, uint64_t mask,
				    const uint8_t *values)
{
	static const signed char order[] = UNWIND_PERF_ORDER;

	*r = (struct unwind_regs){.exact = true};
	if (abi != UNWIND_PERFABI || !values)
		return false;
	for (unsigned bit = 0; bit < ARRAY_LEN(order); bit++) {
		uint64_t v;

		if (!(mask >> bit & 1))
			continue;
		memcpy(&v, values, sizeof(v));
		values += sizeof(v);
		if (order[bit] >= 0)
			unwind_set(r, (unsigned)order[bit], v);
	}
	return unwind_known(r, UNWIND_PC) && unwind_known(r, UNWIND_SP);
}

#endif
