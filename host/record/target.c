// SPDX-License-Identifier: Apache-2.0
#include "record/target.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/utsname.h>
#include <time.h>

#include "common/fs.h"
#include "common/str.h"
#include "dfg/paths.h"
#include "record/session_files.h"

void target_init(struct target *ret, struct container *c)
{
	*ret = (struct target){.container = *c,
			       .session = {.dirfd = -1, .mapsfd = -1, .elffd = -1}};
	*c = (struct container){0};
}

void target_fini(struct target *t)
{
	container_fini(&t->container);
	jvms_fini(&t->jvms);
	handles_fini(&t->processes);
	free(t->outdir);
	free(t->pollers);
	if (t->has_session)
		session_fini(&t->session);
}

/* ---- processes and files ---- */

int target_look(struct target *t, struct err *err)
{
	CLEANUP(free) pid_t *pids = NULL;

	if (container_processes(&t->container, &t->processes, err) < 0)
		return -1;
	if (t->processes.count == 0)
		return err_set(err, 0, "the container ended before its processes could be read");
	pids = handles_pids(&t->processes);
	jvms_find(pids, t->processes.count, &t->jvms);
	return 0;
}

bool target_drop_ended(struct target *t)
{
	CLEANUP(free) pid_t *ended = NULL;
	size_t count;

	handles_remove_ended(&t->processes, &ended, &count);
	return count > 0;
}

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
	CLEANUP(free) pid_t *pids = NULL;
	struct handles now = {0};
	struct jvms found;

	if (container_processes(&t->container, &now, NULL) < 0)
		return; /* it has ended */
	handles_fini(&t->processes);
	t->processes = now;
	pids = handles_pids(&now);
	session_copy_files(&t->session, pids, now.count);
	jvms_find(pids, now.count, &found);
	add_new_jvms(&t->jvms, &found);
}

int target_copy_files(struct target *t, struct err *err)
{
	CLEANUP(free) pid_t *pids = handles_pids(&t->processes);

	if (session_copy_kernel(&t->session, err) < 0)
		return -1;
	session_copy_files(&t->session, pids, t->processes.count);
	return 0;
}

bool target_keeps_fp(const struct target *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->session.jvm_count; i++)
		kept += t->session.jvms[i].keeps_fp;
	return t->jvms.count && kept == t->jvms.count;
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

int target_prepare(struct target *t, const struct record_config *c, struct err *err)
{
	CLEANUP(free) char *dir = xasprintf("%s/session", t->outdir);

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

char *target_make_results(const struct container *container, const struct record_config *c,
			  bool below, struct err *err)
{
	CLEANUP(free) char *name = container_file_name(container);
	char *dir;

	if (c->output)
		return given_directory(c->output, below ? name : NULL, err);
	dir = target_new_graphs(c, container->id, err);
	link_name(c->root, container);
	return dir;
}

void target_discard_results(const char *outdir)
{
	CLEANUP(close_fd) int dirfd = open(outdir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	fs_remove_tree(dirfd, "session");
	rmdir(outdir); /* fails if it holds anything else */
}
