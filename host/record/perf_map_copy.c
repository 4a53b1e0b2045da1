// SPDX-License-Identifier: Apache-2.0
#include "record/perf_map_copy.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>

#include "common/child.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/proc.h"

#define BYTES_MAX (64u << 20)
#define COPY_MS	  5000

struct task {
	const struct session *session;
	const pid_t *pids;
	size_t count;
};

struct name {
	char text[48];
};

static struct name name_of(pid_t pid)
{
	struct name n;

	snprintf(n.text, sizeof(n.text), "perf-%d.map", (int)pid);
	return n;
}

static bool has_snapshot(const struct session *s, pid_t pid)
{
	for (size_t i = 0; i < s->jvm_count; i++)
		if (s->jvms[i].pid == pid)
			return s->jvms[i].source == JVM_SOURCE_AGENT ||
			       s->jvms[i].source == JVM_SOURCE_HOST;
	return false;
}

/* The process's own map, or -1. */
static int map_open(pid_t pid)
{
	CLEANUP(close_fd) int procfd = -1;
	CLEANUP(close_fd) int rootfd = -1;
	CLEANUP(close_fd) int fd = -1;
	struct proc_status status;
	struct stat st;
	struct err err;
	char path[48];

	procfd = proc_open(pid, &err);
	if (procfd < 0 || proc_read_status(procfd, &status, &err) < 0)
		return -1;
	rootfd = proc_open_root(procfd, &err);
	if (rootfd < 0)
		return -1;
	snprintf(path, sizeof(path), "tmp/perf-%d.map", (int)status.nspid);
	fd = fs_openat2(rootfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0,
			RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS, &err);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != status.euid)
		return -1;
	return TAKE_FD(fd);
}

/* Under another name until it is whole. */
static int map_copy(int mapsfd, pid_t pid, struct err *err)
{
	CLEANUP(close_fd) int from = map_open(pid);
	CLEANUP(close_fd) int to = -1;

	if (from < 0)
		return 0;
	unlinkat(mapsfd, ".perf.map", 0);
	to = fs_create(mapsfd, ".perf.map", 0600, err);
	if (to < 0 || fs_copy(from, to, BYTES_MAX, err) < 0)
		return -1;
	return renameat(mapsfd, ".perf.map", mapsfd, name_of(pid).text);
}

static int copy_all(void *arg, void *reply, struct err *err)
{
	const struct task *t = arg;

	(void)reply;
	for (size_t i = 0; i < t->count; i++)
		if (!has_snapshot(t->session, t->pids[i]) &&
		    map_copy(t->session->mapsfd, t->pids[i], err) < 0)
			return -1;
	return 0;
}

void perfmaps_keep(struct session *s, const pid_t *pids, size_t count)
{
	struct task t = {.session = s, .pids = pids, .count = count};
	struct err err;

	if (child_call(copy_all, &t, NULL, 0, COPY_MS, &err) < 0)
		log_info("maps of generated code: %s", err.msg);
	for (size_t i = 0; i < count; i++)
		if (faccessat(s->mapsfd, name_of(pids[i]).text, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			session_register_map(s, pids[i], name_of(pids[i]).text);
}
