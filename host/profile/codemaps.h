/* SPDX-License-Identifier: Apache-2.0 */
/* The maps of compiled code, one for each JVM, read when the first address in it is asked for. */
#ifndef DFG_CODEMAPS_H
#define DFG_CODEMAPS_H

#include "profile.h"

struct codemaps;

/* All borrowed; they must stay. */
struct codemaps *codemaps_new(const struct profile_input *in, struct stacks *stacks);
void codemaps_free(struct codemaps *cm);

/* The number of a process's map; 0: it has none. */
uint32_t codemaps_number(const struct codemaps *cm, pid_t pid);

/* The frame of an address by map `number`; false: it is not in it. */
bool codemaps_frame(struct codemaps *cm, uint32_t number, uint64_t addr, uint32_t *ret);

#endif
