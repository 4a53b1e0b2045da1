/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of dfg-trigger (design: README, docs/man/dfg-trigger.1). */
#ifndef DFG_OPTIONS_H
#define DFG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "dfg/err.h"
#include "formats.h"
#include "snapshot.h"

enum options_action {
	ACTION_RECORD,
	ACTION_REPLAY,
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
	unsigned duration;  /* seconds */
	unsigned frequency; /* Hz */
	enum options_unwind unwind;
	unsigned stack_bytes; /* copied with each sample, for vm; 0: as many as fit */
	struct format_set formats;
	const char *output; /* NULL: beside the container's other results */
	struct snapshot_options snapshot;
	bool json, quiet;
};

/* Fails with a usage error: exit status 2. */
MUST_CHECK int options_parse(int argc, char **argv, struct options *ret, struct err *err);
void options_help(void);

#endif
