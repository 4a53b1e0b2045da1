// SPDX-License-Identifier: Apache-2.0
/* The call tree as bytes, the feed and the history it goes into. */
#include "top/window.h"

#include <sys/mman.h>

#include "common/fs.h"
#include "lib/drawn.h"
#include "lib/tap.h"
#include "top/history.h"

static int tree_file(const char *folded)
{
	int fd = memfd_create("tree", MFD_CLOEXEC);
	struct stacks *s = stacks_of(folded);
	struct err err;

	ok(fd >= 0 && tree_write(s, fd, &err) == 0, "written");
	stacks_free(s);
	return fd;
}

static struct stacks *kept(void)
{
	struct stacks *s = stacks_new();

	frames_keep_places(stacks_frames(s));
	return s;
}

static void check_folded(struct stacks *s, const char *want, const char *name)
{
	CLEANUP(free) char *got = NULL;

	stacks_sort(s);
	got = drawn_folded(s);
	is_str(got, want, "%s", name);
}

static void test_tree(void)
{
	const char *folded = "t;a::b;c_[j];d_[i] 5\nt;e_[k] 2\nu;f_[0] 9\n";
	CLEANUP(str_fini) struct str bytes = {0};
	CLEANUP(close_fd) int fd = tree_file(folded);
	struct stacks *s = kept(), *named = kept();
	struct err err;

	lseek(fd, 0, SEEK_SET);
	ok(fs_read_all(fd, TREE_MAX, &bytes, &err) == 0, "bytes");
	is_int(tree_read(bytes.buf, bytes.len, NULL, s, &err), 0, "read");
	check_folded(s, folded, "as it was");
	is_int(tree_read(bytes.buf, bytes.len, "web", named, &err), 0, "read with a prefix");
	check_folded(named, "web/t;a::b;c_[j];d_[i] 5\nweb/t;e_[k] 2\nweb/u;f_[0] 9\n",
		     "threads have it");
	stacks_free(s);
	stacks_free(named);
	s = kept();
	str_addc(&bytes, 'x');
	ok(tree_read(bytes.buf, bytes.len, NULL, s, &err) < 0, "a byte too many is refused");
	stacks_free(s);
}

/* One frame and one node, some of it wrong. */
static void check_refused(uint8_t kind, uint32_t parent, uint32_t frame, uint64_t self, bool good,
			  const char *name)
{
	CLEANUP(str_fini) struct str b = {0};
	const uint32_t counts[2] = {1, 2}, node[2] = {parent, frame};
	const uint8_t head[4] = {kind, 0, 4, 0};
	struct stacks *s = kept();
	struct err err;

	str_add(&b, "dfgtree1", 8);
	str_add(&b, counts, sizeof(counts));
	str_add(&b, head, sizeof(head));
	str_add(&b, "a\033[m", 4);
	str_add(&b, node, sizeof(node));
	str_add(&b, &self, sizeof(self));
	ok((tree_read(b.buf, b.len, NULL, s, &err) == 0) == good, "%s", name);
	if (good)
		is_str(stacks_frame(s, 0)->name, "a?[m", "  and its name is clean");
	stacks_free(s);
}

static void test_refused(void)
{
	check_refused(FRAME_ROOT, 0, 0, 1, true, "a good one");
	check_refused(FRAME_KINDS, 0, 0, 1, false, "an unknown kind");
	check_refused(FRAME_ROOT, 1, 0, 1, false, "its own parent");
	check_refused(FRAME_ROOT, 0, 1, 1, false, "a frame that is not there");
	check_refused(FRAME_ROOT, 0, 0, UINT64_MAX, false, "too many samples");
}

static void send_and_add(const int feed[2], struct history *h, uint32_t part, uint32_t parts,
			 const char *folded)
{
	struct window w = {.name = "web", .part = part, .parts = parts, .us = 2000000, .gap_us = 5};
	CLEANUP(close_fd) int fd = tree_file(folded);
	struct stacks *stacks;
	struct window got;
	struct err err;

	w.quality.samples = 7;
	is_int(feed_send(feed[1], &w, fd), 1, "sent");
	if (ok(feed_receive(feed[0], &got, &stacks, &err) == 1, "received"))
		ok(history_add(h, &got, stacks) == (part + 1 == parts), "the last part or not");
}

static void test_feed(void)
{
	struct history h = {0};
	struct moment m;
	struct window w;
	struct stacks *s;
	struct err err;
	int feed[2];

	ok(feed_open(feed, &err) == 0, "a feed");
	send_and_add(feed, &h, 0, 1, "t;a 7\n");
	send_and_add(feed, &h, 0, 2, "t;a 1\n");
	send_and_add(feed, &h, 1, 2, "t;b 2\n");
	is_int((int64_t)h.seen, 2, "two windows");
	history_sum(&h, 1, &m);
	check_folded(m.stacks, "web/t;a 1\nweb/t;b 2\n", "the last, of two containers");
	is_int((int64_t)m.quality.samples, 14, "with the samples of both");
	is_int((int64_t)m.us, 2000000, "at the same time");
	moment_fini(&m);
	history_sum(&h, 10, &m);
	check_folded(m.stacks, "t;a 7\nweb/t;a 1\nweb/t;b 2\n", "both together");
	is_int((int64_t)m.us, 4000000, "one after the other");
	is_int(m.windows, 2, "there are no more");
	moment_fini(&m);
	for (int i = 0; i < HISTORY_MOST + 3; i++) {
		w = (struct window){.parts = 1};
		history_add(&h, &w, stacks_of("t;c 1\n"));
	}
	history_sum(&h, SIZE_MAX, &m);
	is_int(m.windows, HISTORY_MOST, "old ones are forgotten");
	check_folded(m.stacks, "t;c 30\n", "and their stacks");
	moment_fini(&m);
	close(feed[1]);
	is_int(feed_receive(feed[0], &w, &s, &err), 0, "the writer has ended");
	close(feed[0]);
	history_fini(&h);
}

int main(void)
{
	test_tree();
	test_refused();
	test_feed();
	return tap_done();
}
