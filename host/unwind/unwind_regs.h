/* SPDX-License-Identifier: Apache-2.0 */
/* The registers of one frame, numbered as DWARF does, so that call frame information applies as it
 * is (System V psABI for x86-64, 3.6.2, figure 3.36; DWARF for the Arm 64-bit Architecture, 4.1).
 *
 * Another architecture brings its own block of the macros below and its own order of perf's
 * registers; users of this header name registers by UNWIND_PC, UNWIND_SP and UNWIND_FP only. */
#ifndef DFG_UNWIND_UNWIND_REGS_H
#define DFG_UNWIND_UNWIND_REGS_H

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
#define UNWIND_RA	    UNWIND_PC /* what call frame information has for the return address */
#define UNWIND_ADDRESS	    UINT64_MAX
#define UNWIND_PERFABI	    2		/* PERF_SAMPLE_REGS_ABI_64 */
#define UNWIND_PERFMASK	    0xff01ffull /* of perf's registers below, those that are recorded */
#define UNWIND_CALLEE_SAVED 0xf048u	/* rbx rbp r12-r15: what calls preserve, but sp */
/* By name, those that HotSpot's rules speak of. */
#define UNWIND_RAX 0
#define UNWIND_RDX 1
#define UNWIND_RCX 2
#define UNWIND_RBX 3
#define UNWIND_R8  8
#define UNWIND_R10 10
#define UNWIND_R13 13
/* DWARF number of each of perf's registers (enum perf_event_x86_regs, arch/x86/include/uapi/asm/
 * perf_regs.h: AX BX CX DX SI DI BP SP IP FLAGS CS SS DS ES FS GS R8-R15); -1: none. */
#define UNWIND_PERF_ORDER                                                                          \
	{                                                                                          \
		0, 3, 2, 1, 4, 5, 6, 7, 16, -1, -1, -1, -1, -1, -1, -1, 8, 9, 10, 11, 12, 13, 14,  \
			15                                                                         \
	}
#elif defined(__aarch64__)
#define UNWIND_REGS	    33 /* x0-x30 sp pc */
#define UNWIND_FP	    29
#define UNWIND_RA	    30
#define UNWIND_SP	    31
#define UNWIND_PC	    32
#define UNWIND_PERFABI	    2 /* PERF_SAMPLE_REGS_ABI_64 */
#define UNWIND_PERFMASK	    0x1ffffffffull
#define UNWIND_CALLEE_SAVED 0x7ff80000u /* x19-x30: a leaf leaves its return address in x30 */
/* enum perf_event_arm_regs, arch/arm64/include/uapi/asm/perf_regs.h: X0-X29 LR SP PC */
#define UNWIND_PERF_ORDER                                                                          \
	{                                                                                          \
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,  \
			23, 24, 25, 26, 27, 28, 29, 30, 31, 32                                     \
	}
/* A return address may be signed: in the bits that no address of a program has (48 of them are in
 * use, Documentation/arch/arm64/pointer-authentication.rst). */
#define UNWIND_ADDRESS 0x0000ffffffffffffull
#else
#error "no register numbers for this architecture"
#endif

#define UNWIND_ALL ((1ull << UNWIND_REGS) - 1)

struct unwind_regs {
	uint64_t reg[UNWIND_REGS];
	uint64_t known; /* bit per register; the others' values mean nothing */
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
	r->known |= 1ull << n;
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

/* True if a caller's stack pointer can be `sp`: calls grow the stack, but for a first frame without
 * any stack of its own, whose return address is in a register. */
static inline bool unwind_is_up(const struct unwind_regs *r, uint64_t sp)
{
	return sp > unwind_sp(r) || (sp == unwind_sp(r) && r->exact && UNWIND_RA != UNWIND_PC);
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

/* Recorded part of a thread's stack: the bytes from the stack pointer upwards. */
struct stack_copy {
	uint64_t base;	  /* address of p[0] in the thread */
	const uint8_t *p; /* borrowed, maybe not aligned; NULL when len is 0 */
	size_t len;
	/* Bytes from address `from` on that stack_read was to read since its caller set both. What
	 * is below counts as very far above. */
	uint64_t from, reach;
};

/* The 8 bytes at an address, which need not be aligned. False, and *ret untouched, unless all of
 * them were copied. */
static inline bool stack_read(struct stack_copy *s, uint64_t addr, uint64_t *ret)
{
	uint64_t at = addr - s->base; /* wraps to something large below the base */
	uint64_t reach;

	if (__builtin_add_overflow(addr - s->from, sizeof(*ret), &reach))
		reach = UINT64_MAX;
	s->reach = reach > s->reach ? reach : s->reach;
	if (s->len < sizeof(*ret) || at > s->len - sizeof(*ret))
		return false;
	memcpy(ret, s->p + at, sizeof(*ret));
	return true;
}

#define STACK_AHEAD 768u /* bytes: walking them takes about as long as reading memory */

/* Prefetches the copy from offset *done up to STACK_AHEAD bytes above addr; sets *done. A recording
 * is in no cache: without this, --replay takes 12 % more processor time. */
static inline void stack_prefetch(const struct stack_copy *s, uint64_t addr, uint64_t *done)
{
	uint64_t to = addr - s->base + STACK_AHEAD;

	for (to = to < s->len ? to : s->len; *done < to; *done += 64)
		__builtin_prefetch(s->p + *done);
}

#endif
