// SPDX-License-Identifier: Apache-2.0
/* The processes of a container. */
#include "discover/container.h"

#include "common/proc.h"
#include "common/str.h"

struct members {
	const char *own; /* cgroup line, or NULL */
	uint64_t pidns;	 /* used where own is NULL */
	pid_t *list;
	size_t count, cap;
};

static int add_member(pid_t pid, void *arg)
{
	CLEANUP(close_fd) int procfd = -1;
	CLEANUP(str_fini) struct str cgroup = {0};
	struct members *m = arg;
	uint64_t ns = 0;
	struct err err;

	procfd = proc_open(pid, &err);
	if (procfd < 0)
		return 0;
	if (m->own ? proc_read_cgroup(procfd, &cgroup, &err) < 0 ||
			     !cgroup_is_below(cgroup.buf, m->own)
		   : proc_ns_inode(procfd, "pid", &ns, &err) < 0 || ns != m->pidns)
		return 0;
	m->list = grow(m->list, m->count, &m->cap, sizeof(*m->list));
	m->list[m->count++] = pid;
	return 0;
}

/* Its cgroup, unless that is the one this program runs in too (a runtime told to make none). */
static char *own_cgroup(int procfd, struct err *err)
{
	CLEANUP(str_fini) struct str theirs = {0};
	CLEANUP(str_fini) struct str ours = {0};
	CLEANUP(close_fd) int self = proc_open(getpid(), err);
	CLEANUP(free) char *own = NULL;

	if (self < 0 || proc_read_cgroup(procfd, &theirs, err) < 0 ||
	    proc_read_cgroup(self, &ours, err) < 0)
		return NULL;
	own = cgroup_own_line(theirs.buf);
	return own && !cgroup_is_below(ours.buf, own) ? TAKE_PTR(own) : NULL;
}

int container_pids(const struct container *c, pid_t **ret, size_t *ret_count, struct err *err)
{
	CLEANUP(close_fd) int procfd = proc_open(c->pid, err);
	CLEANUP(free) char *own = NULL;
	struct members m = {0};
	uint64_t our_ns = 0;
	struct err ignored;

	if (procfd < 0)
		return -1;
	if (!c->is_single) {
		CLEANUP(close_fd) int self = proc_open(getpid(), err);

		own = own_cgroup(procfd, &ignored);
		m.own = own;
		if (proc_ns_inode(procfd, "pid", &m.pidns, err) < 0 || self < 0 ||
		    proc_ns_inode(self, "pid", &our_ns, err) < 0)
			return -1;
	}
	/* Neither a cgroup nor a pid namespace of its own: all that is left is the process. */
	if (c->is_single || (!own && m.pidns == our_ns)) {
		m.list = xcalloc(1, sizeof(*m.list));
		m.list[m.count++] = c->pid;
	} else if (proc_each(add_member, &m, err) < 0) {
		free(m.list);
		return -1;
	}
	*ret = m.list;
	*ret_count = m.count;
	return 0;
}
