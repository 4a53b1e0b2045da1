// SPDX-License-Identifier: Apache-2.0
/* dfg-top on a terminal that is a file: windows, lines of the log and keys come in an order that a
 * child process keeps, which knows by what has been read when to go on. */
#include "top/top.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "lib/actor.h"
#include "lib/drawn.h"
#include "lib/printed.h"
#include "lib/scratch.h"
#include "lib/tap.h"
#include "top/window.h"

#define FOLDED "main;run_[j];get_[j] 3\nmain;run_[j];put_[j] 2\nworker;run_[j] 1\n"

static struct err err;

/* ---- a terminal, a feed and a log ---- */

struct stage {
	int keys[2], feed[2], log[2];
	int screen; /* what was drawn */
	struct record_config record;
	struct live_config live;
	volatile sig_atomic_t stop;
	char *said; /* on stderr */
	char *drawn;
	int rc;
};

static void stage_open(struct stage *s, const char *formats)
{
	static struct format_set set;

	*s = (struct stage){.record = {.frequency = 99, .root = top}};
	s->live = (struct live_config){.record = &s->record, .formats = &set};
	if (pipe2(s->keys, O_CLOEXEC) < 0 || pipe2(s->log, O_CLOEXEC) < 0 ||
	    feed_open(s->feed, &err) < 0 || formats_parse(formats, &set, &err) < 0)
		abort();
	s->screen = memfd_create("screen", MFD_CLOEXEC);
}

/* The terminal of ncurses, which uses that of its first screen for all. */
static FILE *keyboard, *display;

/* Shows, with the stage's ends in place of the terminal's. */
static void stage_show(struct stage *s)
{
	FILE *in = stdin, *out = stdout;
	struct catcher c = catch_begin(stderr, STDERR_FILENO);

	if (dup2(s->keys[0], STDIN_FILENO) < 0 || dup2(s->keys[0], fileno(keyboard)) < 0 ||
	    dup2(s->screen, fileno(display)) < 0)
		abort();
	stdin = keyboard;
	stdout = display;
	err = (struct err){0};
	s->rc = live_show(&s->live, "web", s->feed[0], s->log[0], &s->stop, &err);
	fflush(display);
	stdin = in;
	stdout = out;
	s->said = caught(&c);
	s->drawn = drawn_text(s->screen);
}

static void stage_close(struct stage *s)
{
	for (int i = 0; i < 2; i++) {
		cleanup_close_fd(&s->keys[i]);
		cleanup_close_fd(&s->feed[i]);
		cleanup_close_fd(&s->log[i]);
	}
	close(s->screen);
	free(s->said);
	free(s->drawn);
}

static void send_window(const struct stage *s, const char *folded)
{
	const struct window w = {
		.parts = 1, .us = 2000000, .name = "web", .id = "0123", .quality = {.samples = 6}};
	CLEANUP(close_fd) int tree = memfd_create("tree", MFD_CLOEXEC);
	struct stacks *stacks = stacks_of(folded);

	if (tree_write(stacks, tree, &err) < 0 || feed_send(s->feed[1], &w, tree) <= 0)
		abort();
	stacks_free(stacks);
}

static void say(const struct stage *s, const char *text)
{
	if (write(s->log[1], text, strlen(text)) < 0)
		abort();
}

static void press(const struct stage *s, const char *keys)
{
	if (write(s->keys[1], keys, strlen(keys)) < 0)
		abort();
}

/* Closes an end that only one process should have. */
static void hang_up(int *fd)
{
	close(*fd);
	*fd = -1;
}

/* ---- the child's view ---- */

/* Waits until what was written to a pipe has been read. */
static void wait_until_read(int fd)
{
	for (int left = 1; left > 0; sleep_ms(1))
		if (ioctl(fd, FIONREAD, &left) < 0)
			_exit(1);
}

/* Waits until a window has been received. */
static void wait_until_received(int fd)
{
	char byte[1];

	while (recv(fd, byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0)
		sleep_ms(1);
}

/* A child that plays a part, after which its ends of the stage are closed. */
static pid_t play(struct stage *s, void (*part)(struct stage *s))
{
	struct actor a;

	if (actor_fork(&a)) {
		actor_tell(&a);
		part(s);
		_exit(0);
	}
	actor_wait(&a);
	return a.pid;
}

static void end(pid_t pid, const char *check)
{
	int status = -1;

	waitpid(pid, &status, 0);
	is_int(status, 0, "%s", check);
}

/* ---- before the first window ---- */

static void test_no_window(void)
{
	struct stage s;

	stage_open(&s, "folded");
	say(&s, "dfg-top: no running container \"web\"\n");
	hang_up(&s.feed[1]);
	stage_show(&s);
	is_int(s.rc, 0, "where the feed ends before the first window, so does the show");
	is_str(s.said, "dfg-top: no running container \"web\"\n",
	       "what is logged before the first window is on stderr, once");
	is_str(s.drawn, "", "the terminal is left as it was");
	stage_close(&s);

	stage_open(&s, "folded");
	if (send(s.feed[1], "x", 1, 0) != 1)
		abort();
	stage_show(&s);
	is_int(s.rc, -1, "a malformed window is an error");
	is_int(err.code, EBADMSG, "which is told");
	is_str(s.drawn, "", "the screen has not begun for it");
	stage_close(&s);

	stage_open(&s, "folded");
	s.stop = 1;
	send_window(&s, FOLDED);
	stage_show(&s);
	is_int(s.rc, 0, "a stop ends the show at once");
	is_str(s.drawn, "", "before the first window is received");
	stage_close(&s);
}

/* ---- windows ---- */

static void test_keys(void)
{
	struct stage s;

	stage_open(&s, "folded");
	press(&s, "q");
	send_window(&s, FOLDED);
	stage_show(&s);
	is_int(s.rc, 0, "a key ends the show");
	ok(strlen(s.drawn) > 0, "the screen has begun with the first window");
	ok(!strstr(s.drawn, "put"), "a key that ends it goes before the drawing");
	is_str(s.said, "", "nothing is said");
	stage_close(&s);

	stage_open(&s, "folded");
	hang_up(&s.keys[1]);
	send_window(&s, FOLDED);
	stage_show(&s);
	is_int(s.rc, 0, "the end of the terminal ends the show");
	stage_close(&s);
}

static void test_count(void)
{
	struct stage s;

	stage_open(&s, "folded");
	s.live.count = 2;
	for (int i = 0; i < 3; i++)
		send_window(&s, FOLDED);
	stage_show(&s);
	is_int(s.rc, 0, "the show ends after as many windows as asked for");
	ok(strstr(s.drawn, "put") != NULL, "a window was drawn");
	ok(poll(&(struct pollfd){.fd = s.feed[0], .events = POLLIN}, 1, 0) == 1 &&
		   recv(s.feed[0], &(struct window){0}, sizeof(struct window), MSG_DONTWAIT) > 0,
	   "the third window was not received");
	stage_close(&s);

	stage_open(&s, "folded");
	s.live.count = 2;
	send_window(&s, FOLDED);
	hang_up(&s.feed[1]);
	stage_show(&s);
	is_int(s.rc, 0, "or when the feed ends before");
	stage_close(&s);
}

static void part_late(struct stage *s)
{
	wait_until_received(s->feed[0]);
	say(s, "dfg-top: first\ndfg-top: its processes have ended\n");
	wait_until_read(s->log[0]);
	hang_up(&s->feed[1]);
	hang_up(&s->log[1]);
	press(s, "p");
	wait_until_read(s->keys[0]); /* before it draws; "q" at once would end it without */
	press(s, "q");
}

/* The last line is shown, and all lines since the last window are said at the end. */
static void test_late(void)
{
	struct stage s;
	pid_t child;

	stage_open(&s, "folded");
	say(&s, "dfg-top: warning: no JVM runs in web\n");
	send_window(&s, FOLDED);
	child = play(&s, part_late);
	hang_up(&s.feed[1]);
	hang_up(&s.log[1]);
	stage_show(&s);
	end(child, "lines came after a window");
	is_int(s.rc, 0, "the end of the feed leaves the last window on the screen, until a key");
	is_str(s.said,
	       "dfg-top: warning: no JVM runs in web\n"
	       "dfg-top: first\ndfg-top: its processes have ended\n",
	       "the lines after it are said when the screen has ended");
	ok(strstr(s.drawn, "its processes have ended") != NULL, "the last one is on the screen");
	ok(!strstr(s.drawn, "dfg-top: its"), "without the program's name");
	ok(!strstr(s.drawn, "first"), "only that one");
	stage_close(&s);
}

static void part_forgotten(struct stage *s)
{
	wait_until_received(s->feed[0]);
	say(s, "no colon\n");
	wait_until_read(s->log[0]);
	send_window(s, FOLDED);
	wait_until_received(s->feed[0]);
	press(s, "q");
}

static void test_forgotten(void)
{
	struct stage s;
	pid_t child;

	stage_open(&s, "folded");
	send_window(&s, FOLDED);
	child = play(&s, part_forgotten);
	stage_show(&s);
	end(child, "a window came after a line");
	is_str(s.said, "", "what was logged before the last window is not said again");
	ok(strstr(s.drawn, "no colon") != NULL, "a line without a name is shown as it is");
	stage_close(&s);
}

static volatile sig_atomic_t *to_stop;

static void on_signal(int sig)
{
	*to_stop = sig == SIGUSR1;
}

static void part_signals(struct stage *s)
{
	wait_until_received(s->feed[0]);
	kill(getppid(), SIGUSR2);
	send_window(s, FOLDED);
	wait_until_received(s->feed[0]);
	kill(getppid(), SIGUSR1);
}

static void test_signals(void)
{
	struct sigaction act = {.sa_handler = on_signal};
	struct stage s;
	pid_t child;

	stage_open(&s, "folded");
	to_stop = &s.stop;
	sigaction(SIGUSR1, &act, NULL);
	sigaction(SIGUSR2, &act, NULL);
	send_window(&s, FOLDED);
	child = play(&s, part_signals);
	stage_show(&s);
	end(child, "two signals came");
	is_int(s.rc, 0, "one that stops ends the show, another one does not");
	ok(s.stop, "it did not end before");
	stage_close(&s);
}

/* ---- graphs of what is shown ---- */

/* The only entry of a directory. Owned. */
static char *only_entry(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char *ret = NULL;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			ret = xstrdup(e->d_name);
	if (d)
		closedir(d);
	return ret ? ret : xstrdup("none");
}

static void is_graph(const char *dir, const char *name, const char *want, const char *check)
{
	CLEANUP(free) char *below = only_entry(dir);
	CLEANUP(free) char *path = xasprintf("%s/%s/%s", dir, below, name);
	CLEANUP(str_fini) struct str text = {0};

	if (fs_read_file(AT_FDCWD, path, 1 << 20, &text, &err) < 0)
		printf("# %s\n", err.msg);
	ok(text.buf && strstr(text.buf, want), "%s", check);
}

/* Of an event the picture has no frequency, and its unit. */
static void check_written_event(enum session_event event, const char *title, const char *whole,
				const char *head)
{
	CLEANUP(free) char *out = path_of("out");
	struct stage s;

	stage_open(&s, "svg");
	s.record.output = out;
	s.record.events = 1u << event;
	send_window(&s, "t;a.B.c_[j] 1500\n");
	press(&s, "wq");
	stage_show(&s);
	is_graph(out, "flame.svg", title, "the title says what was counted");
	is_graph(out, "flame.svg", whole, "in its unit");
	ok(strstr(s.drawn, head), "the head of the screen has it, too");
	stage_close(&s);
	fs_remove_tree(AT_FDCWD, out);
}

static void test_write_events(void)
{
	check_written_event(SESSION_ALLOC, "web: allocated bytes in 2.0 s", "(1.50 kB",
			    "bytes a second");
	check_written_event(SESSION_LOCK, "web: time waiting for locks in 2.0 s", "(1.50 µs",
			    "ns a second");
}

static void test_write(void)
{
	CLEANUP(free) char *out = path_of("out");
	CLEANUP(free) char *own = path_of("containers/0123/graphs");
	CLEANUP(free) char *none = xstrdup("/proc/none");
	struct stage s;

	stage_open(&s, "svg,folded");
	s.record.output = out;
	send_window(&s, FOLDED);
	press(&s, "wq");
	stage_show(&s);
	is_int(s.rc, 0, "a key writes what is shown");
	is_graph(out, "flame.folded", FOLDED, "the graph has all stacks");
	is_graph(out, "flame.svg", "web: 2.0 s at 99 Hz", "the title says what they are of");
	is_graph(out, "flame.svg", "dfg-top<", "the subtitle says what wrote them");
	stage_close(&s);
	fs_remove_tree(AT_FDCWD, out);

	stage_open(&s, "svg,folded");
	send_window(&s, FOLDED);
	press(&s, "/get\nwq");
	stage_show(&s);
	is_graph(own, "flame.svg", "dfg-top · stacks with get", "the subtitle has the filter");
	is_graph(own, "flame.folded", "main;run_[j];get_[j] 3\n",
		 "without --output it is with the container's others");
	stage_close(&s);
	fs_remove_tree(AT_FDCWD, own);

	stage_open(&s, "svg,folded");
	send_window(&s, FOLDED);
	press(&s, "tj\nwq");
	stage_show(&s);
	is_graph(own, "flame.svg", "dfg-top · thread worker", "the subtitle has the thread");
	is_graph(own, "flame.folded", "worker;run_[j] 1\n", "the graph has its stacks");
	stage_close(&s);

	stage_open(&s, "svg,folded");
	s.record.output = none;
	s.live.count = 2;
	send_window(&s, FOLDED);
	press(&s, "w");
	send_window(&s, FOLDED);
	stage_show(&s);
	is_int(s.rc, 0, "a directory that cannot be made does not end the show");
	ok(strstr(s.drawn, "No such file") != NULL, "the screen says why");
	stage_close(&s);
}

static void part_written(struct stage *s)
{
	wait_until_received(s->feed[0]);
	press(s, "w");
	wait_until_read(s->keys[0]);
	send_window(s, FOLDED);
	wait_until_received(s->feed[0]);
	press(s, "q");
}

static void test_written(void)
{
	CLEANUP(free) char *out = path_of("written");
	struct stage s;
	pid_t child;

	stage_open(&s, "folded");
	s.record.output = out;
	send_window(&s, FOLDED);
	child = play(&s, part_written);
	stage_show(&s);
	end(child, "a key came after a window");
	ok(strstr(s.drawn, "written to /tmp/dfg-test.") != NULL, "the screen says where it is");
	stage_close(&s);
}

int main(void)
{
	setenv("LC_ALL", "C.UTF-8", 1);
	setenv("TERM", "xterm-256color", 1);
	setenv("LINES", "12", 1);
	setenv("COLUMNS", "100", 1);
	setenv("NO_COLOR", "1", 1);
	keyboard = fopen("/dev/null", "re");
	display = fopen("/dev/null", "we");
	if (!keyboard || !display)
		abort();
	scratch_make();
	test_no_window();
	test_keys();
	test_count();
	test_late();
	test_forgotten();
	test_signals();
	test_write();
	test_write_events();
	test_written();
	scratch_remove();
	return tap_done();
}
