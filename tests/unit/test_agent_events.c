// SPDX-License-Identifier: Apache-2.0
/* The events that wake the agent's thread: loads, a signal, a request file. The source is included,
 * since the agent is built without a libc and is in no archive; its headers of the kernel do not
 * meet those of libc for files, hence the system calls. */
#include "agent-jni/agent.h"

#include "agent-jni/events.c"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "lib/tap.h"

static char top[] = "/tmp/dfg-events.XXXXXX";

static void path_make(char path[256], const char *name)
{
	snprintf(path, 256, "%s/%s", top, name);
}

/* Writes a file in place. */
static void write_file(const char *name)
{
	char path[256];
	int fd;

	path_make(path, name);
	fd = sys_openat(AT_FDCWD, path, O_WRONLY | O_CREAT, 0600);
	sys_write(fd, "x", 1);
	sys_close(fd);
}

static void move_file(const char *from, const char *to)
{
	char a[256], b[256];

	path_make(a, from);
	path_make(b, to);
	if (rename(a, b) < 0)
		abort();
}

static void remove_file(const char *name)
{
	char path[256];

	path_make(path, name);
	unlink(path);
}

static void make_dir(const char *name)
{
	char path[256];

	path_make(path, name);
	sys_call3(__NR_mkdirat, AT_FDCWD, path, 0700);
}

/* ---- the eventfd ---- */

static void test_wake(void)
{
	struct events e;
	int fd = events_init(&e);

	ok(fd >= 0 && e.wakeup == fd, "the thread has a descriptor that wakes it");
	is_int(e.inotify, -1, "it watches nothing yet");
	is_int(e.signal, 0, "it has no signal");
	is_int(sys_call2(__NR_fcntl, fd, F_GETFD), FD_CLOEXEC, "no program inherits it");
	is_int(events_wait(&e, "request.1", 0), 0, "without an event there is none");
	events_wake(&e);
	events_wake(&e);
	is_int(events_wait(&e, "request.1", -1), EVENT_WAKEUP, "it is woken");
	is_int(events_wait(&e, "request.1", 0), 0, "once for all wake-ups before");
	events_fini(&e);
	is_int(e.wakeup, -1, "the descriptor is closed");
	is_int(sys_call2(__NR_fcntl, fd, F_GETFD), -EBADF, "nothing is left of it");
	events_fini(&e);
}

static void test_time_out(void)
{
	static const int ms[] = {30, 1000};
	struct events e;

	events_init(&e);
	for (int i = 0; i < 2; i++) {
		uint64_t began = sys_now_us(), took;

		is_int(events_wait(&e, "request.1", ms[i]), 0, "without an event the time is over");
		took = sys_now_us() - began;
		ok(took >= (uint64_t)ms[i] * 1000 && took < (uint64_t)ms[i] * 1000 + 20000000,
		   "after %d ms (%llu us)", ms[i], (unsigned long long)took);
	}
	events_fini(&e);
}

static void test_lost(void)
{
	struct events e;
	int fds[2], fd;
	char byte;

	if (pipe(fds) < 0)
		abort();
	fd = events_init(&e);
	events_install_signal(&e, 0, 0);
	sys_close(fd);
	is_int(events_wait(&e, "request.1", -1), EVENT_LOST, "a closed descriptor is noticed");
	if (dup2(fds[1], fd) < 0)
		abort();
	close(fds[1]);
	raise(e.signal);
	close(fd);
	is_int(read(fds[0], &byte, 1), 0, "what has its number now is not written to");
	close(fds[0]);
	signal(e.signal, SIG_DFL);
}

/* ---- the request file ---- */

static void test_watch(void)
{
	char missing[256], file[256];
	struct events e;
	int fd;

	path_make(missing, "missing");
	path_make(file, "file");
	write_file("file");
	events_init(&e);
	events_watch(&e, missing);
	is_int(e.inotify, -1, "a directory that is missing is not watched");
	events_watch(&e, file);
	is_int(e.inotify, -1, "nor is a file");
	events_watch(&e, top);
	fd = e.inotify;
	ok(fd >= 0, "a directory is");
	is_int(sys_call2(__NR_fcntl, fd, F_GETFD), FD_CLOEXEC, "no program inherits that");
	events_watch(&e, top);
	is_int(e.inotify, fd, "it is watched once");
	is_int(events_wait(&e, "request.1", 0), 0, "nothing happened to it");
	sys_close(e.inotify);
	is_int(events_wait(&e, "request.1", 0), 0, "a descriptor that other code closed");
	is_int(e.inotify, -1, "is not used again");
	events_fini(&e);
	remove_file("file");
}

static void test_files(void)
{
	struct events e;

	write_file("new");
	events_init(&e);
	events_watch(&e, top);
	move_file("new", "request.1");
	is_int(events_wait(&e, "request.1", -1), EVENT_FILE, "a file that is moved there is seen");
	is_int(events_wait(&e, "request.1", 0), 0, "once");
	write_file("request.1");
	is_int(events_wait(&e, "request.1", -1), EVENT_FILE, "so is one that is written there");
	write_file("request.12");
	write_file("request.");
	write_file("arequest.1");
	is_int(events_wait(&e, "request.1", 0), 0, "another file is not meant");
	is_int(events_wait(&e, "request.12", 0), 0, "what was read is over");
	write_file("request.12");
	write_file("other");
	write_file("request.1");
	write_file("a name that is longer than the others, for a record of another size");
	is_int(events_wait(&e, "request.1", -1), EVENT_FILE, "it is found among others");
	write_file("request.1");
	remove_file("request.1");
	is_int(events_wait(&e, "request.1", -1), EVENT_FILE, "it may be gone again");
	remove_file("request.12");
	is_int(events_wait(&e, "request.12", 0), 0, "a file's end is no event");
	write_file("request.1");
	events_wake(&e);
	is_int(events_wait(&e, "request.1", -1), EVENT_FILE | EVENT_WAKEUP,
	       "both ways may be used at once");
	sys_close(e.inotify);
	events_fini(&e);
	remove_file("request.1");
	remove_file("request.");
	remove_file("arequest.1");
	remove_file("other");
	remove_file("a name that is longer than the others, for a record of another size");
}

static void test_directory_gone(void)
{
	char dir[256];
	struct events e;

	path_make(dir, "ctl");
	make_dir("ctl");
	events_init(&e);
	events_watch(&e, dir);
	rmdir(dir);
	is_int(events_wait(&e, "request.1", 0), 0, "the end of the directory is no request");
	is_int(e.inotify, -1, "it is watched no longer");
	make_dir("ctl");
	events_watch(&e, dir);
	write_file("ctl/request.1");
	is_int(events_wait(&e, "request.1", -1), EVENT_FILE, "a new one of its name is");
	sys_close(e.inotify);
	events_fini(&e);
	remove_file("ctl/request.1");
	rmdir(dir);
}

/* More events than the kernel keeps (fs.inotify.max_queued_events, 16384). */
static void test_overflow(void)
{
	struct events e;

	write_file("a");
	events_init(&e);
	events_watch(&e, top);
	for (int i = 0; i < 10000; i++) {
		move_file("a", "b");
		move_file("b", "a");
	}
	is_int(events_wait(&e, "request.1", -1), EVENT_FILE,
	       "where events were lost, one may have been ours");
	is_int(events_wait(&e, "request.1", 0), 0, "all of them are read");
	sys_close(e.inotify);
	events_fini(&e);
	remove_file("a");
}

/* ---- the signal ---- */

static void ignore(int sig)
{
	(void)sig;
}

static void set_range(int first, int last, void (*handler)(int))
{
	for (int i = first; i <= last; i++)
		signal(i, handler);
}

static void test_choice(void)
{
	static const struct {
		int wanted;
		int first, last; /* handled */
		int ignored, blocked, want;
		const char *why;
	} rows[] = {
		{0, 0, -1, 0, 0, 36, "the first is 36"},
		{50, 0, -1, 0, 0, 50, "the one that is wanted is taken"},
		{64, 0, -1, 0, 0, 64, "it may be any"},
		{50, 50, 50, 0, 0, 36, "a handled one is not"},
		{50, 0, -1, 50, 0, 36, "nor an ignored one"},
		{50, 0, -1, 0, 50, 36, "nor a blocked one"},
		{0, 36, 36, 0, 0, 37, "the next is taken where the first is handled"},
		{0, 0, -1, 36, 0, 37, "or ignored"},
		{0, 36, 37, 0, 38, 39, "or blocked"},
		{0, 36, 60, 0, 0, 61, "the last is 61"},
		{0, 36, 61, 0, 0, 0, "there may be none"},
		{0, 36, 60, 0, 61, 0, "a blocked one is none"},
	};
	struct events e;

	events_init(&e);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		set_range(rows[i].first, rows[i].last, ignore);
		if (rows[i].ignored)
			signal(rows[i].ignored, SIG_IGN);
		e.signal = 99;
		events_install_signal(&e, rows[i].wanted,
				      rows[i].blocked ? 1ull << (rows[i].blocked - 1) : 0);
		is_int(e.signal, rows[i].want, "of the signals, %s", rows[i].why);
		set_range(36, 64, SIG_DFL);
	}
	events_fini(&e);
}

static void test_handler(void)
{
	union sigval value = {.sival_int = 4711};
	struct sigaction now;
	struct events e;

	events_init(&e);
	events_install_signal(&e, 40, 0);
	sigaction(40, NULL, &now);
	is_int(now.sa_flags &
		       (SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_NODEFER | (int)SA_RESETHAND),
	       SA_SIGINFO | SA_RESTART | SA_ONSTACK,
	       "the handler runs on the other stack and restarts system calls");
	is_int(events_signal_value(), 0, "before a signal there is no value");
	errno = 77;
	sigqueue(getpid(), 40, value);
	is_int(errno, 77, "the handler leaves errno as it is");
	is_int(events_wait(&e, "request.1", -1), EVENT_WAKEUP, "a signal wakes the thread");
	is_int(events_signal_value(), 4711, "its value is kept");
	is_int(events_signal_value(), 0, "until it is read");
	kill(getpid(), 40);
	is_int(events_wait(&e, "request.1", -1), EVENT_WAKEUP, "a signal without a value, too");
	is_int(events_signal_value(), 0, "it has none");
	sigqueue(getpid(), 40, value);
	kill(getpid(), 40);
	is_int(events_wait(&e, "request.1", -1), EVENT_WAKEUP, "two of them are one wake-up");
	is_int(events_signal_value(), 4711, "the value stays");
	signal(40, SIG_DFL);
	events_fini(&e);
}

int main(void)
{
	if (!mkdtemp(top))
		abort();
	test_wake();
	test_time_out();
	test_lost();
	test_watch();
	test_files();
	test_directory_gone();
	test_overflow();
	test_choice();
	test_handler();
	rmdir(top);
	return tap_done();
}
