/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of ELF files that come from containers: read by a child without power (child_call,
 * confine_reader), since they are parsed. */
#ifndef DFG_RECORD_SYMFILE_H
#define DFG_RECORD_SYMFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define SYMFILE_MANY 64 /* files that are read at once */

/* What leads to the separate debug file of an ELF file. */
struct symfile_link {
	bool whole; /* it has its symbols itself: none is needed */
	uint8_t id_len;
	uint8_t id[32]; /* build id */
	char name[64];	/* .gnu_debuglink, a plain file name; "" none */
	uint32_t crc;	/* of that file */
};

/* Fills ret[n] (n <= SYMFILE_MANY); a descriptor that is -1, or of no ELF file, gives all 0. */
MUST_CHECK int symfile_links(const int *fds, size_t n, struct symfile_link *ret, struct err *err);

struct symfile_copy {
	const struct symfile_link *link;
	int from; /* what may be its debug file */
	int to;	  /* an empty file */
};

/* Writes the symbols of each debug file that belongs to its link (the build id; without one the
 * checksum): an ELF file of its section headers, in which only .symtab, .strtab and the build id
 * have contents. ret[n] says which are written. */
MUST_CHECK int symfile_copies(const struct symfile_copy *c, size_t n, bool *ret, struct err *err);

#endif
