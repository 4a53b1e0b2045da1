/* SPDX-License-Identifier: Apache-2.0 */
/* Function symbols of an ELF file (libelf). The file is untrusted: entries that point outside of it
 * or contradict each other are skipped. */
#ifndef DFG_SYMBOLS_ELFSYM_H
#define DFG_SYMBOLS_ELFSYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct elf_symbol {
	uint64_t start, end; /* addresses as linked, [start, end) */
	const char *name;    /* as in the file (mangled), NUL-terminated */
	bool plt;	     /* the entry of the linkage table for `name` */
};

struct elfsym;

/* Reads the first of these that has functions: .symtab; .symtab of the separate debug file (-1:
 * there is none; it must have the same build id); .gnu_debugdata and .dynsym. Then the linkage
 * table. The descriptors may be closed afterwards. A file without symbols is no error. */
MUST_CHECK struct elfsym *elfsym_open(int fd, int debug_fd, struct err *err);
void elfsym_close(struct elfsym *es);

/* Finds the symbol at a file offset (mapping's pgoff + distance from its start): the segment that
 * is loaded from there gives the address. */
bool elfsym_find(const struct elfsym *es, uint64_t offset, struct elf_symbol *ret);

/* Finds the address, as linked, at which the function at a file offset begins, from .eh_frame_hdr:
 * also of functions without a symbol. */
bool elfsym_start(const struct elfsym *es, uint64_t offset, uint64_t *ret);

/* Functions that were read; *ret_cut: not all of them (ELF_FUNCS_MAX). */
size_t elfsym_count(const struct elfsym *es, bool *ret_cut);

/* Length of the GNU build id, borrowed; 0: none. */
size_t elfsym_build_id(const struct elfsym *es, const uint8_t **ret);

static inline void cleanup_elfsym_close(struct elfsym **es)
{
	elfsym_close(*es);
}

#endif
