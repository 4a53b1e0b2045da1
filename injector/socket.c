// SPDX-License-Identifier: Apache-2.0
/* The JVM's socket: makes the JVM open it, connects to it and to nothing else, sends one request
 * and receives one reply. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "common/clock.h"
#include "injector/process.h"
#include "injector/wire.h"

#define EXIT_MS		200
#define OTHER_CLIENT_MS 1000
#define AGAIN_MS	1000
#define ENDED_TEXT	"the JVM ended meanwhile"

/* ---- connecting ---- */

/* Opens the socket file with O_PATH; *ret is -1 if it is missing. */
static enum attach_result open_socket_file(const struct jvm_process *t, const char *name, int *ret,
					   struct err *err)
{
	CLEANUP(close_fd) int fd = openat(t->tmpfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT) {
		*ret = -1;
		return ATTACH_OK;
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return attach_fail(ATTACH_FAILED, err, errno, "open /tmp/%s", name);
	if (!S_ISSOCK(st.st_mode))
		return attach_fail(ATTACH_REFUSED, err, 0, "/tmp/%s is not a socket", name);
	if (st.st_uid != t->st.euid)
		return attach_fail(ATTACH_REFUSED, err, 0,
				   "/tmp/%s belongs to user %u, the JVM to %u", name,
				   (unsigned)st.st_uid, (unsigned)t->st.euid);
	*ret = TAKE_FD(fd);
	return ATTACH_OK;
}

/* Asks the kernel who listens: anybody may have made the file. */
static enum attach_result check_peer(const struct jvm_process *t, int sock, struct err *err)
{
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return attach_fail(ATTACH_FAILED, err, errno, "get the peer of the socket");
	if (!process_is_alive(t))
		return attach_fail(ATTACH_GONE, err, ESRCH, ENDED_TEXT);
	if (peer.pid == t->pid && peer.uid == t->st.euid)
		return ATTACH_OK;
	return attach_fail(ATTACH_REFUSED, err, 0,
			   "process %d of user %u listens on /tmp/.java_pid%d, not the JVM",
			   (int)peer.pid, (unsigned)peer.uid, (int)t->st.nspid);
}

/* Connects to /tmp/.java_pid<nspid>. ATTACH_OK with *ret_sock -1: no process listens there yet.
 * ATTACH_REFUSED: the file or the listener is not the JVM's. */
static enum attach_result connect_once(const struct jvm_process *t, uint64_t deadline,
				       int *ret_sock, struct err *err)
{
	CLEANUP(close_fd)
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CLEANUP(close_fd) int file = -1;
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	enum attach_result result;
	char name[32];

	if (sock < 0)
		return attach_fail(ATTACH_FAILED, err, errno, "socket");
	snprintf(name, sizeof(name), ".java_pid%d", (int)t->st.nspid);
	result = open_socket_file(t, name, &file, err);
	if (result != ATTACH_OK || file < 0) {
		*ret_sock = -1;
		return result;
	}
	/* Through the descriptor: it is the file that was checked; the path is never too long. */
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d", file);
	while (connect(sock, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		/* The socket of a dead JVM; a new one replaces it when triggered. */
		if (errno == ECONNREFUSED) {
			*ret_sock = -1;
			return ATTACH_OK;
		}
		if (errno != EAGAIN && errno != EINTR)
			return attach_fail(ATTACH_FAILED, err, errno, "connect to /tmp/%s", name);
		if (!deadline_ms_left(deadline))
			return attach_fail(ATTACH_FAILED, err, ETIMEDOUT,
					   "/tmp/%s accepts no connection", name);
		sleep_ms(10);
	}
	result = check_peer(t, sock, err);
	if (result == ATTACH_OK)
		*ret_sock = TAKE_FD(sock);
	return result;
}

/* ---- triggering ---- */

struct trigger_file {
	int dirfd; /* borrowed; -1: no file was made */
	char name[32];
};

static void cleanup_remove_trigger(struct trigger_file *f)
{
	if (f->dirfd >= 0)
		unlinkat(f->dirfd, f->name, 0);
}

/* Waits until the JVM listens. ATTACH_OK with *ret_sock -1 if it does not by `deadline`. No failure
 * of our own ends it before: a JVM that finds no trigger file prints its threads, and some can
 * never be attached to again (JDK 17 where its socket was gone, AttachListener::check_socket_file).
 */
static enum attach_result wait_for_socket(const struct jvm_process *t, uint64_t deadline,
					  int *ret_sock, struct err *err)
{
	for (unsigned pause = 2;; pause = pause < 50 ? pause * 2 : 50) {
		enum attach_result result = connect_once(t, deadline, ret_sock, err);

		if ((result != ATTACH_OK && result != ATTACH_FAILED) || *ret_sock >= 0)
			return result;
		if (!process_is_alive(t))
			return attach_fail(ATTACH_GONE, err, ESRCH, ENDED_TEXT);
		if (clock_ms() >= deadline)
			return result;
		sleep_ms(pause);
	}
}

static int create(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static bool is_ours(const struct jvm_process *t, const char *name)
{
	struct stat st;

	return fstatat(t->tmpfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       st.st_uid == t->st.euid;
}

/* For a /tmp with a foreign file of that name. The JVM reads its working directory first (all
 * JDKs), but that may be a volume of the application, hence it is the second choice. */
static enum attach_result make_file_in_cwd(const struct jvm_process *t, struct trigger_file *f,
					   struct err *err)
{
	if (t->cwdfd >= 0 && create(t->cwdfd, f->name) == 0) {
		f->dirfd = t->cwdfd;
		return ATTACH_OK;
	}
	return attach_fail(
		ATTACH_REFUSED, err, EEXIST,
		"/tmp/%s is in the way, and cannot create a file in its working directory",
		f->name);
}

/* Makes the trigger file; or sets *ret_sock if another client made the JVM listen meanwhile. */
static enum attach_result make_file(const struct jvm_process *t, uint64_t deadline,
				    struct trigger_file *f, int *ret_sock, struct err *err)
{
	uint64_t until = clock_ms() + OTHER_CLIENT_MS;
	enum attach_result result;

	if (create(t->tmpfd, f->name) == 0) {
		f->dirfd = t->tmpfd;
		return ATTACH_OK;
	}
	if (errno != EEXIST)
		return attach_fail(ATTACH_NO_TMP, err, errno, ATTACH_NO_TMP_TEXT);
	if (!is_ours(t, f->name))
		return make_file_in_cwd(t, f, err);
	/* Another client triggers it: a second SIGQUIT could reach a JVM that listens already and
	 * prints its threads then. The file of a dead client is reused. */
	result = wait_for_socket(t, until < deadline ? until : deadline, ret_sock, err);
	if (result == ATTACH_OK && *ret_sock < 0 && until < deadline)
		f->dirfd = t->tmpfd;
	return result;
}

/* Sends one SIGQUIT; a second one only to a JVM that just started and may have lost the first: it
 * catches the signal before it can start its listener, and removes sockets of its name once. */
static enum attach_result quit_and_wait(struct jvm_process *t, uint64_t deadline, int *ret_sock,
					struct err *err)
{
	uint64_t again = process_is_young(t) ? clock_ms() + AGAIN_MS : deadline;
	enum attach_result result;

	while (clock_ms() < deadline) {
		/* Just before the signal: it may have been stopped, or have executed another
		 * program. */
		result = process_check(t, err);
		if (result == ATTACH_OK)
			result = process_signal(t, SIGQUIT, err);
		if (result == ATTACH_OK)
			result = wait_for_socket(t, again < deadline ? again : deadline, ret_sock,
						 err);
		if (result != ATTACH_OK || *ret_sock >= 0 || again >= deadline)
			return result;
		again = deadline;
	}
	return ATTACH_OK;
}

static enum attach_result connect_triggered(struct jvm_process *t, uint64_t deadline, int *ret_sock,
					    struct err *err)
{
	CLEANUP(remove_trigger) struct trigger_file f = {.dirfd = -1};
	enum attach_result result = connect_once(t, deadline, ret_sock, err);

	if (result != ATTACH_OK || *ret_sock >= 0)
		return result;
	if (t->attach_disabled)
		return attach_fail(ATTACH_DISABLED, err, 0, ATTACH_DISABLED_TEXT);
	snprintf(f.name, sizeof(f.name), ".attach_pid%d", (int)t->st.nspid);
	result = make_file(t, deadline, &f, ret_sock, err);
	if (result != ATTACH_OK || *ret_sock >= 0)
		return result;
	result = quit_and_wait(t, deadline, ret_sock, err);
	if (result != ATTACH_OK || *ret_sock >= 0)
		return result;
	return attach_fail(
		ATTACH_DISABLED, err, ETIMEDOUT,
		"it does not open its socket (-XX:+DisableAttachMechanism, hung, or very busy)");
}

/* ---- request and reply ---- */

/* Waits for `events`, the end of the process, or the deadline. */
static enum attach_result wait_for(const struct jvm_process *t, int sock, short events,
				   uint64_t deadline, struct err *err)
{
	for (;;) {
		struct pollfd p[] = {{.fd = sock, .events = events},
				     {.fd = t->pidfd, .events = POLLIN}};
		int left = deadline_ms_left(deadline), n;

		if (!left)
			return attach_fail(ATTACH_FAILED, err, ETIMEDOUT, "the JVM does not reply");
		n = poll(p, 2, left);
		if (n < 0 && errno != EINTR)
			return attach_fail(ATTACH_FAILED, err, errno, "poll");
		if (n > 0 && p[0].revents)
			return ATTACH_OK;
		if (n > 0 && p[1].revents)
			return attach_fail(ATTACH_GONE, err, ESRCH, ENDED_TEXT);
	}
}

/* Explains a closed connection: a process that exits closes its sockets just before it ends. */
static enum attach_result broken(const struct jvm_process *t, int code, const char *what,
				 struct err *err)
{
	struct pollfd p = {.fd = t->pidfd, .events = POLLIN};

	if (poll(&p, 1, EXIT_MS) > 0)
		return attach_fail(ATTACH_GONE, err, ESRCH, ENDED_TEXT);
	return attach_fail(ATTACH_FAILED, err, code, "%s", what);
}

static enum attach_result send_all(const struct jvm_process *t, int sock, const struct str *request,
				   uint64_t deadline, struct err *err)
{
	for (size_t done = 0; done < request->len;) {
		enum attach_result result = wait_for(t, sock, POLLOUT, deadline, err);
		ssize_t n;

		if (result != ATTACH_OK)
			return result;
		n = send(sock, request->buf + done, request->len - done, MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return broken(t, errno, "send the request", err);
		if (n > 0)
			done += (size_t)n;
	}
	return ATTACH_OK;
}

static enum attach_result exchange(const struct jvm_process *t, int sock, const struct str *request,
				   uint64_t deadline, struct str *reply, struct err *err)
{
	enum attach_result result = send_all(t, sock, request, deadline, err);
	char buf[4096];

	while (result == ATTACH_OK) {
		ssize_t n;

		result = wait_for(t, sock, POLLIN, deadline, err);
		if (result != ATTACH_OK)
			break;
		n = recv(sock, buf, sizeof(buf), 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		/* Reset after the reply: the JVM did not read the whole request. */
		if (n < 0 && errno == ECONNRESET && reply->len)
			return ATTACH_OK;
		if (n < 0)
			return broken(t, errno, "receive the reply", err);
		if (n == 0 && !reply->len)
			return broken(t, 0, "the JVM closed the connection without a reply", err);
		if (n == 0)
			return ATTACH_OK;
		if (reply->len + (size_t)n > WIRE_REPLY_MAX)
			return attach_fail(ATTACH_FAILED, err, EMSGSIZE, "the reply is too long");
		str_add(reply, buf, (size_t)n);
	}
	return result;
}

enum attach_result process_exchange(struct jvm_process *t, const struct str *request,
				    uint64_t deadline, struct str *reply, struct err *err)
{
	CLEANUP(close_fd) int sock = -1;
	enum attach_result result = connect_triggered(t, deadline, &sock, err);

	if (result != ATTACH_OK)
		return result;
	return exchange(t, sock, request, deadline, reply, err);
}
