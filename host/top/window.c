// SPDX-License-Identifier: Apache-2.0
#include "top/window.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "common/fs.h"
#include "common/str.h"
#include "dfg/bytes.h"
#include "format/text.h"

/* ---- the call tree as bytes ---- */

#define TREE_MAGIC 0x3165657274676664ull /* "dfgtree1" */
#define TREE_SUM                                                                                   \
	(UINT64_C(1) << 53) /* of all samples: the largest that JSON readers count exactly */
#define LEVEL_MAX 4
#define DEPTH_MAX 8192 /* perf and the unwinder stop long before */

static void add_u32(struct str *out, size_t n)
{
	uint32_t v = (uint32_t)n;

	str_add(out, &v, sizeof(v));
}

static void add_u64(struct str *out, uint64_t v)
{
	str_add(out, &v, sizeof(v));
}

static void add_frame(struct str *out, const struct frame *f)
{
	uint16_t len = f->len > UINT16_MAX ? UINT16_MAX : (uint16_t)f->len;

	str_addc(out, (char)f->kind);
	str_addc(out, (char)(f->level > LEVEL_MAX ? 0 : f->level));
	str_add(out, &len, sizeof(len));
	str_add(out, f->name, len);
}

int tree_write(const struct stacks *all, int fd, struct err *err)
{
	struct out o = {.fd = fd, .err = err};

	add_u64(&o.buf, TREE_MAGIC);
	add_u32(&o.buf, stacks_frame_count(all));
	add_u32(&o.buf, stacks_node_count(all));
	for (uint32_t f = 0; f < stacks_frame_count(all); f++) {
		add_frame(&o.buf, stacks_frame(all, f));
		out_tick(&o);
	}
	for (uint32_t n = 1; n < stacks_node_count(all); n++) {
		const struct stack_node *node = stacks_node(all, n);

		add_u32(&o.buf, node->parent);
		add_u32(&o.buf, node->frame);
		add_u64(&o.buf, node->self);
		out_tick(&o);
	}
	return out_end(&o);
}

/* Reads a frame and makes it in s. False on malformed bytes. */
static bool read_frame(struct bytes *b, const char *prefix, struct stacks *s, struct str *name,
		       uint32_t *ret)
{
	uint8_t kind = bytes_u8(b), level = bytes_u8(b);
	uint16_t len = bytes_u16(b);
	const uint8_t *text = bytes_take(b, len);

	if (!text || kind >= FRAME_KINDS || level > LEVEL_MAX)
		return false;
	str_clear(name);
	if (prefix && kind == FRAME_ROOT) {
		str_add_clean(name, prefix, strlen(prefix));
		str_addc(name, '/');
	}
	str_add_clean(name, (const char *)text, len);
	*ret = stacks_intern(s, name->len ? name->buf : "", name->len, kind);
	*ret = frames_level(stacks_frames(s), *ret, level);
	return true;
}

struct tree_counts {
	uint32_t frames, nodes;
};

static bool read_nodes(struct bytes *b, struct tree_counts c, const uint32_t *frames,
		       uint32_t *nodes, struct stacks *s)
{
	CLEANUP(free) uint16_t *depths = xcalloc(c.nodes, sizeof(*depths));
	uint64_t sum = 0;

	for (uint32_t n = 1; n < c.nodes; n++) {
		uint32_t parent = bytes_u32(b), frame = bytes_u32(b);
		uint64_t self = bytes_u64(b);

		if (b->bad || parent >= n || frame >= c.frames || self > TREE_SUM - sum ||
		    depths[parent] == DEPTH_MAX)
			return false;
		depths[n] = (uint16_t)(depths[parent] + 1);
		sum += self;
		nodes[n] = stacks_child(s, nodes[parent], frames[frame], self);
	}
	return b->len == 0;
}

int tree_read(const void *bytes, size_t len, const char *prefix, struct stacks *ret,
	      struct err *err)
{
	struct bytes b = bytes_of(bytes, len);
	CLEANUP(str_fini) struct str name = {0};
	CLEANUP(free) uint32_t *frames = NULL;
	CLEANUP(free) uint32_t *nodes = NULL;
	uint64_t magic = bytes_u64(&b);
	struct tree_counts c = {.frames = bytes_u32(&b)};
	bool good;

	c.nodes = bytes_u32(&b);
	/* Each frame and each node takes some bytes, so len limits the memory. */
	good = !b.bad && len <= TREE_MAX && magic == TREE_MAGIC && c.frames <= len && c.nodes &&
	       c.nodes <= len;
	if (good) {
		frames = xcalloc(c.frames, sizeof(*frames));
		nodes = xcalloc(c.nodes, sizeof(*nodes));
	}
	for (uint32_t f = 0; good && f < c.frames; f++)
		good = read_frame(&b, prefix, ret, &name, &frames[f]);
	if (!good || !read_nodes(&b, c, frames, nodes, ret))
		return err_set(err, EBADMSG, "read a call tree");
	return 0;
}

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
