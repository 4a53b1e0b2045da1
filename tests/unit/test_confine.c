// SPDX-License-Identifier: Apache-2.0
/* Each check runs in a child that gives something up and then tries to use it. */
#include "common/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/str.h"
#include "lib/tap.h"

static struct err err;

/* Runs fn in a child. Its exit status; 128 and the signal when it was killed. */
static int in_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit(fn());
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Steps are numbered: the exit status of a child tells the first one that went wrong. */
#define STEP(n, cond)                                                                              \
	do {                                                                                       \
		if (!(cond))                                                                       \
			return (n);                                                                \
	} while (0)

static bool holds(cap_flag_t set, cap_value_t cap)
{
	cap_flag_value_t on = CAP_CLEAR;
	cap_t caps = cap_get_proc();

	cap_get_flag(caps, cap, set, &on);
	cap_free(caps);
	return on == CAP_SET;
}

static int drop_all_caps(void)
{
	STEP(1, confine_caps(NULL, 0, &err) == 0);
	for (int cap = 0; cap_get_bound(cap) >= 0; cap++) {
		STEP(2, !holds(CAP_PERMITTED, cap));
		STEP(3, !holds(CAP_EFFECTIVE, cap));
		STEP(4, !holds(CAP_INHERITABLE, cap));
		STEP(5, cap_get_ambient(cap) == 0);
	}
	STEP(6, chroot("/") < 0 && errno == EPERM);
	return 0;
}

static int keep_one_cap(void)
{
	static const int keep[] = {CAP_SYS_CHROOT};

	STEP(1, confine_caps(keep, 1, &err) == 0);
	STEP(2, holds(CAP_EFFECTIVE, CAP_SYS_CHROOT));
	for (int cap = 0; cap_get_bound(cap) >= 0; cap++) {
		STEP(3, cap == CAP_SYS_CHROOT || !holds(CAP_PERMITTED, cap));
		STEP(4, cap_get_bound(cap) == 0);
	}
	STEP(5, chroot("/") == 0);
	STEP(6, setuid(1) < 0);
	/* Once gone, a capability cannot be asked for again. */
	STEP(7, confine_caps((const int[]){CAP_SYS_ADMIN}, 1, &err) < 0);
	return 0;
}

static int ask_for_what_is_not_held(void)
{
	static const int want[] = {CAP_SYS_ADMIN};

	STEP(1, confine_caps(NULL, 0, &err) == 0);
	STEP(2, confine_caps(want, 1, &err) < 0);
	STEP(3, err.code == EPERM);
	return 0;
}

static int no_new_privs(void)
{
	STEP(1, confine_no_new_privs(&err) == 0);
	STEP(2, prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	STEP(3, prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
	return 0;
}

static int change_ids(void)
{
	uid_t r, e, s;
	gid_t groups[4];

	STEP(1, setgroups(2, (const gid_t[]){7, 8}) == 0);
	STEP(2, confine_ids(12345, 12346, &err) == 0);
	STEP(3, getresuid(&r, &e, &s) == 0 && r == 12345 && e == 12345 && s == 12345);
	STEP(4, getresgid(&r, &e, &s) == 0 && r == 12346 && e == 12346 && s == 12346);
	STEP(5, getgroups(4, groups) == 0);
	STEP(6, setuid(0) < 0 && setgid(0) < 0);
	return 0;
}

static int foreign_ids(void)
{
	STEP(1, confine_ids(0, 0, &err) < 0);
	STEP(2, err.code == EPERM);
	return 0;
}

static int filter(void)
{
	static const char *const names[] = {"write", "exit_group", "getpid",	 "no_such_call",
					    "mmap",  "munmap",	   "sigaltstack"};

	STEP(1, confine_syscalls(names, ARRAY_LEN(names), &err) == 0);
	STEP(2, syscall(SYS_getpid) > 0);
	STEP(3, syscall(SYS_getppid) < 0 && errno == EPERM);
	STEP(4, open("/dev/null", O_RDONLY) < 0 && errno == EPERM);
	return 0;
}

static int files(void)
{
	int kept[] = {open("/dev/null", O_RDONLY), -1, open("/dev/null", O_RDONLY)};
	int other = open("/dev/null", O_RDONLY);

	confine_files(kept, ARRAY_LEN(kept));
	STEP(1, fcntl(kept[0], F_GETFD) >= 0 && fcntl(kept[2], F_GETFD) >= 0);
	STEP(2, fcntl(other, F_GETFD) < 0 && fcntl(0, F_GETFD) < 0 && fcntl(1, F_GETFD) < 0);
	return 0;
}

/* Descriptors beside each other, the lowest, the highest, and none. */
static int files_of_all_sorts(void)
{
	int last = dup2(0, 1000), kept[] = {last, 0, 9, 8};

	STEP(1, dup2(0, 8) == 8 && dup2(0, 9) == 9 && dup2(0, 10) == 10 && dup2(0, 999) == 999);
	confine_files(kept, ARRAY_LEN(kept));
	STEP(2, fcntl(0, F_GETFD) >= 0 && fcntl(8, F_GETFD) >= 0);
	STEP(3, fcntl(9, F_GETFD) >= 0 && fcntl(last, F_GETFD) >= 0);
	STEP(4, fcntl(1, F_GETFD) < 0 && fcntl(7, F_GETFD) < 0 && fcntl(10, F_GETFD) < 0);
	STEP(5, fcntl(999, F_GETFD) < 0);
	confine_files(NULL, 0);
	STEP(6, fcntl(0, F_GETFD) < 0 && fcntl(last, F_GETFD) < 0);
	return 0;
}

/* A user that no other process is. */
static int user(void)
{
	uid_t want = 2100000000u + (uid_t)getpid(), r, e, s;

	STEP(1, confine_user(&err) == 0);
	STEP(2, getresuid(&r, &e, &s) == 0 && r == want && e == want && s == want);
	STEP(3, getresgid(&r, &e, &s) == 0 && r == want && e == want && s == want);
	STEP(4, setuid(0) < 0);
	return 0;
}

static int sync_pipe[2][2];

static int user_in_namespace(void)
{
	char c;

	STEP(1, unshare(CLONE_NEWUSER) == 0 && write(sync_pipe[0][1], "", 1) == 1);
	STEP(2, read(sync_pipe[1][0], &c, 1) == 1);
	STEP(3, confine_user(&err) == 0);
	STEP(4, getuid() == 65534 && getgid() == 65534);
	return 0;
}

static bool put_map(pid_t pid, const char *name)
{
	static const char map[] = "0 0 65536\n";
	CLEANUP(free) char *path = xasprintf("/proc/%d/%s", (int)pid, name);
	CLEANUP(close_fd) int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, map, strlen(map)) == (ssize_t)strlen(map);
}

/* A user namespace with as many ids as those of containers have. */
static void test_few_ids(void)
{
	int status = -1;
	pid_t pid;
	char c;

	if (pipe(sync_pipe[0]) < 0 || pipe(sync_pipe[1]) < 0)
		abort();
	pid = fork();
	if (pid == 0)
		_exit(user_in_namespace());
	if (read(sync_pipe[0][0], &c, 1) == 1 && put_map(pid, "uid_map") &&
	    put_map(pid, "gid_map") && write(sync_pipe[1][1], "", 1) == 1)
		waitpid(pid, &status, 0);
	is_int(status, 0, "where a user namespace lacks that user, nobody is taken");
}

static void test_as_anybody(void)
{
	is_int(in_child(drop_all_caps), 0, "all capabilities dropped");
	is_int(in_child(ask_for_what_is_not_held), 0, "none comes back");
	is_int(in_child(no_new_privs), 0, "no new privileges, not dumpable");
	is_int(in_child(filter), 0, "system calls that are not named fail with EPERM");
	is_int(in_child(files), 0, "descriptors that are not kept are closed");
	is_int(in_child(files_of_all_sorts), 0, "and no others, wherever they are");
}

int main(void)
{
	test_as_anybody();
	if (geteuid() == 0) {
		is_int(in_child(keep_one_cap), 0, "one capability kept");
		is_int(in_child(change_ids), 0, "ids changed for good");
		is_int(in_child(user), 0, "a process gets a user of its own");
		test_few_ids();
	} else {
		is_int(in_child(foreign_ids), 0, "a user cannot become root");
	}
	return tap_done();
}
