/* SPDX-License-Identifier: Apache-2.0 */
/* Unwinds the registers and the stack copy of a sample to its frames, through compiled Java code
 * without frame pointers, interpreted Java code and native code. Pure: reads its arguments only.
 *
 * A return address that does not come from call frame information is believed only if it is valid:
 * the snapshot has a call that ends there, or it is in the interpreter, or it is the call stub's.
 * A wrong frame ends the stack instead of inventing the rest. */
#ifndef DFG_UNWIND_UNWIND_H
#define DFG_UNWIND_UNWIND_H

#include "jit/code_history.h"
#include "unwind/cfi.h"
#include "unwind/return_cache.h"
#include "unwind/unwind_regs.h"

#define UNWIND_FRAMES_MAX 2048

enum unwind_kind {
	UNWOUND_NATIVE,
	UNWOUND_CODE,	     /* code of the snapshot that is not the interpreter */
	UNWOUND_INTERPRETED, /* a Java method in the interpreter */
	UNWOUND_FROZEN,	     /* marker: frames of a virtual thread that are in the heap */
	UNWOUND_STALE,	     /* in the code cache, but no snapshot has its code at the time */
	UNWOUND_ANY,	     /* address of a perf chain, in any code; never made by unwind() */
};

struct unwind_frame {
	uint64_t addr;	 /* for lookups: of a caller, the last byte of its call */
	uint64_t method; /* INTERPRETED: id of the method, 0: ambiguous or unknown */
	const struct snapfile_code *code; /* CODE, INTERPRETED: the code at the address */
	/* Entry that led to the caller, or NULL: the frame's size is certain. The cache may have
	 * reused it since: then its addr - 1 or its code differs. */
	struct returns_answer *answer;
	/* From where its caller was found: stack and frame pointer; `plain`: by these alone.
	 * `pushes`: see struct stack_walk. */
	uint64_t sp, fp;
	enum unwind_kind kind;
	bool plain, pushes;
	/* Bytes of the stack from sp on that were read for it, if only to find that the copy lacks
	 * them; UINT16_MAX: others, too. */
	uint16_t reach;
};

/* The thread's previous stack, unwound to its ROOT by the same source: outermost frame first. */
struct unwind_past {
	const struct unwind_frame *frames;
	size_t count; /* 0: none */
	struct stack_copy stack;
};

enum unwind_end {
	/* The thread's first function: of a virtual thread, its carrier's, or FROZEN if the
	 * carrier's frames cannot be found. */
	STACK_ROOT,
	STACK_TRUNCATED, /* the end of the stack copy, or UNWIND_FRAMES_MAX */
	STACK_LOST,	 /* no rule fits */
};

/* Lookups by address. */
struct unwind_source {
	const struct snapfile *code; /* NULL: not a JVM, or no snapshot of it */
	struct snapfile_span span;   /* of the sample's time */
	struct returns *returns;     /* cache for this span; NULL without code */
	/* True if the address is executable. *ret_cfi: of the mapped file, NULL: none; *ret_offset:
	 * the offset in the file. */
	bool (*native)(void *arg, uint64_t addr, struct cfi **ret_cfi, uint64_t *ret_offset);
	void *arg;
};

/* Gives the frames, innermost first. `limited`: the stack goes on above the copy. The last frame of
 * a LOST stack is real, its caller is unknown. */
enum unwind_end unwind(const struct unwind_source *src, const struct unwind_regs *regs,
		       const struct stack_copy *stack, bool limited,
		       struct unwind_frame ret[UNWIND_FRAMES_MAX], size_t *ret_count);

/* The same, but only up to where the stack goes on as the past one did, whose *ret_same outermost
 * frames follow. Half of the places of a JVM's stacks are those of the thread's stack before: with
 * the names that struct returns_answer holds, --replay of 56 090 samples of 44 places
 * (bench/Load.java) takes 8 % less processor time. */
enum unwind_end unwind_after(const struct unwind_past *past, const struct unwind_source *src,
			     const struct unwind_regs *regs, const struct stack_copy *stack,
			     bool limited, struct unwind_frame ret[UNWIND_FRAMES_MAX],
			     size_t *ret_count, size_t *ret_same);

#endif
