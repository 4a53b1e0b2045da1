// SPDX-License-Identifier: Apache-2.0
/* dfg-runtime: an OCI runtime for engines without hooks (Docker). Adds the two hooks, and early
 * flags, to a bundle before its container is created, then executes the real runtime with the same
 * arguments, descriptors and environment; after any error, too. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fs.h"
#include "hook/runtime_args.h"
#include "oci/conf.h"
#include "oci/config.h"
#include "oci/spec.h"

/* True for a program of root that is not this one. */
static bool is_runtime(const char *path)
{
	struct stat st, self;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == 0 &&
	       !(st.st_mode & 022) && (st.st_mode & 0111) && stat("/proc/self/exe", &self) == 0 &&
	       (st.st_dev != self.st_dev || st.st_ino != self.st_ino);
}

static const char *find_runtime(const struct conf *conf)
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

/* Skips containers that dfg.conf or their annotations exclude. */
static int add_early(const struct conf *conf, const char *bundle, struct str *text, struct err *err)
{
	CLEANUP(oci_config_fini) struct oci_config config = {0};

	if (!conf->early || oci_config_parse(text->buf, text->len, bundle, &config, err) < 0 ||
	    !conf_selects(conf, false, config.annotations, err))
		return 0;
	return oci_spec_add_early(text, err);
}

static int edit(const struct conf *conf, const char *bundle, struct err *err)
{
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(close_fd)
	int dir =
		fs_openat2(AT_FDCWD, bundle, O_RDONLY | O_DIRECTORY, 0, RESOLVE_NO_MAGICLINKS, err);
	CLEANUP(close_fd) int fd = -1;
	char hook[PATH_MAX];
	struct stat st;
	int hooked, early;

	if (dir < 0)
		return -1;
	fd = fs_open_regular(dir, "config.json", O_RDONLY, err);
	if (fd < 0 || fstat(fd, &st) < 0 || fs_read_all(fd, OCI_CONFIG_MAX, &text, err) < 0)
		return -1;
	if (!conf_find_sibling("dfg-hook", hook, sizeof(hook)))
		return err_set(err, 0, "there is no dfg-hook beside this program");
	hooked = oci_spec_add_hook(&text, hook, NULL, err);
	if (hooked < 0)
		return -1;
	early = add_early(conf, bundle, &text, err);
	return hooked > 0 || early > 0
		       ? fs_replace_like(dir, "config.json", &st, false, text.buf, text.len, err)
		       : 0;
}

int main(int argc, char **argv)
{
	const char *bundle = runtime_args_bundle(argc, argv);
	const char *runtime;
	struct conf conf;
	struct err err;

	/* After an error conf has the defaults and, where it could be read, the runtime. */
	(void)!conf_load(NULL, &conf, &err);
	runtime = find_runtime(&conf);
	if (!runtime) {
		dprintf(STDERR_FILENO,
			"dfg-runtime: no runc found; set `runtime = PATH` in dfg.conf\n");
		return 127;
	}
	if (bundle)
		(void)!edit(&conf, bundle, &err);
	/* crun reads its own name. */
	argv[0] = (char *)runtime;
	execv(runtime, argv);
	dprintf(STDERR_FILENO, "dfg-runtime: %s: %s\n", runtime, strerror(errno));
	return 126;
}
