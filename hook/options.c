// SPDX-License-Identifier: Apache-2.0
#include "hook/options.h"

#include <string.h>

static const struct {
	const char *name;
	enum hook_mode mode;
} modes[] = {
	{"--join", HOOK_MODE_JOIN},	  {"--gc", HOOK_MODE_GC},
	{"--release", HOOK_MODE_RELEASE}, {"--help", HOOK_MODE_HELP},
	{"--version", HOOK_MODE_VERSION}, {"--precreate", HOOK_MODE_PRECREATE},
};

static bool take_mode(const char *arg, struct hook_options *o)
{
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		if (!strcmp(arg, modes[i].name)) {
			o->mode = modes[i].mode;
			return true;
		}
	}
	return false;
}

/* "--name VALUE" or "--name=VALUE". Returns 1 when it was this option, 0 when not, -1 on error. */
static int take_path(char **argv, int *i, const char *name, const char **ret, struct err *err)
{
	size_t len = strlen(name);
	const char *value;

	if (strncmp(argv[*i], name, len) != 0 || (argv[*i][len] && argv[*i][len] != '='))
		return 0;
	value = argv[*i][len] ? argv[*i] + len + 1 : argv[++*i];
	if (!value || value[0] != '/')
		return err_set(err, 0, "%s needs an absolute path", name);
	*ret = value;
	return 1;
}

static int take_paths(char **argv, int *i, struct hook_options *o, struct err *err)
{
	int rc = take_path(argv, i, "--root", &o->root, err);

	if (rc == 0)
		rc = take_path(argv, i, "--payload", &o->payload, err);
	if (rc == 0)
		rc = take_path(argv, i, "--conf", &o->conf, err);
	return rc;
}

int hook_options_parse(int argc, char **argv, struct hook_options *ret, struct err *err)
{
	int failed = 0;

	*ret = (struct hook_options){0};
	for (int i = 1; i < argc && argv[i]; i++) {
		int rc;

		if (take_mode(argv[i], ret))
			continue;
		if (!strcmp(argv[i], "--asked")) {
			ret->asked = true;
			continue;
		}
		rc = take_paths(argv, &i, ret, err);
		if (rc < 0)
			failed = -1;
		else if (rc == 0 && argv[i][0] == '-')
			failed = err_set(err, 0, "unknown option %s", argv[i]);
		if (!argv[i])
			break;
	}
	return failed;
}
