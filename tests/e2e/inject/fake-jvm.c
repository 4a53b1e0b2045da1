// SPDX-License-Identifier: Apache-2.0
/* A process that looks like a JVM to an attach client, and misbehaves in one way (MODE).
 *
 *   fakejvm LIBJVM LOG MODE [REPLY]
 *
 * Maps LIBJVM (any file named libjvm.so), writes "ready" to stdout, and a line to LOG for every
 * SIGQUIT and every request. MODE:
 *   ok        when triggered, listens and answers REPLY (default: loaded)
 *   early     the same, but listens from the start
 *   nosocket  catches SIGQUIT and does nothing
 *   default, ignore   does not catch SIGQUIT
 *   deaf      listens, never accepts
 *   full      the same with a backlog that is used up
 *   mute      accepts, never answers
 *   drip      answers one byte every 100 ms, without end
 *   flood     answers 1 GiB
 *   die-quit, die-accept, die-request   exits at that point
 *   late      catches SIGQUIT only after 250 ms */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static volatile sig_atomic_t quits;
static const char *mode;
static int log_fd;

static void on_quit(int sig)
{
	(void)sig;
	quits++;
	(void)!write(log_fd, "quit\n", 5);
	if (!strcmp(mode, "die-quit"))
		_exit(0);
}

static int listen_like_a_jvm(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX}, final = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "/tmp/.java_pid%d.tmp", (int)getpid());
	snprintf(final.sun_path, sizeof(final.sun_path), "/tmp/.java_pid%d", (int)getpid());
	unlink(addr.sun_path);
	if (bind(sock, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    listen(sock, strcmp(mode, "full") ? 5 : 0) < 0 || chmod(addr.sun_path, 0600) < 0 ||
	    rename(addr.sun_path, final.sun_path) < 0) {
		perror("fakejvm: listen");
		exit(1);
	}
	if (!strcmp(mode, "full"))
		for (int i = 0; i < 2; i++) {
			int own = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

			(void)!connect(own, (struct sockaddr *)&final, sizeof(final));
		}
	return sock;
}

/* Does what HotSpot does on SIGQUIT (AttachListener::is_init_trigger). */
static int is_triggered(void)
{
	char name[64];
	struct stat st;

	snprintf(name, sizeof(name), ".attach_pid%d", (int)getpid());
	if (stat(name, &st) < 0) {
		snprintf(name, sizeof(name), "/tmp/.attach_pid%d", (int)getpid());
		if (stat(name, &st) < 0)
			return 0;
	}
	return st.st_uid == geteuid();
}

static void log_request(int conn)
{
	char buf[4096], line[4200];
	ssize_t n = read(conn, buf, sizeof(buf));
	int len;

	if (n <= 0)
		return;
	for (ssize_t i = 0; i < n; i++)
		if (!buf[i])
			buf[i] = '|';
	len = snprintf(line, sizeof(line), "request %.*s\n", (int)n, buf);
	(void)!write(log_fd, line, (size_t)len);
}

static void answer(int conn, const char *reply)
{
	static char block[65536];

	if (!strcmp(mode, "mute"))
		pause();
	while (!strcmp(mode, "drip")) {
		if (write(conn, "0", 1) < 0)
			return;
		usleep(100000);
	}
	if (!strcmp(mode, "flood")) {
		memset(block, 'A', sizeof(block));
		for (int i = 0; i < 16384 && write(conn, block, sizeof(block)) > 0; i++)
			;
		return;
	}
	(void)!write(conn, reply, strlen(reply));
}

static void serve(const char *reply)
{
	int sock = listen_like_a_jvm();

	if (!strcmp(mode, "early"))
		puts("ready"), fflush(stdout);
	for (;;) {
		int conn;

		if (!strcmp(mode, "deaf") || !strcmp(mode, "full")) {
			pause();
			continue;
		}
		conn = accept(sock, NULL, NULL);
		if (conn < 0)
			continue;
		if (!strcmp(mode, "die-accept"))
			exit(0);
		log_request(conn);
		if (!strcmp(mode, "die-request"))
			exit(0);
		answer(conn, reply);
		close(conn);
	}
}

/* Removes files of an ended process with the same pid. */
static void remove_names(void)
{
	char name[64];

	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), i ? "/tmp/.attach_pid%d" : "/tmp/.java_pid%d",
			 (int)getpid());
		unlink(name);
	}
}

static void catch_quit(void)
{
	struct sigaction sa = {.sa_handler = on_quit, .sa_flags = SA_RESTART};

	if (!strcmp(mode, "default"))
		return;
	if (!strcmp(mode, "ignore"))
		sa.sa_handler = SIG_IGN;
	sigaction(SIGQUIT, &sa, NULL);
}

int main(int argc, char **argv)
{
	int lib = argc > 3 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;

	if (lib < 0 || mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, lib, 0) == MAP_FAILED) {
		fputs("usage: fakejvm LIBJVM LOG MODE [REPLY]\n", stderr);
		return 2;
	}
	log_fd = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	mode = argv[3];
	remove_names();
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!strcmp(mode, "late")) {
		puts("ready"), fflush(stdout);
		usleep(250000);
	}
	catch_quit();
	if (!strcmp(mode, "early"))
		serve(argc > 4 ? argv[4] : "0\nreturn code: 0\n");
	puts("ready"), fflush(stdout);
	while (!quits || !strcmp(mode, "nosocket") || !is_triggered())
		usleep(2000);
	serve(argc > 4 ? argv[4] : "0\nreturn code: 0\n");
}
