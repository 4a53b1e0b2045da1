// SPDX-License-Identifier: Apache-2.0
/* The call tree as bytes, the feed and the history it goes into. */
#include "top/window.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "common/fs.h"
#include "common/message.h"
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

static void add_head(struct str *b, uint32_t frames, uint32_t nodes)
{
	struct tree_head h = {.frames = frames, .nodes = nodes};

	memcpy(&h.magic, "dfgtree4", sizeof(h.magic));
	str_add(b, &h, sizeof(h));
}

/* One frame and one node, some of it wrong. */
static void check_refused(uint8_t kind, uint32_t parent, uint32_t frame, uint64_t self, bool good,
			  const char *name)
{
	CLEANUP(str_fini) struct str b = {0};
	const uint32_t node[2] = {parent, frame};
	const uint8_t head[12] = {kind, 0, 4, 0};
	struct stacks *s = kept();
	struct err err;

	add_head(&b, 1, 2);
	str_add(&b, head, sizeof(head));
	str_add(&b, "a\033[m", 4);
	str_add(&b, node, sizeof(node));
	str_add(&b, &self, sizeof(self));
	ok((tree_read(b.buf, b.len, NULL, s, &err) == 0) == good, "%s", name);
	if (good)
		is_str(stacks_frame(s, 0)->name, "a?[m", "  and its name is clean");
	stacks_free(s);
}

/* Reads a tree as dfg wrote it earlier, with a shorter head. */
static void check_older(const char *magic, size_t head, const char *name)
{
	CLEANUP(str_fini) struct str b = {0};
	struct tree_head h = {.nodes = 1, .quality = {.samples = 3}, .pauses = 9};
	struct profile p;
	struct err err;

	memcpy(&h.magic, magic, sizeof(h.magic));
	str_add(&b, &h, head);
	profile_init(&p, true);
	ok(tree_read_profile(b.buf, b.len, 0, &p, &err) == 0 && p.quality.samples == 3 &&
		   p.excess == 0 && p.pauses.count == 0,
	   "a tree of an older version is read: %s", name);
	profile_fini(&p);
}

static void test_older(void)
{
	check_older("dfgtree2", offsetof(struct tree_head, excess), "before events");
	check_older("dfgtree3", offsetof(struct tree_head, pauses), "before lists");
}

static void test_refused(void)
{
	test_older();
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

/* ---- bytes that tree_write does not write ---- */

static void add_u32(struct str *b, uint32_t v)
{
	str_add(b, &v, sizeof(v));
}

/* A tree with one frame of this level, "f". */
static void begin_tree(struct str *b, uint8_t level, uint32_t nodes)
{
	str_clear(b);
	add_head(b, 1, nodes);
	str_addc(b, FRAME_JAVA);
	str_addc(b, (char)level);
	str_add(b, "\1\0\0\0\0\0\0\0\0\0f", 11);
}

static void add_node(struct str *b, uint32_t parent, uint64_t self)
{
	add_u32(b, parent);
	add_u32(b, 0);
	str_add(b, &self, sizeof(self));
}

static void check_read(const struct str *b, bool good, const char *name)
{
	struct stacks *s = kept();
	struct err err = {0};

	is_int(tree_read(b->buf, b->len, NULL, s, &err), good ? 0 : -1, "%s", name);
	if (!good)
		is_int(err.code, EBADMSG, "it is called a bad message");
	stacks_free(s);
}

static void test_levels(void)
{
	CLEANUP(str_fini) struct str b = {0};
	struct stacks *s = kept();
	struct err err;

	begin_tree(&b, 4, 2);
	add_node(&b, 0, 3);
	check_read(&b, true, "the highest level is 4");
	is_int(tree_read(b.buf, b.len, NULL, s, &err), 0, "it is read");
	is_int(stacks_frame(s, stacks_node(s, 1)->frame)->level, 4, "the level is kept");
	is_str(stacks_frame(s, stacks_node(s, 1)->frame)->name, "f", "and so is the name");
	is_int(stacks_node(s, 1)->self, 3, "and the samples");
	stacks_free(s);
	begin_tree(&b, 5, 2);
	add_node(&b, 0, 3);
	check_read(&b, false, "a level above 4 is refused");
}

static void test_written_levels(void)
{
	static const struct {
		unsigned level, want;
		const char *name;
	} t[] = {{0, 0, "a frame without a level has none"},
		 {1, 1, "level 1 is written"},
		 {4, 4, "level 4 is written"}};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(close_fd) int fd = memfd_create("tree", MFD_CLOEXEC);
		CLEANUP(str_fini) struct str b = {0};
		struct stacks *s = kept(), *got = kept();
		uint32_t f = stacks_intern(s, "m", 1, FRAME_JAVA);
		struct err err;

		f = frames_level(stacks_frames(s), f, (uint8_t)t[i].level);
		stacks_add(s, &f, 1, 1);
		if (tree_write(s, fd, &err) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
		    fs_read_all(fd, TREE_MAX, &b, &err) < 0)
			abort();
		is_int(tree_read(b.buf, b.len, NULL, got, &err), 0, "it is read again");
		is_int(stacks_frame(got, stacks_node(got, 1)->frame)->level, t[i].want, "%s",
		       t[i].name);
		stacks_free(s);
		stacks_free(got);
	}
}

static void test_sums(void)
{
	const uint64_t most = UINT64_C(1) << 53;
	CLEANUP(str_fini) struct str b = {0};

	begin_tree(&b, 0, 2);
	add_node(&b, 0, most);
	check_read(&b, true, "2^53 samples are the most");
	begin_tree(&b, 0, 2);
	add_node(&b, 0, most + 1);
	check_read(&b, false, "one more is refused");
	begin_tree(&b, 0, 3);
	add_node(&b, 0, most - 5);
	add_node(&b, 0, 5);
	check_read(&b, true, "two nodes may have as many together");
	begin_tree(&b, 0, 3);
	add_node(&b, 0, most - 5);
	add_node(&b, 0, 6);
	check_read(&b, false, "but not more");
}

static void test_tree_depth(void)
{
	CLEANUP(str_fini) struct str b = {0};

	begin_tree(&b, 0, 8193);
	for (uint32_t n = 0; n < 8192; n++)
		add_node(&b, n, 0);
	check_read(&b, true, "a stack of 8192 frames is read");
	begin_tree(&b, 0, 8194);
	for (uint32_t n = 0; n < 8193; n++)
		add_node(&b, n, 0);
	check_read(&b, false, "one frame more is refused");
}

static void test_heads(void)
{
	CLEANUP(str_fini) struct str b = {0};

	check_read(&b, false, "no bytes are no tree");
	begin_tree(&b, 0, 1);
	check_read(&b, true, "a tree of the root alone is read");
	b.buf[0] = 'D';
	check_read(&b, false, "other magic is refused");
	begin_tree(&b, 0, 0);
	check_read(&b, false, "a tree without a root is refused");
	begin_tree(&b, 0, UINT32_MAX);
	check_read(&b, false, "more nodes than bytes are refused");
	begin_tree(&b, 0, 2);
	check_read(&b, false, "a node that is missing is refused");
	add_node(&b, 0, 1);
	b.len--;
	check_read(&b, false, "half a node is refused");
	str_clear(&b);
	add_head(&b, UINT32_MAX, 1);
	check_read(&b, false, "more frames than bytes are refused");
	b.len -= 4;
	check_read(&b, false, "half a head is refused");
}

/* ---- the feed's limits ---- */

/* Sends bytes, with the descriptor if it is not -1, and checks what the receiver makes of them. */
static void check_message(const int feed[2], size_t len, int fd, int want_code, const char *name)
{
	static struct window w[2];
	struct stacks *s = NULL;
	struct window got;
	struct err err = {0};
	int rc;

	if (message_send(feed[1], w, len, &fd, fd >= 0, 0) < 0)
		abort();
	rc = feed_receive(feed[0], &got, &s, &err);
	is_int(rc, want_code ? -1 : 1, "%s", name);
	if (want_code)
		is_int(err.code, want_code, "with its reason");
	stacks_free(s);
}

static void test_messages(void)
{
	CLEANUP(close_fd) int fd = tree_file("t;a 1\n");
	CLEANUP(close_fd) int empty = memfd_create("empty", MFD_CLOEXEC);
	CLEANUP(close_fd) int other = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct err err;
	int feed[2];

	if (feed_open(feed, &err) < 0)
		abort();
	check_message(feed, sizeof(struct window), fd, 0, "a window with a tree is received");
	check_message(feed, sizeof(struct window), -1, EBADMSG, "one without a tree is refused");
	check_message(feed, sizeof(struct window) - 1, fd, EBADMSG, "a short one is refused");
	check_message(feed, 1, fd, EBADMSG, "a byte is refused");
	check_message(feed, sizeof(struct window), empty, EBADMSG, "an empty tree is refused");
	check_message(feed, sizeof(struct window), other, EBADF, "a tree that cannot be read");
	close(feed[0]);
	close(feed[1]);
}

static void test_names(void)
{
	CLEANUP(close_fd) int fd = tree_file("t;a 1\n");
	struct window w = {.parts = 1}, got;
	struct stacks *s;
	struct err err;
	int feed[2];

	memset(w.name, 'n', sizeof(w.name));
	memset(w.id, 'i', sizeof(w.id));
	if (feed_open(feed, &err) < 0 || feed_send(feed[1], &w, fd) != 1 ||
	    feed_receive(feed[0], &got, &s, &err) != 1)
		abort();
	is_int((int64_t)strnlen(got.name, sizeof(got.name)), 255, "a name without an end gets one");
	is_int((int64_t)strnlen(got.id, sizeof(got.id)), 127, "and so does an id");
	stacks_free(s);
	close(feed[0]);
	close(feed[1]);
}

/* A reader that reads nothing, and one that has ended. */
static void test_slow_reader(void)
{
	CLEANUP(close_fd) int fd = tree_file("t;a 1\n");
	const struct window w = {.parts = 1};
	int feed[2], rc = 1, sent = 0;
	struct window got;
	struct stacks *s;
	struct err err;

	if (feed_open(feed, &err) < 0)
		abort();
	while (sent < 1000000 && (rc = feed_send(feed[1], &w, fd)) == 1)
		sent++;
	is_int(rc, 0, "a feed that is full takes no window");
	ok(sent > 0, "it took some before");
	is_int(feed_receive(feed[0], &got, &s, &err), 1, "when one is read");
	stacks_free(s);
	is_int(feed_send(feed[1], &w, fd), 1, "another fits");
	close(feed[0]);
	is_int(feed_send(feed[1], &w, fd), -1, "a reader that has ended is an error");
	close(feed[1]);
	is_int(feed_receive(feed[1], &got, &s, &err), -1, "a closed feed cannot be read");
	is_int(err.code, EBADF, "with the system's reason");
}

static void test_gaps(void)
{
	struct history h = {.event = EVENT_LOCK};
	struct moment m;

	history_sum(&h, 1, &m);
	ok(!m.stacks && m.windows == 0, "nothing is the sum of no windows");
	is_int(m.event, EVENT_LOCK, "it is of the same event");
	for (unsigned i = 1; i <= 3; i++) {
		const struct window w = {
			.parts = 1, .us = i, .gap_us = 10 * i, .quality.samples = i};

		ok(history_add(&h, &w, stacks_of("t;a 1\n")), "a window of one part is whole");
	}
	is_int(h.list[0].windows, 1, "each is one window");
	history_sum(&h, 2, &m);
	is_int((int64_t)m.us, 5, "recorded times of the last two are added");
	is_int((int64_t)m.gap_us, 50, "and so are gaps");
	is_int((int64_t)m.quality.samples, 5, "and samples");
	is_int(m.windows, 2, "two windows");
	is_int(m.event, EVENT_LOCK, "of the event");
	moment_fini(&m);
	history_sum(&h, 0, &m);
	ok(!m.stacks, "none of them is nothing");
	history_fini(&h);
}

int main(void)
{
	test_levels();
	test_written_levels();
	test_sums();
	test_tree_depth();
	test_heads();
	test_messages();
	test_names();
	test_slow_reader();
	test_gaps();
	test_tree();
	test_refused();
	test_feed();
	return tap_done();
}
