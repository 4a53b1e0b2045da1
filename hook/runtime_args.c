// SPDX-License-Identifier: Apache-2.0
#include "hook/runtime_args.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "dfg/compiler.h"

/* Options with a value, of runc 1.1 and crun 1.8; the form --name=value is valid for all. */
static const char *const global_values[] = {"root",	"log",	"log-format",	  "log-level",
					    "rootless", "criu", "cgroup-manager", NULL};
static const char *const global_flags[] = {"debug", "systemd-cgroup", NULL};
static const char *const command_values[] = {"console-socket", "pid-file", "preserve-fds", NULL};

static bool is_one_of(const char *const *names, const char *name, size_t len)
{
	for (; *names; names++)
		if (strlen(*names) == len && !memcmp(*names, name, len))
			return true;
	return false;
}

/* Strips one or two dashes. */
static const char *bare(const char *arg)
{
	return arg[1] == '-' ? arg + 2 : arg + 1;
}

/* Returns the index of the command, or argc after an unknown option. */
static int find_command(int argc, char **argv)
{
	int i = 1;

	while (i < argc && argv[i][0] == '-') {
		const char *name = bare(argv[i]);
		size_t len = strcspn(name, "=");
		bool valued = is_one_of(global_values, name, len);

		if (!valued && !is_one_of(global_flags, name, len))
			return argc;
		i += valued && !name[len] ? 2 : 1;
	}
	return i < argc ? i : argc;
}

static const char *find_bundle(int argc, char **argv, int i)
{
	const char *bundle = ".";

	for (; i < argc; i++) {
		const char *name = bare(argv[i]);
		size_t len = strcspn(name, "=");

		if (argv[i][0] != '-' || !argv[i][1])
			continue;
		if (!strcmp(argv[i], "--"))
			break;
		/* crun: another file than config.json, outside the bundle. */
		if (!strncmp(name, "config", len) || !strcmp(argv[i], "-f"))
			return NULL;
		if (is_one_of(command_values, name, len)) {
			i += !name[len];
		} else if ((len == 6 && !memcmp(name, "bundle", 6)) ||
			   (len == 1 && name[0] == 'b')) {
			if (name[len])
				bundle = name + len + 1;
			else if (++i < argc)
				bundle = argv[i];
			else
				return NULL;
		}
	}
	return bundle[0] ? bundle : NULL;
}

const char *runtime_args_bundle(int argc, char **argv)
{
	int command = find_command(argc, argv);

	if (command == argc ||
	    (strcmp(argv[command], "create") != 0 && strcmp(argv[command], "run") != 0))
		return NULL;
	return find_bundle(argc, argv, command + 1);
}
