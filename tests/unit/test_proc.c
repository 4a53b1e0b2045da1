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

#include "common/clock.h"
#include "common/fs.h"
#include "lib/scratch.h"
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
	ok(!st.nested, "it is in this pid namespace");
	is_int(st.euid, geteuid(), "user");
	is_int(st.egid, getegid(), "group");
	ok(st.sigign >> (SIGUSR1 - 1) & 1, "ignores SIGUSR1");
	ok(!(st.sigcgt >> (SIGUSR1 - 1) & 1), "does not catch it");
	ok(st.threads >= 1, "has a thread");
}

/* Case 67. */
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
	ok(!proc_is_running(pid), "gone: does not run");
}

static void test_is_running(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		bool other = setresuid(65534, 65534, 65534) == 0 || geteuid() != 0;

		_exit(other && kill(1, 0) < 0 && proc_is_running(1) ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	is_int(status, 0, "a process runs that may not be sent a signal");
	pid = fork();
	if (pid == 0)
		_exit(0);
	waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT);
	ok(!proc_is_running(pid), "a zombie does not run");
	waitpid(pid, &status, 0);
}

/* A child that spins, or sleeps, on the first processor. */
static pid_t pinned(bool spins)
{
	pid_t pid = fork();
	cpu_set_t first;

	if (pid != 0)
		return pid;
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	sched_setaffinity(0, sizeof(first), &first);
	for (;;)
		if (!spins)
			pause();
}

static void test_waited(void)
{
	pid_t pids[] = {pinned(true), pinned(true), pinned(false)};
	uint64_t before, began = clock_ms();

	while (proc_waited_ms(pids[0]) < 20 && clock_ms() - began < 20000)
		sleep_ms(10);
	ok(proc_waited_ms(pids[0]) >= 20, "one of two on a processor waits for it");
	before = proc_waited_ms(pids[2]);
	sleep_ms(200);
	ok(proc_waited_ms(pids[2]) - before < 100, "one that sleeps does not");
	for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	is_int(proc_waited_ms(pids[0]), 0, "one that is gone waits for nothing");
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
		ok(st.nested, "that is below this one");
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

/* Case 69 in part. */
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

/* ---- made files ---- */

static int made; /* a directory that plays /proc/PID */

static void check_status(const char *text, const char *want, const char *name)
{
	struct proc_status st = {.nspid = 99};
	CLEANUP(free) char *got = NULL;

	put_text("status", 0600, text);
	if (proc_read_status(made, &st, &err) < 0)
		got = xasprintf("%s (%d) %d", err.msg, err.code, (int)st.nspid);
	else
		got = xasprintf("%s %c %d %d %u %u %llx %llx %u", st.name, st.state, (int)st.ppid,
				(int)st.nspid, st.euid, st.egid, (unsigned long long)st.sigcgt,
				(unsigned long long)st.sigign, st.threads);
	is_str(got, want, "%s", name);
}

static void test_made_status(void)
{
	check_status("Name:\ta b\nState:\tS (sleeping)\nTgid:\t5\nPPid:\t3\nUid:\t1\t2\t3\t4\n"
		     "Gid:\t5\t6\t7\t8\nNStgid:\t5\t77\t12\nThreads:\t9\nSigIgn:\t00ff\n"
		     "SigCgt:\t8000000000000001\n",
		     "a b S 3 12 2 6 8000000000000001 ff 9", "all fields are read");
	check_status("Tgid:\t5\n", " ? 0 5 0 0 0 0 0", "an old kernel has the pid alone");
	check_status("Name:\tx\nTgid:\t5", "x ? 0 5 0 0 0 0 0", "the last line may have no end");
	check_status("Tgids:\t4\nXTgid:\t3\nTgid:\t5\n", " ? 0 5 0 0 0 0 0",
		     "a field has its whole name");
	check_status("Name:\tTgid:\t4\nTgid:\t5\n", "Tgid:?4 ? 0 5 0 0 0 0 0",
		     "and is at the beginning of a line");
	check_status("Tgid:\t5\nUid:\t1\nGid:\tx\n", " ? 0 5 1 0 0 0 0",
		     "of too few numbers the last counts, of none 0");
	check_status("Tgid:\t5\nUid:\t7\nGid:\t8\t9\n", " ? 0 5 7 9 0 0 0",
		     "numbers end with the line");
	check_status("Name:\tx\n", "/proc/…/status has no pid (0) 99",
		     "a text without a pid fails");
	check_status("Tgid:\t0\n", "/proc/…/status has no pid (0) 99", "0 is no pid");
	check_status("NStgid:\t7\t0\n", "/proc/…/status has no pid (0) 99",
		     "nor is it inside a namespace");
	check_status("", "/proc/…/status is empty: No such process (3) 99",
		     "a file without text is of a process that has ended");
	unlinkat(made, "status", 0);
	is_int(proc_read_status(made, &(struct proc_status){0}, &err), -1, "so is a missing one");
	is_str(err.msg, "open /proc/…/status: No such process", "the message says so");
}

static void check_start(const char *text, int64_t want, const char *name)
{
	uint64_t ticks = 77;

	put_text("stat", 0600, text);
	is_int(proc_start_time(made, &ticks, &err), want == 77 ? -1 : 0, "%s", name);
	is_int((int64_t)ticks, want, "its value is right");
}

#define TO_21 " S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21"

static void test_made_start(void)
{
	check_start("7 (x)" TO_21 " 4242 23 24\n", 4242, "the start is field 22");
	check_start("7 (x ) y) (z)" TO_21 " 4242 23 24\n", 4242,
		    "the name ends with the last bracket");
	check_start("7 (x)" TO_21 " 18446744073709551615\n", -1, "it may be the last field");
	check_start("7 (x)" TO_21 "\n", 77, "a line that is too short has none");
	check_start("7 x\n", 77, "nor has one without a name");
	is_str(err.msg, "/proc/…/stat has no field 22", "the message says so");
}

static int describe(const struct proc_map *m, void *arg)
{
	struct str *out = arg;

	str_addf(out, "%llx-%llx+%llx %x:%x %llu%s '%s'|", (unsigned long long)m->start,
		 (unsigned long long)m->end, (unsigned long long)m->offset, m->dev_major,
		 m->dev_minor, (unsigned long long)m->inode, m->exec ? " x" : "", m->path);
	return 0;
}

static void check_maps(const char *text, const char *want, const char *name)
{
	CLEANUP(str_fini) struct str got = {0};

	put_text("maps", 0600, text);
	str_adds(&got, "");
	is_int(proc_each_map(made, describe, &got, &err), 0, "%s", name);
	is_str(got.buf, want, "its fields are right");
}

static void test_made_maps(void)
{
	check_maps("55a0-55b0 r-xp 00001000 fd:0a 42      /a b\n",
		   "55a0-55b0+1000 fd:a 42 x '/a b'|", "a line is a mapping");
	check_maps("1000-2000 rw-p 00000000 00:00 0\n2000-3000 r--x 0 0:0 0\n",
		   "1000-2000+0 0:0 0 ''|2000-3000+0 0:0 0 ''|",
		   "one of no file has no path, and shared is not executable");
	check_maps("1-ffffffffffffffff --xs ffffffffffff0000 0:0 18446744073709551615 [x]\n",
		   "1-ffffffffffffffff+ffffffffffff0000 0:0 18446744073709551615 x '[x]'|",
		   "numbers have 64 bits");
	check_maps("x\n1-2 r-xp 0 0:0\n\n3-4 r-xp 0 0:0 5 /y\n", "3-4+0 0:0 5 x '/y'|",
		   "lines of another form are passed over");
	unlinkat(made, "maps", 0);
	is_int(proc_each_map(made, describe, NULL, &err), -1, "a file that is missing fails");
}

static void check_arg(const char *args, size_t len, const char *name, const char *want,
		      const char *check)
{
	CLEANUP(str_fini) struct str read = {0};

	put_bytes("cmdline", 0600, args, len);
	is_int(proc_read_args(made, &read, &err), 0, "a command line is read");
	is_str(proc_arg(&read, name), want, "%s", check);
}

#define ARG(args, name, want, check) check_arg(args, sizeof(args) - 1, name, want, check)

static void test_args(void)
{
	ARG("p\0--c\0x\0", "--c", "x", "a value is the next argument");
	ARG("p\0--c=x\0--c\0y\0", "--c", "x", "or after a sign, and the first counts");
	ARG("p\0--c=\0", "--c", "", "it may be empty");
	ARG("p\0--c\0\0", "--c", "", "in either form");
	ARG("p\0--c\0", "--c", NULL, "an option at the end has none");
	ARG("p\0--cc\0x\0--c", "--c", NULL, "also where its end is missing");
	ARG("p\0--cc=x\0x--c=y\0", "--c", NULL, "a longer name is another option");
	ARG("", "--c", NULL, "a kernel thread has no arguments");
}

static void check_ahead(const char *text, int64_t want, const char *name)
{
	put_text("timens_offsets", 0600, text);
	is_int(proc_clock_ahead(made), want, "%s", name);
}

static void test_made_clock(void)
{
	check_ahead("monotonic           5         7\nboottime 1 2\n", 5000000007,
		    "the clock is seconds and nanoseconds ahead");
	check_ahead("boottime 1 2\nmonotonic -2 5\n", -1999999995, "or the host's is");
	check_ahead("boottime 1 2\n", 0, "a text without it is of the host's clock");
	check_ahead("monotonic 5\n", 0, "so is half a line");
}

static void add_thread(pid_t tid, pid_t nstid, void *arg)
{
	str_addf(arg, "%d=%d|", (int)tid, (int)nstid);
}

static void check_threads(const char *want, const char *name)
{
	CLEANUP(str_fini) struct str got = {0};

	str_adds(&got, "");
	proc_each_thread(made, add_thread, &got);
	is_str(got.buf, want, "%s", name);
}

static void test_made_threads(void)
{
	check_threads("", "a process that has ended has no threads");
	mkdirat(made, "task", 0700);
	mkdirat(made, "task/12", 0700);
	mkdirat(made, "task/x", 0700);
	mkdirat(made, "task/13", 0700);
	put_text("x", 0600, "");
	put_text("status", 0600, "Name:\tx\nNSpid:\t12\t3\n");
	if (renameat(made, "status", made, "task/12/status") < 0)
		abort();
	check_threads("12=3|", "a thread has both ids, one that has ended is passed over");
	ok(!proc_shares_ns(made, "pid"), "an unknown namespace is not shared");
}

/* A cgroup of ours that is frozen, in a hierarchy of version 2. */
static void test_frozen(void)
{
	static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	CLEANUP(free) char *name = xasprintf("dfg-proc.%d", (int)getpid());
	CLEANUP(free) char *last = xasprintf("4:cpu:/x\n0::/%s\n", name);
	CLEANUP(free) char *first = xasprintf("0::/%s\n4:cpu:/x\n", name);
	CLEANUP(free) char *other = xasprintf("10::/%s\n", name);
	CLEANUP(free) char *dir = NULL;
	CLEANUP(close_fd) int self = proc_open(getpid(), &err);
	int fd = -1;

	ok(!proc_is_frozen(self), "this process is not frozen");
	for (size_t i = 0; i < 2 && fd < 0; i++) {
		CLEANUP(free) char *freeze = NULL;

		free(dir);
		dir = xasprintf("%s/%s", mounts[i], name);
		freeze = xasprintf("%s/cgroup.freeze", dir);
		if (mkdir(dir, 0755) < 0)
			continue;
		fd = open(freeze, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			rmdir(dir);
	}
	if (fd < 0) {
		ok(true, "a frozen cgroup # SKIP none can be made here");
		return;
	}
	put_text("cgroup", 0600, first);
	ok(!proc_is_frozen(made), "a cgroup that runs is not frozen");
	if (write(fd, "1", 1) != 1)
		abort();
	ok(proc_is_frozen(made), "one that was stopped is");
	put_text("cgroup", 0600, last);
	ok(proc_is_frozen(made), "its line may be the last");
	put_text("cgroup", 0600, other);
	ok(!proc_is_frozen(made), "the line of another hierarchy does not count");
	put_text("cgroup", 0600, "0::\n");
	ok(!proc_is_frozen(made), "a line without a path is of no cgroup");
	put_text("cgroup", 0600, "0::/none\n");
	ok(!proc_is_frozen(made), "nor is one that is gone frozen");
	unlinkat(made, "cgroup", 0);
	ok(!proc_is_frozen(made), "nor what is unknown");
	close(fd);
	rmdir(dir);
}

int main(void)
{
	scratch_make();
	made = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_self();
	test_hostile_name();
	test_gone();
	test_is_running();
	test_waited();
	test_start_time();
	test_maps();
	test_places();
	test_each();
	test_nspid();
	test_clock();
	test_made_status();
	test_made_start();
	test_made_maps();
	test_args();
	test_made_clock();
	test_frozen();
	test_made_threads();
	scratch_remove();
	return tap_done();
}
