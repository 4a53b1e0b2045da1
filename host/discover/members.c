// SPDX-License-Identifier: Apache-2.0
/* The processes of a container, and the container of a process. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>

#include "common/control_group.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/proc.h"
#include "common/str.h"
#include "discover/cgroup.h"
#include "discover/container.h"

char *container_own_cgroup(int procfd, const char *id)
{
	CLEANUP(str_fini) struct str theirs = {0};
	CLEANUP(str_fini) struct str ours = {0};
	CLEANUP(close_fd) int self = proc_open(getpid(), NULL);
	CLEANUP(free) char *own = NULL;

	if (self < 0 || proc_read_cgroup(procfd, &theirs, NULL) < 0 ||
	    proc_read_cgroup(self, &ours, NULL) < 0)
		return NULL;
	own = cgroup_own_line(theirs.buf, id);
	return own && !cgroup_is_below(ours.buf, own) ? TAKE_PTR(own) : NULL;
}

/* Tells a container's processes from all others. */
struct boundary {
	bool is_alone;	    /* its first process is the only one that is known */
	pid_t pid;	    /* of it */
	uint64_t start;	    /* of it */
	const char *cgroup; /* line of its cgroup, or NULL */
	uint64_t pidns;	    /* used where cgroup is NULL */
};

static int boundary_of(const struct container *c, struct boundary *ret, struct err *err)
{
	CLEANUP(handle_close) struct handle first = {.procfd = -1};
	struct boundary b = {.pid = c->pid, .start = c->start, .cgroup = c->cgroup};

	if (handle_open(c->pid, &first, err) < 0)
		return -1;
	if (first.start != c->start)
		return err_set(err, ESRCH, "process %d of container %s", (int)c->pid, c->label);
	b.is_alone = c->is_single || (!b.cgroup && proc_shares_ns(first.procfd, "pid"));
	if (!b.is_alone && !b.cgroup && proc_ns_inode(first.procfd, "pid", &b.pidns, err) < 0)
		return -1;
	*ret = b;
	return 0;
}

static bool is_inside(const struct boundary *b, pid_t pid, int procfd, const char *cgroup)
{
	uint64_t number;

	if (b->is_alone)
		return pid == b->pid && proc_start_time(procfd, &number, NULL) == 0 &&
		       number == b->start;
	if (b->cgroup)
		return cgroup_is_below(cgroup, b->cgroup);
	return proc_ns_inode(procfd, "pid", &number, NULL) == 0 && number == b->pidns;
}

struct members {
	const struct boundary *boundary;
	struct handles list;
};

/* Reads the process through its handle only, so that a reused pid is not mistaken for it. */
static int add_inside(pid_t pid, void *arg)
{
	CLEANUP(handle_close) struct handle p = {.pid = pid, .procfd = proc_open(pid, NULL)};
	CLEANUP(str_fini) struct str cgroup = {0};
	struct members *m = arg;

	if (p.procfd < 0 || proc_read_cgroup(p.procfd, &cgroup, NULL) < 0 ||
	    !is_inside(m->boundary, pid, p.procfd, cgroup.buf) ||
	    proc_start_time(p.procfd, &p.start, NULL) < 0)
		return 0;
	return handles_add(&m->list, &p) ? 0 : 1;
}

int container_processes(const struct container *c, struct handles *ret, struct err *err)
{
	struct boundary b = {0};
	struct members m = {.boundary = &b};

	if (boundary_of(c, &b, err) < 0)
		return -1;
	if ((b.is_alone ? add_inside(b.pid, &m) : proc_each(add_inside, &m, err)) < 0) {
		handles_fini(&m.list);
		return -1;
	}
	if (m.list.is_cut)
		log_warn("container %s: only %zu of its processes are looked at", c->label,
			 m.list.count);
	*ret = m.list;
	return 0;
}

/* The path of this process, as container_perf_cgroup's; "" for an unknown one. */
static char *own_perf_path(void)
{
	CLEANUP(close_fd) int self = proc_open(getpid(), NULL);
	CLEANUP(str_fini) struct str text = {0};
	bool v1;

	return self >= 0 && proc_read_cgroup(self, &text, NULL) == 0
		       ? cgroup_path(text.buf, "", "perf_event", &v1)
		       : xstrdup("");
}

char *container_perf_cgroup(const struct container *c)
{
	CLEANUP(handle_close) struct handle first = {.procfd = -1};
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(free) char *path = NULL;
	CLEANUP(free) char *ours = own_perf_path();
	CLEANUP(free) char *mount = NULL;
	CLEANUP(free) char *dir = NULL;
	bool v1;

	if (c->is_single || handle_open(c->pid, &first, NULL) < 0 || first.start != c->start ||
	    proc_read_cgroup(first.procfd, &text, NULL) < 0)
		return NULL;
	path = cgroup_path(text.buf, c->id, "perf_event", &v1);
	if (!path ||
	    (ours && (!*ours || (has_prefix(ours, path) && strchr("/", ours[strlen(path)])))))
		return NULL; /* it has dfg, too */
	mount = control_group_mount("perf_event");
	if (!mount)
		mount = control_group_mount(NULL);
	dir = mount ? xasprintf("%s%s", mount, path) : NULL;
	return dir && access(dir, F_OK) == 0 ? TAKE_PTR(path) : NULL;
}

int container_open_cgroup(const struct container *c, const char *controller, bool *ret_v1)
{
	CLEANUP(handle_close) struct handle first = {.procfd = -1};
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(free) char *path = NULL;
	CLEANUP(free) char *mount = NULL;
	CLEANUP(close_fd) int top = -1;

	if (handle_open(c->pid, &first, NULL) < 0 || first.start != c->start ||
	    proc_read_cgroup(first.procfd, &text, NULL) < 0)
		return -1;
	path = cgroup_path(text.buf, c->id, controller, ret_v1);
	mount = path ? control_group_mount(*ret_v1 ? controller : NULL) : NULL;
	top = mount ? open(mount, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	/* A container's names are in the path, and of a namespace above ours it begins with "..".
	 */
	return top < 0 ? -1
		       : fs_openat2(top, path + 1, O_RDONLY | O_DIRECTORY, 0,
				    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV, NULL);
}

/* True if the process belongs to the container. *ret_depth: length of its cgroup's path, by which
 * a container differs from one that it runs itself. */
static bool has_process(const struct container *c, const struct handle *p, const char *cgroup,
			size_t *ret_depth)
{
	struct boundary b = {0};

	if (boundary_of(c, &b, NULL) < 0)
		return false;
	*ret_depth = b.cgroup ? strlen(b.cgroup) : 1;
	return is_inside(&b, p->pid, p->procfd, cgroup);
}

int container_of_pid(const char *root, pid_t pid, struct container *ret, struct err *err)
{
	CLEANUP(handle_close) struct handle p = {.procfd = -1};
	CLEANUP(str_fini) struct str cgroup = {0};
	CLEANUP(containers_fini) struct containers c = {0};
	struct container *found = NULL;
	size_t depth, deepest = 0;

	if (handle_open(pid, &p, err) < 0 || proc_read_cgroup(p.procfd, &cgroup, err) < 0 ||
	    containers_list(root, &c, err) < 0)
		return -1;
	for (size_t i = 0; i < c.count; i++)
		if (has_process(&c.list[i], &p, cgroup.buf, &depth) && depth > deepest) {
			found = &c.list[i];
			deepest = depth;
		}
	if (found) {
		*ret = *found;
		*found = (struct container){0};
		return 0;
	}
	*ret = (struct container){.id = xasprintf("pid-%d", (int)pid),
				  .pid = pid,
				  .start = p.start,
				  .is_single = true};
	container_set_names(ret, &(struct engine_names){0});
	free(ret->name);
	free(ret->label);
	ret->name = xasprintf("process %d", (int)pid);
	ret->label = xstrdup(ret->name);
	return 0;
}
