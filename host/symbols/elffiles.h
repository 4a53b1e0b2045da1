/* SPDX-License-Identifier: Apache-2.0 */
/* The copies of the files that were mapped, each read when its first address is asked for. */
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

/* The frame of a file offset; `path` is a number of the space. Without a
 * symbol there it is nameless (stacks.h), "[file+0x1234]", by where its function begins; where that
 * is not known, or there is no copy that can be read: "[file]", FRAME_UNKNOWN. */
uint32_t elffiles_frame(struct elffiles *ef, uint64_t root, uint32_t path, uint64_t offset);

/* The call frame information of a file, borrowed; NULL: there is no copy that can be read. */
struct cfi *elffiles_cfi(struct elffiles *ef, uint64_t root, uint32_t path);

/* "[file]" of a path, as FRAME_UNKNOWN. */
uint32_t elffiles_unnamed(struct stacks *stacks, const char *path);

#endif
