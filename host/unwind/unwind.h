/* SPDX-License-Identifier: Apache-2.0 */
/* From the registers and the stack copy of a sample to its frames, through compiled Java code
 * without frame pointers, interpreted Java code and native code. Pure: looks at what it is given.
 *
 * A return address that is found, not derived from call frame information, is believed only when
 * it is valid: the snapshot has a call that ends there, or it is in the interpreter, or it is the
 * call stub's. So a wrong frame ends the stack instead of making up the rest. */
#ifndef DFG_UNWIND_UNWIND_H
#define DFG_UNWIND_UNWIND_H

#include "jit/code_history.h"
#include "unwind/cfi.h"
#include "unwind/return_cache.h"

#define UNWIND_FRAMES_MAX 2048

enum unwind_kind {
	UNWOUND_NATIVE,
	UNWOUND_CODE,	     /* code of the snapshot that is not the interpreter */
	UNWOUND_INTERPRETED, /* a Java method in the interpreter */
	UNWOUND_FROZEN, /* mark: here, frames of a virtual thread are in the heap, not on the stack
			 */
	UNWOUND_STALE,	/* code of the JVM, but no snapshot tells which it was at the time */
	UNWOUND_ANY,	/* not of unwinding: an address of a chain, in whatever it is */
};

struct unwind_frame {
	uint64_t addr;	 /* to look up: of a caller, the last byte of its call */
	uint64_t method; /* INTERPRETED: id of the method, 0: not to be told */
	enum unwind_kind kind;
	const struct snapfile_code *code; /* CODE, INTERPRETED: what was there */
};

enum unwind_end {
	/* The thread's first function: of a virtual thread, its carrier's, or FROZEN if the
	 * carrier's frames behind it cannot be found. */
	STACK_ROOT,
	STACK_TRUNCATED, /* the end of the stack copy, or UNWIND_FRAMES_MAX */
	STACK_LOST,	 /* no rule fits */
};

/* Where addresses are. */
struct unwind_source {
	const struct snapfile *code; /* NULL: not a JVM, or no snapshot of it */
	struct snapfile_span span;   /* of the sample's time */
	struct returns *returns;     /* what was found out for this span; NULL without code */
	/* Whether executable memory is at the address. *ret_cfi is the mapped file's, NULL when
	 * there is none; *ret_offset the address's in the file. */
	bool (*native)(void *arg, uint64_t addr, struct cfi **ret_cfi, uint64_t *ret_offset);
	void *arg;
};

/* Frames, innermost first. `limited`: the stack went on behind the copy. The last frame of a stack
 * that is LOST is one that is really there. */
enum unwind_end unwind(const struct unwind_source *src, const struct unwind_regs *regs,
		       const struct stack_copy *stack, bool limited,
		       struct unwind_frame ret[UNWIND_FRAMES_MAX], size_t *ret_count);

#endif
