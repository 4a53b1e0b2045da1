// SPDX-License-Identifier: Apache-2.0
#include "common/room.h"

#include <fcntl.h>

#include "common/fs.h"
#include "common/proc.h"

#define TEXT_MAX (64u << 10)
#define NO_LIMIT UINT64_MAX

/* Files of a group, and lines of its memory.stat: Documentation/admin-guide/cgroup-v1/memory.rst
 * and cgroup-v2.rst of Linux 6.18. */
struct version {
	const char *memory, *memory_max, *inactive, *active;
};
static const struct version one = {"memory.usage_in_bytes", "memory.limit_in_bytes",
				   "total_inactive_file ", "total_active_file "};
static const struct version two = {"memory.current", "memory.max", "inactive_file ",
				   "active_file "};

struct wish {
	const struct version *version;
	uint64_t threads, bytes;
};

static int read_text(const char *group, const char *name, struct str *ret)
{
	CLEANUP(free) char *path = xasprintf("%s/%s", group, name);

	return fs_read_file(AT_FDCWD, path, TEXT_MAX, ret, NULL) < 0 || !ret->buf ? -1 : 0;
}

/* NO_LIMIT where there is no number, such as "max". */
static uint64_t read_number(const char *group, const char *name)
{
	CLEANUP(str_fini) struct str text = {0};

	if (read_text(group, name, &text) < 0 || text.buf[0] < '0' || text.buf[0] > '9')
		return NO_LIMIT;
	return strtoull(text.buf, NULL, 10);
}

/* The number after a key at the beginning of a line, or 0. */
static uint64_t number_of(const char *text, const char *key)
{
	const char *at = text;

	while (at && !has_prefix(at, key))
		at = (at = strchr(at, '\n')) ? at + 1 : NULL;
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static uint64_t left(uint64_t max, uint64_t used)
{
	return max == NO_LIMIT || used == NO_LIMIT ? NO_LIMIT : max > used ? max - used : 0;
}

static uint64_t memory_left(const char *group, const struct version *v)
{
	CLEANUP(str_fini) struct str stat = {0};
	uint64_t n = left(read_number(group, v->memory_max), read_number(group, v->memory));

	if (n == NO_LIMIT || read_text(group, "memory.stat", &stat) < 0)
		return n;
	return n + number_of(stat.buf, v->inactive) + number_of(stat.buf, v->active);
}

static int check_group(const char *group, const struct wish *w, struct err *err)
{
	uint64_t threads = left(read_number(group, "pids.max"), read_number(group, "pids.current"));
	uint64_t bytes = memory_left(group, w->version);

	if (threads < w->threads)
		return err_set(err, 0, "its limit leaves %llu threads",
			       (unsigned long long)threads);
	if (bytes < w->bytes)
		return err_set(err, 0, "its limit leaves %llu KiB of memory",
			       (unsigned long long)(bytes >> 10));
	return 0;
}

/* Checks a group and all above it, `mount` the last: in a cgroup namespace that is the container's.
 */
static int check_path(const char *mount, const char *path, size_t len, const struct wish *w,
		      struct err *err)
{
	while (len > 0) {
		CLEANUP(free) char *group = xasprintf("%s%.*s", mount, (int)len, path);

		if (check_group(group, w, err) < 0)
			return -1;
		while (len > 0 && path[--len] != '/')
			;
	}
	return check_group(mount, w, err);
}

/* Checks a line of /proc/PID/cgroup: "number:controllers:path". */
static int check_line(const char *line, size_t len, struct wish *w, struct err *err)
{
	const char *names = memchr(line, ':', len);
	const char *path = names ? memchr(names + 1, ':', len - (size_t)(names + 1 - line)) : NULL;
	size_t path_len;

	if (!path)
		return 0;
	path_len = len - (size_t)(++path - line);
	w->version = &one;
	if (has_prefix(names, ":pids:"))
		return check_path("/sys/fs/cgroup/pids", path, path_len, w, err);
	if (has_prefix(names, ":memory:"))
		return check_path("/sys/fs/cgroup/memory", path, path_len, w, err);
	if (!has_prefix(names, "::"))
		return 0;
	w->version = &two;
	if (check_path("/sys/fs/cgroup", path, path_len, w, err) < 0)
		return -1;
	return check_path("/sys/fs/cgroup/unified", path, path_len, w, err);
}

/* ---- the user's limit ---- */

struct user {
	uid_t uid;
	uint64_t threads;
};

static int add_threads(pid_t pid, void *arg)
{
	struct user *u = arg;
	CLEANUP(close_fd) int procfd = proc_open(pid, NULL);
	struct proc_status st;

	if (procfd >= 0 && proc_read_status(procfd, &st, NULL) == 0 && st.euid == u->uid)
		u->threads += st.threads;
	return 0;
}

/* Checks RLIMIT_NPROC, which binds all but root. The kernel counts a user's threads by user
 * namespace (setrlimit(2)); all that are seen are counted here, and none is missed on the host. */
static int check_user(int procfd, unsigned threads, struct err *err)
{
	CLEANUP(str_fini) struct str limits = {0};
	struct proc_status st;
	struct user u = {0};
	uint64_t max, n;

	if (fs_read_file(procfd, "limits", TEXT_MAX, &limits, NULL) < 0 || !limits.buf ||
	    proc_read_status(procfd, &st, NULL) < 0 || st.euid == 0)
		return 0;
	max = number_of(limits.buf, "Max processes "); /* "unlimited" is no number */
	if (!max)
		return 0;
	u.uid = st.euid;
	if (proc_each(add_threads, &u, NULL) < 0)
		return 0;
	n = left(max, u.threads);
	return n >= threads ? 0
			    : err_set(err, 0, "the limit of user %u leaves %llu threads",
				      (unsigned)u.uid, (unsigned long long)n);
}

int room_check(int procfd, unsigned threads, uint64_t bytes, struct err *err)
{
	CLEANUP(str_fini) struct str groups = {0};
	struct wish w = {.threads = threads, .bytes = bytes};
	const char *line;

	if (threads > 0 && check_user(procfd, threads, err) < 0)
		return -1;
	if (proc_read_cgroup(procfd, &groups, NULL) < 0 || !groups.buf)
		return 0;
	for (line = groups.buf; *line;) {
		size_t len = strcspn(line, "\n");

		if (check_line(line, len, &w, err) < 0)
			return -1;
		line += len + (line[len] == '\n');
	}
	return 0;
}
