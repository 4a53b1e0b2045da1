/* SPDX-License-Identifier: Apache-2.0 */
/* The maps of compiled code, one for each JVM, read when the first address in it is asked for: of
 * snapshots (dfg/snapshot.h), and of maps in text (request.h) for what they do not have. */
#ifndef DFG_SYMBOLS_CODEMAPS_H
#define DFG_SYMBOLS_CODEMAPS_H

#include "symbols/store.h"

struct codemaps;

/* All borrowed; they must stay. */
struct codemaps *codemaps_new(struct sources *sources, struct stacks *stacks);
void codemaps_free(struct codemaps *cm);

/* The number of a process's map; 0: it has none. */
uint32_t codemaps_number(const struct codemaps *cm, pid_t pid);

/* Borrowed; NULL: there is no snapshot in it. */
const struct snapfile *codemaps_snapshot(struct codemaps *cm, uint32_t number);

/* The frames of an address in a code of a snapshot, innermost first: more than one where methods
 * are inlined. Returns how many. */
size_t codemaps_code(struct codemaps *cm, const struct snapfile_code *c, uint64_t addr,
		     uint32_t ret[SNAPFILE_DEPTH]);

/* The frame of an interpreted method, where there is a snapshot; codemaps_stale where it was one of
 * several. */
uint32_t codemaps_method(struct codemaps *cm, uint32_t number, uint64_t method,
			 struct snapfile_span span);

/* The frame of an address by the map in text. False: it is not in it. */
bool codemaps_text(struct codemaps *cm, uint32_t number, uint64_t addr, uint32_t *ret);

/* The frame of code, or of a method, that no snapshot has at the time, or that is different in the
 * snapshot before and in the one after. */
uint32_t codemaps_stale(const struct codemaps *cm);

#endif
