/* SPDX-License-Identifier: Apache-2.0 */
/* A process that plays a HotSpot JVM towards attach clients, well or badly: it catches SIGQUIT, and
 * if a client's .attach_pid file is there, it listens on .java_pid<pid>, as HotSpot does
 * (AttachListener::is_init_trigger). */
#ifndef DFG_LIB_ATTACHJVM_H
#define DFG_LIB_ATTACHJVM_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "common/err.h"
#include "common/fs.h"
#include "common/str.h"
#include "lib/actor.h"

#define ATTACHJVM_LOADED "0\nreturn code: 0\n"

/* The things the process has seen, in memory it shares with the test. */
struct attachjvm_log {
	volatile int quits, conns;
	volatile size_t len; /* of the last request */
	char request[1u << 20];
	mode_t file_mode; /* of the trigger file */
	uid_t file_uid;
	char client[16384]; /* /proc/PID/status of the last client */
	volatile int client_fds;
};

struct attachjvm {
	/* Set by the test before the start; what is left out is as a good JVM has it. */
	bool listens;					 /* from the start on */
	bool is_deaf;					 /* to SIGQUIT */
	void (*before)(struct attachjvm *);		 /* before anything else */
	void (*on_quit)(struct attachjvm *);		 /* in the handler of SIGQUIT */
	void (*serve)(struct attachjvm *, int listener); /* does all that is to be done */
	void (*answer)(struct attachjvm *, int conn);	 /* after a request was read */
	const char *reply;				 /* to a request */
	const char *tmp, *cwd;				 /* directories; NULL: /tmp, its own */
	int backlog;
	/* Results. */
	pid_t pid;
	struct attachjvm_log *log;
};

/* For the handler, in the child. */
static struct attachjvm *attachjvm_self;

static inline void attachjvm_on_quit(int sig)
{
	(void)sig;
	attachjvm_self->log->quits++;
	if (attachjvm_self->on_quit)
		attachjvm_self->on_quit(attachjvm_self);
}

static inline char *attachjvm_name(const struct attachjvm *j, const char *name)
{
	return xasprintf("%s/.%s_pid%d", j->tmp ? j->tmp : "/tmp", name,
			 j->pid ? (int)j->pid : (int)getpid());
}

/* Makes the socket under another name first: at its own it always listens. */
static inline int attachjvm_listen(const struct attachjvm *j)
{
	CLEANUP(free) char *name = attachjvm_name(j, "java"), *part = xasprintf("%s.tmp", name);
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", part);
	unlink(part);
	if (bind(sock, (struct sockaddr *)&addr, sizeof(addr)) < 0 || chmod(part, 0600) < 0 ||
	    listen(sock, j->backlog ? j->backlog : 5) < 0 || rename(part, name) < 0)
		_exit(3);
	return sock;
}

static inline bool attachjvm_is_triggered(struct attachjvm *j)
{
	CLEANUP(free) char *in_tmp = attachjvm_name(j, "attach");
	CLEANUP(free)
	char *in_cwd = xasprintf("%s/.attach_pid%d", j->cwd ? j->cwd : ".", (int)getpid());
	struct stat st;

	if (stat(in_cwd, &st) < 0 && stat(in_tmp, &st) < 0)
		return false;
	j->log->file_mode = st.st_mode;
	j->log->file_uid = st.st_uid;
	return st.st_uid == geteuid();
}

/* Looks at the client as far as a process may look at another. */
static inline void attachjvm_watch(struct attachjvm *j, int conn)
{
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(free) char *path = NULL;
	struct err err;
	DIR *dir;

	getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &peer, &len);
	path = xasprintf("/proc/%d/status", (int)peer.pid);
	if (fs_read_file(AT_FDCWD, path, sizeof(j->log->client) - 1, &text, &err) == 0 && text.buf)
		strcpy(j->log->client, text.buf);
	free(path);
	path = xasprintf("/proc/%d/fd", (int)peer.pid);
	dir = opendir(path);
	for (j->log->client_fds = 0; dir && readdir(dir);)
		j->log->client_fds++;
	if (dir)
		closedir(dir);
}

/* True if the bytes are a whole request: five texts, or as many bytes as version 2 has in its
 * second one. */
static inline bool attachjvm_is_whole(const char *p, size_t len)
{
	unsigned nuls = 0;

	for (size_t i = 0; i < len; i++)
		nuls += !p[i];
	if (nuls >= 2 && *p == '2')
		return len >= 2 + strlen(p + 2) + 1 + strtoul(p + 2, NULL, 10);
	return nuls >= 5;
}

static inline void attachjvm_read(struct attachjvm *j, int conn)
{
	ssize_t n;

	j->log->len = 0;
	while (!attachjvm_is_whole(j->log->request, j->log->len) &&
	       (n = read(conn, j->log->request + j->log->len,
			 sizeof(j->log->request) - j->log->len)) > 0)
		j->log->len += (size_t)n;
}

/* Maps a file named libjvm.so: for `before`, where the client looks for it. */
static inline void attachjvm_map(struct attachjvm *j)
{
	char dir[] = "/tmp/dfg-libjvm.XXXXXX";
	CLEANUP(free) char *path = mkdtemp(dir) ? xasprintf("%s/libjvm.so", dir) : NULL;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	(void)j;
	if (fd < 0 || ftruncate(fd, 4096) < 0 ||
	    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(2);
	close(fd);
	unlink(path);
	rmdir(dir);
}

static inline void attachjvm_serve(struct attachjvm *j, int listener)
{
	const char *reply = j->reply ? j->reply : ATTACHJVM_LOADED;

	for (;;) {
		int conn = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (conn < 0)
			continue;
		j->log->conns++;
		attachjvm_watch(j, conn);
		attachjvm_read(j, conn);
		if (j->answer)
			j->answer(j, conn);
		else
			(void)!write(conn, reply, strlen(reply));
		close(conn);
	}
}

__attribute__((noreturn)) static inline void attachjvm_play(struct attachjvm *j, struct actor *a)
{
	struct sigaction sa = {.sa_handler = attachjvm_on_quit, .sa_flags = SA_RESTART};
	sigset_t quit, before;
	int listener = -1;

	attachjvm_self = j;
	if (j->before)
		j->before(j);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&quit);
	sigaddset(&quit, SIGQUIT);
	sigprocmask(SIG_BLOCK, &quit, &before);
	if (!j->is_deaf)
		sigaction(SIGQUIT, &sa, NULL);
	if (j->listens)
		listener = attachjvm_listen(j);
	actor_tell(a);
	while (!j->listens) {
		sigsuspend(&before);
		j->listens = attachjvm_is_triggered(j);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (listener < 0)
		listener = attachjvm_listen(j);
	(j->serve ? j->serve : attachjvm_serve)(j, listener);
	for (;;)
		pause();
}

static inline void attachjvm_start(struct attachjvm *j)
{
	struct actor a;

	j->log = mmap(NULL, sizeof(*j->log), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (j->log == MAP_FAILED)
		abort();
	if (actor_fork(&a))
		attachjvm_play(j, &a);
	if (!actor_wait(&a))
		abort();
	j->pid = a.pid;
}

/* Waits until it sleeps and no signal waits for it, or until it has ended. */
static inline void attachjvm_settle(const struct attachjvm *j)
{
	CLEANUP(free) char *path = xasprintf("/proc/%d/status", (int)j->pid);
	unsigned long waits = 0;
	char state = 'S';

	for (int i = 0; i < 10000; i++) {
		CLEANUP(str_fini) struct str text = {0};
		struct err err;
		const char *at;

		if (fs_read_file(AT_FDCWD, path, 65536, &text, &err) < 0 || !text.buf)
			return;
		at = strstr(text.buf, "\nState:\t");
		state = at ? at[8] : 'Z';
		at = strstr(text.buf, "\nShdPnd:\t");
		waits = at ? strtoul(at + 9, NULL, 16) & 1u << (SIGQUIT - 1) : 0;
		if (state == 'Z' || state == 'T' || (state == 'S' && !waits))
			return;
		usleep(1000);
	}
}

static inline void attachjvm_end(struct attachjvm *j)
{
	CLEANUP(free) char *socket = attachjvm_name(j, "java"), *file = attachjvm_name(j, "attach");

	actor_end(j->pid);
	unlink(socket);
	unlink(file);
	munmap(j->log, sizeof(*j->log));
}

#endif
