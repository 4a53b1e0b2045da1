// SPDX-License-Identifier: Apache-2.0
#include "top/window.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "common/fs.h"
#include "common/message.h"
#include "common/str.h"

/* ---- the feed ---- */

int feed_open(int ret[2], struct err *err)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) < 0)
		return err_set(err, errno, "socket");
	return 0;
}

int feed_send(int fd, const struct window *w, int tree)
{
	if (message_send(fd, w, sizeof(*w), &tree, 1, MSG_DONTWAIT) == 0)
		return 1;
	return errno == EAGAIN || errno == ENOBUFS ? 0 : -1;
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
	CLEANUP(close_fd) int tree = -1;
	size_t trees;
	ssize_t n = message_receive(fd, ret, sizeof(*ret), &tree, 1, &trees);

	if (n == 0)
		return 0;
	if (n < 0)
		return err_set(err, errno, "receive");
	if (n != sizeof(*ret) || tree < 0)
		return err_set(err, EBADMSG, "receive");
	ret->name[sizeof(ret->name) - 1] = ret->id[sizeof(ret->id) - 1] = '\0';
	return read_tree(tree, ret, ret_stacks, err) < 0 ? -1 : 1;
}
