// SPDX-License-Identifier: Apache-2.0
/* Each check runs in a child that gives something up and then tries to use it. */
#include "common/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "common/parallel.h"
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

static int pipe_fds[2];

static int reader(void)
{
	int null = open("/dev/null", O_RDWR);
	char c;
	void *p;

	STEP(1, confine_reader(0, 0, &err) == 0);
	STEP(2, read(pipe_fds[0], &c, 1) == 1 && c == 'x');
	STEP(3, write(null, "y", 1) == 1);
	p = malloc(1 << 20);
	STEP(4, p != NULL);
	memset(p, 1, 1 << 20);
	free(p);
	STEP(5, openat(AT_FDCWD, "/dev/null", O_RDONLY) < 0);
	STEP(6, socket(AF_INET, SOCK_STREAM, 0) < 0);
	STEP(7, execl("/bin/true", "true", NULL) < 0);
	STEP(8, fork() < 0);
	STEP(9, kill(getppid(), 0) < 0);
	STEP(10, syscall(SYS_ptrace, 0, 0, 0, 0) < 0);
	STEP(11, unlink("/tmp/none") < 0 && errno == EPERM);
	return 0;
}

static pid_t thread_ids[3];

static void note_thread(void *arg, size_t i)
{
	(void)arg;
	thread_ids[i] = gettid();
}

/* Threads, and nothing else of what clone(2) can make: not by clone3(2) either. */
static int reader_threads(void)
{
	struct clone_args args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};

	STEP(1, confine_reader(0, 0, &err) == 0);
	parallel_run(3, note_thread, NULL);
	STEP(2, thread_ids[0] == getpid());
	STEP(3, thread_ids[1] > 0 && thread_ids[1] != thread_ids[0]);
	STEP(4, thread_ids[2] > 0 && thread_ids[2] != thread_ids[0]);
	STEP(5, thread_ids[2] != thread_ids[1]);
	STEP(6, parallel_cpus() > 0);
	STEP(7, syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) < 0 && errno == EPERM);
	STEP(8, syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL) < 0);
	STEP(9, syscall(SYS_clone3, &args, sizeof(args)) < 0 && errno == ENOSYS);
	return 0;
}

static void mark_thread(void *arg, size_t i)
{
	(void)arg;
	thread_ids[i]++;
}

/* Without a second thread the work is done by the first. */
static int no_threads(void)
{
	static const char *const names[] = {"exit_group", "mmap", "munmap", "mprotect",
					    "rt_sigprocmask"};

	STEP(1, confine_syscalls(names, ARRAY_LEN(names), &err) == 0);
	memset(thread_ids, 0, sizeof(thread_ids));
	parallel_run(3, mark_thread, NULL);
	STEP(2, thread_ids[0] == 1 && thread_ids[1] == 1 && thread_ids[2] == 1);
	return 0;
}

static int reader_ids(void)
{
	char buf[4096];
	int status = open("/proc/self/status", O_RDONLY);
	ssize_t n;

	STEP(1, confine_reader(0, 0, &err) == 0);
	n = read(status, buf, sizeof(buf) - 1);
	STEP(2, n > 0);
	buf[n] = '\0';
	STEP(3, strstr(buf, "\nUid:\t65534\t65534\t65534\t65534\n"));
	STEP(4, strstr(buf, "\nGid:\t65534\t65534\t65534\t65534\n"));
	STEP(5, strstr(buf, "\nCapPrm:\t0000000000000000\n"));
	STEP(6, strstr(buf, "\nCapEff:\t0000000000000000\n"));
	STEP(7, strstr(buf, "\nNoNewPrivs:\t1\n"));
	STEP(8, strstr(buf, "\nSeccomp:\t2\n"));
	return 0;
}

static ssize_t peek(pid_t pid, const void *at)
{
	char c = 0;
	struct iovec to = {&c, 1}, from = {(void *)(uintptr_t)at, 1};

	return process_vm_readv(pid, &to, 1, &from, 1, 0) == 1 && c == 'm' ? 0 : -1;
}

/* Of the one process only, which is somebody else's, and reading only. */
static int reader_of(void)
{
	static char memory = 'm';
	struct iovec vec = {&memory, 1};

	pid_t parent = getppid();

	STEP(1, confine_reader_of(parent, 0, &err) == 0);
	STEP(2, peek(parent, &memory) == 0);
	STEP(3, peek(getpid(), &memory) < 0 && errno == EPERM);
	STEP(4, process_vm_writev(parent, &vec, 1, &vec, 1, 0) < 0);
	STEP(5, syscall(SYS_ptrace, 0, 0, 0, 0) < 0);
	STEP(6, openat(AT_FDCWD, "/proc/self/status", O_RDONLY) < 0);
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

static bool has_sanitizer(void)
{
#ifdef __SANITIZE_ADDRESS__
	return true;
#elif defined(__has_feature)
	return __has_feature(address_sanitizer);
#else
	return false;
#endif
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

/* True if /proc/self/limits, open already, has these words in its line. */
static bool has_limit(int fd, const char *name, const char *soft, const char *hard)
{
	char buf[4096], words[2][64] = {"", ""}, *at;
	ssize_t n = pread(fd, buf, sizeof(buf) - 1, 0);

	buf[n > 0 ? n : 0] = '\0';
	at = strstr(buf, name);
	return at && sscanf(at + strlen(name), "%63s %63s", words[0], words[1]) == 2 &&
	       !strcmp(words[0], soft) && !strcmp(words[1], hard);
}

static int reader_limits(void)
{
	int fd = open("/proc/self/limits", O_RDONLY);

	STEP(1, confine_reader(1ull << 40, 5, &err) == 0);
	STEP(2, has_sanitizer() ||
			has_limit(fd, "Max address space", "1099511627776", "1099511627776"));
	STEP(3, has_limit(fd, "Max cpu time", "5", "5"));
	STEP(4, has_limit(fd, "Max core file size", "0", "0"));
	return 0;
}

/* Limits that are lower already stay, and what is not limited is not. */
static int reader_lower_limits(void)
{
	int fd = open("/proc/self/limits", O_RDONLY);

	STEP(1, setrlimit(RLIMIT_CPU, &(struct rlimit){2, 3}) == 0);
	STEP(2, confine_reader(0, 5, &err) == 0);
	STEP(3, has_limit(fd, "Max cpu time", "3", "3"));
	STEP(4, has_limit(fd, "Max address space", "unlimited", "unlimited"));
	return 0;
}

static int reader_without_limits(void)
{
	int fd = open("/proc/self/limits", O_RDONLY);

	STEP(1, confine_reader(0, 0, &err) == 0);
	STEP(2, has_limit(fd, "Max cpu time", "unlimited", "unlimited"));
	return 0;
}

static int reader_memory(void)
{
	void *volatile p; /* or the compiler takes an unused allocation away */

	STEP(1, confine_reader(256u << 20, 0, &err) == 0);
	p = malloc(16u << 20);
	STEP(2, p != NULL);
	p = malloc(300u << 20);
	STEP(3, p == NULL);
	return 0;
}

static int reader_time(void)
{
	STEP(1, confine_reader(0, 1, &err) == 0);
	for (;;)
		;
}

static void test_as_anybody(void)
{
	int status;

	is_int(in_child(drop_all_caps), 0, "all capabilities dropped");
	is_int(in_child(ask_for_what_is_not_held), 0, "none comes back");
	is_int(in_child(no_new_privs), 0, "no new privileges, not dumpable");
	is_int(in_child(filter), 0, "system calls that are not named fail with EPERM");
	if (pipe(pipe_fds) < 0 || write(pipe_fds[1], "x", 1) != 1)
		abort();
	is_int(in_child(files), 0, "descriptors that are not kept are closed");
	is_int(in_child(files_of_all_sorts), 0, "and no others, wherever they are");
	is_int(in_child(reader_limits), 0, "reader: limits are as given");
	is_int(in_child(reader_lower_limits), 0, "reader: lower ones stay");
	is_int(in_child(reader_without_limits), 0, "reader: without a limit there is none");
	is_int(in_child(reader), 0, "reader: reads, writes, allocates, and nothing else");
	is_int(in_child(reader_threads), 0, "reader: threads, and no other clone");
	/* One takes terabytes of address space for itself, and does not bear that there are no
	 * threads. */
	if (!has_sanitizer()) {
		is_int(in_child(reader_memory), 0, "reader: memory is limited");
		is_int(in_child(no_threads), 0, "work for threads is done without them, too");
	}
	status = in_child(reader_time);
	ok(status == 128 + SIGXCPU || status == 128 + SIGKILL, "reader: time is limited (%d)",
	   status);
}

int main(void)
{
	test_as_anybody();
	if (geteuid() == 0) {
		is_int(in_child(keep_one_cap), 0, "one capability kept");
		is_int(in_child(change_ids), 0, "ids changed for good");
		is_int(in_child(reader_ids), 0, "reader: nobody, nothing, filtered");
		is_int(in_child(reader_of), 0,
		       "reader of a process: of its memory, and no other's");
	} else {
		is_int(in_child(foreign_ids), 0, "a user cannot become root");
	}
	return tap_done();
}
