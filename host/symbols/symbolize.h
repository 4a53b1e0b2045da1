/* SPDX-License-Identifier: Apache-2.0 */
/* (process, address, time) -> frames. */
#ifndef DFG_SYMBOLS_SYMBOLIZE_H
#define DFG_SYMBOLS_SYMBOLIZE_H

#include "perf/address_space.h"
#include "perf/perfdata.h"
#include "symbols/store.h"
#include "unwind/cfi.h"

struct symbolizer;

/* All arguments are borrowed and must stay. A file is read when the first address in it is looked
 * up; one that cannot be read gives unnamed frames. */
struct symbolizer *symbolizer_new(struct sources *sources, const struct perfdata *pd,
				  const struct space *space, struct stacks *stacks);
void symbolizer_free(struct symbolizer *sy);

/* Number of a process's JIT-compiled code (struct process, code); 0: it has none. */
uint32_t symbolizer_code(const struct symbolizer *sy, pid_t pid);

/* Applies a KSYMBOL record. The caller must space_touch the kernel's process, too. */
void symbolizer_kernel_change(struct symbolizer *sy, const struct perf_ksymbol *change);

/* Finds the frames of an address (calltree.h) at a sample's time, the inlined methods first;
 * borrowed until the next call of a function here. Names come from the JVM's code, where the
 * process has executable anonymous memory, and otherwise from the symbols of the mapped file.
 * Without a name: "[file]", "[anon]" for memory without a file, "[unknown]" where nothing is
 * mapped. Returns the number of frames, at least 1. */
size_t symbolize_frames(struct symbolizer *sy, const struct process *p, uint64_t addr,
			uint64_t time, const uint32_t **ret);

/* ---- for unwinding ----------------------------------------------------------------------- */

/* The snapshots of a process's JVM; NULL: there are none. */
const struct snapfile *symbolizer_snapshot(struct symbolizer *sy, const struct process *p);

/* As symbolize_frames, for an address in a known code of a snapshot. *id, 0 at first, is for the
 * next time that these two are named: it spares the search. */
size_t symbolize_code(struct symbolizer *sy, const struct process *p, const struct snapfile_code *c,
		      uint64_t addr, uint32_t *id, const uint32_t **ret);

/* The frame of an address outside of the JVM's code. */
uint32_t symbolize_native(struct symbolizer *sy, const struct process *p, uint64_t addr);

/* The frame of a kernel address; `kernel` is the process with the kernel's mappings. Without a
 * name:
 * "[module]" or "[kernel]". */
static inline uint32_t symbolize_kernel(struct symbolizer *sy, const struct process *kernel,
					uint64_t addr)
{
	return symbolize_native(sy, kernel, addr);
}

/* The frame of an interpreted method of a process that has a snapshot. */
uint32_t symbolize_method(struct symbolizer *sy, const struct process *p, uint64_t method,
			  struct snapfile_span span);

/* The frame of code, or of a method, that no snapshot has at the time, or that differs between the
 * snapshot before and the one after. */
uint32_t symbolizer_stale(const struct symbolizer *sy);

/* False if the process cannot execute what is at the address. *ret_cfi: NULL where no file is
 * mapped or it has no call frame information; *ret_offset: file offset. */
bool symbolizer_native(struct symbolizer *sy, const struct process *p, uint64_t addr,
		       struct cfi **ret_cfi, uint64_t *ret_offset);

/* True for an address in compiled code that has debug information at safepoints only. */
bool symbolize_is_between(struct symbolizer *sy, const struct process *p, uint64_t addr,
			  uint64_t time);

static inline void cleanup_symbolizer_free(struct symbolizer **sy)
{
	symbolizer_free(*sy);
}

#endif
