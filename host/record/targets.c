// SPDX-License-Identifier: Apache-2.0
#include "record/targets.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/utsname.h>
#include <time.h>

#include "common/fs.h"
#include "common/str.h"
#include "dfg/paths.h"
#include "record/perf.h"
#include "record/session_files.h"

/* ---- finding ---- */

static bool known(const struct targets *t, const struct container *c)
{
	for (size_t i = 0; i < t->count; i++)
		if (!strcmp(t->list[i].container.id, c->id) &&
		    !strcmp(t->list[i].container.namespace, c->namespace))
			return true;
	return false;
}

/* Moves the container into a new target. False when it has no process left. */
static bool add(struct targets *t, struct container *c)
{
	struct target new = {.container = *c, .session = {.dirfd = -1, .mapsfd = -1, .elffd = -1}};
	struct err err;

	if (known(t, c) || container_pids(c, &new.pids, &new.pid_count, &err) < 0) {
		container_fini(c);
		return false;
	}
	jvms_find(new.pids, new.pid_count, &new.jvms);
	t->list = grow(t->list, t->count, &t->cap, sizeof(new));
	t->list[t->count++] = new;
	*c = (struct container){0};
	return true;
}

static void target_fini(struct target *t)
{
	container_fini(&t->container);
	jvms_fini(&t->jvms);
	free(t->pids);
	free(t->outdir);
	free(t->pollers);
	if (t->has_session)
		session_fini(&t->session);
}

void targets_fini(struct targets *t)
{
	for (size_t i = 0; i < t->count; i++)
		target_fini(&t->list[i]);
	free(t->list);
	*t = (struct targets){0};
}

static enum record_result find_all(const struct record_config *c, struct targets *ret,
				   struct err *err)
{
	CLEANUP(containers_fini) struct containers found = {0};

	if (containers_list(c->root, &found, err) < 0)
		return RECORD_FAILED;
	for (size_t i = 0; i < found.count; i++) {
		if (!add(ret, &found.list[i]))
			continue;
		if (ret->list[ret->count - 1].jvms.count == 0)
			target_fini(&ret->list[--ret->count]);
	}
	if (ret->count == 0) {
		err_set(err, 0, "no container with a JVM runs on this host");
		return RECORD_NO_JVM;
	}
	return RECORD_OK;
}

/* Adds what a name stands for. Containers of a pod with a JVM need none of their own. */
static void add_found(struct containers *c, struct targets *ret)
{
	size_t first = ret->count, jvms = 0;

	for (size_t i = 0; i < c->count; i++)
		if (add(ret, &c->list[i]))
			jvms += ret->list[ret->count - 1].jvms.count;
	for (size_t i = first; i < ret->count; i++)
		ret->list[i].may_lack_jvm = jvms > 0;
}

static enum record_result find_one(const struct record_config *c, const char *name,
				   struct targets *ret, struct err *err)
{
	CLEANUP(containers_fini) struct containers found = {0};
	int pid = 0;

	if (c->by_pid) {
		found.list = grow(NULL, 0, &found.cap, sizeof(*found.list));
		if (!parse_pid(name, &pid) || container_of_pid(c->root, pid, found.list, err) < 0)
			return RECORD_NO_CONTAINER;
		found.count = 1;
	} else if (containers_find(c->root, name, &found, err) != CONTAINER_FOUND) {
		return RECORD_NO_CONTAINER;
	}
	add_found(&found, ret);
	return RECORD_OK;
}

enum record_result targets_find(const struct record_config *c, struct targets *ret, struct err *err)
{
	*ret = (struct targets){0};
	if (c->all)
		return find_all(c, ret, err);
	for (size_t i = 0; i < c->name_count; i++) {
		enum record_result status = find_one(c, c->names[i], ret, err);

		if (status != RECORD_OK)
			return status;
	}
	if (ret->count == 0) {
		err_set(err, 0, "the container ended before its processes could be read");
		return RECORD_NO_CONTAINER;
	}
	return RECORD_OK;
}

/* ---- processes and snapshots ---- */

static bool has_jvm(const struct jvms *j, pid_t pid)
{
	for (size_t i = 0; i < j->count; i++)
		if (j->list[i].pid == pid)
			return true;
	return false;
}

static void add_new_jvms(struct jvms *known_jvms, struct jvms *found)
{
	for (size_t i = 0; i < found->count; i++) {
		if (has_jvm(known_jvms, found->list[i].pid)) {
			close(found->list[i].procfd);
			continue;
		}
		known_jvms->list = grow(known_jvms->list, known_jvms->count, &known_jvms->cap,
					sizeof(*known_jvms->list));
		known_jvms->list[known_jvms->count++] = found->list[i];
	}
	free(found->list);
}

void target_refresh(struct target *t)
{
	struct jvms found;
	pid_t *pids;
	struct err err;
	size_t count;

	if (container_pids(&t->container, &pids, &count, &err) < 0)
		return; /* it has ended */
	free(t->pids);
	t->pids = pids;
	t->pid_count = count;
	session_copy_files(&t->session, pids, count);
	jvms_find(pids, count, &found);
	add_new_jvms(&t->jvms, &found);
}

void targets_pids(const struct targets *t, pid_t **ret, size_t *ret_count)
{
	size_t cap = 0;

	*ret = NULL;
	*ret_count = 0;
	for (size_t i = 0; i < t->count; i++) {
		for (size_t k = 0; k < t->list[i].pid_count; k++) {
			*ret = grow(*ret, *ret_count, &cap, sizeof(**ret));
			(*ret)[(*ret_count)++] = t->list[i].pids[k];
		}
	}
}

int targets_copy_files(struct targets *t, struct err *err)
{
	for (size_t i = 0; i < t->count; i++) {
		struct session *s = &t->list[i].session;

		if (session_copy_kernel(s, i > 0 ? &t->list[0].session : NULL, err) < 0)
			return -1;
		session_copy_files(s, t->list[i].pids, t->list[i].pid_count);
	}
	return 0;
}

unsigned targets_stack_bytes(const struct targets *t, const struct record_config *c)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned bytes = c->stack_bytes ? c->stack_bytes
					: perf_stack_bytes(cpus > 0 ? (size_t)cpus : 1,
							   c->frequency, c->duration);
	size_t jvms = 0, kept = 0;

	if (c->unwind != RECORD_UNWIND_AUTO)
		return c->unwind == RECORD_UNWIND_VM ? bytes : 0;
	for (size_t i = 0; i < t->count; i++) {
		jvms += t->list[i].jvms.count;
		for (size_t k = 0; k < t->list[i].session.jvm_count; k++)
			kept += t->list[i].session.jvms[k].keeps_fp;
	}
	return jvms && kept == jvms ? 0 : bytes;
}

/* ---- results ---- */

/* The time in UTC, ISO 8601: "20261121T095020Z" for names, else "2026-11-21T09:50:20Z". */
static char *timestamp(bool for_name)
{
	char text[64];
	time_t t = time(NULL);
	struct tm tm;

	gmtime_r(&t, &tm);
	if (for_name)
		strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &tm);
	else
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return xstrdup(text);
}

/* Makes <parent>/<time>, or <time>-2, -3 … when two runs begin in the same second. */
static char *new_directory(const char *parent, struct err *err)
{
	CLEANUP(close_fd) int parentfd = fs_make_dirs(parent, 0700, err);
	CLEANUP(free) char *stamp = timestamp(true);

	if (parentfd < 0)
		return NULL;
	for (int i = 1; i < 100; i++) {
		CLEANUP(free)
		char *name = i == 1 ? xstrdup(stamp) : xasprintf("%s-%d", stamp, i);

		if (mkdirat(parentfd, name, 0700) == 0)
			return xasprintf("%s/%s", parent, name);
		if (errno != EEXIST) {
			err_set(err, errno, "make %s/%s", parent, name);
			return NULL;
		}
	}
	err_set(err, EEXIST, "make %s/%s", parent, stamp);
	return NULL;
}

/* Makes `path`, or a directory below it. It is the user's own path: its links are followed. */
static char *given_directory(const char *path, const char *below, struct err *err)
{
	CLEANUP(free) char *dir = below ? xasprintf("%s/%s", path, below) : xstrdup(path);
	char *absolute;

	if ((mkdir(path, 0755) < 0 && errno != EEXIST) ||
	    (below && mkdir(dir, 0755) < 0 && errno != EEXIST)) {
		err_set(err, errno, "make %s", dir);
		return NULL;
	}
	absolute = realpath(dir, NULL);
	if (!absolute)
		err_set(err, errno, "find %s", dir);
	return absolute;
}

char *target_new_graphs(const struct record_config *c, const char *id, struct err *err)
{
	CLEANUP(free)
	char *parent = c->output
			       ? given_directory(c->output, NULL, err)
			       : xasprintf("%s/" DFG_CONTAINERS "/%s/" DFG_GRAPHS_DIR, c->root, id);

	return parent ? new_directory(parent, err) : NULL;
}

/* Links <root>/by-name/<name> to the container's directory, for people who use `ls`. */
static void link_name(const char *root, const struct container *c)
{
	CLEANUP(free) char *dir = xasprintf("%s/" DFG_NAMES_DIR, root);
	CLEANUP(free) char *to = xasprintf("../" DFG_CONTAINERS "/%s", c->id);
	CLEANUP(free) char *name = container_file_name(c);
	CLEANUP(close_fd) int dirfd = -1;
	struct err err;

	if (!strcmp(name, c->id))
		return;
	dirfd = fs_make_dirs(dir, 0700, &err);
	if (dirfd < 0)
		return;
	unlinkat(dirfd, name, 0);
	(void)!symlinkat(to, dirfd, name);
}

static void set_container(struct session *s, const struct container *c)
{
	const char *host = getenv("DFG_HOST");
	struct utsname here;

	if (!host || !*host)
		host = uname(&here) == 0 ? here.nodename : "";
	session_set_container(s, c->id, c->name, c->pod, *c->pod ? c->namespace : "", host);
}

/* Makes the target's directory, `below` --output where there are several, and its session. */
static int prepare(struct target *t, const struct record_config *c, bool below, struct err *err)
{
	CLEANUP(free) char *name = container_file_name(&t->container);
	CLEANUP(free) char *dir = NULL;

	if (c->output) {
		t->outdir = given_directory(c->output, below ? name : NULL, err);
	} else {
		t->outdir = target_new_graphs(c, t->container.id, err);
		link_name(c->root, &t->container);
	}
	if (!t->outdir)
		return -1;
	dir = xasprintf("%s/session", t->outdir);
	if (session_create(dir, &t->session, err) < 0) {
		if (err->code == EEXIST)
			err_wrap(err, "there is a session in %s already; give another --output",
				 t->outdir);
		return -1;
	}
	t->has_session = true;
	set_container(&t->session, &t->container);
	t->session.frequency = c->frequency;
	t->session.started = timestamp(false);
	return 0;
}

int targets_prepare(struct targets *t, const struct record_config *c, struct err *err)
{
	bool below = c->all || t->count > 1;

	for (size_t i = 0; i < t->count; i++)
		if (prepare(&t->list[i], c, below, err) < 0)
			return -1;
	return 0;
}

void target_discard(struct target *t)
{
	CLEANUP(close_fd) int dirfd = -1;

	if (!t->has_session)
		return;
	dirfd = open(t->outdir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fs_remove_tree(dirfd, "session");
	rmdir(t->outdir); /* fails if it holds anything else */
}
