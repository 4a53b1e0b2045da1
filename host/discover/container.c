// SPDX-License-Identifier: Apache-2.0
#include "discover/container.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "common/fs.h"
#include "common/proc.h"
#include "common/str.h"
#include "dfg/paths.h"
#include "discover/cgroup.h"
#include "session/session.h"

void container_fini(struct container *c)
{
	free(c->id);
	free(c->name);
	free(c->pod);
	free(c->namespace);
	free(c->label);
	free(c->cgroup);
	*c = (struct container){0};
}

void containers_fini(struct containers *c)
{
	for (size_t i = 0; i < c->count; i++)
		container_fini(&c->list[i]);
	free(c->list);
	*c = (struct containers){0};
}

void container_set_names(struct container *c, const struct engine_names *n)
{
	free(c->name);
	free(c->pod);
	free(c->namespace);
	free(c->label);
	c->name = xstrdup(*n->name ? n->name : c->id);
	c->pod = xstrdup(n->pod);
	c->namespace = xstrdup(n->namespace);
	c->is_pause = n->is_pause;
	c->is_forged = n->is_forged;
	c->label = container_label(n->namespace, n->pod, c->name);
}

char *container_file_name(const struct container *c)
{
	char *name = xstrdup(c->label);

	for (char *p = name; (p = strpbrk(p, "/ "));)
		*p = *p == '/' ? '.' : '-';
	if (*name == '.')
		*name = '_';
	return name;
}

/* Ids of 64 digits are unique; the engine's user chose all others, which are unique in each
 * namespace of containerd. */
static struct container *by_id(struct containers *c, const char *id, const char *namespace)
{
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->list[i].id, id) &&
		    (!namespace || !strcmp(c->list[i].namespace, namespace)))
			return &c->list[i];
	return NULL;
}

/* Makes the process its first one. */
static void set_process(struct container *c, const struct handle *h)
{
	free(c->cgroup);
	c->pid = h->pid;
	c->start = h->start;
	c->cgroup = container_own_cgroup(h->procfd, c->id);
}

static struct container *add(struct containers *c, const char *id, const struct handle *h,
			     const struct engine_names *n)
{
	struct container *new;

	c->list = grow(c->list, c->count, &c->cap, sizeof(*c->list));
	new = &c->list[c->count++];
	*new = (struct container){.id = xstrdup(id)};
	set_process(new, h);
	container_set_names(new, n);
	return new;
}

/* ---- the hook's records ---- */

struct listing {
	struct containers found;
	struct engine_reader reader;
};

/* The record's process, if it is still the same one: same boot, same start time. */
static bool is_running(const struct engine_facts *record, const char *boot_id, struct handle *ret)
{
	return record->pid > 1 && !strcmp(record->boot_id, boot_id) &&
	       handle_open(record->pid, ret, NULL) == 0 && ret->start == record->start;
}

static void add_record(struct listing *l, int dirfd, const char *id, const char *boot_id)
{
	CLEANUP(close_fd)
	int subfd = fs_openat2(dirfd, id, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, 0, NULL);
	CLEANUP(handle_close) struct handle h = {.procfd = -1};
	struct engine_facts record;
	struct engine_names names;

	if (subfd < 0 ||
	    !engine_file_read(&l->reader, ENGINE_STATE, id, subfd, DFG_STATE_FILE, &record) ||
	    !is_running(&record, boot_id, &h))
		return;
	engine_names_find(&l->reader, h.pid, id, &names);
	engine_names_compare(&names, &record);
	add(&l->found, id, &h, &names)->hooked = true;
}

static void add_records(struct listing *l, const char *root)
{
	CLEANUP(free) char *path = xasprintf("%s/" DFG_CONTAINERS, root);
	DIR *dir = opendir(path);
	struct dirent *e;
	char boot_id[37];

	if (!dir)
		return;
	if (proc_boot_id(boot_id, NULL) == 0)
		while ((e = readdir(dir)))
			if (e->d_name[0] != '.')
				add_record(l, dirfd(dir), e->d_name, boot_id);
	closedir(dir);
}

/* ---- the running processes ---- */

/* True for the first process of a pid namespace below the one of dfg. */
static bool is_namespace_init(int procfd)
{
	struct proc_status st;

	return proc_read_status(procfd, &st, NULL) == 0 && st.nspid == 1 &&
	       !proc_shares_ns(procfd, "pid");
}

/* Finds the id of an engine's container in the cgroup's path, that of a containerd shim in its
 * arguments, and that of a runtime without an engine by its first process. */
static bool find_id(pid_t pid, int procfd, const char *cgroup, char ret[static 256],
		    bool *ret_nested)
{
	if (cgroup_container_id(cgroup, ret, ret_nested))
		return true;
	return cgroup_runtime_id(cgroup, ret) &&
	       (engine_shim_id(pid, ret) ||
		(engine_name_is_valid(ret) && is_namespace_init(procfd)));
}

static int add_by_cgroup(pid_t pid, void *arg)
{
	CLEANUP(handle_close) struct handle h = {.pid = pid, .procfd = proc_open(pid, NULL)};
	CLEANUP(str_fini) struct str cgroup = {0};
	struct listing *l = arg;
	struct containers *c = &l->found;
	struct container *known;
	struct engine_names names;
	unsigned doubt;
	bool nested;
	char id[256];

	if (h.procfd < 0 || proc_read_cgroup(h.procfd, &cgroup, NULL) < 0 ||
	    !find_id(pid, h.procfd, cgroup.buf, id, &nested))
		return 0;
	/* /proc lists pids in rising order: the first one seen is usually the container's first
	 * process, and always has its namespaces. But a container can have cgroups made that are
	 * called like another container's: below its own, and without that one's monitor. */
	known = strlen(id) == 64 ? by_id(c, id, NULL) : NULL;
	if (known && (nested || known->doubt == 0))
		return 0;
	engine_names_find(&l->reader, pid, id, &names);
	if (proc_start_time(h.procfd, &h.start, NULL) < 0)
		return 0; /* it has ended meanwhile, before its names were found */
	doubt = nested ? 2 : !names.is_monitored;
	if (known && doubt < known->doubt) {
		set_process(known, &h);
		known->doubt = doubt;
		container_set_names(known, &names);
	} else if (!known && !by_id(c, id, names.namespace)) {
		add(c, id, &h, &names)->doubt = doubt;
	}
	return 0;
}

int containers_list(const char *root, struct containers *ret, struct err *err)
{
	struct listing l = {.reader = ENGINE_READER_EMPTY};
	int rc;

	add_records(&l, root);
	rc = proc_each(add_by_cgroup, &l, err);
	engine_reader_stop(&l.reader);
	if (rc < 0) {
		containers_fini(&l.found);
		return -1;
	}
	*ret = l.found;
	return 0;
}
