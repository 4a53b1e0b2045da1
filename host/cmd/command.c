// SPDX-License-Identifier: Apache-2.0
#include "cmd/command.h"

#include <stdio.h>
#include <sys/resource.h>

#include "common/install.h"
#include "common/log.h"
#include "common/str.h"
#include "dfg/paths.h"

volatile sig_atomic_t command_interrupted;

enum exit_status command_fail(enum exit_status status, const struct err *err)
{
	log_error("%s", err->msg);
	return status;
}

int command_option(int argc, char **argv, const char *letters, const struct option *options,
		   struct err *err)
{
	int opt;

	opterr = 0;
	opt = getopt_long(argc, argv, letters, options, NULL);
	if (opt == '?')
		return err_set(err, 0, "unknown option %s; see --help", argv[optind - 1]);
	if (opt == ':')
		return err_set(err, 0, "%s needs a value; see --help", argv[optind - 1]);
	return opt < 0 ? 0 : opt;
}

int command_option_of(const struct command *c, int argc, char **argv, const char *letters,
		      const struct option *options, struct err *err)
{
	CLEANUP(free) char *all = xasprintf("%sh", letters);
	int opt = command_option(argc, argv, all, options, err);

	if (opt != 'h' && opt != 'v')
		return opt;
	if (opt == 'h')
		fputs(c->help, stdout);
	else
		printf("%s " DFG_VERSION "\n", c->name);
	exit(fflush(stdout) == 0 ? EXIT_DONE : EXIT_FAILED);
}

static void on_signal(int sig)
{
	(void)sig;
	command_interrupted++;
}

void command_catch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction act = {.sa_handler = on_signal};

	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		sigaction(signals[i], &act, NULL);
	signal(SIGPIPE, SIG_IGN);
}

void command_raise_file_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
		r.rlim_cur = r.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &r);
	}
}

char *command_conf_path(void)
{
	CLEANUP(free) char *path = install_path("dfg.conf");

	return access(path, F_OK) == 0 ? TAKE_PTR(path) : xstrdup(DFG_CONF_FILE);
}
