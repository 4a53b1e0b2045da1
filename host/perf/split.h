/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a recording of many processes, so that nobody gets the memory of processes that are not
 * theirs: a sample holds a copy of its thread's stack. */
#ifndef DFG_PERF_SPLIT_H
#define DFG_PERF_SPLIT_H

#include <stddef.h>
#include <sys/types.h>

#include "common/err.h"

struct perf_part {
	const pid_t *pids; /* their children belong to the part, too */
	size_t count;
	int fd; /* an empty file, which becomes a recording; its offset is left at the end */
};

/* Copies from a recording (perfdata_open) to each part the records of its processes, and those of
 * the kernel, in the order of time. Tables at the recording's end (build ids) are not copied. A
 * part may have no sample. After a failure the parts are not usable. */
MUST_CHECK int perf_split(int fd, const struct perf_part *parts, size_t count, struct err *err);

#endif
