// SPDX-License-Identifier: Apache-2.0
/* attach_load towards JVMs that answer, and towards processes that are no JVM: none of them is
 * harmed, and the caller stays what it was. Real JVMs are in tests/e2e/inject. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "injector/attach.h"
#include "injector/wire.h"
#include "lib/actor.h"
#include "lib/attachjvm.h"
#include "lib/tap.h"

static pid_t start(void (*setup)(void))
{
	struct actor a;

	if (actor_fork(&a)) {
		setup();
		actor_play(&a);
	}
	if (!actor_wait(&a))
		abort();
	return a.pid;
}

static bool runs(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) == 0;
}

static enum attach_result load(pid_t pid, struct err *err)
{
	struct attach_request req = {.pid = pid, .path = "/x.so", .timeout_ms = 250};
	int code = -77;
	enum attach_result result = attach_load(&req, &code, err);

	is_int(code, -77, "code untouched");
	return result;
}

static void plain(void)
{
	signal(SIGQUIT, SIG_DFL);
}

static void ignoring(void)
{
	signal(SIGQUIT, SIG_IGN);
}

static void on_quit(int sig)
{
	(void)sig;
	_exit(9);
}

static void catching(void)
{
	signal(SIGQUIT, on_quit);
}

static void test_not_a_jvm(void (*setup)(void), const char *name)
{
	pid_t pid = start(setup);
	struct err err = {0};

	is_int(load(pid, &err), ATTACH_NOT_READY, "%s: refused", name);
	ok(runs(pid), "%s: still runs", name);
	ok(strstr(err.msg, "attach to process") == err.msg, "message names the process: %s",
	   err.msg);
	if (setup == catching)
		is_int(attach_check(pid, &err), ATTACH_NOT_READY, "%s: foreseen", name);
	actor_end(pid);
}

/* Case 47. */
static void test_stopped(void)
{
	pid_t pid = start(catching);
	struct err err = {0};
	int status;

	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	is_int(load(pid, &err), ATTACH_STOPPED, "stopped");
	is_int(attach_check(pid, &err), ATTACH_STOPPED, "foreseen");
	kill(pid, SIGCONT);
	sleep_ms(50);
	ok(runs(pid), "no signal was waiting");
	actor_end(pid);
}

static void test_traced(void)
{
	pid_t pid = start(catching);
	struct err err = {0};

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0) {
		ok(true, "traced: # SKIP ptrace is not permitted here");
	} else {
		is_int(load(pid, &err), ATTACH_STOPPED, "traced");
		ok(runs(pid), "no signal was sent");
	}
	actor_end(pid);
}

/* Case 47. */
static void test_zombie(void)
{
	struct err err = {0};
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	is_int(load(pid, &err), ATTACH_STOPPED, "zombie");
	waitpid(pid, NULL, 0);
	is_int(load(pid, &err), ATTACH_GONE, "gone");
	is_int(err.code, ESRCH, "says so");
	is_int(attach_check(pid, &err), ATTACH_GONE, "foreseen");
}

static void test_bad_request(void)
{
	struct attach_request req = {.pid = getpid(), .path = "relative.so"};
	struct err err = {0};
	int code;

	is_int(attach_load(&req, &code, &err), ATTACH_FAILED, "relative path");
	req.path = "/x.so";
	req.pid = 0;
	is_int(attach_load(&req, &code, &err), ATTACH_FAILED, "pid 0");
	req.pid = -1;
	is_int(attach_load(&req, &code, &err), ATTACH_FAILED, "pid -1");
}

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void test_caller_unchanged(void)
{
	pid_t pid = start(plain);
	int fds = count_fds();
	uid_t uid = geteuid();
	struct err err = {0};

	for (int i = 0; i < 2; i++)
		(void)!load(pid, &err);
	is_int(count_fds(), fds, "no descriptor leaks");
	is_int(geteuid(), uid, "same user");
	actor_end(pid);
	is_int(waitpid(-1, NULL, WNOHANG), -1, "no child left");
}

/* ---- JVMs ---- */

static enum attach_result load_into(const struct attachjvm *j, const char *path,
				    const char *options, int *ret_code, struct err *err)
{
	struct attach_request req = {.pid = j->pid, .path = path, .options = options};

	*err = (struct err){0};
	*ret_code = -77;
	return attach_load(&req, ret_code, err);
}

static bool was_asked(const struct attachjvm *j, const char *bytes, size_t len)
{
	return j->log->len == len && !memcmp(j->log->request, bytes, len);
}
#define WAS_ASKED(j, bytes) was_asked((j), (bytes), sizeof(bytes))

static void test_load(void)
{
	struct attachjvm j = {.before = attachjvm_map, .reply = "0\nreturn code: 7\n"};
	struct err err;
	int code;

	attachjvm_start(&j);
	is_int(attach_check(j.pid, &err), ATTACH_OK, "a JVM can be foreseen to load");
	is_int(j.log->quits, 0, "foreseeing sends no signal");
	is_int(load_into(&j, "/x.so", "a=b,c", &code, &err), ATTACH_OK, "a JVM loads the library");
	is_int(code, 7, "it tells what the library returned");
	ok(WAS_ASKED(&j, "1\0load\0/x.so\0true\0a=b,c"), "it is asked in version 1");
	is_int(load_into(&j, "/y.so", NULL, &code, &err), ATTACH_OK, "options may be missing");
	ok(WAS_ASKED(&j, "1\0load\0/y.so\0true\0"), "it is asked without any");
	is_int(j.log->quits, 1, "for two loads it got one signal");
	attachjvm_end(&j);
}

static void test_refused(void)
{
	struct attachjvm j = {
		.before = attachjvm_map, .listens = true, .reply = "-1\nno such file\n"};
	CLEANUP(free) char *want = NULL;
	struct err err;
	int code;

	attachjvm_start(&j);
	want = xasprintf("attach to process %d: the JVM refused: no such file", (int)j.pid);
	is_int(load_into(&j, "/x.so", "", &code, &err), ATTACH_REFUSED, "a JVM may refuse");
	is_str(err.msg, want, "the message names the process and the JVM's reason");
	is_int(code, -77, "there is no code");
	attachjvm_end(&j);
}

static void answer_versions(struct attachjvm *j, int conn)
{
	const char *reply = strcmp(j->log->request + 2, "getversion") ? ATTACHJVM_LOADED : j->reply;

	(void)!write(conn, reply, strlen(reply));
}

static void test_long_options(void)
{
	struct attachjvm modern = {.before = attachjvm_map,
				   .listens = true,
				   .reply = "0\n2",
				   .answer = answer_versions};
	struct attachjvm old = {.before = attachjvm_map,
				.listens = true,
				.reply = "-1\nOperation getversion not recognized!",
				.answer = answer_versions};
	char options[WIRE_ARG_MAX + 2];
	struct err err;
	int code;

	memset(options, 'x', sizeof(options));
	options[sizeof(options) - 1] = '\0';
	attachjvm_start(&modern);
	is_int(load_into(&modern, "/x.so", options, &code, &err), ATTACH_OK,
	       "a JVM of version 2 takes long options");
	is_int(code, 0, "it loads the library");
	ok(!memcmp(modern.log->request, "2\0001042\0load\0/x.so\0true\0xxx", 26),
	   "it is asked in version 2");
	is_int(modern.log->conns, 2, "after it was asked for its version");
	attachjvm_end(&modern);
	attachjvm_start(&old);
	is_int(load_into(&old, "/x.so", options, &code, &err), ATTACH_FAILED,
	       "one of version 1 does not");
	is_int(err.code, E2BIG, "the code says why");
	ok(WAS_ASKED(&old, "1\0getversion\0options\0\0"), "it is not asked to load");
	options[WIRE_ARG_MAX] = '\0';
	is_int(load_into(&old, "/x.so", options, &code, &err), ATTACH_OK,
	       "options of the longest argument are taken");
	is_int(old.log->conns, 2, "without a question");
	attachjvm_end(&old);
}

static void stay_silent(struct attachjvm *j, int conn)
{
	(void)j;
	(void)conn;
	pause();
}

static void test_time_out(void)
{
	struct attachjvm j = {.before = attachjvm_map, .listens = true, .answer = stay_silent};
	struct attach_request req = {.path = "/x.so", .timeout_ms = 250};
	uint64_t began = clock_ms();
	struct err err;
	int code = -77;

	attachjvm_start(&j);
	req.pid = j.pid;
	is_int(attach_load(&req, &code, &err), ATTACH_FAILED, "a JVM that is silent is given up");
	is_int(err.code, ETIMEDOUT, "the code says so");
	ok(strstr(err.msg, "the JVM does not reply") != NULL, "so does the message: %s", err.msg);
	ok(clock_ms() - began >= 249 && clock_ms() - began < 5000, "after the time of the request");
	is_int(code, -77, "there is no code");
	attachjvm_end(&j);
}

/* A line of the client's /proc/PID/status, as the JVM saw it. */
static const char *client_is(const struct attachjvm *j, const char *key)
{
	static char value[128];
	const char *at = strstr(j->log->client, key);

	if (!at)
		return "missing";
	at += strlen(key);
	at += strspn(at, "\t ");
	snprintf(value, sizeof(value), "%.*s", (int)strcspn(at, "\n"), at);
	return value;
}

static void become_other(struct attachjvm *j)
{
	attachjvm_map(j);
	if (setgid(12346) < 0 || setuid(12345) < 0)
		_exit(5);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* which a change of ids has ended */
}

/* The process that meets the JVM has nothing of the caller's that it does not need. */
static void test_client(bool other_user)
{
	struct attachjvm j = {.before = other_user ? become_other : attachjvm_map};
	uid_t uid = other_user ? 12345 : geteuid();
	gid_t gid = other_user ? 12346 : getegid();
	CLEANUP(free) char *uids = xasprintf("%1$u\t%1$u\t%1$u\t%1$u", (unsigned)uid);
	CLEANUP(free) char *gids = xasprintf("%1$u\t%1$u\t%1$u\t%1$u", (unsigned)gid);
	const char *who = other_user ? "a JVM of another user" : "one's own JVM";
	int fds[64], code;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fds[i] = open("/dev/null", O_RDONLY);
	attachjvm_start(&j);
	is_int(load_into(&j, "/x.so", "", &code, &err), ATTACH_OK, "%s loads the library", who);
	is_str(client_is(&j, "\nUid:"), uids, "%s: all user ids are its", who);
	is_str(client_is(&j, "\nGid:"), gids, "%s: all group ids are, too", who);
	is_int(j.log->file_uid, uid, "%s: the file belongs to its user", who);
	if (geteuid() == 0)
		is_str(client_is(&j, "\nGroups:"), "", "%s: there are no other groups", who);
	is_str(client_is(&j, "\nCapPrm:"), "0000000000000000", "%s: no capability is left", who);
	is_str(client_is(&j, "\nCapEff:"), "0000000000000000", "%s: nor in effect", who);
	is_str(client_is(&j, "\nNoNewPrivs:"), "1", "%s: no program gives new privileges", who);
	ok(strtoull(client_is(&j, "\nSigBlk:"), NULL, 16) >> 14 & 1,
	   "%s: SIGTERM does not end it before it has cleaned up", who);
	/* Only root may look: the client forbids it to its own user. */
	if (geteuid() == 0 && !other_user)
		ok(j.log->client_fds > 2 && j.log->client_fds < 32,
		   "%s: descriptors of the caller are closed (%d)", who, j.log->client_fds);
	else
		is_int(j.log->client_fds, 0, "%s: its user may not look at the client", who);
	attachjvm_end(&j);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		close(fds[i]);
}

static void make_deaf_home(struct attachjvm *j)
{
	attachjvm_map(j);
	if (chroot(j->cwd) < 0)
		_exit(4);
}

static void test_no_tmp(void)
{
	char dir[] = "/tmp/dfg-home.XXXXXX";
	struct attachjvm j = {.before = make_deaf_home, .cwd = dir};
	struct err err;
	int code;

	if (!mkdtemp(dir))
		abort();
	if (geteuid() != 0) {
		ok(true, "a JVM without a /tmp # SKIP not root");
		rmdir(dir);
		return;
	}
	attachjvm_start(&j);
	is_int(attach_check(j.pid, &err), ATTACH_NO_TMP, "a JVM without a /tmp is foreseen");
	is_int(load_into(&j, "/x.so", "", &code, &err), ATTACH_NO_TMP, "it cannot load");
	is_int(j.log->quits, 0, "no signal is sent to it");
	attachjvm_end(&j);
	rmdir(dir);
}

/* A user of this machine whom the other process does not belong to. */
static void test_not_permitted(void)
{
	struct attachjvm j = {.before = attachjvm_map};
	struct err err;
	int code, status = -1;

	if (geteuid() != 0) {
		ok(true, "another user's JVM # SKIP not root");
		return;
	}
	attachjvm_start(&j);
	if (fork() == 0) {
		if (setgid(54321) < 0 || setuid(54321) < 0)
			_exit(9);
		if (load_into(&j, "/x.so", "", &code, &err) != ATTACH_FAILED)
			_exit(1);
		_exit(err.code == EPERM || err.code == EACCES ? 0 : 2);
	}
	wait(&status);
	is_int(status, 0, "another user's JVM is not attached to; the code says why");
	is_int(j.log->quits, 0, "no signal is sent to it");
	attachjvm_end(&j);
}

int main(void)
{
	test_load();
	test_refused();
	test_long_options();
	test_time_out();
	test_client(false);
	if (geteuid() == 0)
		test_client(true);
	test_no_tmp();
	test_not_permitted();
	test_not_a_jvm(plain, "a process without a handler");
	test_not_a_jvm(ignoring, "a process that ignores SIGQUIT");
	test_not_a_jvm(catching, "another program that catches SIGQUIT");
	test_stopped();
	test_traced();
	test_zombie();
	test_bad_request();
	test_caller_unchanged();
	return tap_done();
}
