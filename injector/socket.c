// SPDX-License-Identifier: Apache-2.0
#include "injector/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "common/clock.h"
#include "injector/wire.h"

#define EXIT_MS 200

static int ms_left(uint64_t deadline)
{
	uint64_t now = clock_ms();

	return now < deadline ? (int)(deadline - now) : 0;
}

/* O_PATH descriptor of the socket file; -1 in *ret when there is none. */
static enum attach_result open_socket_file(const struct target *t, const char *name, int *ret,
					   struct err *err)
{
	CLEANUP(close_fd) int fd = openat(t->tmpfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT) {
		*ret = -1;
		return ATTACH_OK;
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, errno, "open /tmp/%s", name), ATTACH_FAILED;
	if (!S_ISSOCK(st.st_mode))
		return err_set(err, 0, "/tmp/%s is not a socket", name), ATTACH_REFUSED;
	if (st.st_uid != t->st.euid) {
		err_set(err, 0, "/tmp/%s belongs to user %u, the JVM to %u", name,
			(unsigned)st.st_uid, (unsigned)t->st.euid);
		return ATTACH_REFUSED;
	}
	*ret = TAKE_FD(fd);
	return ATTACH_OK;
}

/* The kernel's word on who listens: the file may be anybody's work. */
static enum attach_result check_peer(const struct target *t, int sock, struct err *err)
{
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return err_set(err, errno, "ask who listens"), ATTACH_FAILED;
	if (peer.pid == t->pid && peer.uid == t->st.euid && target_is_alive(t))
		return ATTACH_OK;
	err_set(err, 0, "process %d of user %u listens on /tmp/.java_pid%d, not the JVM",
		(int)peer.pid, (unsigned)peer.uid, (int)t->st.nspid);
	return target_is_alive(t) ? ATTACH_REFUSED : ATTACH_GONE;
}

enum attach_result exchange_connect(const struct target *t, uint64_t deadline, int *ret_sock,
				    struct err *err)
{
	CLEANUP(close_fd)
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	CLEANUP(close_fd) int file = -1;
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	enum attach_result result;
	char name[32];

	if (sock < 0)
		return err_set(err, errno, "socket"), ATTACH_FAILED;
	snprintf(name, sizeof(name), ".java_pid%d", (int)t->st.nspid);
	result = open_socket_file(t, name, &file, err);
	if (result != ATTACH_OK || file < 0) {
		*ret_sock = -1;
		return result;
	}
	/* Through the descriptor: the very file that was checked, and never too long for sun_path.
	 */
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d", file);
	while (connect(sock, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		/* A dead JVM's socket stays behind; the new JVM replaces it when triggered. */
		if (errno == ECONNREFUSED) {
			*ret_sock = -1;
			return ATTACH_OK;
		}
		if (errno != EAGAIN && errno != EINTR)
			return err_set(err, errno, "connect to /tmp/%s", name), ATTACH_FAILED;
		if (!ms_left(deadline)) {
			err_set(err, ETIMEDOUT, "/tmp/%s accepts no connection", name);
			return ATTACH_FAILED;
		}
		sleep_ms(10);
	}
	result = check_peer(t, sock, err);
	if (result == ATTACH_OK)
		*ret_sock = TAKE_FD(sock);
	return result;
}

/* Waits for `events`, the end of the process, or the deadline. */
static enum attach_result wait_for(const struct target *t, int sock, short events,
				   uint64_t deadline, struct err *err)
{
	for (;;) {
		struct pollfd p[] = {{.fd = sock, .events = events},
				     {.fd = t->pidfd, .events = POLLIN}};
		int left = ms_left(deadline), n;

		if (!left)
			return err_set(err, ETIMEDOUT, "the JVM does not answer"), ATTACH_FAILED;
		n = poll(p, 2, left);
		if (n < 0 && errno != EINTR)
			return err_set(err, errno, "poll"), ATTACH_FAILED;
		if (n > 0 && p[0].revents)
			return ATTACH_OK;
		if (n > 0 && p[1].revents)
			return err_set(err, ESRCH, "the JVM ended meanwhile"), ATTACH_GONE;
	}
}

/* No more bytes will come. A process that exits closes its sockets a moment before it is gone. */
static enum attach_result broken(const struct target *t, int code, const char *what,
				 struct err *err)
{
	struct pollfd p = {.fd = t->pidfd, .events = POLLIN};

	if (poll(&p, 1, EXIT_MS) > 0)
		return err_set(err, ESRCH, "the JVM ended meanwhile"), ATTACH_GONE;
	return err_set(err, code, "%s", what), ATTACH_FAILED;
}

static enum attach_result send_all(const struct target *t, int sock, const struct str *request,
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

enum attach_result exchange_run(const struct target *t, int sock, const struct str *request,
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
		/* Reset after the answer: the JVM did not read the request to its end. */
		if (n < 0 && errno == ECONNRESET && reply->len)
			return ATTACH_OK;
		if (n < 0)
			return broken(t, errno, "read the answer", err);
		if (n == 0 && !reply->len)
			return broken(t, 0, "the JVM hung up without an answer", err);
		if (n == 0)
			return ATTACH_OK;
		if (reply->len + (size_t)n > WIRE_REPLY_MAX)
			return err_set(err, EMSGSIZE, "the answer is too long"), ATTACH_FAILED;
		str_add(reply, buf, (size_t)n);
	}
	return result;
}
