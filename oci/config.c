// SPDX-License-Identifier: Apache-2.0
#include "oci/config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>

#include "common/fs.h"
#include "common/str.h"
#include "oci/state.h"

#define LABEL_MAX 1024

static char *take_string(const json_t *o, const char *key, size_t limit)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s && *s && strlen(s) <= limit ? xstrdup(s) : NULL;
}

/* Goes into a mount option by itself, so only control bytes and quotes are out of place. */
static char *take_label(const json_t *linux_part)
{
	char *label = take_string(linux_part, "mountLabel", LABEL_MAX);

	for (const char *p = label; p && *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == '"' || *p == 0x7f) {
			free(label);
			return NULL;
		}
	}
	return label;
}

int oci_config_parse(const char *text, size_t len, const char *bundle, struct oci_config *ret,
		     struct err *err)
{
	/* Limits are up to 2^64-1, which jansson takes for no integer; none is needed here. */
	json_t *o = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL);
	CLEANUP(free) char *path = take_string(json_object_get(o, "root"), "path", 4095);
	json_t *linux_part = json_object_get(o, "linux");

	*ret = (struct oci_config){0};
	if (path)
		ret->root = path[0] == '/' ? xstrdup(path) : xasprintf("%s/%s", bundle, path);
	if (!ret->root || !oci_path_valid(ret->root)) {
		err_set(err, 0, o ? "config.json has no root.path" : "config.json is not JSON");
		json_decref(o);
		oci_config_fini(ret);
		return -1;
	}
	ret->mount_label = take_label(linux_part);
	ret->cgroups_path = take_string(linux_part, "cgroupsPath", 4095);
	ret->hostname = take_string(o, "hostname", 255);
	ret->notes = json_incref(json_object_get(o, "annotations"));
	json_decref(o);
	return 0;
}

static int config_open(const char *bundle, struct err *err)
{
	CLEANUP(close_fd) int dir = -1;
	CLEANUP(close_fd) int fd = -1;
	struct stat st;

	dir = fs_openat2(AT_FDCWD, bundle, O_PATH | O_DIRECTORY, 0, RESOLVE_NO_MAGICLINKS, err);
	if (dir < 0)
		return -1;
	fd = fs_open_regular(dir, "config.json", O_RDONLY, err);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "config.json");
	if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & S_IWOTH))
		return err_set(err, 0, "config.json is not the engine's own");
	return TAKE_FD(fd);
}

int oci_config_load(const char *bundle, struct oci_config *ret, struct err *err)
{
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(close_fd) int fd = config_open(bundle, err);

	*ret = (struct oci_config){0};
	if (fd < 0 || fs_read_all(fd, OCI_CONFIG_MAX, &text, err) < 0)
		return err_wrap(err, "%s", bundle);
	if (oci_config_parse(text.buf ? text.buf : "", text.len, bundle, ret, err) < 0)
		return err_wrap(err, "%s", bundle);
	return 0;
}

void oci_config_fini(struct oci_config *c)
{
	free(c->root);
	free(c->mount_label);
	free(c->hostname);
	free(c->cgroups_path);
	json_decref(c->notes);
	*c = (struct oci_config){0};
}
