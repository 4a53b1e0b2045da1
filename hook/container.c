// SPDX-License-Identifier: Apache-2.0
#include "hook/container.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>

#include "common/fs.h"
#include "common/proc.h"
#include "hook/enter.h"
#include "hook/idmap.h"

#define MAP_MAX (64u << 10)

static int read_map(int proc, const char *name, uint32_t *ret, struct err *err)
{
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(close_fd) int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fs_read_all(fd, MAP_MAX, &text, err) < 0)
		return err_set(err, errno, "/proc/…/%s", name);
	if (!idmap_root(text.buf ? text.buf : "", ret))
		return err_set(err, 0, "%s has no root", name);
	return 0;
}

static enum hook_reason open_namespace(struct hook_target *t, struct err *err)
{
	CLEANUP(close_fd) int self = proc_open(getpid(), err);
	uint64_t own;

	if (self < 0 || proc_ns_inode(self, "mnt", &own, err) < 0)
		return HOOK_ERR_HOST;
	t->mnt_ns = openat(t->proc, "ns/mnt", O_RDONLY | O_CLOEXEC);
	if (t->mnt_ns < 0) {
		err_set(err, errno, "/proc/…/ns/mnt");
		return err->code == EACCES || err->code == EPERM ? HOOK_ERR_PRIVILEGES
								 : HOOK_SKIP_GONE;
	}
	if (proc_ns_inode(t->proc, "mnt", &t->mnt_ns_inode, err) < 0)
		return HOOK_SKIP_GONE;
	if (own == t->mnt_ns_inode) {
		err_set(err, 0, "the container has no mount namespace of its own");
		return HOOK_SKIP_NOMNTNS;
	}
	return HOOK_NONE;
}

static enum hook_reason open_target(pid_t pid, bool join, struct hook_target *t, struct err *err)
{
	enum hook_reason reason;

	t->proc = proc_open(pid, err);
	if (t->proc < 0 || proc_start_time(t->proc, &t->start_time, err) < 0)
		return HOOK_SKIP_GONE;
	reason = open_namespace(t, err);
	if (reason != HOOK_NONE)
		return reason;
	if (read_map(t->proc, "uid_map", &t->root_uid, err) < 0 ||
	    read_map(t->proc, "gid_map", &t->root_gid, err) < 0)
		return HOOK_SKIP_UNMAPPED;
	if (join) {
		t->root = proc_open_root(t->proc, err);
		if (t->root < 0)
			return HOOK_SKIP_GONE;
	}
	return hook_target_check(t);
}

enum hook_reason hook_target_open(pid_t pid, bool join, struct hook_target *ret, struct err *err)
{
	struct hook_target t = HOOK_TARGET_EMPTY;
	enum hook_reason reason = open_target(pid, join, &t, err);

	if (reason == HOOK_NONE)
		*ret = t;
	else
		hook_target_close(&t);
	return reason;
}

void hook_target_close(struct hook_target *t)
{
	cleanup_close_fd(&t->proc);
	cleanup_close_fd(&t->mnt_ns);
	cleanup_close_fd(&t->root);
	*t = (struct hook_target)HOOK_TARGET_EMPTY;
}

enum hook_reason hook_target_check(const struct hook_target *t)
{
	struct proc_status status;
	struct err err;

	if (proc_read_status(t->proc, &status, &err) < 0 || status.state == 'Z' ||
	    status.state == 'X')
		return HOOK_SKIP_GONE;
	return HOOK_NONE;
}

struct answer {
	enum hook_reason reason;
	struct err err;
};

NORETURN static void child(const struct hook_target *t, const char *path,
			   const struct hook_mounts *mounts, const struct hook_host *host,
			   int report)
{
	struct answer a = {.reason = HOOK_ERR_CRASH};

	a.err.msg[0] = '\0';
	a.reason = hook_enter(t, path, mounts, host, &a.err);
	(void)!write(report, &a, sizeof(a));
	_exit(0);
}

enum hook_reason hook_target_mount(const struct hook_target *t, const char *path,
				   const struct hook_mounts *mounts, struct err *err)
{
	struct answer a = {.reason = HOOK_ERR_CRASH};
	CLEANUP(close_fd) int reader = -1;
	struct hook_host host;
	int pipefd[2];
	ssize_t n;
	pid_t pid;

	hook_enter_prepare(&host);
	if (pipe2(pipefd, O_CLOEXEC) < 0) {
		err_set(err, errno, "pipe");
		return HOOK_ERR_HOST;
	}
	reader = pipefd[0];
	pid = fork();
	if (pid == 0)
		child(t, path, mounts, &host, pipefd[1]);
	close(pipefd[1]);
	if (pid < 0) {
		err_set(err, errno, "fork");
		return HOOK_ERR_HOST;
	}
	n = read(reader, &a, sizeof(a));
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (n != sizeof(a)) {
		err_set(err, 0, "the mounting process died");
		return HOOK_ERR_CRASH;
	}
	*err = a.err;
	return a.reason;
}
