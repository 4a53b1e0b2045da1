/* SPDX-License-Identifier: Apache-2.0 */
/* Holds what recorder.c and recorder_wall.c, the wall clock, share. */
#ifndef DFG_BPF_RECORDER_PARTS_H
#define DFG_BPF_RECORDER_PARTS_H

#include <linux/perf_event.h>
#include <node.skel.h>

#include "bpf/recorder.h"

#define CLOCK_PROGRAMS 8u /* of the wall clock */

struct stack_recorder {
	struct node_bpf *bpf;
	struct bpf_link *exec, *fork, *clock[CLOCK_PROGRAMS];
	struct walker *walkers[FLAT_WALKERS];
	uint32_t walker_count; /* with FLAT_NO_WALKER, which is none */
	struct stack_recorder_config config;
	struct perf_event_attr attr;
	struct ring_buffer *walked;
	struct copy_ring *rings; /* by processor */
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

/* Follows those of a walker, with what is known by the one before. */
MUST_CHECK int recorder_add_frozen(struct stack_recorder *r, uint32_t walker, uint32_t before,
				   struct err *err);

#endif
