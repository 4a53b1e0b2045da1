// SPDX-License-Identifier: Apache-2.0
/* Messages with open files over a socket. */
#include "common/message.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/tap.h"

static int sock[2];

static size_t open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	while (dir && readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static bool is_same(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static void test_files(void)
{
	int sent[MESSAGE_FILES], got[MESSAGE_FILES];
	size_t before, n = 9, same = 0, closing = 0;
	char text[8] = "";

	for (size_t i = 0; i < MESSAGE_FILES; i++)
		sent[i] = memfd_create("file", MFD_CLOEXEC);
	before = open_files();
	is_int(message_send(sock[0], "abc", 3, NULL, 0, 0), 0, "a message without files is sent");
	is_int(message_receive(sock[1], text, sizeof(text), got, 1, &n), 3, "it is received");
	is_str(text, "abc", "it is whole");
	is_int(n, 0, "it has no file");
	is_int(message_send(sock[0], "d", 1, sent, MESSAGE_FILES, 0), 0, "one with all files");
	is_int(message_receive(sock[1], text, 1, got, MESSAGE_FILES, &n), 1, "it is received");
	is_int(n, MESSAGE_FILES, "all its files are");
	for (size_t i = 0; i < n; i++) {
		same += is_same(sent[i], got[i]);
		closing += (fcntl(got[i], F_GETFD) & FD_CLOEXEC) != 0;
		close(got[i]);
	}
	is_int(same, MESSAGE_FILES, "they are the same and in order");
	is_int(closing, MESSAGE_FILES, "no program that is run inherits them");
	is_int(open_files(), before, "the sender's stay open");
	for (size_t max = 1; max < 4; max++) {
		is_int(message_send(sock[0], "d", 1, sent, max + 1, 0), 0, "one file too many");
		is_int(message_receive(sock[1], text, 1, got, max, &n), -1, "it is refused");
		is_int(errno, EMFILE, "with the reason");
		ok(n == 0 && open_files() == before, "none of its files stays open");
	}
	for (size_t i = 0; i < MESSAGE_FILES; i++)
		close(sent[i]);
}

static void on_alarm(int sig)
{
	(void)sig;
	(void)!write(sock[0], "late", 4);
}

static void test_waits(void)
{
	const struct sigaction act = {.sa_handler = on_alarm};
	const struct itimerval soon = {.it_value = {.tv_usec = 20000}};
	char text[8] = "";
	size_t n;
	int fd;

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	is_int(message_receive(sock[1], text, sizeof(text), &fd, 1, &n), 4,
	       "a signal does not end the wait for a message");
	while (message_send(sock[0], text, sizeof(text), NULL, 0, MSG_DONTWAIT) == 0)
		;
	is_int(errno, EAGAIN, "a sender that may not wait does not");
}

static void test_end(void)
{
	char text[8];
	size_t n;
	int fd;

	close(sock[0]);
	while (message_receive(sock[1], text, sizeof(text), &fd, 1, &n) > 0)
		;
	is_int(message_receive(sock[1], text, sizeof(text), &fd, 1, &n), 0,
	       "after the last message is the end");
	is_int(message_send(sock[1], text, 1, NULL, 0, 0), -1, "nothing can be sent then");
	is_int(errno, EPIPE, "which is no signal");
	close(sock[1]);
}

int main(void)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		abort();
	test_files();
	test_waits();
	test_end();
	return tap_done();
}
