// SPDX-License-Identifier: Apache-2.0
/* session_files.h: perf maps. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/proc.h"
#include "record/budget.h"
#include "record/session_files.h"

struct map_job {
	const struct session *session;
	const struct handle *processes;
	size_t count;
	uint64_t room; /* bytes */
	uint64_t maps; /* copied */
	uint32_t cut;
};

struct map_name {
	char text[48];
};

static struct map_name map_name_of(pid_t pid)
{
	struct map_name n;

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

/* Opens the process's own map, or returns -1. */
static int open_perf_map(int procfd)
{
	CLEANUP(close_fd) int rootfd = -1;
	CLEANUP(close_fd) int at = -1;
	struct proc_status status;
	struct stat st;
	struct err err;
	char path[48];

	if (proc_read_status(procfd, &status, &err) < 0)
		return -1;
	rootfd = proc_open_root(procfd, &err);
	if (rootfd < 0)
		return -1;
	snprintf(path, sizeof(path), "tmp/perf-%d.map", (int)status.nspid);
	at = fs_openat2(rootfd, path, O_PATH, 0,
			RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS, &err);
	if (at < 0 || fstat(at, &st) < 0 || st.st_uid != status.euid)
		return -1;
	return fs_reopen_regular(at, &st);
}

/* Returns how much of a map to copy, up to its first hole, since it is text; counts a cut. 0: it is
 * empty, or there is no room. */
static uint64_t map_part(struct map_job *t, int fd)
{
	uint64_t most = budget_max(BUDGET_PERF_MAP_BYTES);
	off_t len = lseek(fd, 0, SEEK_HOLE);

	most = t->maps >= budget_max(BUDGET_PERF_MAPS) ? 0 : t->room < most ? t->room : most;
	if (len < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return 0;
	t->cut += (uint64_t)len > most;
	return (uint64_t)len < most ? (uint64_t)len : most;
}

/* Copies the map, by another name until it is whole. */
static int copy_perf_map(struct map_job *t, const struct handle *p, struct err *err)
{
	int mapsfd = t->session->mapsfd;
	CLEANUP(close_fd) int from = open_perf_map(p->procfd);
	CLEANUP(close_fd) int to = -1;
	uint64_t len = from < 0 ? 0 : map_part(t, from);

	if (!len)
		return 0;
	unlinkat(mapsfd, ".perf.map", 0);
	to = fs_create(mapsfd, ".perf.map", 0600, err);
	if (to < 0 || fs_copy(from, to, len, err) < 0)
		return -1;
	if (renameat(mapsfd, ".perf.map", mapsfd, map_name_of(p->pid).text) < 0)
		return err_set(err, errno, "rename %s", map_name_of(p->pid).text);
	t->room -= len;
	t->maps++;
	return 0;
}

/* One that cannot be copied does not keep the others back. The reply counts those that are cut or
 * missing. */
static int copy_perf_maps(void *arg, void *reply, struct err *err)
{
	struct map_job *t = arg;
	int rc = 0;

	for (size_t i = 0; i < t->count; i++)
		if (!has_snapshot(t->session, t->processes[i].pid) &&
		    copy_perf_map(t, &t->processes[i], err) < 0)
			rc = -1;
	*(uint32_t *)reply = t->cut;
	return rc;
}

void session_copy_perf_maps(struct session *s, const struct handles *processes, uint64_t deadline)
{
	size_t most = (size_t)budget_max(BUDGET_PROCESSES);
	struct map_job t = {.session = s,
			    .processes = processes->list,
			    .count = processes->count < most ? processes->count : most,
			    .room = budget_room(BUDGET_CODE_BYTES, s->mapsfd)};
	uint32_t cut = 0;
	struct err err;

	if (child_call(copy_perf_maps, &t, &cut, sizeof(cut), deadline_ms_left(deadline), &err) < 0)
		log_info("perf maps: %s", err.msg);
	budget_cut(BUDGET_PERF_MAPS, s, cut, "perf maps are cut or missing");
	for (size_t i = 0; i < t.count; i++) {
		struct map_name name = map_name_of(t.processes[i].pid);

		if (faccessat(s->mapsfd, name.text, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			session_register_map(s, t.processes[i].pid, name.text);
	}
}

void session_note_maps(struct session *s)
{
	for (size_t i = 0; i < s->jvm_count; i++)
		for (size_t k = 0; k < s->map_count; k++)
			if (s->jvms[i].source == JVM_SOURCE_NONE &&
			    s->maps[k].pid == s->jvms[i].pid)
				s->jvms[i].source = JVM_SOURCE_MAP;
}

void session_register_agent_maps(struct session *s)
{
	for (size_t i = 0; i < s->jvm_count; i++) {
		CLEANUP(free) char *name = xasprintf(AGENT_MAP "%d.map", (int)s->jvms[i].pid);

		if (faccessat(s->mapsfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			session_register_map(s, s->jvms[i].pid, name);
	}
}
