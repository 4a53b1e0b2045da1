// SPDX-License-Identifier: Apache-2.0
/* Runs perf: its size is estimated, its options are chosen, its windows and messages are read. The
 * perf is a fake one; whole recordings are in test_record_run. */
#include "record/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fs.h"
#include "lib/actor.h"
#include "lib/fakeperf.h"
#include "lib/scratch.h"
#include "lib/tap.h"

static struct err err;

static void test_stack_bytes(void)
{
	static const struct {
		size_t cpus;
		unsigned frequency, seconds, want;
		const char *check;
	} rows[] = {
		{2, 99, 30, 32768, "a small machine has the largest stacks"},
		{1, 131072, 1, 32768, "as many as 4 GiB hold"},
		{1, 1, 131073, 16384, "one more makes them smaller"},
		{64, 99, 30, 16384, "64 processors have half of it"},
		{64, 999, 600, 16384, "there are never less than 16 KiB"},
		{131073, 1, 1, 16384, "each processor has as many samples"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		is_int(perf_stack_bytes(rows[i].cpus, rows[i].frequency, rows[i].seconds),
		       rows[i].want, "%s", rows[i].check);
}

static void test_count(void)
{
	pid_t self = getpid(), none = 4194304;
	struct rlimit files = {0};
	struct perf_events e;

	getrlimit(RLIMIT_NOFILE, &files);
	perf_count_events(&self, 1, &e);
	is_int(e.threads, 1, "a process has a thread");
	is_int(e.cpus, sysconf(_SC_NPROCESSORS_ONLN), "the processors are counted");
	is_int(e.files, e.cpus + 128, "it takes an event for each processor, and perf's own files");
	is_int(e.limit, files.rlim_max, "the limit is the hard one");
	perf_count_events(&none, 1, &e);
	is_int(e.threads, 0, "a process that has ended has no thread");
	perf_count_events((pid_t[]){self, none, self}, 3, &e);
	is_int(e.threads, 2, "threads of all processes are counted");
	is_int(e.files, 2 * e.cpus + 128, "and their events");
	perf_count_events(NULL, 0, &e);
	is_int(e.threads, 0, "no process has none");
}

/* ---- starting ---- */

static struct perf_config config_of(const char *dir, const char *perf, const pid_t *pids, size_t n)
{
	static char program[64], at[128];

	snprintf(program, sizeof(program), "%s/%s", top, perf);
	snprintf(at, sizeof(at), "%s/%s", top, dir);
	(void)mkdir(at, 0700);
	return (struct perf_config){.program = program,
				    .dirfd = open(at, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
				    .frequency = 49,
				    .pids = pids,
				    .count = n,
				    .begin_deadline = deadline_after(-1)};
}

/* Reads what perf was started with from its log. Owned. */
static char *options_of(const struct perf *p)
{
	CLEANUP(str_fini) struct str log = {0};

	for (int i = 0; i < 2000 && !(log.buf && strchr(log.buf, '\n')); i++) {
		str_clear(&log);
		if (fs_read_file(p->dirfd, "perf.log", 4096, &log, &err) < 0)
			abort();
		sleep_ms(5);
	}
	return log.buf ? xasprintf("%.*s ", (int)strcspn(log.buf, "\n"), log.buf) : xstrdup("");
}

/* Starts it, and checks for words that are among its options, and one that is not; "" for none. */
static void has_options(const struct perf_config *c, const char *const want[3], const char * not,
			const char *check)
{
	CLEANUP(free) char *got = NULL;
	struct perf p;

	if (!ok(perf_start(c, &p, &err) == 0, "perf starts"))
		return;
	got = options_of(&p);
	for (int i = 0; i < 3; i++)
		ok(strstr(got, want[i]) != NULL, "%s: \"%s\" is in%s", check, want[i], got);
	ok(!*not || !strstr(got, not ), "%s: \"%s\" is not", check, not );
	perf_abort(&p);
	ok(!p.path, "it is released");
}

static void test_options(void)
{
	pid_t gone[] = {4194303, 4194304};
	struct perf_config c = config_of("plain", "perf-good", gone, 2);

	has_options(&c,
		    (const char *[]){" record -B -N -q --call-graph fp -F 49 -k mono -o ",
				     " --no-bpf-event --max-size=", " -p 4194303,4194304 "},
		    " -m ", "frame pointers");
	ok(exists("plain/perf.data"), "its recording is in the directory");
	c = config_of("stack", "perf-good", gone, 1);
	c.stack_bytes = 16384;
	has_options(&c, (const char *[]){" --call-graph dwarf,16384 ", " -m 4M ", " -p 4194303 "},
		    " -a ", "copies of stacks");
	c = config_of("windows", "perf-good", gone, 1);
	c.windows = true;
	has_options(&c, (const char *[]){" --switch-output ", "", ""}, "--max-size", "windows");
	c = config_of("windows2", "perf-good", gone, 1);
	c.windows = true;
	has_options(&c, (const char *[]){" -p ", "", ""}, "--control", "windows wait for nothing");
	c = config_of("machine", "perf-good", gone, 1);
	c.whole_machine = true;
	has_options(&c, (const char *[]){" -a ", "", ""}, " -p ", "the whole machine");
}

static void test_lost_processes(void)
{
	pid_t pids[] = {4194303, actor_idle(), 4194304, actor_idle()};
	CLEANUP(free) char *left = xasprintf(" -p %d,%d ", (int)pids[1], (int)pids[3]);
	struct perf_config c = config_of("left", "perf-strict", pids, 4);
	struct perf p;

	has_options(&c, (const char *[]){left, "", ""}, " -q ", "where two of four have ended");
	c = config_of("left-windows", "perf-strict", pids, 4);
	c.windows = true;
	has_options(&c, (const char *[]){left, "", ""}, " -q ", "of windows, too");
	actor_end(pids[1]);
	actor_end(pids[3]);
	c = config_of("none-left", "perf-strict", pids, 4);
	is_int(perf_start(&c, &p, &err), -1, "where all have ended it does not start");
	is_int(err.code, ESRCH, "the reason is: %s", err.msg);
}

/* Case 85: what others do to the names in the directory leads perf nowhere. */
static void test_swapped(void)
{
	CLEANUP(free) char *victim = path_of("victim");
	pid_t gone = 4194304;
	struct perf_config c = config_of("swapped", "perf-good", &gone, 1);
	struct perf p;

	if (symlinkat(victim, c.dirfd, "perf.data") < 0)
		abort();
	is_int(perf_start(&c, &p, &err), -1, "a link by the recording's name is refused");
	ok(!exists("victim"), "what it leads to is not made");
	unlinkat(c.dirfd, "perf.data", 0);
	unlinkat(c.dirfd, "perf.log", 0);
	if (!ok(perf_start(&c, &p, &err) == 0, "without it perf starts"))
		return;
	ok(has_prefix(p.path, "/proc/") && !strstr(p.path, "perf.data"),
	   "perf gets a descriptor, not a name: %s", p.path);
	unlinkat(c.dirfd, "perf.data", 0);
	if (symlinkat(victim, c.dirfd, "perf.data") < 0)
		abort();
	(void)!perf_stop(&p, 0, &err);
	ok(!exists("victim"), "a link that takes the recording's place is not followed");
	perf_abort(&p);
}

static void test_refused(void)
{
	pid_t gone = 4194304;
	struct perf_config c = config_of("refused", "perf-good", &gone, 0);
	struct perf p = {.control = 77};

	is_int(perf_start(&c, &p, &err), -1, "nothing to record is an error");
	is_str(err.msg, "nothing to record: no process is left: No such process", "it says so");
	is_int(err.code, ESRCH, "with a code");
	c = config_of("refused", "perf-good", &gone, 1);
	is_int(perf_start(&c, &p, &err), -1, "the log of another perf is not overwritten");
	is_int(err.code, EEXIST, "the error is that it exists");
	c = config_of("refused2", "perf-none", &gone, 1);
	is_int(perf_start(&c, &p, &err), -1, "without perf nothing starts");
	is_str(err.msg, "perf is not installed; on Debian: apt-get install linux-perf",
	       "the message says what to install");
	is_int(p.control, 77, "the output of a failure is untouched");
}

static void test_young(void)
{
	pid_t pids[] = {4194304, actor_idle()};

	is_int(perf_needs_whole_machine(pids, 1), false,
	       "for a process that has ended the whole machine need not be recorded");
	is_int(perf_needs_whole_machine(pids, 2), true, "for one that is young it must");
	is_int(perf_needs_whole_machine(NULL, 0), false, "for none it need not");
	actor_end(pids[1]);
}

/* The limit of open files is lowered for good, so in a child. */
static void test_many_threads(void)
{
	static const struct {
		unsigned limit;
		bool whole_machine;
	} rows[] = {{128, false}, {127, true}};
	pid_t gone = 4194304;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct rlimit files = {rows[i].limit, rows[i].limit};
		int status = -1;
		struct actor a;

		if (actor_fork(&a)) {
			if (setrlimit(RLIMIT_NOFILE, &files) < 0)
				_exit(2);
			_exit(perf_needs_whole_machine(&gone, 1));
		}
		waitpid(a.pid, &status, 0);
		close(a.ready);
		is_int(WEXITSTATUS(status), rows[i].whole_machine,
		       "with %u files perf has to record %s", rows[i].limit,
		       rows[i].whole_machine ? "the whole machine" : "the process");
	}
}

/* ---- room on the disk ---- */

static void test_room(void)
{
	static const struct {
		unsigned mib, want_kib;
		bool is_split;
	} rows[] = {{100, 50 * 1024, false},
		    {400, 200 * 1024, false},
		    {800, 544 * 1024, false},
		    {800, 272 * 1024, true}};
	pid_t gone = 4194304;
	struct perf_config c = config_of("room", "perf-good", &gone, 1);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(free) char *size = xasprintf("size=%um", rows[i].mib);
		CLEANUP(free) char *path = path_of("room");
		int status = -1, fds[2];
		struct actor a;
		uint64_t got = 0;

		c.is_split = rows[i].is_split;
		if (pipe2(fds, O_CLOEXEC) < 0)
			abort();
		if (actor_fork(&a)) {
			struct perf p;

			if (unshare(CLONE_NEWNS) < 0 ||
			    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
			    mount("tmpfs", path, "tmpfs", 0, size) < 0)
				_exit(1);
			c.dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (perf_start(&c, &p, &err) < 0 ||
			    write(fds[1], &p.max_bytes, sizeof(p.max_bytes)) < 0)
				_exit(2);
			perf_abort(&p);
			_exit(0);
		}
		close(fds[1]);
		waitpid(a.pid, &status, 0);
		close(a.ready);
		if (read(fds[0], &got, sizeof(got)) < 0)
			abort();
		if (WEXITSTATUS(status) == 1)
			ok(true, "a disk of %u MiB # SKIP that needs mounts", rows[i].mib);
		else
			is_int((int64_t)(got / 1024), rows[i].want_kib,
			       "of a disk with %u MiB perf may have %u KiB%s", rows[i].mib,
			       rows[i].want_kib, rows[i].is_split ? ", half for the parts" : "");
		close(fds[0]);
	}
}

static int make_at(const char *name)
{
	CLEANUP(free) char *path = path_of(name);

	return fs_make_dir(AT_FDCWD, path, 0700, &err);
}

static void test_full(void)
{
	static const struct {
		uint64_t max;
		off_t size;
		bool want;
	} rows[] = {{2048, 2047, false}, {2048, 2048, true}, {3000, 2047, false},
		    {3000, 2048, true},	 {3000, 4000, true}, {0, 4000, false}};
	CLEANUP(free) char *data = path_of("full/perf.data");
	struct perf p = {.dirfd = make_at("full")};

	put_text("full/perf.data", 0600, "");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		p.max_bytes = rows[i].max;
		if (truncate(data, rows[i].size) < 0)
			abort();
		is_int(perf_is_full(&p), rows[i].want, "%d bytes of %d are %s", (int)rows[i].size,
		       (int)rows[i].max, rows[i].want ? "all" : "not all");
	}
	unlink(data);
	ok(!perf_is_full(&p), "no file is not full");
	close(p.dirfd);
}

/* ---- windows and messages ---- */

static void test_next_window(void)
{
	CLEANUP(close_fd) int to = make_at("window");
	struct perf p = {.dirfd = make_at("next")}, none = {.dirfd = -1};
	CLEANUP(str_fini) struct str got = {0};

	put_text("next/perf.data", 0600, "now");
	put_text("next/perf.log", 0600, "");
	is_int(perf_next_window(&p, to, &err), 0, "the file that perf writes is no window");
	put_text("next/perf.data.2026112110000300", 0600, "third");
	put_text("next/perf.data.2026112110000100", 0600, "first");
	put_text("next/perf.data.2026112110000200", 0600, "second");
	is_int(perf_next_window(&p, to, &err), 1, "there is a window");
	is_int(perf_next_window(&p, to, &err), 1, "and another one");
	if (fs_read_file(to, "perf.data", 64, &got, &err) < 0)
		abort();
	is_str(got.buf, "second", "they come in order, and replace each other");
	ok(!exists("next/perf.data.2026112110000100"), "what was taken is gone");
	is_int(perf_next_window(&p, -1, &err), -1, "a directory that is not open is an error");
	is_int(err.code, EBADF, "which is told");
	is_int(perf_next_window(&p, to, &err), 1, "the window is not lost by it");
	is_int(perf_next_window(&p, to, &err), 0, "it was the last one");
	is_int(perf_next_window(&none, to, &err), 0, "a directory that does not exist has none");
	close(p.dirfd);
}

static void test_messages(void)
{
	static const struct {
		const char *log, *want;
	} rows[] = {
		{"the kernel said no\nmore\n", "the kernel said no"},
		{"Error:\n\nthe kernel said no\n", "the kernel said no"},
		{"WARNING: kptr\n[ perf record: woken ]\nlast", "last"},
		{"esc\x1b[31m\n", "esc?[31m"},
		{"Error:\n[ perf\nWARNING\n", "it gave no reason"},
		{"", "it gave no reason"},
	};
	struct perf p = {.dirfd = make_at("messages"), .child = {.pid = -1, .pidfd = -1}};

	is_int(perf_wait(&p, 0), 1, "a perf that was reaped has ended");
	is_int(perf_stop(&p, 0, &err), -1, "without a recording it fails");
	is_str(err.msg, "perf recorded nothing: it gave no reason", "also without a log");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(free) char *want = xasprintf("perf recorded nothing: %s", rows[i].want);

		put_text("messages/perf.log", 0600, rows[i].log);
		put_text("messages/perf.data", 0600, "");
		is_int(perf_stop(&p, 0, &err), -1, "an empty recording is none");
		is_str(err.msg, want, "the message is perf's first one");
	}
	put_text("messages/perf.data", 0600, "x");
	is_int(perf_stop(&p, 0, &err), 0, "where there is one, it is kept");
	close(p.dirfd);
}

/* ---- deadlines ---- */

static void test_begin_deadline(void)
{
	pid_t gone = 4194304;
	struct perf_config c = config_of("late", "perf-mute", &gone, 1);
	struct perf p;

	c.begin_deadline = deadline_after(300);
	is_int(perf_start(&c, &p, &err), 0, "a perf that does not answer starts");
	is_int(deadline_ms_left(c.begin_deadline), 0, "it was waited for until the deadline");
	is_int(perf_wait(&p, 0), 0, "and is left to record");
	perf_abort(&p);
}

/* Waits until its recording is made, and with it its handler of SIGINT. */
static void wait_for_data(const char *name)
{
	while (!exists(name))
		sleep_ms(5);
}

static void test_stop_deadline(void)
{
	pid_t gone = 4194304;
	struct perf_config c = config_of("hangs", "perf-hangs", &gone, 1);
	uint64_t deadline;
	struct perf p;

	if (perf_start(&c, &p, &err) < 0)
		abort();
	wait_for_data("hangs/perf.data");
	perf_end(&p);
	deadline = deadline_after(300);
	is_int(perf_stop(&p, deadline, &err), 0, "of a perf that does not end, the file is kept");
	is_int(deadline_ms_left(deadline), 0, "it had time until the deadline");
	is_int(p.child.pid, -1, "then it was killed");
	perf_abort(&p);
}

/* ---- signals ---- */

static volatile sig_atomic_t seen;

static void on_signal(int sig)
{
	(void)sig;
	seen++;
}

/* A child that exits with the number of signals it has got until SIGTERM. */
static struct child counting(int handled)
{
	struct sigaction act = {.sa_handler = on_signal};
	struct child ret = {.pid = -1};
	struct actor a;
	sigset_t term;
	int sig;

	if (actor_fork(&a)) {
		sigemptyset(&term);
		sigaddset(&term, SIGTERM);
		sigprocmask(SIG_BLOCK, &term, NULL);
		sigaction(handled, &act, NULL);
		actor_tell(&a);
		sigwait(&term, &sig);
		_exit(seen);
	}
	if (!actor_wait(&a))
		abort();
	ret.pid = a.pid;
	ret.pidfd = (int)syscall(SYS_pidfd_open, a.pid, 0);
	return ret;
}

static void has_seen(struct perf *p, int want, const char *check)
{
	int status = -1;

	kill(p->child.pid, SIGTERM);
	child_wait(&p->child, -1, &status);
	ok(WIFEXITED(status), "%s: it was not killed", check);
	is_int(WEXITSTATUS(status), want, "%s", check);
}

static void test_signals(void)
{
	struct perf p = {.child = counting(SIGUSR2), .control = -1};

	perf_switch(&p);
	has_seen(&p, 1, "a perf that is ready is asked for a new file");
	perf_switch(&p); /* it has ended: there is nothing to signal */
	p = (struct perf){.child = counting(SIGUSR1), .control = -1};
	perf_switch(&p);
	has_seen(&p, 0, "one that has no handler yet is left alone");
	p = (struct perf){.child = counting(SIGINT), .control = -1};
	is_int(perf_wait(&p, 0), 0, "one that runs has not ended");
	perf_end(&p);
	ok(p.ended, "it is known that it was told to end");
	has_seen(&p, 1, "it is told to end by SIGINT");
	perf_end(&p);
}

int main(int argc, char **argv)
{
	static const char *const fakes[] = {"perf-good", "perf-mute", "perf-hangs", "perf-strict"};
	CLEANUP(free) char *golden = NULL;

	if (fakeperf_is(argv[0]))
		return fakeperf_main(argc, argv);
	scratch_make();
	golden = path_of("golden");
	fakeperf_make_at(golden, getpid());
	fakeperf_install(top, fakes, ARRAY_LEN(fakes));
	test_stack_bytes();
	test_count();
	test_options();
	test_lost_processes();
	test_swapped();
	test_refused();
	test_young();
	test_many_threads();
	test_room();
	test_full();
	test_next_window();
	test_messages();
	test_begin_deadline();
	test_stop_deadline();
	test_signals();
	scratch_remove();
	return tap_done();
}
