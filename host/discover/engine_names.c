// SPDX-License-Identifier: Apache-2.0
#include "discover/engine_names.h"

#include <fcntl.h>
#include <jansson.h>

#include "common/fs.h"
#include "common/proc.h"
#include "common/str.h"
#include "discover/container.h"

#define FILE_MAX   (16u << 20)
#define PARENTS	   64		     /* of a process, up to the engine's */
#define SHIM	   "containerd-shim" /* as far as a process's name goes */
#define CONMON	   "conmon"
#define DOCKER_DIR "/containers/"

/* The engine's process beside a container. */
struct keeper {
	int procfd;
	bool is_shim;
	struct str args;
};

static void cleanup_keeper(struct keeper *k)
{
	cleanup_close_fd(&k->procfd);
	str_fini(&k->args);
}

static void copy(char ret[static 256], const char *text)
{
	if (text && names_valid(text))
		memcpy(ret, text, strlen(text) + 1);
}

/* ---- the engine's process ---- */

static bool shares_pid_namespace(int procfd)
{
	CLEANUP(close_fd) int self = -1;
	uint64_t theirs = 0, ours = 1;
	struct err err;

	self = proc_open(getpid(), &err);
	return self >= 0 && proc_ns_inode(procfd, "pid", &theirs, &err) == 0 &&
	       proc_ns_inode(self, "pid", &ours, &err) == 0 && theirs == ours;
}

/* Whether it is one, and root's own: not one that a container runs for containers in it. */
static bool keeper_take(pid_t pid, struct keeper *ret, pid_t *ret_parent)
{
	CLEANUP(close_fd) int procfd = -1;
	struct proc_status st;
	struct err err;

	*ret_parent = 0;
	procfd = proc_open(pid, &err);
	if (procfd < 0 || proc_read_status(procfd, &st, &err) < 0)
		return false;
	*ret_parent = st.ppid;
	if ((strcmp(st.name, SHIM) != 0 && strcmp(st.name, CONMON) != 0) || st.euid != 0 ||
	    !shares_pid_namespace(procfd) || proc_read_args(procfd, &ret->args, &err) < 0)
		return false;
	ret->is_shim = !strcmp(st.name, SHIM);
	ret->procfd = TAKE_FD(procfd);
	return true;
}

/* The first above the process that is in another cgroup: what a container runs itself is not. */
static bool keeper_find(pid_t pid, struct keeper *ret)
{
	CLEANUP(str_fini) struct str own = {0};
	CLEANUP(close_fd) int procfd = -1;
	struct proc_status st;
	struct err err;

	procfd = proc_open(pid, &err);
	if (procfd < 0 || proc_read_cgroup(procfd, &own, &err) < 0 ||
	    proc_read_status(procfd, &st, &err) < 0)
		return false;
	for (int i = 0; i < PARENTS && st.ppid > 1; i++) {
		CLEANUP(str_fini) struct str cgroup = {0};

		if (keeper_take(st.ppid, ret, &st.ppid))
			return proc_read_cgroup(ret->procfd, &cgroup, &err) == 0 &&
			       strcmp(cgroup.buf, own.buf) != 0;
	}
	return false;
}

/* ---- its files ---- */

/* NULL where it is no JSON, or nothing that only root can write. */
static json_t *read_json(int dirfd, const char *name)
{
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(close_fd) int fd = -1;
	struct stat st;
	struct err err;

	fd = fs_open_regular(dirfd, name, O_RDONLY, &err);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != 0 || (st.st_mode & S_IWOTH) ||
	    fs_read_all(fd, FILE_MAX, &text, &err) < 0)
		return NULL;
	/* Limits in config.json are up to 2^64-1, which jansson takes for no integer. */
	return json_loadb(text.buf ? text.buf : "", text.len, JSON_DECODE_INT_AS_REAL, NULL);
}

/* The bundle of a container that the engine's process keeps, -1: none. */
static int open_bundle(const struct keeper *k, int rootfd, const char *id)
{
	const char *path = proc_arg(&k->args, "-b");
	CLEANUP(free) char *beside = xasprintf("../%s", id);
	CLEANUP(close_fd) int cwd = -1;
	struct err err;

	if (!k->is_shim)
		return path ? fs_open_in_root(rootfd, path, O_PATH | O_DIRECTORY, &err) : -1;
	cwd = openat(k->procfd, "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return cwd < 0 ? -1
		       : fs_openat2(cwd, beside, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, 0, &err);
}

/* Where Docker keeps what it knows of the container: <data>/containers/<id>, beside that of the
 * container whose network it shares, if it does, since their /etc/hostname is one. */
static char *docker_dir(const json_t *config, const char *id)
{
	json_t *mount;
	size_t i;

	json_array_foreach(json_object_get(config, "mounts"), i, mount)
	{
		const char *to = json_string_value(json_object_get(mount, "destination"));
		const char *from = json_string_value(json_object_get(mount, "source"));
		const char *at = NULL;

		if (!to || !from || strcmp(to, "/etc/hostname") != 0 ||
		    !has_suffix(from, "/hostname"))
			continue;
		for (const char *p = from; (p = strstr(p, DOCKER_DIR)); p++)
			at = p;
		return at ? xasprintf("%.*s" DOCKER_DIR "%s", (int)(at - from), from, id) : NULL;
	}
	return NULL;
}

static void add_docker(struct names *n, int rootfd, const json_t *config, const char *id)
{
	CLEANUP(free) char *path = docker_dir(config, id);
	CLEANUP(close_fd) int dirfd = -1;
	struct err err;
	const char *name;
	json_t *known;

	dirfd = path ? fs_open_in_root(rootfd, path, O_PATH | O_DIRECTORY, &err) : -1;
	known = dirfd < 0 ? NULL : read_json(dirfd, "config.v2.json");
	name = json_string_value(json_object_get(known, "Name"));
	copy(n->name, name && *name == '/' ? name + 1 : name);
	names_add_notes(n, json_object_get(json_object_get(known, "Config"), "Labels"));
	if (known && !*n->pod)
		n->space[0] = '\0'; /* all of Docker's are in the same one */
	json_decref(known);
}

/* containers/storage's list, which podman rename changes; conmon has the name of the start. */
static void add_podman(struct names *n, int bundlefd, const char *id)
{
	CLEANUP(close_fd) int dirfd = -1;
	json_t *list, *at;
	struct err err;
	size_t i;

	dirfd = fs_openat2(bundlefd, "../..", O_PATH | O_DIRECTORY, 0, 0, &err);
	list = dirfd < 0 ? NULL : read_json(dirfd, "containers.json");
	json_array_foreach(list, i, at)
	{
		const char *known = json_string_value(json_object_get(at, "id"));

		if (known && !strcmp(known, id))
			copy(n->name,
			     json_string_value(json_array_get(json_object_get(at, "names"), 0)));
	}
	json_decref(list);
}

void names_of(pid_t pid, const char *id, struct names *ret)
{
	CLEANUP(keeper) struct keeper k = {.procfd = -1};
	CLEANUP(close_fd) int rootfd = -1;
	CLEANUP(close_fd) int bundlefd = -1;
	struct names n = {0};
	struct err err;
	json_t *config;

	*ret = n;
	if (!names_valid(id) || !keeper_find(pid, &k))
		return;
	copy(k.is_shim ? n.space : n.name, proc_arg(&k.args, k.is_shim ? "-namespace" : "-n"));
	rootfd = proc_open_root(k.procfd, &err);
	bundlefd = rootfd < 0 ? -1 : open_bundle(&k, rootfd, id);
	config = bundlefd < 0 ? NULL : read_json(bundlefd, "config.json");
	if (k.is_shim)
		add_docker(&n, rootfd, config, id);
	else if (bundlefd >= 0)
		add_podman(&n, bundlefd, id);
	names_add_notes(&n, json_object_get(config, "annotations"));
	json_decref(config);
	*ret = n;
}

bool names_shim_id(pid_t pid, char ret[static 256])
{
	CLEANUP(keeper) struct keeper k = {.procfd = -1};
	CLEANUP(close_fd) int procfd = -1;
	struct proc_status st;
	struct err err;
	const char *id;
	pid_t above;

	procfd = proc_open(pid, &err);
	if (procfd < 0 || proc_read_status(procfd, &st, &err) < 0 || st.ppid <= 1 ||
	    !keeper_take(st.ppid, &k, &above) || !k.is_shim)
		return false;
	id = proc_arg(&k.args, "-id");
	if (!id || !names_valid(id))
		return false;
	copy(ret, id);
	return true;
}
