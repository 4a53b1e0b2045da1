/* SPDX-License-Identifier: Apache-2.0 */
/* Probes of functions of this program, which its children have, too. */
#ifndef DFG_LIB_OWNPROBES_H
#define DFG_LIB_OWNPROBES_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "bpf/recorder.h"
#include "common/str.h"

struct own_probes {
	uint64_t start, end; /* executable memory */
	struct flat_probes at;
};

/* Finds the executable memory with this function, and where the probes are in the file. */
static void own_probes_find(uint64_t function, struct own_probes *ret)
{
	CLEANUP(close_fd) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t start, end;
	char line[4400];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && function >= start &&
		    function < end) {
			ret->start = start;
			ret->end = end;
		}
	if (maps)
		fclose(maps);
	flat_find_probes(fd, &ret->at);
}

/* Skips the test where programs cannot be loaded. */
static void own_probes_require(const struct stack_recorder_config *c)
{
	struct stack_recorder *r;
	struct err err;

	if (stack_recorder_open(c, &r, &err) == 0) {
		stack_recorder_close(r);
		return;
	}
	printf("1..0 # SKIP %s\n", err.msg);
	exit(0);
}

#endif
