/* SPDX-License-Identifier: Apache-2.0 */
/* (process, address) -> frame. */
#ifndef DFG_SYMBOLS_SYMBOLIZE_H
#define DFG_SYMBOLS_SYMBOLIZE_H

#include "perf/address_space.h"
#include "perf/perfdata.h"
#include "symbols/kernel.h"
#include "symbols/store.h"
#include "unwind/cfi.h"

struct symbolizer;

/* All arguments are borrowed and must stay. Files are read when the first address in them is asked
 * for; one that cannot be read gives unnamed frames. */
struct symbolizer *symbolizer_new(struct sources *sources, const struct perfdata *pd,
				  const struct space *space, struct stacks *stacks);
void symbolizer_free(struct symbolizer *sy);

/* The number of a process's map of compiled code (struct process, code); 0: it has none. */
uint32_t symbolizer_code(const struct symbolizer *sy, pid_t pid);

/* Code of the kernel that came or went: space_touch its process, too. */
void symbolizer_kernel_change(struct symbolizer *sy, const struct perf_ksymbol *change);

/* Frames of stacks.h. `time` is the sample's. A name is looked for in this order: the map of
 * compiled code, only where the process has executable anonymous memory; the symbols of the mapped
 * file. Without a name:
 * "[file]", "[anon]" for memory without a file, "[unknown]" where nothing is mapped. */
uint32_t symbolize_user(struct symbolizer *sy, const struct process *p, uint64_t addr,
			uint64_t time);

/* The same with the methods that are inlined there: innermost first, borrowed until the next call
 * of a function here. symbolize_user gives the first of them. */
size_t symbolize_frames(struct symbolizer *sy, const struct process *p, uint64_t addr,
			uint64_t time, const uint32_t **ret);

/* `kernel` is the process with the kernel's mappings. Without a name: "[module]" or "[kernel]". */
uint32_t symbolize_kernel(struct symbolizer *sy, const struct process *kernel, uint64_t addr);

/* For unwinding: the snapshot of a process's code, or NULL. */
const struct snapfile *symbolizer_snapshot(struct symbolizer *sy, const struct process *p);

/* As symbolize_frames, of an address in known code of a snapshot. */
size_t symbolize_code(struct symbolizer *sy, const struct process *p, const struct snapfile_code *c,
		      uint64_t addr, const uint32_t **ret);

/* The frame of an address in no code of a snapshot. */
uint32_t symbolize_native(struct symbolizer *sy, const struct process *p, uint64_t addr);

/* The frame of an interpreted method; the process has a snapshot. */
uint32_t symbolize_method(struct symbolizer *sy, const struct process *p, uint64_t method,
			  struct snapfile_span span);

/* True if the process can execute what is at an address. *ret_cfi: NULL where no file is mapped or
 * it has no call frame information; *ret_offset: the offset in the file. */
bool symbolizer_native(struct symbolizer *sy, const struct process *p, uint64_t addr,
		       struct cfi **ret_cfi, uint64_t *ret_offset);

/* The frame of Java code that cannot be told from other code at the time (codemaps.h). */
uint32_t symbolizer_stale(const struct symbolizer *sy);

/* Whether an address is in compiled code that tells what is inlined where at safepoints only. */
bool symbolize_is_between(struct symbolizer *sy, const struct process *p, uint64_t addr,
			  uint64_t time);

static inline void cleanup_symbolizer_free(struct symbolizer **sy)
{
	symbolizer_free(*sy);
}

#endif
