/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a process without a JVM: its mapped files. */
#ifndef DFG_LIB_STACKMAPPINGS_H
#define DFG_LIB_STACKMAPPINGS_H

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "bpf/tables.h"
#include "common/str.h"

/* Adds the executable mappings of a process. */
static void add_mappings(struct flat_tables *t, pid_t pid, struct flat_process *p)
{
	CLEANUP(free) char *path = xasprintf("/proc/%d/maps", (int)pid);
	FILE *maps = fopen(path, "re");
	char line[4400], perms[8], name[4200];
	uint64_t start, end, offset;

	while (maps && fgets(line, sizeof(line), maps)) {
		CLEANUP(close_fd) int fd = -1;
		struct flat_file file;
		struct err err;

		name[0] = '\0';
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4199[^\n]", &start, &end, perms, &offset,
			   name) < 4 ||
		    perms[2] != 'x')
			continue;
		fd = open(name, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || flat_add_file(t, fd, &file, &err) < 0) {
			flat_add_mapping(t, p, start, end, offset, NULL);
			continue;
		}
		flat_add_mapping(t, p, start, end, offset, &file);
		flat_file_fini(&file);
	}
	if (maps)
		fclose(maps);
}

#endif
