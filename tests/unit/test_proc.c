// SPDX-License-Identifier: Apache-2.0
#include "common/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/tap.h"

static struct err err;

static void test_self(void)
{
	CLEANUP(close_fd) int self = proc_open(getpid(), &err);
	struct proc_status st = {0};

	signal(SIGUSR1, SIG_IGN);
	prctl(PR_SET_NAME, "a\033[31m b");
	ok(proc_read_status(self, &st, &err) == 0, "status");
	is_str(st.name, "a?[31m b", "the name is cleaned");
	is_int(st.state, 'R', "runs");
	is_int(st.nspid, getpid(), "pid");
	is_int(st.euid, geteuid(), "user");
	is_int(st.egid, getegid(), "group");
	ok(st.sigign >> (SIGUSR1 - 1) & 1, "ignores SIGUSR1");
	ok(!(st.sigcgt >> (SIGUSR1 - 1) & 1), "does not catch it");
	ok(st.threads >= 1, "has a thread");
}

static void test_hostile_name(void)
{
	CLEANUP(close_fd) int self = proc_open(getpid(), &err);
	struct proc_status st = {0};

	/* A name that looks like other lines and fields. */
	prctl(PR_SET_NAME, "x\nUid:\t0 ) R 1");
	ok(proc_read_status(self, &st, &err) == 0 && st.euid == geteuid(), "not taken for a line");
	ok(!strchr(st.name, '\n'), "one line");
	prctl(PR_SET_NAME, "test");
}

static void test_gone(void)
{
	CLEANUP(close_fd) int fd = -1;
	struct proc_status st;
	uint64_t ticks;
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	fd = proc_open(pid, &err);
	ok(proc_read_status(fd, &st, &err) == 0 && st.state == 'Z', "a zombie");
	waitpid(pid, NULL, 0);
	ok(proc_read_status(fd, &st, &err) < 0 && err.code == ESRCH, "gone: the same directory");
	ok(proc_start_time(fd, &ticks, &err) < 0 && err.code == ESRCH, "says so for every file");
	ok(proc_open(pid, &err) < 0 && err.code == ESRCH, "gone: a new one");
}

static void test_start_time(void)
{
	CLEANUP(close_fd) int self = proc_open(getpid(), &err);
	CLEANUP(close_fd) int init = proc_open(1, &err);
	uint64_t mine = 0, again = 0, first = 0;

	prctl(PR_SET_NAME, "x ) S 1 2 3 (");
	ok(proc_start_time(self, &mine, &err) == 0, "start time");
	prctl(PR_SET_NAME, "test");
	ok(proc_start_time(self, &again, &err) == 0 && mine == again && mine > 0,
	   "whatever the name is");
	ok(proc_start_time(init, &first, &err) == 0 && first <= mine, "init is older");
}

struct seen {
	const void *where;
	int text, anon, stack, count;
	struct proc_map map;
	char path[256];
};

static int look(const struct proc_map *m, void *arg)
{
	struct seen *seen = arg;
	uint64_t where = (uint64_t)(uintptr_t)seen->where;

	seen->count++;
	seen->text += m->exec && m->path[0] == '/';
	seen->anon += !m->path[0];
	seen->stack += !strcmp(m->path, "[stack]");
	if (where >= m->start && where < m->end) {
		seen->map = *m;
		snprintf(seen->path, sizeof(seen->path), "%s", m->path);
	}
	return 0;
}

static int stop(const struct proc_map *m, void *arg)
{
	(void)m;
	++*(int *)arg;
	return 42;
}

static void test_maps(void)
{
	char path[] = "/tmp/dfg test (deleted) XXXXXX";
	CLEANUP(close_fd) int self = proc_open(getpid(), &err);
	CLEANUP(close_fd) int file = mkstemp(path);
	struct seen seen = {0};
	struct stat st;
	int calls = 0;

	if (ftruncate(file, 3 * 4096) < 0 || fstat(file, &st) < 0)
		abort();
	seen.where = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 4096);
	is_int(proc_each_map(self, look, &seen, &err), 0, "maps");
	ok(seen.text > 0 && seen.anon > 0 && seen.stack == 1, "of every kind, of %d", seen.count);
	is_str(seen.path, path, "a path with blanks");
	is_int(seen.map.end - seen.map.start, 4096, "length");
	is_int(seen.map.offset, 4096, "offset");
	is_int(seen.map.inode, st.st_ino, "inode");
	ok(!seen.map.exec, "not executable");
	is_int(proc_each_map(self, stop, &calls, &err), 42, "stops when told");
	is_int(calls, 1, "at once");
	unlink(path);
}

static void test_places(void)
{
	CLEANUP(close_fd) int self = proc_open(getpid(), &err);
	CLEANUP(close_fd) int root = proc_open_root(self, &err);
	CLEANUP(str_fini) struct str groups = {0};
	uint64_t mnt = 0, pid = 0;
	char id[37] = "";

	ok(root >= 0 && faccessat(root, "proc/self", F_OK, 0) == 0, "root");
	ok(proc_ns_inode(self, "mnt", &mnt, &err) == 0 && mnt, "mount namespace");
	ok(proc_ns_inode(self, "pid", &pid, &err) == 0 && pid && pid != mnt, "pid namespace");
	ok(proc_ns_inode(self, "nothing", &pid, &err) < 0, "no such namespace");
	ok(proc_read_cgroup(self, &groups, &err) == 0 && strstr(groups.buf, ":/"), "cgroups");
	ok(proc_boot_id(id, &err) == 0 && strlen(id) == 36 && id[8] == '-', "boot id %s", id);
}

static int find(pid_t pid, void *arg)
{
	return pid == *(pid_t *)arg ? 7 : 0;
}

static void test_each(void)
{
	pid_t self = getpid(), none = -5;

	is_int(proc_each(find, &self, &err), 7, "this process is among all");
	is_int(proc_each(find, &none, &err), 0, "nothing else is");
}

/* Starts a process that is pid 1 of a namespace; *ret_outer is its parent, to be killed. */
static pid_t start_in_namespace(pid_t *ret_outer)
{
	pid_t inner = -1;
	int up[2];

	if (pipe2(up, O_CLOEXEC) < 0)
		abort();
	*ret_outer = fork();
	if (*ret_outer == 0) {
		/* As root without a user namespace, which some systems forbid. */
		int rc = geteuid() == 0 ? unshare(CLONE_NEWPID)
					: unshare(CLONE_NEWUSER | CLONE_NEWPID);

		inner = rc == 0 ? fork() : -1;
		if (inner != 0)
			(void)!write(up[1], &inner, sizeof(inner));
		else
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	(void)!read(up[0], &inner, sizeof(inner));
	close(up[0]);
	close(up[1]);
	return inner;
}

/* The pid that counts inside a container. */
static void test_nspid(void)
{
	struct proc_status st = {0};
	pid_t outer, inner = start_in_namespace(&outer);

	if (inner < 0) {
		ok(true, "pid namespace # SKIP not permitted here");
	} else {
		CLEANUP(close_fd) int fd = proc_open(inner, &err);

		ok(inner > 1 && proc_read_status(fd, &st, &err) == 0, "a namespace's init");
		is_int(st.nspid, 1, "is pid 1 there");
		kill(inner, SIGKILL);
	}
	kill(outer, SIGKILL);
	waitpid(outer, NULL, 0);
}

/* In a time namespace whose monotonic clock is 5 s and 7 ns ahead. Returns 2 where none can be
 * made. */
static int look_in_time_namespace(void)
{
	static const char offsets[] = "monotonic 5 7\n";
	CLEANUP(close_fd) int self = -1, fd = -1;

	if (unshare(CLONE_NEWTIME | (geteuid() ? CLONE_NEWUSER : 0)) < 0)
		return 2;
	self = proc_open(getpid(), &err);
	fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	if (write(fd, offsets, sizeof(offsets) - 1) < 0)
		return 2;
	return proc_clock_ahead(self) == 5000000007 ? 0 : 1;
}

static void test_clock(void)
{
	CLEANUP(close_fd) int self = proc_open(getpid(), &err);
	int status;
	pid_t pid;

	is_int(proc_clock_ahead(self), 0, "our clock is the host's");
	pid = fork();
	if (pid == 0)
		_exit(look_in_time_namespace());
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		ok(true, "time namespace # SKIP not permitted here");
	else
		is_int(status, 0, "a time namespace's is ahead");
}

int main(void)
{
	test_self();
	test_hostile_name();
	test_gone();
	test_start_time();
	test_maps();
	test_places();
	test_each();
	test_nspid();
	test_clock();
	return tap_done();
}
