// SPDX-License-Identifier: Apache-2.0
/* A profile as bytes: what is written is read again, and nothing else is. */
#include "format/tree.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "common/fs.h"
#include "lib/tap.h"

static struct err err;

static uint32_t placed(struct stacks *s, const char *name, enum frame_kind kind, uint32_t line,
		       const char *module, uint32_t level)
{
	struct frames *fs = stacks_frames(s);
	uint32_t f = stacks_intern(s, name, strlen(name), kind);

	return frames_level(fs, frames_place(fs, f, line, frames_intern_module(fs, module)), level);
}

static uint32_t origin_of(struct profile *p)
{
	static const struct origin web = {.container = "web",
					  .id = "1",
					  .pod = "",
					  .namespace = "",
					  .host = "h",
					  .started = "now"};

	return p->samples ? samples_add_origin(p->samples, &web) : 0;
}

static void make(struct profile *p)
{
	uint32_t stack[4], node, thread[2];

	profile_init(p, true);
	for (uint32_t i = 0; i < 2; i++)
		thread[i] = samples_add_thread(p->samples, i ? 0 : origin_of(p), 10, 11 + (int)i);
	stack[0] = stacks_intern(p->stacks, "main", 4, FRAME_ROOT);
	stack[1] = placed(p->stacks, "a.b", FRAME_JAVA, 7, "", 4);
	stack[2] = placed(p->stacks, "a.b", FRAME_JAVA, 9, "", 1);
	stack[3] = placed(p->stacks, "read", FRAME_NATIVE, 0, "/lib/libc.so", 0);
	for (uint32_t n = 2; n <= 4; n++) {
		node = stacks_add(p->stacks, stack, n, n);
		for (uint32_t i = 0; i < n; i++)
			samples_add(p->samples, 1000 * n + i, node, thread[i % 2]);
	}
	p->quality = (struct quality){.samples = 9, .lost = 1, .frames = 30, .unrated = 2};
	p->cut = 5;
	p->nameless_files = 6;
}

/* Adds a pause, compilations, and the wall clock of two threads. */
static void make_lists(struct profile *p)
{
	struct pause pause = {.begin = 1, .stopping = 2, .all = PAUSES_LEAST, .heap_before = 4};
	const struct compiled compiled = {.times = {0, 1, 0, 0, 3}, .discarded = 2, .ns = 5};
	struct wall_part wait = {.node = 2, .begin = 6, .ns = 2 * PAUSES_LEAST, .waker = 12};

	snprintf(pause.subject.method, sizeof(pause.subject.method), "a.b");
	pauses_add(&p->pauses, &pause);
	p->pauses.count = 70;
	compilations_add(&p->compilations, "a.b", &compiled);
	wall_add(&p->wall, "main", 10, 11, WALL_RUNNING, 100, false);
	wall_add(&p->wall, "other", 10, 12, WALL_PARK, 200, false);
	wait.thread = wall_add(&p->wall, "other", 10, 12, WALL_PARK, 300, true);
	wait.cause = WALL_PARK;
	wait.idle = true;
	wall_add_part(&p->wall, &wait);
}

static void check_lists(const struct profile *p)
{
	const struct wall *w = &p->wall;

	ok(p->pauses.count == 70 && p->pauses.listed == 1 && p->pauses.list[0].heap_before == 4,
	   "pauses");
	is_str(p->pauses.list[0].subject.method, "a.b", "who asked for one");
	ok(p->compilations.count == 1 && p->compilations.list[0].compiled.times[4] == 3 &&
		   p->compilations.list[0].compiled.discarded == 2,
	   "compilations");
	ok(w->count == 2 && w->threads[1].ns[WALL_PARK] == 500 &&
		   w->threads[1].idle[WALL_PARK] == 300 && w->threads[0].tid == 11,
	   "times of threads");
	ok(w->part_count == 1 && w->parts[0].thread == 1 && w->parts[0].node == 2 &&
		   w->parts[0].waker == 12 && w->parts[0].idle,
	   "and waits");
}

static void bytes_of_profile(const struct profile *p, struct str *ret)
{
	CLEANUP(close_fd) int fd = memfd_create("tree", MFD_CLOEXEC);
	struct picture picture = {.details = p};

	str_clear(ret);
	if (draw_tree(p->stacks, &picture, fd, &err) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
	    fs_read_all(fd, 1 << 20, ret, &err) < 0)
		abort();
	ok(tree_is(fd), "its file is told by its beginning");
}

static int read_again(const struct str *b, bool details, struct profile *ret)
{
	profile_init(ret, details);
	return tree_read_profile(b->buf, b->len, origin_of(ret), ret, &err);
}

static void test_same(void)
{
	CLEANUP(str_fini) struct str one = {0}, two = {0};
	struct profile p, again;

	make(&p);
	make_lists(&p);
	bytes_of_profile(&p, &one);
	is_int(read_again(&one, true, &again), 0, "a profile is read again");
	bytes_of_profile(&again, &two);
	ok(one.len == two.len && !memcmp(one.buf, two.buf, one.len), "it is the same");
	is_int((int64_t)again.samples->count, 9, "with each sample");
	is_int(again.samples->threads[1].tid, 12, "each thread");
	is_int((int64_t)again.samples->threads[1].origin, 0, "of the origin that is given");
	is_int((int64_t)again.quality.frames, 30, "the quality");
	is_int((int64_t)again.cut, 5, "and what was cut");
	is_str(frames_module(stacks_frames(again.stacks), 1), "/lib/libc.so", "modules, too");
	check_lists(&again);
	is_int(tree_read_profile(one.buf, one.len, origin_of(&again), &again, &err), 0,
	       "another one is added");
	is_int((int64_t)again.samples->count, 18, "its samples follow");
	is_int((int64_t)again.samples->threads[3].origin, 1, "of another origin");
	is_int((int64_t)again.quality.samples, 18, "qualities add up");
	is_int((int64_t)stacks_node_count(again.stacks), (int64_t)stacks_node_count(p.stacks),
	       "the same stacks are one");
	profile_fini(&again);
	is_int(read_again(&one, false, &again), 0, "it is read without details");
	is_int((int64_t)stacks_node_count(again.stacks), 5, "places do not count then");
	profile_fini(&again);
	profile_fini(&p);
}

/* Sets the number of a field in the head, or one that follows. */
static void check_refused(const struct str *good, size_t at, uint64_t value, size_t size,
			  const char *name)
{
	CLEANUP(str_fini) struct str b = {0};
	struct profile p;

	str_add(&b, good->buf, good->len);
	memcpy(b.buf + at, &value, size);
	is_int(read_again(&b, true, &p), -1, "%s", name);
	profile_fini(&p);
}

static void test_refused_lists(void)
{
	CLEANUP(str_fini) struct str b = {0};
	struct profile p;

	make(&p);
	make_lists(&p);
	bytes_of_profile(&p, &b);
	profile_fini(&p);
	check_refused(&b, offsetof(struct tree_head, pauses), PAUSES_MAX + 1, 4,
		      "more pauses than are listed are refused");
	check_refused(&b, offsetof(struct tree_head, all_pauses), 0, 8,
		      "fewer pauses than are listed are refused");
	check_refused(&b, offsetof(struct tree_head, waits), WALL_PARTS + 1, 4,
		      "more waits than are kept are refused");
	check_refused(&b, offsetof(struct tree_head, wall_threads), UINT32_MAX, 4,
		      "more times of threads than bytes are refused");
	check_refused(&b, b.len - 30, 2, 4, "a wait of no thread is refused");
	check_refused(&b, b.len - 26, 1000, 4, "a wait of no node is refused");
	check_refused(&b, b.len - 2, WALL_CAUSES, 1, "a wait without a cause is refused");
	/* The last time of a thread, and how much of it was idle. */
	check_refused(&b, b.len - 38, 1, 8, "more idle time than time is refused");
}

static void test_refused(void)
{
	CLEANUP(str_fini) struct str b = {0};
	struct profile p, got;
	size_t good = 0;

	make(&p);
	bytes_of_profile(&p, &b);
	profile_fini(&p);
	check_refused(&b, 0, 1, 8, "other magic is refused");
	check_refused(&b, offsetof(struct tree_head, samples), UINT64_MAX, 8,
		      "more samples than bytes are refused");
	check_refused(&b, offsetof(struct tree_head, threads), UINT32_MAX, 4,
		      "more threads than bytes are refused");
	check_refused(&b, offsetof(struct tree_head, modules), UINT32_MAX, 4,
		      "more modules than bytes are refused");
	check_refused(&b, offsetof(struct tree_head, modules), 0, 4, "other modules are refused");
	check_refused(&b, offsetof(struct tree_head, quality), COUNT_MAX + 1, 8,
		      "more samples than can be counted are refused");
	check_refused(&b, b.len - 8, 1000, 4, "a sample of no node is refused");
	check_refused(&b, b.len - 4, 2, 4, "a sample of no thread is refused");
	for (size_t len = 0; len < b.len; len++) {
		struct str part = {.buf = b.buf, .len = len};

		good += read_again(&part, true, &got) == 0;
		profile_fini(&got);
	}
	is_int((int64_t)good, 0, "no beginning of it is one");
	str_addc(&b, 'x');
	is_int(read_again(&b, true, &got), -1, "a byte too many is refused");
	profile_fini(&got);
	ok(!tree_is(-1), "what is not open is none");
}

int main(void)
{
	test_same();
	test_refused();
	test_refused_lists();
	return tap_done();
}
