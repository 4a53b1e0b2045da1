// SPDX-License-Identifier: Apache-2.0
#include "oci/config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>

#include "common/fs.h"
#include "oci/jsontext.h"
#include "oci/state.h"

#define LABEL_MAX 1024

static char *copy_string(const json_t *o, const char *key, size_t limit)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s && *s && strlen(s) <= limit ? xstrdup(s) : NULL;
}

/* Becomes the value of a mount option: control bytes and quotes are refused. */
static char *copy_label(const json_t *linux_part)
{
	char *label = copy_string(linux_part, "mountLabel", LABEL_MAX);

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
	/* As reals: limits are up to 2^64-1, too large for jansson's integers. */
	CLEANUP(json_decref)
	json_t *o = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL);
	CLEANUP(free) char *path = copy_string(json_object_get(o, "root"), "path", 4095);
	json_t *linux_part = json_object_get(o, "linux");

	*ret = (struct oci_config){0};
	if (path)
		ret->root = path[0] == '/' ? xstrdup(path) : xasprintf("%s/%s", bundle, path);
	if (!ret->root || !oci_path_valid(ret->root)) {
		err_set(err, 0, o ? "config.json has no root.path" : "config.json is not JSON");
		oci_config_fini(ret);
		return -1;
	}
	ret->mount_label = copy_label(linux_part);
	ret->cgroups_path = copy_string(linux_part, "cgroupsPath", 4095);
	ret->hostname = copy_string(o, "hostname", 255);
	ret->annotations = json_incref(json_object_get(o, "annotations"));
	return 0;
}

static int open_config(const char *bundle, struct err *err)
{
	CLEANUP(close_fd)
	int dir = fs_openat2(AT_FDCWD, bundle, O_PATH | O_DIRECTORY, 0, RESOLVE_NO_MAGICLINKS, err);
	CLEANUP(close_fd) int fd = -1;
	struct stat st;

	if (dir < 0)
		return -1;
	fd = fs_open_regular(dir, "config.json", O_RDONLY, err);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "config.json");
	if ((st.st_uid != 0 && st.st_uid != geteuid()) || (st.st_mode & S_IWOTH))
		return err_set(err, 0, "config.json can be written by others than the engine");
	return TAKE_FD(fd);
}

int oci_config_load(const char *bundle, struct oci_config *ret, struct err *err)
{
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(close_fd) int fd = open_config(bundle, err);

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
	json_decref(c->annotations);
	*c = (struct oci_config){0};
}
