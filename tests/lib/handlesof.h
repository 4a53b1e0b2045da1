/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of processes by their pids, for tests; those that do not exist are left out. */
#ifndef DFG_LIB_HANDLESOF_H
#define DFG_LIB_HANDLESOF_H

#include "discover/handle.h"

static inline struct handles handles_of(const pid_t *pids, size_t n)
{
	struct handles all = {0};

	for (size_t i = 0; i < n; i++) {
		struct handle one;

		if (handle_open(pids[i], &one, NULL) == 0)
			(void)handles_add(&all, &one);
	}
	return all;
}

#endif
