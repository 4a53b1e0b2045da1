/* SPDX-License-Identifier: Apache-2.0 */
/* Where functions begin, by the search table of .eh_frame_hdr (Linux Standard Base, "Exception
 * Frames"): it is there without any symbol, and tells nameless functions apart. */
#ifndef DFG_EHTABLE_H
#define DFG_EHTABLE_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

/* Borrowed from the Elf; all 0: there is none. */
struct ehtable {
	uint64_t addr;	     /* of the section */
	const uint8_t *rows; /* 8 bytes each, in no alignment */
	uint64_t count;
};

void ehtable_read(Elf *elf, struct ehtable *ret);

/* The last function that begins at or before an address (as linked); false: none does. */
bool ehtable_find(const struct ehtable *t, uint64_t addr, uint64_t *ret_start);

#endif
