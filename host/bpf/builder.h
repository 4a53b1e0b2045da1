/* SPDX-License-Identifier: Apache-2.0 */
/* The process that builds the flat tables of a container, in a jail: snapshots, maps and ELF files
 * are the container's. It looks at the snapshots as they grow, and fills the container's part of
 * the kernel's tables. What it lacks, or is late with, costs stack copies, no frame. */
#ifndef DFG_BPF_BUILDER_H
#define DFG_BPF_BUILDER_H

#include "bpf/publish.h"
#include "common/child.h"
#include "discover/handle.h"

#define BUILDER_PROCESSES_MAX 64 /* of a container; others are left to stack copies */

struct builder_process {
	const struct handle *handle;
	int snapshots; /* file of its JVM's, which grows; -1: none */
};

/* Starts it; *ret_sock: the end of its socket (unix(7), SOCK_SEQPACKET) for who has the tables. The
 * child ends once that is closed. The descriptors stay the caller's, and their processes are opened
 * by the child: files may hang. */
MUST_CHECK int builder_start(const struct builder_process *list, size_t count, struct child *ret,
			     int *ret_sock, struct err *err);

/* Messages, in this order. What comes from the builder is checked: it may have been taken over. */
struct builder_wish { /* from it: the room it needs */
	struct flat_part part;
};
struct builder_place { /* to it, with the descriptors of the tables */
	struct flat_part part;
};
struct builder_ready { /* from it, for each process once its tables are filled */
	uint32_t pid;  /* 0: that was the last one */
	struct flat_process process;
};

#endif
