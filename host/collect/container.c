// SPDX-License-Identifier: Apache-2.0
#include "container.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>

#include "dfg/fs.h"
#include "dfg/paths.h"
#include "dfg/proc.h"
#include "dfg/str.h"
#include "engines.h"

#define STATE_MAX (2u << 20)

void container_fini(struct container *c)
{
	free(c->id);
	free(c->name);
	*c = (struct container){0};
}

void containers_fini(struct containers *c)
{
	for (size_t i = 0; i < c->count; i++)
		container_fini(&c->list[i]);
	free(c->list);
	*c = (struct containers){0};
}

static struct container *by_id(struct containers *c, const char *id)
{
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->list[i].id, id))
			return &c->list[i];
	return NULL;
}

static struct container *add(struct containers *c, const char *id, pid_t pid)
{
	c->list = grow(c->list, c->count, &c->cap, sizeof(*c->list));
	c->list[c->count] = (struct container){.id = xstrdup(id), .name = xstrdup(id), .pid = pid};
	return &c->list[c->count++];
}

/* ---- the hook's records ---- */

/* The record's process, if it is still the same one: same boot, same start time. */
static pid_t living_pid(const json_t *state, const char *boot_id)
{
	pid_t pid = (pid_t)json_integer_value(json_object_get(state, "pid"));
	const char *boot = json_string_value(json_object_get(state, "boot_id"));
	json_int_t started = json_integer_value(json_object_get(state, "start_time"));
	CLEANUP(close_fd) int procfd = -1;
	uint64_t ticks;
	struct err err;

	if (pid <= 1 || !boot || strcmp(boot, boot_id))
		return 0;
	procfd = proc_open(pid, &err);
	if (procfd < 0 || proc_start_time(procfd, &ticks, &err) < 0)
		return 0;
	return ticks == (uint64_t)started ? pid : 0;
}

static void add_record(struct containers *c, int dirfd, const char *id, const char *boot_id)
{
	CLEANUP(free) char *path = xasprintf("%s/" DFG_STATE_FILE, id);
	CLEANUP(str_fini) struct str text = {0};
	struct err err;
	json_t *state;
	pid_t pid;

	if (fs_read_file(dirfd, path, STATE_MAX, &text, &err) < 0 || !text.buf)
		return;
	state = json_loadb(text.buf, text.len, JSON_REJECT_DUPLICATES, NULL);
	pid = living_pid(state, boot_id);
	if (pid) {
		struct container *known = by_id(c, id);

		known = known ? known : add(c, id, pid);
		known->pid = pid;
		known->hooked = true;
	}
	json_decref(state);
}

static void add_records(struct containers *c, const char *root)
{
	CLEANUP(free) char *path = xasprintf("%s/" DFG_CONTAINERS, root);
	DIR *dir = opendir(path);
	struct dirent *e;
	char boot_id[37];
	struct err err;

	if (!dir)
		return;
	if (proc_boot_id(boot_id, &err) == 0)
		while ((e = readdir(dir)))
			if (e->d_name[0] != '.')
				add_record(c, dirfd(dir), e->d_name, boot_id);
	closedir(dir);
}

/* ---- the running processes ---- */

static int add_by_cgroup(pid_t pid, void *arg)
{
	CLEANUP(close_fd) int procfd = -1;
	CLEANUP(str_fini) struct str cgroup = {0};
	struct containers *c = arg;
	struct container *known;
	char id[65];
	struct err err;

	procfd = proc_open(pid, &err);
	if (procfd < 0 || proc_read_cgroup(procfd, &cgroup, &err) < 0 ||
	    !cgroup_container_id(cgroup.buf, id))
		return 0;
	known = by_id(c, id);
	/* /proc lists pids in rising order: the first one seen is the container's first process,
	 * or near enough to stand for its namespaces. */
	if (!known)
		add(c, id, pid);
	return 0;
}

int containers_list(const char *root, struct containers *ret, struct err *err)
{
	struct containers c = {0};

	add_records(&c, root);
	if (proc_each(add_by_cgroup, &c, err) < 0) {
		containers_fini(&c);
		return -1;
	}
	*ret = c;
	return 0;
}

void containers_name(struct containers *c)
{
	struct engine_name *names;
	size_t count = engine_names(&names);

	for (size_t i = 0; i < count; i++) {
		struct container *known = by_id(c, names[i].id);

		if (!known || strcmp(known->name, known->id))
			continue;
		free(known->name);
		known->name = xstrdup(names[i].name);
	}
	engine_names_free(names, count);
}

/* ---- search ---- */

static struct container take(struct container *c)
{
	struct container taken = *c;

	c->id = c->name = NULL;
	return taken;
}

static enum container_match find_prefix(struct containers *c, const char *wanted,
					struct container *ret, struct err *err)
{
	CLEANUP(str_fini) struct str all = {0};
	struct container *found = NULL;
	size_t hits = 0;

	for (size_t i = 0; i < c->count; i++) {
		if (!*wanted || !has_prefix(c->list[i].id, wanted))
			continue;
		found = &c->list[i];
		str_addf(&all, "%s%.16s (%s)", hits++ ? ", " : "", found->id, found->name);
	}
	if (hits > 1) {
		err_set(err, 0,
			"\"%s\" is the beginning of %zu containers: %s; give more of the id",
			wanted, hits, all.buf);
		return CONTAINER_AMBIGUOUS;
	}
	if (hits == 0) {
		err_set(err, 0, "no running container \"%s\"; see docker ps, podman ps or ls %s",
			wanted, DFG_ROOT_DEFAULT "/" DFG_CONTAINERS);
		return CONTAINER_NONE;
	}
	*ret = take(found);
	return CONTAINER_FOUND;
}

/* A runc container without hook: its id is a component of its cgroup's path. */
struct component {
	const char *wanted;
	pid_t pid;
};

static int match_component(pid_t pid, void *arg)
{
	CLEANUP(close_fd) int procfd = -1;
	CLEANUP(str_fini) struct str cgroup = {0};
	struct component *s = arg;
	size_t len = strlen(s->wanted);
	struct err err;

	procfd = proc_open(pid, &err);
	if (procfd < 0 || proc_read_cgroup(procfd, &cgroup, &err) < 0)
		return 0;
	for (const char *p = cgroup.buf; (p = strchr(p, '/')); p++) {
		if (!strncmp(p + 1, s->wanted, len) && strchr("/\n", p[1 + len])) {
			s->pid = pid;
			return 1;
		}
	}
	return 0;
}

static bool find_component(const char *wanted, struct container *ret)
{
	struct component s = {.wanted = wanted};
	struct err err;

	if (!*wanted || strchr(wanted, '/') || proc_each(match_component, &s, &err) <= 0)
		return false;
	*ret = (struct container){.id = xstrdup(wanted), .name = xstrdup(wanted), .pid = s.pid};
	return true;
}

static struct container *by_exact(struct containers *c, const char *wanted)
{
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->list[i].id, wanted) || !strcmp(c->list[i].name, wanted))
			return &c->list[i];
	return NULL;
}

enum container_match container_find(const char *root, const char *wanted, struct container *ret,
				    struct err *err)
{
	enum container_match match;
	struct container *exact;
	struct containers c;

	if (containers_list(root, &c, err) < 0)
		return CONTAINER_NONE;
	exact = by_id(&c, wanted);
	/* Asking the engines takes tens of milliseconds: only where the id alone does not tell. */
	if (!exact || strlen(wanted) == 64)
		containers_name(&c);
	exact = by_exact(&c, wanted);
	if (exact) {
		*ret = take(exact);
		match = CONTAINER_FOUND;
	} else if (find_component(wanted, ret)) {
		match = CONTAINER_FOUND;
	} else {
		match = find_prefix(&c, wanted, ret, err);
	}
	containers_fini(&c);
	return match;
}

int container_of_pid(const char *root, pid_t pid, struct container *ret, struct err *err)
{
	CLEANUP(close_fd) int procfd = proc_open(pid, err);
	CLEANUP(str_fini) struct str cgroup = {0};
	struct containers c;
	char id[65];

	if (procfd < 0 || proc_read_cgroup(procfd, &cgroup, err) < 0)
		return -1;
	if (containers_list(root, &c, err) < 0)
		return -1;
	for (size_t i = 0; i < c.count; i++) {
		struct container *at = &c.list[i];
		bool same = cgroup_container_id(cgroup.buf, id) && !strcmp(at->id, id);
		pid_t *pids = NULL;
		size_t n = 0;

		if (!same && at->hooked && container_pids(at, &pids, &n, err) == 0)
			for (size_t k = 0; k < n; k++)
				same |= pids[k] == pid;
		free(pids);
		if (same) {
			containers_name(&c);
			*ret = take(at);
			containers_fini(&c);
			return 0;
		}
	}
	containers_fini(&c);
	ret->id = xasprintf("pid-%d", (int)pid);
	ret->name = xasprintf("process %d", (int)pid);
	ret->pid = pid;
	ret->hooked = false;
	ret->is_single = true;
	return 0;
}

/* ---- its processes ---- */

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
