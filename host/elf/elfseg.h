/* SPDX-License-Identifier: Apache-2.0 */
/* The loaded segments of an ELF file: from a place in the file to its address. */
#ifndef DFG_ELF_ELFSEG_H
#define DFG_ELF_ELFSEG_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elfseg {
	uint64_t offset, size, vaddr;
	bool exec;
};

struct elfsegs {
	struct elfseg *list;
	size_t count, cap;
};

/* The PT_LOAD headers; none where the file has none. */
void elfsegs_read(Elf *elf, struct elfsegs *ret);
void elfsegs_fini(struct elfsegs *s);

/* The address, as the file's tables have it, of a file offset as mappings give it. False: no
 * segment holds it. */
bool elfsegs_address(const struct elfsegs *s, uint64_t offset, uint64_t *ret);

#endif
