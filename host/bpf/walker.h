/* SPDX-License-Identifier: Apache-2.0 */
/* A program that walks stacks (walk.bpf.c) by tables of its own: those of one container, so that
 * who fills them reaches no other one's. Loading one takes some 40 ms. */
#ifndef DFG_BPF_WALKER_H
#define DFG_BPF_WALKER_H

#include "bpf/share.h"

struct walker;

struct walker_config {
	int scratches, counts, rates, threads,
		samples;	 /* descriptors of the maps that all walkers share */
	uint32_t processors;	 /* that there can be */
	bool both, probes, wall; /* as in struct stack_recorder_config */
	bool joined;		 /* stack_probes_can_join */
};

/* Loads one with empty tables. `before`: one of the same container, whose tables that are filled
 * once (flat_is_filled_once) it has, too, if they have as much room; NULL: none. Fails where the
 * kernel refuses; the message says what. */
MUST_CHECK int walker_load(const struct walker_config *c, const struct flat_rooms *rooms,
			   const struct walker *before, struct walker **ret, struct err *err);
void walker_free(struct walker *w); /* NULL is fine */

static inline void cleanup_walker_free(struct walker **w)
{
	walker_free(*w);
}

/* Descriptors, borrowed: of the program, of the one that probes call (-1: without probes), and of
 * its tables, to be filled (share.h). */
int walker_program(const struct walker *w);
int walker_probe_program(const struct walker *w);
int walker_wait_program(const struct walker *w); /* -1: without the wall clock */
void walker_tables(const struct walker *w, int ret[static FLAT_TABLES]);

uint32_t walker_codes(const struct walker *w);

/* Entries of the tables, which may be anything: who fills them may have been taken over. */
struct flat_code walker_code(const struct walker *w, uint32_t number);
struct flat_mapping walker_mapping(const struct walker *w, uint32_t number);
/* True if the tables of a process have the id of a method. */
bool walker_has_method(const struct walker *w, const struct flat_process *p, uint64_t id);

#endif
