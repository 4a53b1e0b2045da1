// SPDX-License-Identifier: Apache-2.0
#include "discover/engine_names.h"

#include <ctype.h>
#include <fcntl.h>
#include <jansson.h>

#include "common/fs.h"
#include "common/proc.h"
#include "common/str.h"

#define FILE_MAX   (16u << 20)
#define PARENTS	   64		     /* of a process, up to the engine's */
#define SHIM	   "containerd-shim" /* as far as a process's name goes */
#define CONMON	   "conmon"
#define DOCKER_DIR "/containers/"

/* ---- annotations ---- */

/* containerd internal/cri/annotations; CRI-O and Docker's shim of Kubernetes have the kubelet's own
 * labels (kubernetes pkg/kubelet/types/labels.go); nerdctl pkg/labels. */
static const char *const name_keys[] = {
	"io.kubernetes.cri.container-name",
	"io.kubernetes.container.name",
	"nerdctl/name",
};
static const char *const pod_keys[] = {
	"io.kubernetes.cri.sandbox-name",
	"io.kubernetes.pod.name",
};
static const char *const namespace_keys[] = {
	"io.kubernetes.cri.sandbox-namespace",
	"io.kubernetes.pod.namespace",
	"nerdctl/namespace",
};
static const struct {
	const char *key, *value;
} pause_annotations[] = {
	{"io.kubernetes.cri.container-type", "sandbox"},
	{"io.kubernetes.cri-o.ContainerType", "sandbox"},
	{"io.kubernetes.docker.type", "podsandbox"},
};

bool engine_name_is_valid(const char *text)
{
	size_t len = strlen(text);

	if (len == 0 || len > 255 || !isalnum((unsigned char)text[0]))
		return false;
	for (const char *p = text; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			return false;
	return true;
}

static void copy_first(const json_t *annotations, const char *const *keys, size_t n, char *ret,
		       size_t size)
{
	for (size_t i = 0; i < n; i++) {
		const char *text = json_string_value(json_object_get(annotations, keys[i]));

		if (text && engine_name_is_valid(text)) {
			memcpy(ret, text, strlen(text) + 1 < size ? strlen(text) + 1 : size);
			return;
		}
	}
}

void engine_names_add_annotations(struct engine_names *n, const json_t *annotations)
{
	copy_first(annotations, name_keys, ARRAY_LEN(name_keys), n->name, sizeof(n->name));
	copy_first(annotations, pod_keys, ARRAY_LEN(pod_keys), n->pod, sizeof(n->pod));
	copy_first(annotations, namespace_keys, ARRAY_LEN(namespace_keys), n->namespace,
		   sizeof(n->namespace));
	for (size_t i = 0; i < ARRAY_LEN(pause_annotations); i++) {
		const char *is =
			json_string_value(json_object_get(annotations, pause_annotations[i].key));

		n->is_pause |= is && !strcmp(is, pause_annotations[i].value);
	}
}

/* ---- the engine's process ---- */

/* The process of the engine that monitors one container: a containerd shim, or conmon. */
struct monitor {
	int procfd;
	bool is_shim;
	struct str args;
};

static void cleanup_monitor(struct monitor *k)
{
	cleanup_close_fd(&k->procfd);
	str_fini(&k->args);
}

static void copy(char ret[static 256], const char *text)
{
	if (text && engine_name_is_valid(text))
		memcpy(ret, text, strlen(text) + 1);
}

/* Opens pid if it is a monitor of this host. One that a container runs for its own containers is in
 * another pid namespace, or not root's. */
static bool monitor_open(pid_t pid, struct monitor *ret, pid_t *ret_parent)
{
	CLEANUP(close_fd) int procfd = -1;
	struct proc_status st;

	*ret_parent = 0;
	procfd = proc_open(pid, NULL);
	if (procfd < 0 || proc_read_status(procfd, &st, NULL) < 0)
		return false;
	*ret_parent = st.ppid;
	if ((strcmp(st.name, SHIM) != 0 && strcmp(st.name, CONMON) != 0) ||
	    !proc_is_trusted(procfd, &st) || proc_read_args(procfd, &ret->args, NULL) < 0)
		return false;
	ret->is_shim = !strcmp(st.name, SHIM);
	ret->procfd = TAKE_FD(procfd);
	return true;
}

static bool share_cgroup(int procfd, int other)
{
	CLEANUP(str_fini) struct str a = {0};
	CLEANUP(str_fini) struct str b = {0};

	return proc_read_cgroup(procfd, &a, NULL) < 0 || proc_read_cgroup(other, &b, NULL) < 0 ||
	       !strcmp(a.buf, b.buf);
}

/* Finds the nearest monitor among the parents. One in the same cgroup was started by the container.
 * A parent that ends meanwhile, as a runtime's do while it makes a container, leaves its child to
 * another: the search begins anew. */
static bool monitor_find(pid_t pid, struct monitor *ret)
{
	CLEANUP(close_fd) int procfd = proc_open(pid, NULL);
	pid_t at = 0; /* none yet, or it has ended */

	for (int i = 0; i < PARENTS && procfd >= 0; i++) {
		struct proc_status st;

		if (at == 0 && proc_read_status(procfd, &st, NULL) == 0)
			at = st.ppid;
		if (at <= 1)
			return false;
		if (monitor_open(at, ret, &at))
			return !share_cgroup(procfd, ret->procfd);
	}
	return false;
}

/* ---- its files, which tell the names ---- */

/* NULL if it is no JSON, or if others than root can write it. */
static json_t *read_json(int dirfd, const char *name)
{
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(close_fd) int fd = -1;
	struct stat st;

	fd = fs_open_regular(dirfd, name, O_RDONLY, NULL);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != 0 || (st.st_mode & S_IWOTH) ||
	    fs_read_all(fd, FILE_MAX, &text, NULL) < 0)
		return NULL;
	/* Limits in config.json are up to 2^64-1, which jansson does not accept as an integer. */
	return json_loadb(text.buf ? text.buf : "", text.len, JSON_DECODE_INT_AS_REAL, NULL);
}

/* Opens the bundle of a container by its monitor, -1: none. */
static int open_bundle(const struct monitor *k, int rootfd, const char *id)
{
	const char *path = proc_arg(&k->args, "-b");
	CLEANUP(free) char *beside = xasprintf("../%s", id);
	CLEANUP(close_fd) int cwd = -1;

	if (!k->is_shim)
		return path ? fs_open_in_root(rootfd, path, O_PATH | O_DIRECTORY, NULL) : -1;
	cwd = openat(k->procfd, "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return cwd < 0 ? -1
		       : fs_openat2(cwd, beside, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, 0, NULL);
}

/* Path of Docker's directory of the container, <data>/containers/<id>: beside the directory that
 * its /etc/hostname is mounted from, which is another container's if it shares that one's network.
 */
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

static void add_docker(struct engine_names *n, int rootfd, const json_t *config, const char *id)
{
	CLEANUP(free) char *path = docker_dir(config, id);
	CLEANUP(close_fd) int dirfd = -1;
	const char *name;
	json_t *known;

	dirfd = path ? fs_open_in_root(rootfd, path, O_PATH | O_DIRECTORY, NULL) : -1;
	known = dirfd < 0 ? NULL : read_json(dirfd, "config.v2.json");
	name = json_string_value(json_object_get(known, "Name"));
	copy(n->name, name && *name == '/' ? name + 1 : name);
	engine_names_add_annotations(n,
				     json_object_get(json_object_get(known, "Config"), "Labels"));
	if (known && !*n->pod)
		n->namespace[0] = '\0'; /* the same one for all of Docker's */
	json_decref(known);
}

/* Reads containers/storage's list, which podman rename changes; conmon has the first name. */
static void add_podman(struct engine_names *n, int bundlefd, const char *id)
{
	CLEANUP(close_fd) int dirfd = -1;
	json_t *list, *at;
	size_t i;

	dirfd = fs_openat2(bundlefd, "../..", O_PATH | O_DIRECTORY, 0, 0, NULL);
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

void engine_names_find(pid_t pid, const char *id, struct engine_names *ret)
{
	CLEANUP(monitor) struct monitor k = {.procfd = -1};
	CLEANUP(close_fd) int rootfd = -1;
	CLEANUP(close_fd) int bundlefd = -1;
	struct engine_names n = {0};
	json_t *config;

	*ret = n;
	if (!engine_name_is_valid(id) || !monitor_find(pid, &k))
		return;
	copy(k.is_shim ? n.namespace : n.name, proc_arg(&k.args, k.is_shim ? "-namespace" : "-n"));
	rootfd = proc_open_root(k.procfd, NULL);
	bundlefd = rootfd < 0 ? -1 : open_bundle(&k, rootfd, id);
	config = bundlefd < 0 ? NULL : read_json(bundlefd, "config.json");
	if (k.is_shim)
		add_docker(&n, rootfd, config, id);
	else if (bundlefd >= 0)
		add_podman(&n, bundlefd, id);
	engine_names_add_annotations(&n, json_object_get(config, "annotations"));
	json_decref(config);
	*ret = n;
}

bool engine_shim_id(pid_t pid, char ret[static 256])
{
	CLEANUP(monitor) struct monitor k = {.procfd = -1};
	CLEANUP(close_fd) int procfd = -1;
	struct proc_status st;
	const char *id;
	pid_t above;

	procfd = proc_open(pid, NULL);
	if (procfd < 0 || proc_read_status(procfd, &st, NULL) < 0 || st.ppid <= 1 ||
	    !monitor_open(st.ppid, &k, &above) || !k.is_shim || share_cgroup(procfd, k.procfd))
		return false;
	id = proc_arg(&k.args, "-id");
	if (!id || !engine_name_is_valid(id))
		return false;
	copy(ret, id);
	return true;
}
