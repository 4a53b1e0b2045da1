/* SPDX-License-Identifier: Apache-2.0 */
/* One step of unwinding through native code, by the call frame information (.eh_frame, else
 * .debug_frame) of the ELF file that holds the pc. elfutils' libdw reads a rule when a pc is first
 * seen; rules are cached by pc, so that a step takes some tens of nanoseconds from then on.
 *
 * The file may be hostile: no other file is opened, nothing is executed, memory is read from the
 * file, the stack copy and the registers only, and every evaluation is bounded. Reading stops after
 * some seconds for one file. libdw may request up to 2 GiB for a rule of a hostile file: the memory
 * limit of the jail (jail.h) prevents that, and the rule becomes CFI_NONE. */
#ifndef DFG_UNWIND_CFI_H
#define DFG_UNWIND_CFI_H

#include "common/err.h"
#include "unwind/unwind_regs.h"

struct cfi;

enum cfi_result {
	CFI_OK = 0,
	CFI_NONE, /* no rule for this pc */
	CFI_END,  /* the outermost frame: its return address is undefined (_start, clone) */
	CFI_BAD,  /* the rule needs missing memory or an unknown register, or gives no caller */
};

/* Maps an ELF file: fd stays the caller's and may be closed, the file must not shrink. Reads
 * headers only: a file without any rule opens, and every step is CFI_NONE. Fails if it is no ELF
 * file of this machine's class, byte order and architecture. */
MUST_CHECK struct cfi *cfi_open(int fd, struct err *err);

void cfi_close(struct cfi *c);

/* Steps from a frame to its caller. offset: the pc's offset in the file, as perf's mappings give it
 * (addr - start + pgoff); at_return: the pc is a return address, so that the byte before it is
 * looked up (normally !regs->exact). On CFI_OK regs are the caller's: pc, sp and what the callee
 * saved or preserved; the others are unknown. regs->exact: this frame was a signal's, so that the
 * caller's pc is no return address. Otherwise regs are unchanged.
 *
 * Except for signal frames the caller's sp is above this one's, so that stepping ends with the
 * stack copy; callers still limit the number of frames. */
enum cfi_result cfi_step(struct cfi *c, uint64_t offset, bool at_return, struct unwind_regs *regs,
			 struct stack_copy *stack);

static inline void cleanup_cfi_close(struct cfi **c)
{
	cfi_close(*c);
}

#endif
