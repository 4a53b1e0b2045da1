/* SPDX-License-Identifier: Apache-2.0 */
/* The hook's records of containers, for tests that find containers by them. */
#ifndef DFG_LIB_HOOKRECORD_H
#define DFG_LIB_HOOKRECORD_H

#include "common/proc.h"
#include "lib/scratch.h"

/* Writes, below `top`/root, the record of a container whose first process is pid; the annotations
 * are members of a JSON object. */
static inline void hookrecord_put(const char *id, pid_t pid, const char *annotations)
{
	CLEANUP(free) char *name = xasprintf("root/containers/%s/state.json", id), *text = NULL;
	struct err err;
	CLEANUP(close_fd) int procfd = proc_open(pid, &err);
	uint64_t ticks;
	char boot[37];

	if (proc_start_time(procfd, &ticks, &err) < 0 || proc_boot_id(boot, &err) < 0)
		abort();
	text = xasprintf("{\"pid\":%d,\"boot_id\":\"%s\",\"start_time\":%llu,\"annotations\":{%s}}",
			 (int)pid, boot, (unsigned long long)ticks, annotations);
	put_text(name, 0600, text);
}

#endif
