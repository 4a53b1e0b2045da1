/* SPDX-License-Identifier: Apache-2.0 */
/* A stack recorder whose tables are filled by the same process. */
#ifndef DFG_LIB_STACKRECORDER_H
#define DFG_LIB_STACKRECORDER_H

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "bpf/recorder.h"

struct filled_recorder {
	struct stack_recorder *recorder;
	uint32_t walker;
	bool filled; /* the tables of that walker */
};

static void filled_recorder_close(struct filled_recorder *f)
{
	stack_recorder_close(f->recorder);
}

/* Fills a walker's tables with what no builder would: the container's has been taken over. */
static int filled_recorder_spoil(const struct stack_recorder *r, uint32_t walker,
				 const struct flat_rooms *rooms)
{
	int maps[FLAT_TABLES];

	walker_tables(stack_recorder_walker(r, walker), maps);
	for (unsigned i = 0; i < FLAT_TABLES; i++) {
		size_t len = flat_table_bytes(rooms, i);
		void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, maps[i], 0);

		if (p == MAP_FAILED)
			return -1;
		memset(p, 0x55, len);
		munmap(p, len);
	}
	return 0;
}

/* Loads a walker with room for these tables, and moves them there. */
static int filled_recorder_fill(struct filled_recorder *f, struct flat_tables *t, struct err *err)
{
	const bool again = f->filled;
	struct flat_rooms rooms;
	int maps[FLAT_TABLES];

	flat_rooms_for(t, &rooms);
	if (stack_recorder_add_walker(f->recorder, &rooms, again ? f->walker : FLAT_NO_WALKER,
				      &f->walker, err) < 0)
		return -1;
	walker_tables(stack_recorder_walker(f->recorder, f->walker), maps);
	f->filled = true;
	return flat_share(t, maps, &rooms, again, err);
}

/* Opens a recorder, and fills a walker with the tables. `second`: another container has a walker,
 * too. */
static int filled_recorder_open(const struct stack_recorder_config *c, struct flat_tables *t,
				bool second, struct filled_recorder *ret, struct err *err)
{
	struct flat_rooms rooms;

	*ret = (struct filled_recorder){0};
	flat_rooms_for(t, &rooms);
	if (stack_recorder_open(c, &ret->recorder, err) < 0)
		return -1;
	if (second && (stack_recorder_add_walker(ret->recorder, &rooms, FLAT_NO_WALKER,
						 &ret->walker, err) < 0 ||
		       filled_recorder_spoil(ret->recorder, ret->walker, &rooms) < 0))
		return -1;
	return filled_recorder_fill(ret, t, err);
}

/* Has the program look at a process of these tables. */
static int filled_recorder_add(const struct filled_recorder *f, uint32_t pid,
			       const struct flat_process *p, struct err *err)
{
	struct flat_process there = *p;

	there.walker = f->walker;
	return stack_recorder_add(f->recorder, pid, &there, err);
}

/* After a change of the tables of that process: loads another walker if they had no more room. */
__attribute__((unused)) static int filled_recorder_update(struct filled_recorder *f,
							  struct flat_tables *t, uint32_t pid,
							  const struct flat_process *p,
							  struct err *err)
{
	if (t->shared)
		return 0;
	return filled_recorder_fill(f, t, err) == 0 ? filled_recorder_add(f, pid, p, err) : -1;
}

#endif
