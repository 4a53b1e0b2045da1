/* SPDX-License-Identifier: Apache-2.0 */
/* The maps of compiled code, one for each JVM, read when the first address in it is asked for: of
 * snapshots (dfg/snapshot.h), and of maps in text (request.h) for what they do not have. */
#ifndef DFG_CODEMAPS_H
#define DFG_CODEMAPS_H

#include "profile.h"
#include "snapfile.h"

struct codemaps;

/* All borrowed; they must stay. */
struct codemaps *codemaps_new(const struct profile_input *in, struct stacks *stacks);
void codemaps_free(struct codemaps *cm);

/* The number of a process's map; 0: it has none. */
uint32_t codemaps_number(const struct codemaps *cm, pid_t pid);

/* The frames of an address at a sample's time by map `number`, innermost first: more than one where
 * methods are inlined. Returns how many; 0: it is not in the map. */
size_t codemaps_frames(struct codemaps *cm, uint32_t number, uint64_t addr, uint64_t time,
		       uint32_t ret[SNAPFILE_DEPTH]);

/* The same by the code that is there, which is the map's own. */
size_t codemaps_code_frames(struct codemaps *cm, const struct snapfile_code *c, uint64_t addr,
			    uint32_t ret[SNAPFILE_DEPTH]);

/* The frame of an interpreted method. */
uint32_t codemaps_method(struct codemaps *cm, uint32_t number, uint64_t method, uint64_t time);

/* Borrowed; NULL: there is no snapshot in it. */
const struct snapfile *codemaps_snapshot(struct codemaps *cm, uint32_t number);

#endif
