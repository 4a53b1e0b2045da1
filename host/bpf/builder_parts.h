/* SPDX-License-Identifier: Apache-2.0 */
/* Between builder.c, which builds a container's first tables, and builder_follow.c, which follows
 * the code of its JVMs. */
#ifndef DFG_BPF_BUILDER_PARTS_H
#define DFG_BPF_BUILDER_PARTS_H

#include "bpf/builder.h"
#include "bpf/made.h"

#define BUILDER_OPEN_MS 10000 /* to open the processes' files; the longest pause */

/* A file that is mapped: one for all processes that have it. */
struct mapped {
	dev_t dev;
	ino_t ino;
	int fd;
	int symbols;	 /* of a libjvm without its own: its debug file; else -1 */
	bool read, good; /* its rows are in the tables */
	struct flat_file file;
	struct flat_probes probes;
	struct operations operations;
};

/* First mapping of a path in a process. */
struct place {
	size_t process, mapped;
	uint64_t start;
};

struct built {
	pid_t pid;
	uint64_t program;
	int maps, snapshots;
	uint64_t read; /* bytes of the snapshots */
	uint64_t time; /* of the latest one's head */
	struct made_reader reader;
	bool is_jvm;
	struct flat_process flat;
	struct builder_probes probes;
};

struct builder {
	int sock;
	bool probes; /* are wanted */
	struct built processes[BUILDER_PROCESSES_MAX];
	size_t count;
	struct mapped *files;
	size_t file_count, file_cap;
	struct place *places;
	size_t place_count, place_cap;
	struct flat_tables *tables;
	struct made_list made;
	uint64_t spent; /* clock_us until when asking has used its share of a processor */
	bool filled;	/* the tables that are filled once */
};

/* Fills new tables of the kernel, and tells the processes. */
MUST_CHECK int builder_share(struct builder *b);

/* Reads the snapshots that have come since the last call. NULL: none, or they cannot be read. */
struct snapfile *builder_read(struct built *p);

/* Follows the code of the JVMs until nobody has the tables any more. */
void builder_follow(struct builder *b);

#endif
