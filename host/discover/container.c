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
#include "session/session.h"

#define STATE_MAX (2u << 20)

void container_fini(struct container *c)
{
	free(c->id);
	free(c->name);
	free(c->pod);
	free(c->space);
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

void container_set_names(struct container *c, const struct names *n)
{
	free(c->name);
	free(c->pod);
	free(c->space);
	free(c->label);
	c->name = xstrdup(*n->name ? n->name : c->id);
	c->pod = xstrdup(n->pod);
	c->space = xstrdup(n->space);
	c->is_pause = n->is_pause;
	c->label = container_label(n->space, n->pod, c->name);
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

/* Ids of 64 digits are the container's alone; others the caller of the engine chose, once in each
 * namespace of containerd. */
static struct container *by_id(struct containers *c, const char *id, const char *space)
{
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->list[i].id, id) && (!space || !strcmp(c->list[i].space, space)))
			return &c->list[i];
	return NULL;
}

static struct container *add(struct containers *c, const char *id, pid_t pid, const struct names *n)
{
	c->list = grow(c->list, c->count, &c->cap, sizeof(*c->list));
	c->list[c->count] = (struct container){.id = xstrdup(id), .pid = pid};
	container_set_names(&c->list[c->count], n);
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
		struct names names;

		names_of(pid, id, &names);
		names_add_notes(&names, json_object_get(state, "annotations"));
		add(c, id, pid, &names)->hooked = true;
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

/* The id in its cgroup's path; else, where its first process's shim knows one, that. What systemd
 * started is no container: "web.service". */
static bool id_of(pid_t pid, const char *cgroup, char ret[static 256])
{
	static const char *const units[] = {".service", ".scope", ".slice", ".mount", ".socket"};
	CLEANUP(free) char *own = NULL;
	char id[65];

	if (cgroup_container_id(cgroup, id)) {
		memcpy(ret, id, sizeof(id));
		return true;
	}
	own = cgroup_own_line(cgroup);
	for (size_t i = 0; own && i < ARRAY_LEN(units); i++)
		if (has_suffix(own, units[i]))
			return false;
	return own && names_shim_id(pid, ret);
}

static int add_by_cgroup(pid_t pid, void *arg)
{
	CLEANUP(close_fd) int procfd = -1;
	CLEANUP(str_fini) struct str cgroup = {0};
	struct containers *c = arg;
	struct names names;
	char id[256];
	struct err err;

	procfd = proc_open(pid, &err);
	if (procfd < 0 || proc_read_cgroup(procfd, &cgroup, &err) < 0 ||
	    !id_of(pid, cgroup.buf, id))
		return 0;
	/* /proc lists pids in rising order: the first one seen is the container's first process,
	 * or near enough to stand for its namespaces. */
	if (strlen(id) == 64 && by_id(c, id, NULL))
		return 0;
	names_of(pid, id, &names);
	if (!by_id(c, id, names.space))
		add(c, id, pid, &names);
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
			*ret = *at;
			*at = (struct container){0};
			containers_fini(&c);
			return 0;
		}
	}
	containers_fini(&c);
	*ret = (struct container){
		.id = xasprintf("pid-%d", (int)pid), .pid = pid, .is_single = true};
	container_set_names(ret, &(struct names){0});
	free(ret->name);
	free(ret->label);
	ret->name = xasprintf("process %d", (int)pid);
	ret->label = xstrdup(ret->name);
	return 0;
}
