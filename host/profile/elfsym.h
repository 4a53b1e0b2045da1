/* SPDX-License-Identifier: Apache-2.0 */
/* Function symbols of an ELF file (libelf). The file is untrusted: what lies outside of it or
 * contradicts itself is left out. */
#ifndef DFG_ELFSYM_H
#define DFG_ELFSYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dfg/err.h"

struct elf_symbol {
	uint64_t start, end; /* addresses as linked, [start, end) */
	const char *name;    /* as in the file (mangled), NUL-terminated */
	uint32_t index;	     /* 0 .. elfsym_count - 1, for what the caller keeps by symbol */
	bool plt;	     /* the entry of the linkage table for `name` */
};

struct elfsym;

/* Reads .symtab, or without one .dynsym (as perf does), and the linkage table. All that is needed
 * is in memory afterwards. A file without symbols is no error: its count is 0. */
MUST_CHECK struct elfsym *elfsym_open(int fd, struct err *err);
MUST_CHECK struct elfsym *elfsym_of(const void *p, size_t len, struct err *err);
void elfsym_close(struct elfsym *es);

size_t elfsym_count(const struct elfsym *es);

/* The symbol at a file offset (mapping's pgoff + distance from its start): the segment that is
 * loaded from there gives the address. */
bool elfsym_find(const struct elfsym *es, uint64_t offset, struct elf_symbol *ret);

/* Length of the GNU build id, borrowed; 0: none. */
size_t elfsym_build_id(const struct elfsym *es, const uint8_t **ret);

static inline void cleanup_elfsym_close(struct elfsym **es)
{
	elfsym_close(*es);
}

#endif
