/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands have in common: how they end, read their options, and are interrupted. */
#ifndef DFG_CMD_COMMAND_H
#define DFG_CMD_COMMAND_H

#include <getopt.h>
#include <signal.h>

#include "common/err.h"

/* Exit statuses of design.md section 5. */
enum exit_status {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NO_CONTAINER = 3,
	EXIT_NO_JVM = 4,
	EXIT_NOT_PERMITTED = 5,
};

/* Says why, and returns the status to exit with. */
enum exit_status command_fail(enum exit_status status, const struct err *err);

/* The next option, as getopt_long has it (`letters` begin with ':', options' values are not 0). 0
 * behind the last; -1 with err for one that is unknown or lacks its value. */
MUST_CHECK int command_option(int argc, char **argv, const char *letters,
			      const struct option *options, struct err *err);

/* ^C and the like end what goes on, and what there is until then counts. */
extern volatile sig_atomic_t command_interrupted;
void command_catch_signals(void);

/* To all descriptors that we may have: a JVM that is watched takes a handful, perf one for each
 * thread and processor. */
void command_raise_file_limit(void);

#endif
