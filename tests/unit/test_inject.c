// SPDX-License-Identifier: Apache-2.0
/* dfg-inject as a program ("injector/main.c"): arguments, messages, exit statuses, and the search
 * for the only JVM, in pid namespaces of the test's own. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "common/fs.h"
#include "dfg/paths.h"
#include "lib/attachjvm.h"
#include "lib/built.h"
#include "lib/tap.h"

#define ABSOLUTE "dfg-inject: x.so: the agent's path must be absolute\n"

static int program = -1;
static uid_t user; /* 0: as it is */

struct said {
	int status;
	char out[2048], err[2048];
};

static void drain(int fd, char *to, size_t cap)
{
	size_t len = 0;
	ssize_t n;

	lseek(fd, 0, SEEK_SET);
	while (len < cap - 1 && (n = read(fd, to + len, cap - 1 - len)) > 0)
		len += (size_t)n;
	to[len] = '\0';
	close(fd);
}

/* Runs it with up to six arguments. */
static struct said run(const char *a, const char *b, const char *c, const char *d, const char *e,
		       const char *f)
{
	const char *argv[] = {"dfg-inject", a, b, c, d, e, f, NULL};
	char *environment[] = {NULL};
	int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC);
	struct said s = {0};
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (dup2(out, 1) < 0 || dup2(err, 2) < 0 ||
		    (user && (setgid(user) < 0 || setuid(user) < 0)))
			_exit(99);
		fexecve(program, (char **)argv, environment);
		_exit(98);
	}
	waitpid(pid, &status, 0);
	s.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	drain(out, s.out, sizeof(s.out));
	drain(err, s.err, sizeof(s.err));
	return s;
}
#define RUN1(a)		 run((a), NULL, NULL, NULL, NULL, NULL)
#define RUN2(a, b)	 run((a), (b), NULL, NULL, NULL, NULL)
#define RUN3(a, b, c)	 run((a), (b), (c), NULL, NULL, NULL)
#define RUN4(a, b, c, d) run((a), (b), (c), (d), NULL, NULL)

static void test_usage(void)
{
	static const struct {
		const char *argv[4], *message;
	} rows[] = {
		{{"-t", "0"}, "dfg-inject: --timeout 0: not a number of milliseconds\n"},
		{{"-t", "3600001"},
		 "dfg-inject: --timeout 3600001: not a number of milliseconds\n"},
		{{"--timeout", "1s"}, "dfg-inject: --timeout 1s: not a number of milliseconds\n"},
		{{"--timeout=", "1"}, "dfg-inject: --timeout : not a number of milliseconds\n"},
		{{"12x"}, "dfg-inject: 12x: not a process id\n"},
		{{"0"}, "dfg-inject: 0: not a process id\n"},
		{{"-t", "1", "-5"}, NULL},
		{{"1", "x.so"}, ABSOLUTE},
		{{"1", "/a", "b", "c"}, NULL},
		{{"--wibble"}, NULL},
		{{"-t"}, NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *const *v = rows[i].argv;
		struct said s = run(v[0], v[1], v[2], v[3], NULL, NULL);

		is_int(s.status, 2, "a wrong command line: %s %s %s", v[0], v[1] ? v[1] : "",
		       v[2] ? v[2] : "");
		is_str(s.out, "", "it prints nothing");
		if (rows[i].message)
			is_str(s.err, rows[i].message, "the message says what is wrong");
		else
			ok(strstr(s.err, "usage: dfg-inject [options] [PID [AGENT [OPTIONS]]]\n"),
			   "the message is the usage");
	}
}

static void test_help(void)
{
	static const char *const names[][2] = {{"-h", "--help"}, {"-V", "--version"}};

	for (size_t i = 0; i < 4; i++) {
		struct said s = RUN2(names[i / 2][i % 2], "x");

		is_int(s.status, 0, "%s succeeds", names[i / 2][i % 2]);
		is_str(s.err, "", "it complains of nothing");
		if (i < 2)
			ok(strstr(s.out, "usage: dfg-inject") == s.out &&
				   strstr(s.out, "5 not permitted\n"),
			   "it prints the usage with the exit statuses");
		else
			is_str(s.out, "dfg-inject " DFG_VERSION "\n", "it prints the version");
	}
}

static char *pid_of(const struct attachjvm *j)
{
	return xasprintf("%d", (int)j->pid);
}

static bool was_asked(const struct attachjvm *j, const char *bytes, size_t len)
{
	return j->log->len == len && !memcmp(j->log->request, bytes, len);
}

static void test_load(void)
{
	struct attachjvm j = {.before = attachjvm_map};
	CLEANUP(free) char *pid = NULL;
	struct said s;

	attachjvm_start(&j);
	pid = pid_of(&j);
	s = RUN1(pid);
	is_int(s.status, 0, "a JVM loads the agent");
	ok(!*s.out && !*s.err, "of that nothing is said");
	ok(was_asked(&j, "1\0load\0" DFG_AGENT_PATH "\0true\0",
		     sizeof("1\0load\0" DFG_AGENT_PATH "\0true\0")),
	   "the agent is the one in the container");
	s = run("--timeout", "3600000", "--", pid, "/x.so", "dir=/a");
	is_int(s.status, 0, "a JVM loads another agent");
	ok(was_asked(&j, "1\0load\0/x.so\0true\0dir=/a", sizeof("1\0load\0/x.so\0true\0dir=/a")),
	   "it is given its options");
	attachjvm_end(&j);
}

static void stay_silent(struct attachjvm *j, int conn)
{
	(void)j;
	(void)conn;
	pause();
}

static void test_failures(void)
{
	static const struct {
		struct attachjvm j;
		int status;
		const char *ms, *message;
	} rows[] = {
		{{.before = attachjvm_map, .listens = true, .reply = "0\n9\n"},
		 1,
		 "20000",
		 "dfg-inject: /x.so was loaded, but returned 9\n"},
		{{.before = attachjvm_map, .listens = true, .reply = "-1\nno\n"},
		 1,
		 "20000",
		 "dfg-inject: attach to process %d: the JVM refused: no\n"},
		{{.before = attachjvm_map, .listens = true, .answer = stay_silent},
		 1,
		 "300",
		 "dfg-inject: attach to process %d: the JVM does not reply: "},
		{{.is_deaf = true},
		 4,
		 "20000",
		 "dfg-inject: attach to process %d: it is not a HotSpot JVM (libjvm.so is not "
		 "mapped); nothing was sent to it\n"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct attachjvm j = rows[i].j;
		CLEANUP(free) char *pid = NULL, *want = NULL;
		const char *mark = strstr(rows[i].message, "%d");
		struct said s;

		attachjvm_start(&j);
		pid = pid_of(&j);
		want = mark ? xasprintf("%.*s%s%s", (int)(mark - rows[i].message), rows[i].message,
					pid, mark + 2)
			    : xstrdup(rows[i].message);
		s = RUN4("-t", rows[i].ms, pid, "/x.so");
		is_int(s.status, rows[i].status, "failure %zu has its status", i);
		ok(strncmp(s.err, want, strlen(want)) == 0, "its message says why");
		ok(strchr(s.err, '\n') == s.err + strlen(s.err) - 1, "the message is one line");
		is_str(s.out, "", "nothing is printed");
		attachjvm_end(&j);
	}
}

static void test_gone(void)
{
	struct attachjvm j = {0};
	CLEANUP(free) char *pid = NULL;
	struct said s;

	attachjvm_start(&j);
	pid = pid_of(&j);
	kill(j.pid, SIGSTOP);
	waitpid(j.pid, NULL, WUNTRACED);
	s = RUN1(pid);
	is_int(s.status, 1, "a stopped process is a failure");
	attachjvm_end(&j);
	s = RUN1(pid);
	is_int(s.status, 3, "a process that ended has a status of its own");
}

static void test_not_permitted(void)
{
	struct attachjvm j = {.before = attachjvm_map};
	CLEANUP(free) char *pid = NULL;
	struct said s;

	if (geteuid() != 0) {
		ok(true, "another user's JVM # SKIP not root");
		return;
	}
	attachjvm_start(&j);
	pid = pid_of(&j);
	user = 54321;
	s = RUN1(pid);
	user = 0;
	is_int(s.status, 5, "another user's JVM has a status of its own");
	is_int(j.log->quits, 0, "no signal is sent to it");
	attachjvm_end(&j);
}

/* ---- the only JVM ---- */

static void only(int jvms)
{
	static const char *const none = "dfg-inject: no JVM found\n";
	static const char *const two = "dfg-inject: found 2 JVMs; give the PID of one\n";
	struct attachjvm j[2];
	struct said s;

	for (int i = 0; i < 2; i++) {
		/* A process that is no JVM is there, too. */
		j[i] = (struct attachjvm){.before = i < jvms ? attachjvm_map : NULL};
		attachjvm_start(&j[i]);
	}
	s = RUN2("-t", "5000");
	if (jvms == 1) {
		is_int(s.status, 0, "the only JVM is found");
		is_int(j[0].log->conns, 1, "it loads the agent");
	} else {
		is_int(s.status, jvms ? 2 : 4, "%d JVMs are a failure of their own", jvms);
		is_str(s.err, jvms ? two : none, "the message says how many there are");
		is_int(j[0].log->quits, 0, "none gets a signal");
	}
	if (jvms == 2) {
		user = 54321;
		s = RUN2("-t", "5000");
		user = 0;
		is_int(s.status, 4, "a user who may not look finds none");
		is_str(s.err,
		       "dfg-inject: no JVM found; some processes may not be inspected: run as "
		       "root or as the JVM's user\n",
		       "the message says why");
	}
	for (int i = 0; i < 2; i++)
		attachjvm_end(&j[i]);
}

/* In a pid namespace whose processes are this one and its children. */
static void test_only(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0 ||
		    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
			_exit(77);
		pid = fork();
		if (pid == 0) {
			if (mount("proc", "/proc", "proc", 0, NULL) < 0)
				_exit(77);
			for (int jvms = 0; jvms <= 2; jvms++)
				only(jvms);
			_exit(tap_count << 1 | (tap_failed > 0));
		}
		waitpid(pid, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		ok(true, "the only JVM # SKIP pid namespaces are not permitted here");
		return;
	}
	/* The child's checks have their lines; the status says how many there were. */
	tap_count = WEXITSTATUS(status) >> 1;
	tap_failed += WEXITSTATUS(status) & 1;
}

int main(void)
{
	CLEANUP(free) char *path = built("payload/dfg-inject");

	program = open(path, O_RDONLY | O_CLOEXEC);
	if (program < 0) {
		printf("1..0 # SKIP no dfg-inject\n");
		return 0;
	}
	test_only();
	test_usage();
	test_help();
	test_load();
	test_failures();
	test_gone();
	test_not_permitted();
	return tap_done();
}
