// SPDX-License-Identifier: Apache-2.0
/* dfg-runtime: an OCI runtime for engines without hooks (Docker). It is the real runtime, but for
 * the two hooks that a bundle gets before its container is created. Whatever goes wrong here, the
 * real runtime runs, with the very arguments, descriptors and environment of this program. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "dfg/fs.h"
#include "hook_conf.h"
#include "oci_config.h"
#include "oci_spec.h"
#include "runtime_args.h"

/* Absolute, root's own, and not this program. */
static bool is_runtime(const char *path)
{
	struct stat st, self;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == 0 &&
	       !(st.st_mode & 022) && (st.st_mode & 0111) && stat("/proc/self/exe", &self) == 0 &&
	       (st.st_dev != self.st_dev || st.st_ino != self.st_ino);
}

static const char *find_runtime(const struct hook_conf *conf)
{
	static const char *const usual[] = {"/usr/bin/runc", "/usr/sbin/runc",
					    "/usr/local/bin/runc", "/usr/local/sbin/runc"};

	if (conf->runtime[0])
		return is_runtime(conf->runtime) ? conf->runtime : NULL;
	for (size_t i = 0; i < ARRAY_LEN(usual); i++)
		if (is_runtime(usual[i]))
			return usual[i];
	return NULL;
}

/* The hook object, and its path as a JSON string. The environment must not be empty: without one,
 * runtimes give the hook theirs, or even the container's (runc before 1.3). */
static bool make_hook(char **ret_hook, char **ret_path)
{
	char hook[PATH_MAX], payload[PATH_MAX], conf[PATH_MAX];
	json_t *args, *path, *object;

	if (!hook_conf_sibling("dfg-hook", hook, sizeof(hook)))
		return false;
	args = json_pack("[s]", "dfg-hook");
	if (hook_conf_sibling("payload.squashfs", payload, sizeof(payload))) {
		json_array_append_new(args, json_string("--payload"));
		json_array_append_new(args, json_string(payload));
	}
	if (hook_conf_sibling("dfg.conf", conf, sizeof(conf))) {
		json_array_append_new(args, json_string("--conf"));
		json_array_append_new(args, json_string(conf));
	}
	object = json_pack("{s:s, s:o, s:[s], s:i}", "path", hook, "args", args, "env", "DFG=1",
			   "timeout", 5);
	path = json_string(hook);
	*ret_hook = object ? json_dumps(object, JSON_COMPACT) : NULL;
	*ret_path = path ? json_dumps(path, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	json_decref(object);
	json_decref(path);
	return *ret_hook && *ret_path;
}

static int replace_config(int dir, const struct stat *old, const struct str *text, struct err *err)
{
	CLEANUP(close_fd) int fd = -1;

	if (fs_replace_file(dir, "config.json", old->st_mode & 07777, text->buf, text->len, err) <
	    0)
		return -1;
	fd = fs_open_regular(dir, "config.json", O_RDONLY, err);
	if (fd >= 0 && (old->st_uid != geteuid() || old->st_gid != getegid()))
		(void)!fchown(fd, old->st_uid, old->st_gid);
	return fd < 0 ? -1 : 0;
}

static int add_hook(const char *bundle, struct err *err)
{
	CLEANUP(str_fini) struct str before = {0};
	CLEANUP(str_fini) struct str after = {0};
	CLEANUP(close_fd)
	int dir =
		fs_openat2(AT_FDCWD, bundle, O_RDONLY | O_DIRECTORY, 0, RESOLVE_NO_MAGICLINKS, err);
	CLEANUP(close_fd) int fd = -1;
	CLEANUP(free) char *hook = NULL;
	CLEANUP(free) char *path = NULL;
	struct stat st;
	int rc;

	if (dir < 0)
		return -1;
	fd = fs_open_regular(dir, "config.json", O_RDONLY, err);
	if (fd < 0 || fstat(fd, &st) < 0 || fs_read_all(fd, OCI_CONFIG_MAX, &before, err) < 0 ||
	    !before.buf)
		return -1;
	if (!make_hook(&hook, &path))
		return err_set(err, 0, "there is no dfg-hook beside this program");
	rc = oci_spec_add_hook(before.buf, before.len, hook, path, &after, err);
	return rc > 0 ? replace_config(dir, &st, &after, err) : rc;
}

int main(int argc, char **argv)
{
	const char *bundle = runtime_args_bundle(argc, argv);
	const char *runtime;
	struct hook_conf conf;
	struct err err;

	if (hook_conf_load(NULL, &conf, &err) < 0)
		hook_conf_defaults(&conf);
	runtime = find_runtime(&conf);
	if (!runtime) {
		dprintf(STDERR_FILENO, "dfg-runtime: no runc, and no runtime = PATH in dfg.conf\n");
		return 127;
	}
	if (bundle)
		(void)!add_hook(bundle, &err);
	/* crun looks at its own name, so it gets it. */
	argv[0] = (char *)runtime;
	execv(runtime, argv);
	dprintf(STDERR_FILENO, "dfg-runtime: %s: %s\n", runtime, strerror(errno));
	return 126;
}
