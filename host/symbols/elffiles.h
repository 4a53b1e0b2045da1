/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of the mapped files. Each is read when the first address in it is looked up. */
#ifndef DFG_SYMBOLS_ELFFILES_H
#define DFG_SYMBOLS_ELFFILES_H

#include "perf/address_space.h"
#include "perf/perfdata.h"
#include "symbols/store.h"
#include "unwind/cfi.h"

struct elffiles;

/* All borrowed; they must stay. */
struct elffiles *elffiles_new(struct sources *sources, const struct perfdata *pd,
			      const struct space *space, struct stacks *stacks);
void elffiles_free(struct elffiles *ef);

/* The frame of a file offset; `path` is a number of the address space. Without a symbol it is named
 * by the start of its function, "[file+0x1234]"; where that is unknown or the file cannot be read
 * it is "[file]", FRAME_UNKNOWN. */
uint32_t elffiles_frame(struct elffiles *ef, uint64_t root, uint32_t path, uint64_t offset);

/* The call frame information of a file, borrowed; NULL: there is none. */
struct cfi *elffiles_cfi(struct elffiles *ef, uint64_t root, uint32_t path);

/* The frame "[file]" of a path, FRAME_UNKNOWN. */
uint32_t elffiles_unnamed(struct stacks *stacks, const char *path);

#endif
