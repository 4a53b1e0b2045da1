// SPDX-License-Identifier: Apache-2.0
#include "common/message.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	char buf[CMSG_SPACE(sizeof(int) * MESSAGE_FILES)];
	struct cmsghdr align;
};

int message_send(int sock, const void *p, size_t len, const int *fds, size_t n, int flags)
{
	struct iovec io = {.iov_base = (void *)(uintptr_t)p, .iov_len = len};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1};
	union control control = {0};
	struct cmsghdr *c;
	ssize_t sent;

	if (n) {
		m.msg_control = control.buf;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * n);
		c = CMSG_FIRSTHDR(&m);
		*c = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
				      .cmsg_type = SCM_RIGHTS,
				      .cmsg_len = CMSG_LEN(sizeof(int) * n)};
		memcpy(CMSG_DATA(c), fds, sizeof(int) * n);
	}
	while ((sent = sendmsg(sock, &m, MSG_NOSIGNAL | flags)) < 0 && errno == EINTR)
		;
	return sent == (ssize_t)len ? 0 : -1;
}

ssize_t message_receive(int sock, void *p, size_t len, int *fds, size_t max, size_t *ret_n)
{
	struct iovec io = {.iov_base = p, .iov_len = len};
	union control control;
	/* CMSG_LEN, not CMSG_SPACE: its padding has room for one file more. */
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = control.buf,
			   .msg_controllen = CMSG_LEN(sizeof(int) * max)};
	struct cmsghdr *c;
	ssize_t got;

	*ret_n = 0;
	while ((got = recvmsg(sock, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	if (got < 0)
		return -1;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		*ret_n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(c), sizeof(int) * *ret_n);
	}
	if (!(m.msg_flags & MSG_CTRUNC))
		return got;
	while (*ret_n)
		close(fds[--*ret_n]);
	errno = EMFILE;
	return -1;
}
