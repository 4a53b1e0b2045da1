// SPDX-License-Identifier: Apache-2.0
/* An agent in another process, played by a thread of its name: it is found, asked by file and by
 * signal, and answers in a share on a tmpfs. */
#include "record/agent_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/fs.h"
#include "common/log.h"
#include "common/proc.h"
#include "dfg/paths.h"
#include "dfg/snapshot.h"
#include "lib/actor.h"
#include "lib/scratch.h"
#include "lib/tap.h"
#include "record/jvm_snapshot.h"

#define SIGNAL 40

static struct err err;

static char *text_of(const char *name)
{
	CLEANUP(free) char *path = path_of(name);
	CLEANUP(str_fini) struct str text = {0};

	if (fs_read_file(AT_FDCWD, path, 65536, &text, &err) < 0)
		return xstrdup("");
	str_adds(&text, "");
	return TAKE_PTR(text.buf);
}

/* ---- the agent ---- */

static volatile sig_atomic_t woken;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	woken = info->si_value.sival_int;
}

/* Answers one request: a snapshot without code, or a map of one line. */
static void answer(const char *request)
{
	struct {
		struct snap_head head;
		struct snap_end end;
	} records = {.head = {.record = {SNAP_HEAD, sizeof(records.head)}},
		     .end = {.record = {SNAP_END, sizeof(records.end)}}};
	const char *map = "1000 10 a.b\n";
	char name[64] = "", trailer[256];
	unsigned seq = 0, pid = 0;
	bool is_map;
	size_t len;
	int fd;

	if (sscanf(request, "dfg1 dump seq=%u host_pid=%u out=%63s", &seq, &pid, name) != 3)
		_exit(3);
	is_map = strstr(name, ".map") != NULL;
	len = is_map ? strlen(map) : sizeof(records);
	fd = openat(AT_FDCWD, name, O_WRONLY | O_CLOEXEC);
	snprintf(trailer, sizeof(trailer),
		 "#dfg1 end seq=%u status=0 entries=%u skipped=2 bytes=%zu us=%u cpu=7\n", seq,
		 is_map ? 1 : seq, len, 1000 + seq);
	if (pwrite(fd, is_map ? (const void *)map : &records, len, 0) != (ssize_t)len ||
	    pwrite(fd, trailer, strlen(trailer), (off_t)len) != (ssize_t)strlen(trailer))
		_exit(4);
	close(fd);
}

/* Serves what is put into the control directory; keeps each request in the log. */
static void serve(bool by_signal)
{
	CLEANUP(free) char *name = xasprintf("../ctl/request.%d", (int)getpid());
	CLEANUP(free) char *log = path_of("log");
	CLEANUP(free) char *out = path_of("containers/web/out");
	int logfd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	char last[DFG_REQUEST_MAX] = "";

	if (chdir(out) < 0)
		return;
	for (;; poll(NULL, 0, 1)) {
		CLEANUP(str_fini) struct str text = {0};
		struct err ignored;

		if ((by_signal && !woken) ||
		    fs_read_file(AT_FDCWD, name, DFG_REQUEST_MAX - 1, &text, &ignored) < 0 ||
		    !text.buf || !strcmp(text.buf, last))
			continue;
		if (by_signal)
			(void)!write(logfd, woken == getpid() ? "signal " : "other ", 7);
		woken = 0;
		strcpy(last, text.buf);
		(void)!write(logfd, text.buf, text.len);
		answer(last);
	}
}

/* Starts a process with the agent's thread, or an ordinary one. */
static struct jvm start(bool agent, bool by_signal)
{
	struct actor a;

	if (actor_fork(&a)) {
		struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

		sigaction(SIGNAL, &act, NULL);
		if (chroot(top) == 0)
			*top = '\0'; /* the library is at /dev/dfg, as in a container */
		if (agent)
			prctl(PR_SET_NAME, DFG_THREAD_NAME);
		actor_tell(&a);
		if (agent)
			serve(by_signal);
		for (;;)
			pause();
	}
	if (!actor_wait(&a))
		abort();
	return (struct jvm){.pid = a.pid,
			    .nspid = a.pid,
			    .procfd = proc_open(a.pid, &err),
			    .version = "17.0.9",
			    .runtime = RUNTIME_HOTSPOT};
}

static void end(struct jvm *j)
{
	actor_end(j->pid);
	close(j->procfd);
}

/* ---- finding ---- */

static void test_resident(void)
{
	struct jvm with = start(true, false), without = start(false, false);
	CLEANUP(free)
	char *stopped = xasprintf("the agent cannot answer: process %d is stopped", (int)with.pid);
	int status;

	ok(agent_is_resident(&with), "an agent is found by the name of its thread");
	ok(!agent_is_resident(&without), "a process without the thread has none");
	is_int(agent_can_answer(&with, &err), 0, "a thread that sleeps can answer");
	is_int(agent_can_answer(&without, &err), 0, "a process without it may get one");
	kill(with.pid, SIGSTOP);
	kill(without.pid, SIGSTOP);
	waitpid(with.pid, &status, WUNTRACED);
	waitpid(without.pid, &status, WUNTRACED);
	is_int(agent_can_answer(&with, &err), -1, "a stopped thread cannot");
	is_str(err.msg, stopped, "the message says so");
	is_int(err.code, 0, "it has no code of the system's");
	ok(agent_is_resident(&with), "the agent is still there");
	is_int(agent_can_answer(&without, &err), 0, "of a process without it nothing is known");
	end(&with);
	ok(!agent_is_resident(&with), "a process that has ended has none");
	end(&without);
}

static void test_invisible(void)
{
	struct jvm j = start(false, false);

	ok(!agent_is_visible(&j), "without the payload directory the agent is not visible");
	ok(!agent_loads_silently(&j), "what is not visible cannot be loaded");
	end(&j);
}

static void test_visible(void)
{
	static const struct {
		const char *version, *how;
		bool want;
	} rows[] = {{"1.8.0_402", "silently", true},
		    {"17.0.9", "silently", true},
		    {"20.0.2", "silently", true},
		    {"21", "with a warning", false},
		    {"25.0.1", "with a warning", false},
		    {"", "in a way that is not known", false},
		    {"ea", "in a way that is not known", false},
		    {"1", "silently", true}};
	struct jvm j;

	put_text("dev/dfg/" DFG_AGENT_NAME, 0644, "x");
	j = start(false, false);
	ok(agent_is_visible(&j), "the agent is looked for in the process's own root directory");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(j.version, sizeof(j.version), "%s", rows[i].version);
		is_int(agent_loads_silently(&j), rows[i].want, "JDK \"%s\" loads it %s",
		       rows[i].version, rows[i].how);
	}
	end(&j);
}

/* ---- the signal ---- */

static void refused(const struct jvm *j, int pidfd, int sig, const char *fmt, const char *check)
{
	CLEANUP(free)
	char *want = xasprintf("process %d does not catch signal %d", (int)j->pid, sig);
	CLEANUP(free)
	char *none = xasprintf("the agent in %d has published no signal", (int)j->pid);

	is_int(agent_signal(j, pidfd, sig, &err), -1, "%s", check);
	is_str(err.msg, *fmt ? want : none, "the message says so");
	is_int(err.code, 0, "it has no code of the system's");
}

static void test_signal(void)
{
	struct jvm j = start(false, false);
	int pidfd = (int)syscall(SYS_pidfd_open, j.pid, 0);

	refused(&j, pidfd, 0, "", "no signal is sent to an agent that has published none");
	refused(&j, pidfd, SIGKILL, "%d", "a signal that is no real-time one is not sent");
	refused(&j, pidfd, 33, "%d", "nor one that libc uses");
	refused(&j, pidfd, SIGNAL + 1, "%d", "nor one that would kill the process");
	refused(&j, pidfd, SIGNAL - 1, "%d", "on either side of the one it catches");
	is_int(agent_signal(&j, pidfd, SIGNAL, &err), 0, "one that is caught is sent");
	ok(kill(j.pid, 0) == 0, "the process is alive");
	actor_end(j.pid);
	is_int(agent_signal(&j, pidfd, SIGNAL, &err), -1, "none is sent to one that has ended");
	close(pidfd);
	close(j.procfd);
}

/* A process with a mount namespace of its own, as a container's. */
static pid_t start_apart(void)
{
	struct actor a;

	if (actor_clone(&a, CLONE_NEWNS))
		actor_play(&a);
	if (!actor_wait(&a))
		abort();
	return a.pid;
}

static void test_join_reused(void)
{
	CLEANUP(free) char *root = path_of("root");
	struct container c = {
		.id = (char *)"web", .label = (char *)"shop/web", .pid = start_apart(), .start = 1};

	is_int(agent_join(root, &c, &err), -1, "a later process of its pid is not joined");
	ok(strstr(err.msg, "its pid is another process's") != NULL, "the reason: %s", err.msg);
	umount2(root, MNT_DETACH);
	actor_end(c.pid);
}

static void test_join(void)
{
	struct container c = {.id = (char *)"web", .label = (char *)"shop/web", .pid = 4194304};
	CLEANUP(free) char *root = path_of("root"), *payload = path_of("root/payload");

	is_int(agent_join(root, &c, &err), -1, "a container that has ended is not joined");
	ok(strstr(err.msg, "join container shop/web") != NULL, "the message names it: %s", err.msg);
	agent_sweep(root);
	umount2(root, MNT_DETACH); /* the hook has made it a mount */
	ok(access(payload, F_OK) < 0, "without a payload directory nothing is swept");
}

/* ---- snapshots ---- */

struct series {
	struct snapshot_report report;
	off_t bytes;
};

static struct series take(struct jvm *j, const struct record_config *c, int maps)
{
	struct container container = {.id = (char *)"web", .label = (char *)"web"};
	CLEANUP(close_fd) int to = memfd_create("to", MFD_CLOEXEC);
	CLEANUP(free) char *dir = path_of("snapshots");
	CLEANUP(close_fd) int own = fs_make_dirs(dir, 0700, &err);
	struct series s = {0};
	int first[2], commands[2];
	struct snapshot_job job = {.container = &container,
				   .jvm = j,
				   .config = c,
				   .to = to,
				   .maps = maps >= 0 ? maps : own,
				   .report = &s.report};

	if (pipe2(first, O_CLOEXEC) < 0 || pipe2(commands, O_CLOEXEC) < 0 ||
	    write(commands[1], "l", 1) != 1)
		abort();
	job.first = first[1];
	job.commands = commands[0];
	snapshots_serve(&job);
	s.bytes = lseek(to, 0, SEEK_END);
	close(first[0]);
	close(commands[0]);
	close(commands[1]);
	return s;
}

static void forget(void)
{
	CLEANUP(free) char *log = path_of("log"), *lock = path_of("containers/web/lock");

	(void)!truncate(log, 0); /* the agent may have it open */
	unlink(lock);
}

/* The log with the random part of names left out. */
static void is_log(const char *want, const char *check)
{
	CLEANUP(free) char *log = text_of("log");
	CLEANUP(str_fini) struct str got = {0};

	for (char *p = log; *p; p++) {
		if (!strncmp(p, " out=perf-", 10)) {
			str_adds(&got, strncmp(strchr(p, '.'), ".map", 4) == 0 ? " map" : " snap");
			p += strcspn(p + 1, " \n");
		} else if (!strncmp(p, " host_pid=", 10)) {
			p += strcspn(p + 1, " \n");
		} else {
			str_addc(&got, *p);
		}
	}
	is_str(got.buf, want, "%s", check);
}

static void test_by_file(void)
{
	static const enum snapshot_trigger triggers[] = {TRIGGER_AUTO, TRIGGER_FILE};
	CLEANUP(free) char *root = xstrdup(top);

	for (size_t i = 0; i < 2; i++) {
		struct record_config c = {.root = root,
					  .trigger = triggers[i],
					  .source = i ? SOURCE_AGENT : SOURCE_AUTO};
		struct jvm j = start(true, false);
		struct series s;

		forget();
		s = take(&j, &c, -1);
		is_int(s.report.taken, 2, "a resident agent answers twice");
		ok(s.report.by_agent, "it is the source");
		is_int(s.report.entries, 1 + 2, "its numbers of code are added");
		is_int(s.report.skipped, 4, "so are those of skipped code");
		is_int(s.report.first_us, 1001, "the first one's time is the agent's");
		ok(s.report.cost_us >= 7, "the cost of the last has that of the agent");
		is_str(s.report.note, "", "there is nothing to say");
		is_int(s.bytes, 2 * (sizeof(struct snap_head) + sizeof(struct snap_end)),
		       "both are in the file");
		is_log("dfg1 dump seq=1 snap keep=30\ndfg1 dump seq=2 snap since=1\n",
		       "the second is a delta to the first, and the last");
		end(&j);
	}
}

static void test_by_signal(void)
{
	struct record_config c = {.root = top, .trigger = TRIGGER_SIGNAL, .source = SOURCE_AGENT};
	struct jvm j = start(true, true);
	CLEANUP(free) char *name = xasprintf("containers/web/out/agent.%d", (int)j.pid);
	CLEANUP(free) char *want = xasprintf("the agent in %d has published no signal", (int)j.pid);
	struct series s;

	forget();
	s = take(&j, &c, -1);
	is_int(s.report.taken, 0, "an agent that has published no signal is not asked");
	is_str(s.report.err.msg, want, "the report says why");
	put_text(name, 0644, "dfg1 agent signal=40 tid=1\n");
	forget();
	s = take(&j, &c, -1);
	is_int(s.report.taken, 2, "one that has is woken by its signal");
	is_log("signal dfg1 dump seq=1 snap keep=30\nsignal dfg1 dump seq=2 snap since=1\n",
	       "each request comes with one, which has the host's pid");
	end(&j);
}

static void test_map(void)
{
	CLEANUP(free) char *dir = path_of("maps");
	CLEANUP(close_fd) int maps = fs_make_dirs(dir, 0700, &err);
	struct record_config c = {.root = top, .source = SOURCE_AUTO, .perf_map = true};
	struct jvm j = start(true, false);
	CLEANUP(free) char *name = xasprintf("maps/agent-%d.map", (int)j.pid), *text = NULL;
	CLEANUP(free) char *path = path_of(name);
	struct stat st = {0};

	forget();
	take(&j, &c, maps);
	is_log("dfg1 dump seq=1 snap keep=30\ndfg1 dump seq=2 snap since=1\ndfg1 dump seq=3 map\n",
	       "after the last snapshot the agent is asked for its map");
	text = text_of(name);
	is_str(text, "1000 10 a.b\n", "it is kept without its trailer");
	ok(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600, "for root only");
	unlink(path);
	c.perf_map = false;
	take(&j, &c, maps);
	ok(access(path, F_OK) < 0, "a map that was not asked for is not made");
	end(&j);
}

static void test_share_is_free(void)
{
	struct agent_share share;

	is_int(agent_share_open(top, "web", 0, &share, &err), 0, "no exchange holds the share");
	agent_share_close(&share);
}

static bool make_share(void)
{
	CLEANUP(free) char *out = path_of("containers/web/out");
	CLEANUP(free) char *ctl = path_of("containers/web/ctl");
	CLEANUP(close_fd) int outfd = fs_make_dirs(out, 0755, &err);
	CLEANUP(close_fd) int ctlfd = fs_make_dirs(ctl, 0755, &err);

	return outfd >= 0 && ctlfd >= 0 && mount("share", out, "tmpfs", 0, "size=64m") == 0;
}

int main(void)
{
	scratch_make();
	log_quiet(true);
	test_resident();
	test_invisible();
	test_signal();
	if (geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && make_share()) {
		CLEANUP(free) char *out = path_of("containers/web/out");

		test_join();
		if (geteuid() == 0)
			test_join_reused();
		test_visible();
		test_by_file();
		test_by_signal();
		test_map();
		test_share_is_free();
		umount2(out, MNT_DETACH);
	} else {
		ok(true, "an agent answers # SKIP mounting is not permitted here");
	}
	scratch_remove();
	return tap_done();
}
