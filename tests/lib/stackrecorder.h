/* SPDX-License-Identifier: Apache-2.0 */
/* A stack recorder whose tables are filled by the same process. */
#ifndef DFG_LIB_STACKRECORDER_H
#define DFG_LIB_STACKRECORDER_H

#include "bpf/recorder.h"

struct filled_recorder {
	struct stack_recorder *recorder;
	struct flat_published *published;
};

static void filled_recorder_close(struct filled_recorder *f)
{
	flat_publish_close(f->published);
	stack_recorder_close(f->recorder);
}

/* Opens a recorder with room for these tables, and fills its own with them. `second`: another
 * container's part is before theirs. */
static int filled_recorder_open(const struct stack_recorder_config *c, const struct flat_tables *t,
				bool second, struct filled_recorder *ret, struct err *err)
{
	struct filled_recorder f = {0};
	uint32_t rooms[FLAT_TABLES];
	struct flat_part parts[2];
	int maps[FLAT_TABLES];

	flat_part_for(t, &parts[0]);
	parts[1] = parts[0];
	if (flat_parts_place(parts, second ? 2 : 1, rooms, err) < 0 ||
	    stack_recorder_open(c, rooms, &f.recorder, err) < 0)
		return -1;
	stack_recorder_tables(f.recorder, maps);
	if (flat_publish_open(maps, &parts[second], &f.published, err) < 0 ||
	    flat_publish(f.published, t, err) < 0) {
		filled_recorder_close(&f);
		return -1;
	}
	*ret = f;
	return 0;
}

/* Has the program look at a process of these tables. */
static int filled_recorder_add(const struct filled_recorder *f, uint32_t pid,
			       const struct flat_process *p, struct err *err)
{
	struct flat_process there = flat_publish_process(f->published, p);

	return stack_recorder_add(f->recorder, pid, &there, err);
}

#endif
