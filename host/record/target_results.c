// SPDX-License-Identifier: Apache-2.0
/* Where the results of a target go. */
#include <errno.h>
#include <fcntl.h>
#include <sys/utsname.h>
#include <time.h>

#include "common/fs.h"
#include "common/str.h"
#include "dfg/paths.h"
#include "record/targets.h"

/* UTC, as ISO 8601 has it: "20261121T095020Z" for names, "2026-11-21T09:50:20Z" to read. */
static char *now(bool for_name)
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

/* A new directory <parent>/<time>, or <time>-2, -3 … when two runs begin in the same second. */
static char *new_directory(const char *parent, struct err *err)
{
	CLEANUP(close_fd) int parentfd = fs_make_dirs(parent, 0700, err);
	CLEANUP(free) char *stamp = now(true);

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

/* --output is the caller's own path: links in it are the caller's business. */
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

char *target_new_graphs(const struct options *o, const char *id, struct err *err)
{
	CLEANUP(free)
	char *parent = o->output ? given_directory(o->output, NULL, err)
				 : xasprintf("%s/" DFG_CONTAINERS "/%s/" DFG_GRAPHS_DIR,
					     o->snapshot.root, id);

	return parent ? new_directory(parent, err) : NULL;
}

/* <root>/by-name/<name>, so that `ls` finds a container by the name people use. */
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

static void tell_session(struct session *s, const struct container *c)
{
	const char *host = getenv("DFG_HOST");
	struct utsname here;

	if (!host || !*host)
		host = uname(&here) == 0 ? here.nodename : "";
	session_set_container(s, c->id, c->name, c->pod, *c->pod ? c->space : "", host);
}

/* `below`: in a directory of its own below --output. */
static int prepare(struct target *t, const struct options *o, bool below, struct err *err)
{
	CLEANUP(free) char *name = container_file_name(&t->container);
	CLEANUP(free) char *dir = NULL;

	if (o->output) {
		t->outdir = given_directory(o->output, below ? name : NULL, err);
	} else {
		t->outdir = target_new_graphs(o, t->container.id, err);
		link_name(o->snapshot.root, &t->container);
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
	tell_session(&t->session, &t->container);
	t->session.frequency = o->frequency;
	t->session.started = now(false);
	return 0;
}

int targets_prepare(struct targets *t, const struct options *o, struct err *err)
{
	bool below = o->all || t->count > 1;

	for (size_t i = 0; i < t->count; i++)
		if (prepare(&t->list[i], o, below, err) < 0)
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
	/* The directory itself only if nothing else is in it. */
	rmdir(t->outdir);
}
