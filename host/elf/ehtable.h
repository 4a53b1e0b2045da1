/* SPDX-License-Identifier: Apache-2.0 */
/* Where functions begin, by the search table of .eh_frame_hdr (Linux Standard Base, "Exception
 * Frames"): it is there without any symbol, and tells nameless functions apart. */
#ifndef DFG_ELF_EHTABLE_H
#define DFG_ELF_EHTABLE_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "dfg/bytes.h"

/* Borrowed from the Elf; all 0: there is none. */
struct ehtable {
	struct bytes file;
	uint64_t addr, offset; /* of the section: address as linked, place in the file */
	const uint8_t *rows;   /* 8 bytes each, in no alignment */
	uint64_t count;
};

void ehtable_read(Elf *elf, struct ehtable *ret);

/* Where the function that holds an address (as linked) begins; false: none is known to. */
bool ehtable_find(const struct ehtable *t, uint64_t addr, uint64_t *ret_start);

#endif
