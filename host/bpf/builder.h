/* SPDX-License-Identifier: Apache-2.0 */
/* The process that builds the flat tables of a container, in a jail: snapshots, maps and ELF files
 * are the container's. It looks at the snapshots as they grow, and fills the tables of the
 * container's own walker. What it lacks, or is late with, costs stack copies, no frame. */
#ifndef DFG_BPF_BUILDER_H
#define DFG_BPF_BUILDER_H

#include "bpf/share.h"
#include "common/child.h"
#include "discover/handle.h"
#include "probe/operations.h"
#include "probe/probes.h"

#define BUILDER_PROCESSES_MAX 64 /* of a container; others are left to stack copies */

struct builder_process {
	const struct handle *handle;
	int snapshots; /* file of its JVM's, which grows; -1: none */
	int asks;      /* socket to ask for its code (made.h); -1: none */
};

/* Starts it; *ret_sock: the end of its socket (unix(7), SOCK_SEQPACKET) for who has the tables. The
 * child begins when it is sent a byte, and ends once the socket is closed. `probes`: it also looks
 * for the places in libjvm that events are taken at, which takes as long as its tables. The
 * descriptors stay the caller's, and their processes are opened by the child: files may hang. */
MUST_CHECK int builder_start(const struct builder_process *list, size_t count, bool probes,
			     struct child *ret, int *ret_sock, struct err *err);

/* From the builder. What it says is checked: it may have been taken over. */
enum builder_says {
	BUILDER_ROOM = 1, /* tables of so many entries are wanted: comes first, and once they are
			     full; a byte answers, with their descriptors and that of
			     the list of made code */
	BUILDER_PROCESS,  /* its tables are filled */
	BUILDER_READY,	  /* that was the last one */
};
struct builder_probes {
	uint64_t start, end; /* a mapping of the file with the functions; 0: there is none */
	struct flat_probes at;
	struct operations operations;
};
struct builder_word {
	uint32_t what; /* enum builder_says */
	uint32_t pid;
	uint64_t program; /* of a process: proc_program, when its mappings were read */
	union {
		struct flat_rooms rooms;
		struct {
			struct flat_process process; /* but for `walker` */
			struct builder_probes probes;
		};
	};
};

/* To the builder, once it is ready: methods of interpreted frames that its tables lack, and codes
 * for the next snapshot (with MADE_KEEP). */
#define BUILDER_QUESTION_IDS 15u
#define BUILDER_QUESTION_MS  200u /* after the sample; its class may be gone later */
struct builder_question {
	uint64_t time; /* of the sample, CLOCK_MONOTONIC, ns */
	uint32_t pid, count;
	uint64_t id[BUILDER_QUESTION_IDS];
};

#endif
