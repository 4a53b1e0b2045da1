/* SPDX-License-Identifier: Apache-2.0 */
/* The command lines of dfg-trigger and dfg-top (docs/man). */
#ifndef DFG_CMD_OPTIONS_H
#define DFG_CMD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "record/jvm_snapshot.h"
#include "report/formats.h"

enum options_program {
	PROGRAM_TRIGGER,
	PROGRAM_TOP,
};

enum options_action {
	ACTION_RECORD,
	ACTION_REPLAY,
	ACTION_LIST,
	ACTION_HELP,
	ACTION_VERSION,
};

enum options_unwind {
	UNWIND_AUTO, /* vm, unless every JVM keeps frame pointers */
	UNWIND_FP,
	UNWIND_VM,
};

struct options {
	enum options_action action;
	char **names; /* containers, pids or sessions; borrowed from argv */
	size_t name_count;
	bool all, by_pid;
	unsigned duration;  /* seconds; of dfg-top, from one refresh to the next */
	unsigned frequency; /* Hz */
	enum options_unwind unwind;
	unsigned stack_bytes; /* copied with each sample, for vm; 0: as many as fit */
	struct format_set formats;
	const char *output; /* NULL: beside the container's other results */
	const char *push;   /* URL, NULL: none */
	struct snapshot_options snapshot;
	bool json, quiet;
	bool plain;	/* dfg-top: no screen */
	unsigned count; /* dfg-top: refreshes; 0: no end */
};

/* Fails with a usage error: exit status 2. */
MUST_CHECK int options_parse(enum options_program program, int argc, char **argv,
			     struct options *ret, struct err *err);
void options_help(enum options_program program);

#endif
