/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of an ELF file that map addresses: its loaded segments (file offset to address) and the
 * search table of .eh_frame_hdr (address to start of function). The file is untrusted. */
#ifndef DFG_ELF_ELF_TABLES_H
#define DFG_ELF_ELF_TABLES_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dfg/bytes.h"

struct elfseg {
	uint64_t offset, size, vaddr;
	bool exec;
};

struct elfsegs {
	struct elfseg *list;
	size_t count, cap;
};

/* Reads the PT_LOAD headers; none where the file has none. */
void elfsegs_read(Elf *elf, struct elfsegs *ret);
void elfsegs_fini(struct elfsegs *s);

/* Converts a file offset, as mappings give it, to the address that the file's tables use. False:
 * no segment holds it. */
bool elfsegs_address(const struct elfsegs *s, uint64_t offset, uint64_t *ret);

/* Search table of .eh_frame_hdr (Linux Standard Base, "Exception Frames"): it exists in stripped
 * files, too, and tells where nameless functions begin. Borrowed from the Elf; all 0: none. */
struct ehtable {
	struct bytes file;
	uint64_t addr, offset; /* of the section: address as linked, offset in the file */
	const uint8_t *rows;   /* 8 bytes each, unaligned */
	uint64_t count;
};

void ehtable_read(Elf *elf, struct ehtable *ret);

/* The start of function number i, as linked; they ascend. */
uint64_t ehtable_start(const struct ehtable *t, uint64_t i);

/* The offset in the file of its entry in .eh_frame, which may be anywhere. */
uint64_t ehtable_entry(const struct ehtable *t, uint64_t i);

/* Finds the start of the function that holds an address (as linked). False: none is known. */
bool ehtable_find(const struct ehtable *t, uint64_t addr, uint64_t *ret_start);

#endif
