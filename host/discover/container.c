// SPDX-License-Identifier: Apache-2.0
#include "discover/container.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>

#include "common/fs.h"
#include "common/proc.h"
#include "common/str.h"
#include "dfg/paths.h"
#include "discover/cgroup.h"
#include "session/session.h"

#define STATE_MAX (2u << 20)

void container_fini(struct container *c)
{
	free(c->id);
	free(c->name);
	free(c->pod);
	free(c->namespace);
	free(c->label);
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
	c->label = container_label(n->namespace, n->pod, c->name);
}

char *container_file_name(const struct container *c)
{
	char *name = xstrdup(c->label);

	for (char *p = name; (p = strchr(p, '/'));)
		*p = '.';
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

static struct container *add(struct containers *c, const char *id, pid_t pid, uint64_t start,
			     const struct engine_names *n)
{
	c->list = grow(c->list, c->count, &c->cap, sizeof(*c->list));
	c->list[c->count] = (struct container){.id = xstrdup(id), .pid = pid, .start = start};
	container_set_names(&c->list[c->count], n);
	return &c->list[c->count++];
}

/* ---- the hook's records ---- */

/* The record's process, if it is still the same one: same boot, same start time. */
static pid_t living_pid(const json_t *state, const char *boot_id, uint64_t *ret_start)
{
	pid_t pid = (pid_t)json_integer_value(json_object_get(state, "pid"));
	const char *boot = json_string_value(json_object_get(state, "boot_id"));
	json_int_t started = json_integer_value(json_object_get(state, "start_time"));
	CLEANUP(handle_close) struct handle p = {.procfd = -1};

	if (pid <= 1 || !boot || strcmp(boot, boot_id) || handle_open(pid, &p, NULL) < 0)
		return 0;
	*ret_start = p.start;
	return p.start == (uint64_t)started ? pid : 0;
}

static void add_record(struct containers *c, int dirfd, const char *id, const char *boot_id)
{
	CLEANUP(free) char *path = xasprintf("%s/" DFG_STATE_FILE, id);
	CLEANUP(str_fini) struct str text = {0};
	uint64_t start;
	json_t *state;
	pid_t pid;

	if (fs_read_file(dirfd, path, STATE_MAX, &text, NULL) < 0 || !text.buf)
		return;
	state = json_loadb(text.buf, text.len, JSON_REJECT_DUPLICATES, NULL);
	pid = living_pid(state, boot_id, &start);
	if (pid) {
		struct engine_names names;

		engine_names_find(pid, id, &names);
		engine_names_add_annotations(&names, json_object_get(state, "annotations"));
		add(c, id, pid, start, &names)->hooked = true;
	}
	json_decref(state);
}

static void add_records(struct containers *c, const char *root)
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
				add_record(c, dirfd(dir), e->d_name, boot_id);
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
	CLEANUP(close_fd) int procfd = -1;
	CLEANUP(str_fini) struct str cgroup = {0};
	struct containers *c = arg;
	struct container *known;
	struct engine_names names;
	uint64_t start;
	bool nested;
	char id[256];

	procfd = proc_open(pid, NULL);
	if (procfd < 0 || proc_read_cgroup(procfd, &cgroup, NULL) < 0 ||
	    !find_id(pid, procfd, cgroup.buf, id, &nested))
		return 0;
	/* /proc lists pids in rising order: the first one seen is usually the container's first
	 * process, and always has its namespaces. But a container can have cgroups made that are
	 * called like another container's. */
	known = strlen(id) == 64 ? by_id(c, id, NULL) : NULL;
	if (known && (nested || !known->is_nested))
		return 0;
	engine_names_find(pid, id, &names);
	if (proc_start_time(procfd, &start, NULL) < 0)
		return 0; /* it has ended meanwhile, before its names were found */
	if (known) {
		known->pid = pid;
		known->start = start;
		container_set_names(known, &names);
	} else if (!by_id(c, id, names.namespace)) {
		known = add(c, id, pid, start, &names);
	}
	if (known)
		known->is_nested = nested;
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
