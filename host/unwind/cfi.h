/* SPDX-License-Identifier: Apache-2.0 */
/* One step of unwinding through native code, by the call frame information (.eh_frame, else
 * .debug_frame) of the ELF file that the pc is in. Rules are read by elfutils' libdw when a pc is
 * first met and kept per pc, so that a step costs some tens of nanoseconds from then on.
 *
 * The file may be hostile: no other file is opened, nothing is executed, memory comes from the
 * file, the stack copy and the registers only, and every evaluation is bounded. A file whose rules
 * take seconds to read is read no further. libdw may ask for up to 2 GiB for a rule of a hostile
 * file: the memory limit of confine_reader is what keeps it from that, and the rule is then
 * CFI_NONE. */
#ifndef DFG_UNWIND_CFI_H
#define DFG_UNWIND_CFI_H

#include "common/err.h"
#include "unwind/unwind_regs.h"

struct cfi;

enum cfi_result {
	CFI_OK = 0,
	CFI_NONE, /* no rule for this pc */
	CFI_END,  /* the outermost frame: its return address is undefined (_start, clone) */
	CFI_BAD,  /* the rule needs memory or a register that is not there, or leads nowhere */
};

/* Opens an ELF file, which is mapped: fd stays the caller's and may be closed, the file must not
 * shrink. Only headers are read here: a file without any rule opens, and every step is CFI_NONE.
 * Fails on what is no ELF file of this machine's class, byte order and architecture. */
MUST_CHECK struct cfi *cfi_open(int fd, struct err *err);

/* The same for bytes in memory, which must stay there, are never written to, and need not be
 * aligned. */
MUST_CHECK struct cfi *cfi_of(const void *p, size_t len, struct err *err);
void cfi_close(struct cfi *c);

/* From a frame to its caller's. offset is the pc's in the file, as perf's mappings give it (addr -
 * start + pgoff); at_return: the pc is a return address, look up the byte before it (normally
 * !regs->exact). On CFI_OK regs are the caller's: pc, sp and what the callee saved or left alone;
 * the others are not known. regs->exact tells whether this frame was a signal's, so that the
 * caller's pc is no return address. Otherwise regs are untouched.
 *
 * But for signal frames the caller's sp is above this one's, so that stepping ends with the stack
 * copy; a caller still limits the number of frames. */
enum cfi_result cfi_step(struct cfi *c, uint64_t offset, bool at_return, struct unwind_regs *regs,
			 const struct stack_copy *stack);

static inline void cleanup_cfi_close(struct cfi **c)
{
	cfi_close(*c);
}

#endif
