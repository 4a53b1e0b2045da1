/* SPDX-License-Identifier: Apache-2.0 */
/* Exit statuses, options and signals of all commands. */
#ifndef DFG_CMD_COMMAND_H
#define DFG_CMD_COMMAND_H

#include <getopt.h>
#include <signal.h>

#include "common/err.h"

/* Documented in each command's manual page; scripts depend on them. */
enum exit_status {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NO_CONTAINER = 3,
	EXIT_NO_JVM = 4,
	EXIT_NOT_PERMITTED = 5,
	EXIT_EXCEEDED = 6, /* dfg-diff: a change exceeds a limit of --fail-on */
};

/* Logs the error and returns the status. */
enum exit_status command_fail(enum exit_status status, const struct err *err);

/* A program. */
struct command {
	const char *name, *help;
};

/* The next option, by getopt_long (`letters` begin with ':', options' values are not 0); 0 after
 * the last; -1 for one that is unknown or lacks its value. */
MUST_CHECK int command_option(int argc, char **argv, const char *letters,
			      const struct option *options, struct err *err);

/* The same, with 'h' and 'v' for --help and --version, which it prints before it exits. */
MUST_CHECK int command_option_of(const struct command *c, int argc, char **argv,
				 const char *letters, const struct option *options,
				 struct err *err);

/* Counts SIGINT, SIGTERM and SIGHUP after command_catch_signals. */
extern volatile sig_atomic_t command_interrupted;
void command_catch_signals(void);

/* Raises it to the hard limit: each poller takes a few descriptors, perf one for each thread and
 * processor. */
void command_raise_file_limit(void);

/* The dfg.conf of this installation: next to its programs, else in /etc. Owned by the caller. */
char *command_conf_path(void);

#endif
