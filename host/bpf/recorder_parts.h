/* SPDX-License-Identifier: Apache-2.0 */
/* Holds what recorder.c and recorder_wall.c, the wall clock, share. */
#ifndef DFG_BPF_RECORDER_PARTS_H
#define DFG_BPF_RECORDER_PARTS_H

#include <linux/perf_event.h>
#include <node.skel.h>

#include "bpf/recorder.h"

#define CLOCK_PROGRAMS 8u /* of the wall clock */

/* The maps that each walker has an own one of, or shares with the one before. */
enum walker_map {
	WALKER_MADE,
	WALKER_WAITS,
	WALKER_WAIT_TIDS,
	WALKER_LOCKS,
	WALKER_ASKED,
	WALKER_FROZEN,
	WALKER_MAPS
};

struct stack_recorder {
	struct node_bpf *bpf;
	struct bpf_link *exec, *fork, *clock[CLOCK_PROGRAMS];
	struct walker *walkers[FLAT_WALKERS];
	uint32_t walker_count;			    /* with FLAT_NO_WALKER, which is none */
	int walker_maps[FLAT_WALKERS][WALKER_MAPS]; /* -1: none */
	struct stack_recorder_config config;
	struct perf_event_attr attr;
	struct ring_buffer *walked;
	struct copy_ring *rings; /* by processor */
	bool joined;		 /* stack_probes_can_join */
	unsigned cpus;
	size_t ring_bytes;
	const struct stack_handler *handler; /* while reading */
	uint64_t copies_lost;
	uint8_t *record;
};

/* Sets whether the clock's programs are loaded, and whether that which looks at all threads is. */
void recorder_choose_wall(const struct stack_recorder *r, bool looks);
MUST_CHECK int recorder_attach_wall(struct stack_recorder *r, struct err *err);
void recorder_detach_wall(struct stack_recorder *r);

/* True if virtual threads of a walker's processes are followed (FLAT_NO_WALKER: none are). */
bool recorder_has_frozen(const struct stack_recorder *r, uint32_t walker);

/* Makes a map for a walker, or shares that of the one before (FLAT_NO_WALKER: there is none). */
MUST_CHECK int recorder_add_map(struct stack_recorder *r, uint32_t number, uint32_t before,
				enum walker_map kind, struct err *err);

#endif
