// SPDX-License-Identifier: Apache-2.0
/* The JVM as a process ("injector/process.c"): states in which a signal would harm it, what tells a
 * HotSpot JVM from another program, its options and its /tmp. Directories like /proc/PID with the
 * kernel's texts stand for processes in states that are hard to make. */
#include "injector/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>

#include "common/clock.h"
#include "common/fs.h"
#include "injector/wire.h"
#include "lib/actor.h"
#include "lib/scratch.h"
#include "lib/tap.h"

#define CATCHES "0000000000000004"
#define NONE	"0000000000000000"
#define OTHERS	"fffffffffffffffb"
#define JVM_MAP                                                                                    \
	"7f0000000000-7f0000001000 r-xp 00000000 08:01 99 /usr/lib/jvm/lib/server/libjvm.so\n"
#define NO_JVM "it is not a HotSpot JVM (libjvm.so is not mapped); nothing was sent to it"
#define NO_CATCH                                                                                   \
	"it does not catch SIGQUIT (started with -Xrs, or just starting); nothing was sent to it"

static struct err err;

static void drop(const char *name)
{
	CLEANUP(free) char *path = path_of(name);

	unlink(path);
}

static void put_status(char state, const char *tracer, const char *ignored, const char *caught)
{
	CLEANUP(free)
	char *text = xasprintf("Name:\tjava\nState:\t%c (x)\nTgid:\t99\nTracerPid:\t%s\n"
			       "Uid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nNStgid:\t99\t7\n"
			       "SigBlk:\t" CATCHES "\nSigIgn:\t%s\nSigCgt:\t%s\n",
			       state, tracer, ignored, caught);

	put_text("status", 0644, text);
}

/* A JVM that runs. */
static void put_jvm(void)
{
	CLEANUP(free) char *root = path_of("root"), *cwd = path_of("cwd");

	put_status('S', "0", NONE, CATCHES);
	put_text("maps", 0644, JVM_MAP);
	put_bytes("cmdline", 0644, "java\0Main\0", 10);
	put_bytes("environ", 0644, "A=b\0", 4);
	mkdir(root, 0755);
	mkdir(cwd, 0755);
}

static struct jvm_process process(void)
{
	struct jvm_process p = JVM_PROCESS_EMPTY;

	p.procfd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	p.pid = 99;
	return p;
}

/* ---- may it get a signal ---- */

/* Case 42: the JVM would exit. Its cgroup is a directory of the test's own. */
static void test_no_thread(struct jvm_process *p)
{
	CLEANUP(free) char *groups = xasprintf("0::/../../..%s\n", top);

	if (access("/sys/fs/cgroup", F_OK) < 0)
		return;
	put_status('S', "0", NONE, CATCHES);
	put_text("cgroup", 0600, groups);
	put_text("pids.current", 0600, "93\n");
	put_text("pids.max", 0600, "100\n");
	is_int(process_check(p, &err), ATTACH_STOPPED, "a process that can start few threads");
	is_str(err.msg, "its limit leaves 7 threads; nothing was sent to it",
	       "the message says it");
	put_text("pids.max", 0600, "101\n");
	is_int(process_check(p, &err), ATTACH_OK, "one that can start some");
	drop("cgroup");
}

static void test_states(void)
{
	static const struct {
		char state;
		const char *tracer, *ignored, *caught;
		enum attach_result result;
		const char *message;
	} rows[] = {
		{'S', "0", NONE, CATCHES, ATTACH_OK, ""},
		{'R', "0", OTHERS, "ffffffffffffffff", ATTACH_OK, ""},
		{'S', "0", NONE, NONE, ATTACH_NOT_READY, NO_CATCH},
		{'S', "0", NONE, OTHERS, ATTACH_NOT_READY, NO_CATCH},
		{'S', "0", CATCHES, CATCHES, ATTACH_NOT_READY, NO_CATCH},
		{'T', "0", NONE, CATCHES, ATTACH_STOPPED, "it is stopped; nothing was sent to it"},
		{'t', "0", NONE, CATCHES, ATTACH_STOPPED,
		 "it is traced by a debugger; nothing was sent to it"},
		{'S', "1", NONE, CATCHES, ATTACH_STOPPED,
		 "it is traced by a debugger; nothing was sent to it"},
		{'S', "905", NONE, CATCHES, ATTACH_STOPPED,
		 "it is traced by a debugger; nothing was sent to it"},
		{'D', "0", NONE, CATCHES, ATTACH_STOPPED,
		 "it is frozen or in uninterruptible sleep; nothing was sent to it"},
		{'Z', "0", NONE, CATCHES, ATTACH_STOPPED, "it is a zombie; nothing was sent to it"},
		{'X', "0", NONE, CATCHES, ATTACH_GONE, "it has ended: No such process"},
	};
	CLEANUP(process_close) struct jvm_process p = process();

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		put_status(rows[i].state, rows[i].tracer, rows[i].ignored, rows[i].caught);
		err = (struct err){0};
		is_int(process_check(&p, &err), rows[i].result,
		       "a process in state %c with tracer %s, ignored %s, caught %s", rows[i].state,
		       rows[i].tracer, rows[i].ignored, rows[i].caught);
		is_str(err.msg, rows[i].message, "the message says it");
	}
	is_int(p.st.nspid, 7, "the status is read anew each time");
	test_no_thread(&p);
	drop("status");
	is_int(process_check(&p, &err), ATTACH_GONE, "without a status it is gone");
}

static void test_young(void)
{
	static const struct {
		int seconds;
		bool want;
	} rows[] = {{-60, true}, {0, true}, {7, true}, {13, false}, {100, false}};
	CLEANUP(process_close) struct jvm_process p = process();
	long long hz = sysconf(_SC_CLK_TCK);
	struct timespec now;

	drop("stat");
	ok(process_is_young(&p), "a process whose start is not known may have started just now");
	clock_gettime(CLOCK_BOOTTIME, &now);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(free)
		char *text = xasprintf("99 (a) b) S 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 0 %lld 0\n",
				       (now.tv_sec - rows[i].seconds) * hz);

		put_text("stat", 0644, text);
		if (now.tv_sec > rows[i].seconds)
			is_int(process_is_young(&p), rows[i].want, "a start %d seconds ago is %s",
			       rows[i].seconds, rows[i].want ? "young" : "not young");
	}
}

/* ---- is it a JVM ---- */

static void test_is_jvm(void)
{
	static const struct {
		const char *maps;
		int want;
		const char *who;
	} rows[] = {
		{JVM_MAP, 1, "a process that has libjvm.so mapped"},
		{"1000-2000 r-xp 0 08:01 9 /bin/sleep\n" JVM_MAP "3000-4000 rw-p 0 00:00 0 \n", 1,
		 "one that has it among others"},
		{"1000-2000 r-xp 0 08:01 9 /x/libjvm.so (deleted)\n", 1,
		 "one whose libjvm.so was replaced"},
		{"1000-2000 r-xp 0 08:01 9 /x/notlibjvm.so\n", 0, "one with a library of its own"},
		{"1000-2000 r-xp 0 08:01 9 /libjvm.so/lib.so\n", 0,
		 "one with a directory so named"},
		{"1000-2000 rw-p 0 00:00 0 libjvm.so\n", 0, "one with a mapping without a path"},
		{"1000-2000 r-xp 0 08:01 9 /bin/sleep\n", 0, "another program"},
		{JVM_MAP "1000-2000 r-xp 0 08:01 9 /x/libj9vm29.so\n", 0, "an OpenJ9"},
		{"1000-2000 r-xp 0 08:01 9 /x/libj9vm29.so\n" JVM_MAP, 0,
		 "an OpenJ9 whose own library comes first"},
	};
	CLEANUP(process_close) struct jvm_process p = process();

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		put_text("maps", 0644, rows[i].maps);
		is_int(process_is_jvm(p.procfd, &err), rows[i].want, "%s is %s JVM", rows[i].who,
		       rows[i].want ? "a" : "no");
	}
	drop("maps");
	is_int(process_is_jvm(p.procfd, &err), 0, "a process without memory is no JVM");
}

/* As another user: root may read all. */
static void test_hidden_maps(void)
{
	CLEANUP(free) char *maps = path_of("maps");
	CLEANUP(process_close) struct jvm_process p = process();
	uid_t uid = geteuid();

	put_jvm();
	chmod(maps, 0);
	chmod(top, 0755);
	if (uid == 0 && seteuid(12345) < 0)
		abort();
	is_int(process_is_jvm(p.procfd, &err), 1,
	       "a process named java whose maps may not be read counts as one");
	if (seteuid(uid) < 0)
		abort();
	drop("maps");
	mkdir(maps, 0755);
	if (uid == 0 && seteuid(12345) < 0)
		abort();
	is_int(process_is_jvm(p.procfd, &err), -1, "its name does not count where reading failed");
	is_int(err.code, EISDIR, "the code says why");
	if (seteuid(uid) < 0)
		abort();
	rmdir(maps);
	put_text("maps", 0644, "");
	chmod(maps, 0);
	put_text("status", 0644, "Name:\tjavac\nState:\tS\nTgid:\t9\n");
	if (uid == 0 && seteuid(12345) < 0)
		abort();
	is_int(process_is_jvm(p.procfd, &err), -1, "of one with another name nothing is known");
	is_int(err.code, EACCES, "the code says why");
	if (seteuid(uid) < 0)
		abort();
	drop("maps");
}

/* ---- inspection ---- */

static enum attach_result inspect(struct jvm_process *p, int ms)
{
	err = (struct err){0};
	return process_inspect(p, deadline_after(ms), &err);
}

static void test_inspect(void)
{
	CLEANUP(process_close) struct jvm_process p = process();
	CLEANUP(free) char *cwd = path_of("cwd"), *root = path_of("root");

	put_jvm();
	is_int(inspect(&p, 5000), ATTACH_OK, "a JVM that runs is inspected");
	is_int(p.st.euid, 2, "its effective user is read");
	is_int(p.st.egid, 6, "so is its group");
	ok(p.rootfd >= 0 && p.cwdfd >= 0, "its root and its working directory are opened");
	ok(!p.attach_disabled, "its options do not disable attach");
	process_close(&p);
	ok(p.procfd == -1 && p.rootfd == -1 && p.cwdfd == -1 && p.tmpfd == -1 && p.pidfd == -1,
	   "closing leaves no descriptor");

	p = process();
	put_bytes("cmdline", 0644, "java\0-XX:+DisableAttachMechanism\0Main\0", 38);
	rmdir(cwd);
	put_text("cwd", 0644, "");
	is_int(inspect(&p, 5000), ATTACH_OK, "a JVM without a working directory is inspected");
	is_int(p.cwdfd, -1, "it has none");
	ok(p.attach_disabled, "its command line may disable attach");
	process_close(&p);

	p = process();
	put_bytes("environ", 0644, "A=b\0_JAVA_OPTIONS=-XX:-DisableAttachMechanism\0", 46);
	is_int(inspect(&p, 5000), ATTACH_OK, "a JVM with options in its environment is inspected");
	ok(!p.attach_disabled, "they count");
	process_close(&p);

	p = process();
	drop("cmdline");
	drop("environ");
	is_int(inspect(&p, 5000), ATTACH_OK, "options that cannot be read are none");
	ok(!p.attach_disabled, "they do not disable attach");
	process_close(&p);

	p = process();
	rmdir(root);
	is_int(inspect(&p, 5000), ATTACH_GONE, "a process without a root directory has ended");
	put_text("maps", 0644, "1000-2000 r-xp 0 08:01 9 /bin/sleep\n");
	is_int(inspect(&p, 0), ATTACH_NOT_READY, "another program is not attached to");
	is_str(err.msg, NO_JVM, "the message says so");
}

/* As another user: root may open all. */
static void test_hidden_root(void)
{
	CLEANUP(free) char *root = path_of("root"), *locked = path_of("locked");
	struct stat got = {0}, want = {0};
	uid_t uid = geteuid();
	struct jvm_process p;

	put_jvm();
	rmdir(root);
	mkdir(locked, 0);
	(void)!symlink("locked/x", root);
	if (uid == 0 && seteuid(12345) < 0)
		abort();
	p = process();
	p.pid = 7;
	is_int(inspect(&p, 5000), ATTACH_OK, "a JVM that hides its root directory is inspected");
	ok(fstat(p.rootfd, &got) == 0 && stat("/", &want) == 0 && got.st_ino == want.st_ino,
	   "in this pid namespace it has this one");
	process_close(&p);
	p = process();
	is_int(inspect(&p, 5000), ATTACH_FAILED, "in another it may have any");
	is_int(err.code, EACCES, "the code says why");
	process_close(&p);
	if (seteuid(uid) < 0)
		abort();
	unlink(root);
	rmdir(locked);
}

/* After a while the status is that of a JVM that runs. */
static pid_t change_later(void)
{
	struct actor a;

	if (actor_fork(&a)) {
		actor_tell(&a);
		sleep_ms(20);
		put_status('S', "0", NONE, CATCHES);
		_exit(0);
	}
	actor_wait(&a);
	return a.pid;
}

static void test_waiting(void)
{
	CLEANUP(process_close) struct jvm_process p = process();
	uint64_t began;
	pid_t child;

	put_jvm();
	put_status('S', "0", NONE, NONE);
	child = change_later();
	is_int(inspect(&p, 60000), ATTACH_OK,
	       "a JVM that does not catch the signal yet is waited for");
	waitpid(child, NULL, 0);
	put_status('D', "0", NONE, CATCHES);
	child = change_later();
	is_int(inspect(&p, 60000), ATTACH_OK, "so is one in uninterruptible sleep, which may pass");
	waitpid(child, NULL, 0);
	put_status('S', "0", NONE, NONE);
	began = clock_ms();
	is_int(inspect(&p, 30), ATTACH_NOT_READY, "not after the deadline");
	ok(clock_ms() - began >= 29, "but until then");
	is_str(err.msg, NO_CATCH, "the message says what it lacks");
	began = clock_ms();
	is_int(inspect(&p, 60000), ATTACH_NOT_READY, "one that never does is given up");
	ok(clock_ms() - began >= 499 && clock_ms() - began < 20000, "after half a second");
	put_status('T', "0", NONE, CATCHES);
	is_int(inspect(&p, 60000), ATTACH_STOPPED, "a stopped one is not waited for");
	put_status('X', "0", NONE, CATCHES);
	is_int(inspect(&p, 60000), ATTACH_GONE, "nor is one that has ended");
	drop("maps");
	put_status('Z', "0", NONE, NONE);
	is_int(inspect(&p, 60000), ATTACH_STOPPED, "nor a zombie, which has no memory");
}

/* ---- its /tmp ---- */

static void test_tmp(void)
{
	CLEANUP(process_close) struct jvm_process p = process();
	CLEANUP(free) char *root = path_of("root"), *tmp = path_of("root/tmp");
	CLEANUP(free) char *inside = path_of("root/inside");
	struct stat a = {0}, b = {0};

	mkdir(root, 0755);
	p.rootfd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	is_int(process_open_tmp(&p, &err), ATTACH_NO_TMP, "a JVM without a /tmp has no socket");
	is_int(err.code, ENOENT, "the code says why");
	ok(strstr(err.msg, "it has no usable /tmp, where its socket must be: ") == err.msg,
	   "the message says it: %s", err.msg);
	put_text("root/tmp", 0644, "");
	is_int(process_open_tmp(&p, &err), ATTACH_NO_TMP, "a file is no /tmp");
	unlink(tmp);
	mkdir(inside, 0755);
	(void)!symlink("/inside", tmp);
	is_int(process_open_tmp(&p, &err), ATTACH_OK, "a link is followed");
	ok(fstat(p.tmpfd, &a) == 0 && stat(inside, &b) == 0 && a.st_ino == b.st_ino,
	   "it leads to a directory in the JVM's root, not in this one");
}

/* ---- real processes ---- */

static void test_open(void)
{
	struct jvm_process p = JVM_PROCESS_EMPTY;
	struct actor a;
	siginfo_t info;

	if (actor_fork(&a)) {
		signal(SIGUSR1, SIG_IGN);
		actor_play(&a);
	}
	actor_wait(&a);
	is_int(process_open(&p, a.pid, &err), ATTACH_OK, "a process is opened");
	is_int(p.pid, a.pid, "it is that one");
	is_int(p.st.euid, geteuid(), "its status is read");
	ok(process_is_alive(&p), "it is alive");
	is_int(process_signal(&p, SIGUSR1, &err), ATTACH_OK, "a signal can be sent to it");
	ok(process_is_alive(&p), "one it ignores");
	is_int(process_signal(&p, SIGTERM, &err), ATTACH_OK, "another can be sent, too");
	waitid(P_PID, (id_t)a.pid, &info, WEXITED | WNOWAIT);
	is_int(info.si_status, SIGTERM, "it is the one that was meant");
	ok(!process_is_alive(&p), "a zombie is not alive");
	waitpid(a.pid, NULL, 0);
	err = (struct err){0};
	is_int(process_signal(&p, SIGTERM, &err), ATTACH_GONE, "none is sent to an ended one");
	is_int(err.code, ESRCH, "the code says why");
	process_close(&p);
	err = (struct err){0};
	is_int(process_open(&p, a.pid, &err), ATTACH_GONE, "a process that is gone is not opened");
	is_int(err.code, ESRCH, "the code says why, too");
	process_close(&p);
}

static void test_not_permitted(void)
{
	struct jvm_process p = JVM_PROCESS_EMPTY;
	int status = -1;

	if (geteuid() != 0) {
		ok(true, "a signal that may not be sent # SKIP not root");
		return;
	}
	if (fork() == 0) {
		if (process_open(&p, getppid(), &err) != ATTACH_OK || setuid(12345) < 0)
			_exit(1);
		if (process_signal(&p, 0, &err) != ATTACH_FAILED)
			_exit(2);
		_exit(err.code == EPERM ? 0 : 3);
	}
	wait(&status);
	is_int(status, 0, "a signal that may not be sent is a failure, with the system's code");
}

int main(void)
{
	scratch_make();
	test_states();
	test_young();
	test_is_jvm();
	test_hidden_maps();
	test_inspect();
	test_hidden_root();
	test_waiting();
	test_tmp();
	test_open();
	test_not_permitted();
	scratch_remove();
	return tap_done();
}
