// SPDX-License-Identifier: Apache-2.0
#include "top/window.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "common/fs.h"
#include "common/str.h"

/* ---- the feed ---- */

int feed_open(int ret[2], struct err *err)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) < 0)
		return err_set(err, errno, "socket");
	return 0;
}

union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(int))];
};

int feed_send(int fd, const struct window *w, int tree)
{
	struct iovec data = {.iov_base = (void *)(uintptr_t)w, .iov_len = sizeof(*w)};
	union control control = {0};
	struct msghdr m = {.msg_iov = &data,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &tree, sizeof(tree));
	if (sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 1;
	return errno == EAGAIN || errno == ENOBUFS ? 0 : -1;
}

static int descriptor_of(struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static int read_tree(int fd, const struct window *w, struct stacks **ret, struct err *err)
{
	CLEANUP(str_fini) struct str bytes = {0};
	struct stacks *s;

	if (lseek(fd, 0, SEEK_SET) < 0 || fs_read_all(fd, TREE_MAX, &bytes, err) < 0)
		return -1;
	s = stacks_new();
	frames_keep_places(stacks_frames(s));
	if (tree_read(bytes.buf, bytes.len, w->parts > 1 ? w->name : NULL, s, err) < 0) {
		stacks_free(s);
		return -1;
	}
	*ret = s;
	return 0;
}

int feed_receive(int fd, struct window *ret, struct stacks **ret_stacks, struct err *err)
{
	struct iovec data = {.iov_base = ret, .iov_len = sizeof(*ret)};
	union control control = {0};
	struct msghdr m = {.msg_iov = &data,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	CLEANUP(close_fd) int tree = n >= 0 ? descriptor_of(&m) : -1;

	if (n == 0)
		return 0;
	if (n < 0)
		return err_set(err, errno, "receive");
	if (n != sizeof(*ret) || tree < 0)
		return err_set(err, EBADMSG, "receive");
	ret->name[sizeof(ret->name) - 1] = ret->id[sizeof(ret->id) - 1] = '\0';
	return read_tree(tree, ret, ret_stacks, err) < 0 ? -1 : 1;
}
