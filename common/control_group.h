/* SPDX-License-Identifier: Apache-2.0 */
/* A control group of its own for a process and its children (cgroups(7), v1 and v2): a share of the
 * processors that is independent of their number, and limits of memory and processes. Best effort:
 * where the caller may not make one, or a controller is missing, that limit does not exist. */
#ifndef DFG_COMMON_CONTROL_GROUP_H
#define DFG_COMMON_CONTROL_GROUP_H

#include <stddef.h>
#include <stdint.h>

#define CONTROL_GROUP_DIRS 3 /* v1: one in each hierarchy; v2: one */

struct control_group {
	char *dirs[CONTROL_GROUP_DIRS];
	size_t count;  /* 0: none */
	size_t limits; /* in force, of three */
};

struct control_group_limits {
	uint64_t memory;    /* bytes */
	unsigned processes; /* and threads */
};

/* Finds where a controller's hierarchy of v1 is mounted, or with NULL that of v2. Owned; NULL:
 * nowhere. */
char *control_group_mount(const char *controller);

/* Makes <mount>/dfg/<random> in each hierarchy, with the default share of the processors, and
 * removes those that processes have left that were killed. */
void control_group_make(const struct control_group_limits *l, struct control_group *ret);

/* Moves the calling process into it; its later children begin there. */
void control_group_enter(const struct control_group *g);

/* Kills what still runs in it and removes it; where that takes long, the next caller of
 * control_group_make does. */
void control_group_remove(struct control_group *g);

#endif
