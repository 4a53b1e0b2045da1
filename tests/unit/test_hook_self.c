// SPDX-License-Identifier: Apache-2.0
/* dfg-hook as a process: what it reads and how long, what it gives up, and when its worker fails.
 */
#include "hook/self.h"

#include <dirent.h>
#include <sys/capability.h>
#include <sys/file.h>
#include <sys/prctl.h>

#include "common/clock.h"
#include "common/proc.h"
#include "hook/store.h"
#include "lib/hookprogram.h"

static void test_input(void)
{
	static const struct {
		const char *what, *command, *out;
	} rows[] = {
		{"a state of 1 MiB",
		 "{ cat /tmp/state; head -c 1049000 /dev/zero | tr '\\0' ' '; } "
		 "| head -c 1048576",
		 "\"status\":\"skip-gone\""},
		{"a longer state",
		 "{ cat /tmp/state; head -c 1049000 /dev/zero | tr '\\0' ' '; } "
		 "| head -c 1048577",
		 "\"status\":\"skip-state\",\"detail\":\"the state is longer than 1048576 bytes: "},
		{"3 MB of anything", "head -c 3000000 /dev/zero",
		 "\"status\":\"skip-state\",\"detail\":\"the state is longer than 1048576 bytes: "},
	};
	CLEANUP(str_fini) struct str out = {0};
	pid_t gone = actor_idle();

	actor_end(gone);
	program_state(gone, "running");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(free)
		char *all = xasprintf("{ %s && echo well >&2; } | " GIVEN "--join; echo $?",
				      rows[i].command);

		program_sh(&out, all);
		ok(strstr(program_text(&out), rows[i].out), "%s is answered", rows[i].what);
		ok(strstr(program_text(&out), "well\n") && strstr(program_text(&out), "\n1\n"),
		   "whoever writes it is not stopped");
	}
	while (*program_logged())
		;
	is_int(program_sh(&out, GIVEN "--join <&- >&- 2>&-"), 1, "closed descriptors are no harm");
	ok(strstr(program_logged(), " the state is not a JSON object"),
	   "a stdin that is closed is empty");
	is_int(program_sh(&out, GIVEN "--join </tmp"), 1, "a directory is no state");
	ok(strstr(program_text(&out), "read stdin: Is a directory"), "the reason is told");
	program_end();
	while (*program_logged())
		;
}

/* ---- while it runs ---- */

/* Holds the lock of the root, so that a worker waits for it. */
static int hold_lock(void)
{
	struct hook_store s = HOOK_STORE_EMPTY;
	int lock;

	box_must(hook_store_open(ROOT, &s, NULL) == 0 && hook_store_lock(&s, true, NULL) == 0,
		 ROOT);
	lock = TAKE_FD(s.lock);
	hook_store_close(&s);
	return lock;
}

/* Starts the hook with what a careless runtime leaves it: signals, files, a mask, a directory. */
static pid_t start(const char *mode)
{
	struct actor a;

	if (actor_fork(&a)) {
		int in = open("/tmp/state", O_RDONLY),
		    out = open("/tmp/out", O_WRONLY | O_CREAT, 0600);
		sigset_t all;

		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		signal(SIGTERM, SIG_IGN);
		umask(0777);
		if (chdir("/tmp") < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(in, 77) < 0 ||
		    dup2(in, 3) < 0)
			_exit(1);
		execl("/tmp/bin/dfg-hook", "dfg-hook", "--root", ROOT, "--payload", "/tmp/pay",
		      mode, NULL);
		_exit(1);
	}
	close(a.ready);
	return a.pid;
}

/* The value of a line of /proc/PID/status as a hexadecimal number, or -1. */
static int64_t field(pid_t pid, const char *name)
{
	CLEANUP(free) char *path = xasprintf("/proc/%d/status", (int)pid);
	CLEANUP(free) char *text = box_read(path);
	CLEANUP(free) char *key = xasprintf("\n%s:\t", name);
	const char *at = strstr(text, key);

	return at ? (int64_t)strtoull(at + strlen(key), NULL, 16) : -1;
}

struct search {
	pid_t parent, found;
};

static int visit(pid_t pid, void *arg)
{
	struct search *s = arg;
	CLEANUP(close_fd) int proc = proc_open(pid, NULL);
	struct proc_status st;

	if (proc >= 0 && proc_read_status(proc, &st, NULL) == 0 && st.ppid == s->parent)
		s->found = pid;
	return 0;
}

/* Waits for the worker of a hook: confined, asleep. */
static pid_t find_worker(pid_t hook)
{
	uint64_t deadline = deadline_after(20000);
	struct search s = {.parent = hook};

	while (deadline_ms_left(deadline)) {
		(void)!proc_each(visit, &s, NULL);
		if (s.found && field(s.found, "Seccomp") == 2 && field(hook, "CapEff") == 0)
			return s.found;
		usleep(1000);
	}
	return -1;
}

static bool links_to(pid_t pid, const char *what, const char *want)
{
	CLEANUP(free) char *path = xasprintf("/proc/%d/%s", (int)pid, what);
	char to[256] = "";

	return readlink(path, to, sizeof(to) - 1) > 0 && !strcmp(to, want);
}

/* The number of a process's open files. */
static int files_of(pid_t pid)
{
	CLEANUP(free) char *path = xasprintf("/proc/%d/fd", (int)pid);
	struct dirent **list;
	int n = scandir(path, &list, NULL, NULL);

	for (int i = 0; i < n; i++)
		free(list[i]);
	if (n >= 0)
		free(list);
	return n - 2; /* "." and ".." */
}

static void check_parent(pid_t hook)
{
	CLEANUP(free) char *kept = xasprintf("/proc/%d/fd/77", (int)hook);
	struct stat st;

	ok(field(hook, "CapPrm") == 0 && field(hook, "CapEff") == 0 && field(hook, "CapBnd") == 0,
	   "the hook has no capability while its worker works");
	is_int(field(hook, "NoNewPrivs"), 1, "it gets no new privileges");
	is_int(field(hook, "SigBlk"), 0, "no signal is blocked");
	/* Signals 32 and 33 are glibc's, and make(1) passes them on ignored. */
	is_int(field(hook, "SigIgn") & ~(3ll << 31), 1 << (SIGPIPE - 1) | 1 << (SIGXFSZ - 1),
	       "no signal is ignored but those of a closed pipe and of a limit");
	is_int(field(hook, "Umask"), 0x22, "its mask is that of usual files");
	ok(links_to(hook, "cwd", "/"), "it works in /");
	ok(lstat(kept, &st) < 0, "files it was given are closed");
	is_int(files_of(hook), 4, "it has the three standard ones and its worker's pipe");
}

static void check_worker(pid_t worker)
{
	static const int caps[] = {CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_SYS_CHROOT,
				   CAP_SETUID,	  CAP_SETGID,	  CAP_DAC_READ_SEARCH};
	int64_t mask = 0;

	for (size_t i = 0; i < ARRAY_LEN(caps); i++)
		mask |= (int64_t)1 << caps[i];
	is_int(field(worker, "CapPrm"), mask, "the worker has six capabilities");
	is_int(field(worker, "CapEff"), mask, "they are in force");
	is_int(getsid(worker), worker, "it has a session of its own");
	ok(links_to(worker, "fd/0", "/dev/null") && links_to(worker, "fd/1", "/dev/null") &&
		   links_to(worker, "fd/2", "/dev/null"),
	   "it has no file that the runtime waits for");
}

/* True when the process has ended; an orphan is this process's child. */
static bool ends(pid_t pid)
{
	uint64_t deadline = deadline_after(20000);

	while (kill(pid, 0) == 0 && deadline_ms_left(deadline))
		if (waitpid(pid, NULL, WNOHANG) == 0 || errno == ECHILD)
			usleep(1000);
	return kill(pid, 0) < 0;
}

static void test_privileges(void)
{
	pid_t container = box_container(0, NULL), hook, worker;
	int lock = hold_lock();

	program_state(container, "creating");
	hook = start("--join");
	worker = find_worker(hook);
	if (ok(worker > 0, "a worker waits for the lock of the root")) {
		check_parent(hook);
		check_worker(worker);
	}
	actor_end(hook);
	ok(ends(worker), "the worker ends with the hook");
	actor_end(container);
	close(lock);
}

/* Waits until the process waits for a lock of its own; false if it ends instead. */
static bool waits_for_lock(pid_t pid)
{
	CLEANUP(free) char *line = xasprintf("-> FLOCK  ADVISORY  WRITE %d ", (int)pid);
	uint64_t deadline = deadline_after(20000);
	siginfo_t info = {0};

	while (deadline_ms_left(deadline) && info.si_pid == 0) {
		CLEANUP(free) char *locks = box_read("/proc/locks");

		if (strstr(locks, line))
			return true;
		waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG);
		usleep(1000);
	}
	return false;
}

/* A hook that works may be about to use a payload. */
static void test_release(void)
{
	int lock = hold_lock(), status = 1;
	pid_t pid;

	flock(lock, LOCK_SH);
	pid = start("--release");
	ok(waits_for_lock(pid), "a release waits for hooks that work");
	close(lock);
	waitpid(pid, &status, 0);
	is_int(status, 0, "it goes on when they have ended");
}

static void test_killed(void)
{
	CLEANUP(free) char *text = NULL;
	int lock = hold_lock();
	pid_t hook, worker;
	int status = 0;

	program_state(2, "running");
	hook = start("--join");
	worker = find_worker(hook);
	ok(worker > 0 && kill(worker, SIGKILL) == 0, "a worker is killed");
	waitpid(hook, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 1, "the hook tells a failure");
	text = box_read("/tmp/out");
	ok(strstr(text, "\"status\":\"err-crash\",\"detail\":\"the worker died\""),
	   "it says that its worker died");
	ok(has_prefix(program_logged(), "<28>"), "this is a warning");
	close(lock);
}

/* Without a capability that its worker needs. */
static void test_unprivileged(void)
{
	CLEANUP(free) char *text = NULL;
	struct actor a;
	int status = 0;

	program_state(2, "running");
	if (actor_fork(&a)) {
		int in = open("/tmp/state", O_RDONLY), out = open("/tmp/out", O_WRONLY | O_TRUNC);

		if (prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0) < 0 || dup2(in, 0) < 0 ||
		    dup2(out, 1) < 0)
			_exit(9);
		execl("/tmp/bin/dfg-hook", "dfg-hook", "--join", "--root", ROOT, NULL);
		_exit(9);
	}
	close(a.ready);
	waitpid(a.pid, &status, 0);
	is_int(WEXITSTATUS(status), 1, "a hook without a capability fails");
	text = box_read("/tmp/out");
	ok(strstr(text, "\"status\":\"err-privileges\",\"detail\":\"set capabilities: "),
	   "it says what it lacks");
	ok(has_prefix(program_logged(), "<28>"), "what it lacks is a warning");
}

static void test_full_log(void)
{
	const struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
	CLEANUP(close_fd) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CLEANUP(str_fini) struct str out = {0};
	int sent = 0;

	while (sendto(fd, "x", 1, 0, (const struct sockaddr *)&to, sizeof(to)) == 1)
		sent++;
	is_int(program_sh(&out, GIVEN "</dev/null"), 0,
	       "a log that nobody reads is not waited for");
	while (*program_logged())
		sent--;
	is_int(sent, 0, "its message is lost");
}

/* The budget counts from the hook's start; the runtime never waits longer. */
static void test_budget(void)
{
	static const struct {
		const char *what, *command, *log;
	} rows[] = {
		{"a lock that is held", GIVEN "</tmp/state", " status=err-timeout us="},
		{"a stdin that never ends", "mkfifo /tmp/fifo; " GIVEN "<>/tmp/fifo",
		 " stdin has no end"},
		{"a stdin that never ends and has a state",
		 "exec 3<>/tmp/fifo; cat /tmp/state >&3; " GIVEN "<&3", " stdin has no end"},
	};
	int lock = hold_lock();
	CLEANUP(str_fini) struct str out = {0};
	struct search s = {.parent = getpid()};

	program_state(2, "creating");
	box_write(CONF, 0644, "budget_ms = 40\n");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t from = clock_us();
		const char *line;

		is_int(program_sh(&out, rows[i].command), 0, "the container starts with %s",
		       rows[i].what);
		ok(clock_us() - from >= 40000, "the hook uses its budget");
		line = program_logged();
		ok(has_prefix(line, "<28>") && strstr(line, "err-timeout") &&
			   strstr(line, rows[i].log),
		   "it logs that its time is over");
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	s.found = 0;
	(void)!proc_each(visit, &s, NULL);
	is_int(s.found, 0, "no process is left");
	close(lock);
	program_conf("");
}

static void tests(void)
{
	if (!program_prepare())
		return;
	test_input();
	test_privileges();
	test_release();
	test_killed();
	test_unprivileged();
	test_full_log();
	test_budget();
}

int main(void)
{
	return box_run(tests);
}
