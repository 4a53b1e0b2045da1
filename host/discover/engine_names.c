// SPDX-License-Identifier: Apache-2.0
#include "discover/engine_names.h"

#include <fcntl.h>

#include "common/fs.h"
#include "common/proc.h"
#include "common/str.h"

#define PARENTS 64		  /* of a process, up to the engine's */
#define SHIM	"containerd-shim" /* as far as a process's name goes */
#define CONMON	"conmon"

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

bool engine_file_read(struct engine_reader *r, enum engine_file file, const char *id, int dirfd,
		      const char *path, struct engine_facts *ret)
{
	CLEANUP(close_fd) int fd = fs_open_regular(dirfd, path, O_RDONLY, NULL);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) &&
	       !(st.st_mode & S_IWOTH) && engine_reader_parse(r, file, id, fd, ret);
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

/* ---- what it decides ---- */

static bool contradicts(const char *claim, const char *name)
{
	return *claim && strcmp(claim, name) != 0;
}

void engine_names_compare(struct engine_names *n, const struct engine_facts *facts)
{
	for (size_t i = 0; i < KEYS_COUNT && !n->is_pause; i++) {
		const struct engine_claims *c = &facts->claims[i];

		n->is_forged |= c->is_pause || contradicts(c->name, n->name) ||
				contradicts(c->pod, n->pod) ||
				contradicts(c->namespace, n->namespace);
	}
}

/* k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT (kubernetes pkg/kubelet/dockershim/naming.go; CRI-O
 * internal/factory/container/container.go). False for another name. */
static bool set_kubelet_name(struct engine_names *n, const char *text)
{
	CLEANUP(free) char *copied = xstrdup(text);
	char *parts[6] = {0}, *rest = copied;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		parts[i] = strsep(&rest, "_");
	if (rest || !parts[5] || strcmp(parts[0], "k8s") != 0 || !engine_name_is_valid(parts[2]) ||
	    !engine_name_is_valid(parts[1]) || !engine_name_is_valid(parts[3]))
		return false;
	n->is_pause = !strcmp(parts[1], "POD");
	copy(n->name, n->is_pause ? NULL : parts[1]);
	copy(n->pod, parts[2]);
	copy(n->namespace, parts[3]);
	return true;
}

static void add_cri(struct engine_names *n, const struct engine_facts *config)
{
	const struct engine_claims *c = &config->claims[KEYS_CRI];

	copy(n->name, c->name);
	copy(n->pod, c->pod);
	copy(n->namespace, c->namespace);
	n->is_pause = c->is_pause;
}

/* False: Docker does not know the container. */
static bool add_docker(struct engine_reader *r, struct engine_names *n, int rootfd,
		       const struct engine_facts *config, const char *id)
{
	CLEANUP(close_fd) int dirfd = -1;
	struct engine_facts known;

	dirfd = *config->docker_dir
			? fs_open_in_root(rootfd, config->docker_dir, O_PATH | O_DIRECTORY, NULL)
			: -1;
	if (dirfd < 0 || !engine_file_read(r, ENGINE_DOCKER, id, dirfd, "config.v2.json", &known))
		return false;
	n->namespace[0] = '\0'; /* the same one for all of Docker's */
	if (!set_kubelet_name(n, known.name))
		copy(n->name, known.name);
	engine_names_compare(n, &known);
	return true;
}

static void add_shim(struct engine_reader *r, struct engine_names *n, int rootfd,
		     const struct engine_facts *config, const char *id)
{
	if (!strcmp(n->namespace, "k8s.io") && *config->claims[KEYS_CRI].pod)
		add_cri(n, config);
	else if (!add_docker(r, n, rootfd, config, id) && strcmp(n->namespace, "moby") != 0)
		copy(n->name, config->claims[KEYS_NERDCTL].name);
}

static void add_conmon(struct engine_reader *r, struct engine_names *n, const struct monitor *k,
		       int bundlefd, const char *id)
{
	const char *name = proc_arg(&k->args, "-n");
	bool is_podman = proc_arg(&k->args, "--exit-command");
	CLEANUP(close_fd) int dirfd = -1;
	struct engine_facts list;

	if (!name || (!is_podman && set_kubelet_name(n, name)))
		return;
	copy(n->name, name);
	dirfd = bundlefd < 0 ? -1 : fs_openat2(bundlefd, "../..", O_PATH | O_DIRECTORY, 0, 0, NULL);
	if (dirfd >= 0 &&
	    engine_file_read(r, ENGINE_CONTAINERS, id, dirfd, "containers.json", &list))
		copy(n->name, list.name);
}

void engine_names_find(struct engine_reader *r, pid_t pid, const char *id, struct engine_names *ret)
{
	CLEANUP(monitor) struct monitor k = {.procfd = -1};
	CLEANUP(close_fd) int rootfd = -1;
	CLEANUP(close_fd) int bundlefd = -1;
	struct engine_facts config = {0};
	struct engine_names n = {0};

	*ret = n;
	if (!engine_name_is_valid(id) || !monitor_find(pid, &k))
		return;
	n.is_monitored = true;
	rootfd = proc_open_root(k.procfd, NULL);
	bundlefd = rootfd < 0 ? -1 : open_bundle(&k, rootfd, id);
	if (bundlefd >= 0)
		(void)engine_file_read(r, ENGINE_CONFIG, id, bundlefd, "config.json", &config);
	if (k.is_shim) {
		copy(n.namespace, proc_arg(&k.args, "-namespace"));
		add_shim(r, &n, rootfd, &config, id);
	} else {
		add_conmon(r, &n, &k, bundlefd, id);
	}
	engine_names_compare(&n, &config);
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
