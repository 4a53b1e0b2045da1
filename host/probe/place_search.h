/* SPDX-License-Identifier: Apache-2.0 */
/* Shares the search for places in libjvm between its parts. */
#ifndef DFG_PROBE_PLACE_SEARCH_H
#define DFG_PROBE_PLACE_SEARCH_H

#include "elf/elf_tables.h"
#include "elf/elfparts.h"
#include "probe/probes.h"

/* libjvm, while it is searched. */
struct place_search {
	Elf *elf;
	const uint8_t *file;
	size_t size;
	struct elffuncs funcs;
	struct elfsegs segs;
	uint64_t linked[FLAT_PROBE_COUNT]; /* addresses of the functions, as linked; 0: none */
};

/* The offset in the file of an address as linked; 0: it is not in it. */
uint64_t place_offset(const struct place_search *s, uint64_t addr);

/* Finds ends of events that are USDT probes, where no function was found. */
void usdt_find(const struct place_search *s, struct flat_probes *ret);

#endif
