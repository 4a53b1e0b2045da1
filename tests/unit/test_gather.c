// SPDX-License-Identifier: Apache-2.0
/* Profiles are put together; what outputs and roots do beside that. */
#include "report/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/fs.h"
#include "common/str.h"
#include "format/format.h"
#include "lib/tap.h"
#include "report/compare.h"

/* One sample of `thread;name` in a container. */
static void fill(struct profile *p, const char *container, const char *name)
{
	const struct origin origin = {.container = container,
				      .id = "1",
				      .pod = "",
				      .namespace = "",
				      .host = "",
				      .started = ""};
	uint32_t path[2], thread;

	profile_init(p, true);
	path[0] = stacks_intern(p->stacks, "thread", 6, FRAME_ROOT);
	path[1] = frames_place(stacks_frames(p->stacks),
			       stacks_intern(p->stacks, name, strlen(name), FRAME_JAVA), 7, 0);
	thread = samples_add_thread(p->samples, samples_add_origin(p->samples, &origin), 10, 11);
	samples_add(p->samples, 5, stacks_add(p->stacks, path, 2, 1), thread);
	p->quality.samples = 1;
	p->quality.between_safepoints = 1;
	p->cut = 3;
}

static const char *name_of(const struct profile *p, size_t sample)
{
	return stacks_frame(p->stacks, stacks_node(p->stacks, p->samples->list[sample].node)->frame)
		->name;
}

static void test_add(void)
{
	struct profile all, part;

	fill(&all, "web", "a");
	fill(&part, "db", "b");
	profile_add(&all, &part, &(struct graft){0});
	profile_fini(&part);
	is_int(all.samples->count, 2, "samples of both");
	is_str(name_of(&all, 0), "a", "one is what it was");
	is_str(name_of(&all, 1), "b", "the other has its own stack");
	is_str(all.samples->origins[all.samples->threads[all.samples->list[1].thread].origin]
		       .container,
	       "db", "thread and container");
	is_int(stacks_frame(all.stacks, stacks_node(all.stacks, all.samples->list[1].node)->frame)
		       ->line,
	       7, "and place");
	is_int(all.quality.samples, 2, "quality is added");
	is_int(all.quality.between_safepoints, 2, "to its last count");
	is_int(all.cut, 6, "and what was cut");
	profile_fini(&all);
}

/* Threads and origins that are not in the same order. */
static void test_threads(void)
{
	static const char *const names[] = {"one", "two", "three"};
	struct profile all, part, bare;
	bool good = true;

	fill(&all, "web", "a");
	fill(&part, "zero", "b");
	profile_init(&bare, false);
	for (uint32_t i = 0; i < 3; i++)
		samples_add_origin(part.samples, &(struct origin){.container = names[i],
								  .id = "i",
								  .pod = "p",
								  .namespace = "n",
								  .host = "h",
								  .started = "s"});
	for (uint32_t i = 3; i > 0; i--)
		samples_add(part.samples, 100 + i, 1,
			    samples_add_thread(part.samples, i, 20 + (pid_t)i, 30 + (pid_t)i));
	profile_add(&all, &part, &(struct graft){0});
	is_int(all.samples->origin_count, 5, "the origins of both are kept");
	is_int(all.samples->thread_count, 5, "the threads of both are kept");
	is_int(all.samples->count, 5, "the samples of both are kept");
	for (uint32_t i = 1; i <= 3; i++) {
		const struct sample *s = &all.samples->list[5 - i];
		const struct sample_thread *t = &all.samples->threads[s->thread];
		const struct origin *o = &all.samples->origins[t->origin];

		good = good && s->time == 100 + i && t->pid == 20 + (pid_t)i &&
		       t->tid == 30 + (pid_t)i && !strcmp(o->container, names[i - 1]);
	}
	ok(good, "each sample has its time, thread and container after the merge");
	ok(!strcmp(all.samples->origins[4].id, "i") && !strcmp(all.samples->origins[4].pod, "p") &&
		   !strcmp(all.samples->origins[4].namespace, "n") &&
		   !strcmp(all.samples->origins[4].host, "h") &&
		   !strcmp(all.samples->origins[4].started, "s"),
	   "an origin is copied with all of its texts");
	profile_add(&bare, &part, &(struct graft){0});
	ok(!bare.samples && bare.quality.samples == 1 && bare.cut == 3,
	   "a profile without samples gets counts only");
	profile_add(&all, &bare, &(struct graft){0});
	is_int(all.samples->count, 5, "a profile without samples gives counts only");
	profile_fini(&bare);
	profile_fini(&part);
	profile_fini(&all);
}

static void test_roots(void)
{
	unsigned roots = 99;
	struct err err;

	ok(roots_parse("container,thread", &roots, &err) == 0 &&
		   roots == (ROOT_CONTAINER | ROOT_THREAD),
	   "both");
	ok(roots_parse("none", &roots, &err) == 0 && roots == ROOT_NONE, "none");
	ok(roots_parse("thread,container", &roots, &err) < 0 && roots == ROOT_NONE,
	   "an order that there is not");
	is_str(err.msg,
	       "--by thread,container: must be pool, thread, container, "
	       "container,pool, container,thread or none",
	       "the error lists the words that are known");
	ok(roots_parse("container,pool", &roots, &err) == 0 &&
		   roots == (ROOT_CONTAINER | ROOT_POOL),
	   "containers and pools");
	roots = ROOT_FULL;
	ok(roots_parse("pool", &roots, &err) == 0 && roots == (ROOT_POOL | ROOT_FULL),
	   "--full before --by is kept");
	is_str(roots_threads(roots), "pool", "the page shows pools first");
	roots = 0;
	ok(roots_parse("container", &roots, &err) == 0 && roots == 1, "containers alone are roots");
	ok(roots_parse("thread", &roots, &err) == 0 && roots == 2, "threads alone are roots");
}

/* A file with one line of folded text. */
static void write_folded(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

static int merge_all(struct reading *r, void *arg, void *reply, struct err *err)
{
	struct gathered g;
	int rc = gather(r, reading_inputs(r)->count, *(unsigned *)arg, false, &g, err);

	*(uint64_t *)reply = g.profile.quality.samples;
	gathered_fini(&g);
	return rc;
}

static void test_sums(void)
{
	char dir[] = "/tmp/dfg-sums.XXXXXX";
	CLEANUP(free) char *file = NULL;
	struct inputs in = {0};
	unsigned roots = ROOT_CONTAINER | ROOT_THREAD;
	const struct reading_job job = {.fn = merge_all, .arg = &roots};
	uint64_t samples = 0;
	struct format_set set;
	struct err err;

	if (!ok(mkdtemp(dir), "a directory"))
		return;
	file = xasprintf("%s/a", dir);
	write_folded(file, "t;a 4503599627370496\n"); /* 2^52 */
	ok(inputs_add(&in, file, &err) == 0 &&
		   reading_run(&in, &job, &samples, sizeof(samples), &err) == 0,
	   "a file with 2^52 samples is read");
	is_int(samples, UINT64_C(1) << 52, "its samples are counted exactly");
	ok(inputs_add(&in, file, &err) == 0 &&
		   reading_run(&in, &job, &samples, sizeof(samples), &err) < 0 &&
		   strstr(err.msg, "2^53"),
	   "two such files, with roots, are too many samples");
	roots = ROOT_THREAD;
	ok(reading_run(&in, &job, &samples, sizeof(samples), &err) < 0 && strstr(err.msg, "2^53"),
	   "two such files, without roots, too");
	ok(formats_parse("svg,perf-map", &set, &err) == 0 && formats_check(&set, &in, &err) < 0 &&
		   strstr(err.msg, "perf-map"),
	   "a perf map cannot be made from folded text");
	ok(formats_parse("svg", &set, &err) == 0 && formats_check(&set, &in, &err) == 0,
	   "SVG can be made from folded text");
	inputs_fini(&in);
	fs_remove_tree(AT_FDCWD, dir);
}

static void test_compare(void)
{
	char dir[] = "/tmp/dfg-compare.XXXXXX";
	CLEANUP(free) char *before = NULL;
	CLEANUP(free) char *after = NULL;
	CLEANUP(free) char *folded = NULL;
	CLEANUP(compare_fini) struct compare_result ret = {0};
	CLEANUP(outdir_close) struct outdir out = {0};
	struct compare_options o = {.roots = ROOT_THREAD, .outdir = &out};
	struct inputs in = {0};
	struct err err;

	if (!ok(mkdtemp(dir), "a directory"))
		return;
	before = xasprintf("%s/before", dir);
	after = xasprintf("%s/after", dir);
	folded = xasprintf("%s/diff.folded", dir);
	write_folded(before, "t;a 900\nt;b 100\nt;c 1000\n");
	write_folded(after, "t;a 100\nt;b 900\nt;c 1000\n");
	ok(inputs_add(&in, before, &err) == 0 && inputs_add(&in, after, &err) == 0 &&
		   formats_parse_difference("folded", &o.formats, &err) == 0 &&
		   outdir_open(dir, 0755, &out, &err) == 0 && compare(&in, &o, &ret, &err) == 0,
	   "two files are compared");
	is_int(ret.before.samples, 2000, "the samples before are counted");
	is_int(ret.row_count, 3, "each method has a row");
	is_str(ret.rows[0].method, "a", "in the order of the stacks");
	is_int(ret.rows[0].self.counts.after, 100, "a row has the samples after");
	ok(ret.rows[0].self.by[MEASURE_SHARE].significant &&
		   ret.rows[0].self.by[MEASURE_SHARE].change < 0,
	   "a method with 40 points less changed significantly");
	ok(access(folded, F_OK) == 0, "the difference is drawn");
	inputs_fini(&in);
	fs_remove_tree(AT_FDCWD, dir);
}

static int open_at(const char *path, const char *const *names, size_t count, struct outputs *ret,
		   struct err *err)
{
	static struct outdir out;

	outdir_close(&out);
	return outdir_open(path, 0755, &out, err) < 0 ? -1
						      : outputs_open(&out, names, count, ret, err);
}

/* A path from the working directory, a file that a killed run left, a name that is taken. */
static void test_outputs_again(void)
{
	static const char *const names[] = {"a"};
	CLEANUP(close_fd) int before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(free) char *left = xasprintf("r/s/.a.%d", (int)getpid());
	char dir[] = "/tmp/dfg-outputs.XXXXXX";
	struct outputs o;
	struct stat st;
	struct err err;

	if (!ok(mkdtemp(dir) && chdir(dir) == 0, "a directory"))
		return;
	umask(022);
	errno = 0;
	ok(open_at("r/s", names, 1, &o, &err) == 0 && outputs_close(&o, true, &err) == 0,
	   "directories are made below the working directory");
	ok(stat("r", &st) == 0 && (st.st_mode & 07777) == 0755 && stat("r/s", &st) == 0 &&
		   (st.st_mode & 07777) == 0755,
	   "others may enter them");
	ok(stat("r/s/a", &st) == 0 && (st.st_mode & 07777) == 0644, "others may read a file");
	ok(o.count == 0, "closed outputs have no files");
	write_folded(left, "left by another\n");
	ok(open_at("r/s", names, 1, &o, &err) == 0 && write(o.fds[0], "new", 3) == 3 &&
		   outputs_close(&o, true, &err) == 0,
	   "a file that was left is replaced");
	ok(stat("r/s/a", &st) == 0 && st.st_size == 3, "nothing of it is in the new one");
	ok(unlink("r/s/a") == 0 && mkdir("r/s/a", 0755) == 0 &&
		   open_at("r/s", names, 1, &o, &err) == 0 && outputs_close(&o, true, &err) == -1,
	   "a directory of the file's name is an error");
	is_str(err.msg, "name a: Is a directory", "the error names the file");
	ok(fchdir(before) == 0 && fs_remove_tree(AT_FDCWD, dir) == 0, "all is removed");
}

/* Names around the room of a row, of characters of one and of two bytes. */
static void test_long_names(void)
{
	static const struct {
		const char *unit;
		size_t count, want;
	} t[] = {{"x", 319, 319}, {"x", 320, 319}, {"\xc3\xa9", 159, 318}, {"\xc3\xa9", 200, 318}};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		char dir[] = "/tmp/dfg-names.XXXXXX";
		CLEANUP(free) char *file = NULL;
		CLEANUP(compare_fini) struct compare_result ret = {0};
		CLEANUP(str_fini) struct str text = {0};
		CLEANUP(outdir_close) struct outdir out = {0};
		struct compare_options o = {.roots = ROOT_THREAD, .outdir = &out};
		CLEANUP(inputs_fini) struct inputs in = {0};
		struct err err;

		if (!ok(mkdtemp(dir), "a directory"))
			return;
		file = xasprintf("%s/f", dir);
		str_adds(&text, "t;");
		for (size_t k = 0; k < t[i].count; k++)
			str_adds(&text, t[i].unit);
		str_adds(&text, " 1\nbad\n");
		write_folded(file, text.buf);
		ok(inputs_add(&in, file, &err) == 0 && inputs_add(&in, file, &err) == 0 &&
			   outdir_open(dir, 0755, &out, &err) == 0 &&
			   compare(&in, &o, &ret, &err) == 0,
		   "a file is compared with itself");
		is_int(strlen(ret.rows[0].method), t[i].want,
		       "a name of %zu characters is cut after a whole one", t[i].count);
		ok(ret.skipped == 2 && ret.after.samples == 1 && ret.row_count == 1,
		   "the bad lines of both sides are counted");
		fs_remove_tree(AT_FDCWD, dir);
	}
}

static void test_counts(void)
{
	struct quality sum = {.lost = COUNT_MAX - 1}, forged = {.lost = UINT64_MAX, .samples = 1};

	quality_add(&sum, &forged);
	is_int(sum.lost, COUNT_MAX, "a sum of counts ends at 2^53");
	is_int(sum.samples, 1, "other counts are added");
	is_int(count_add(2, 3), 5, "small counts are added");
}

static void test_unrated(void)
{
	struct quality q = {.samples = 10, .unrated = 10};
	CLEANUP(str_fini) struct str text = {0};

	draw_quality_of(&text, &q, NULL);
	is_str(text.buf, "10 samples · 0 lost · 100 % of unknown quality", "text has no quality");
	str_clear(&text);
	q.unrated = 5;
	draw_quality_of(&text, &q, NULL);
	ok(strstr(text.buf, "50 % of unknown quality · no Java stacks"), "half of it has");
}

static void test_outputs(void)
{
	static const char *const names[] = {"a", "b"};
	char dir[] = "/tmp/dfg-outputs.XXXXXX";
	CLEANUP(free) char *deep = NULL;
	CLEANUP(free) char *file = NULL;
	CLEANUP(free) char *want = NULL;
	struct outputs o;
	struct err err;

	if (!ok(mkdtemp(dir), "a directory"))
		return;
	deep = xasprintf("%s/x/y/", dir);
	file = xasprintf("%s/x/y/b", dir);
	ok(open_at(deep, names, 2, &o, &err) == 0, "below two that are not there");
	ok(access(file, F_OK) < 0, "no file has its name yet");
	ok(outputs_close(&o, false, &err) == 0 && access(file, F_OK) < 0, "nor after a failure");
	ok(open_at(deep, names, 2, &o, &err) == 0 && outputs_close(&o, true, &err) == 0 &&
		   access(file, F_OK) == 0,
	   "but when they are whole");
	ok(open_at(file, names, 2, &o, &err) < 0, "a file is no directory");
	want = xasprintf("%s: open directory b: Not a directory", file);
	is_str(err.msg, want, "the error names the file");
	ok(fs_remove_tree(AT_FDCWD, dir) == 0, "and nothing else is left");
}

int main(void)
{
	test_add();
	test_threads();
	test_roots();
	test_unrated();
	test_outputs();
	test_outputs_again();
	test_sums();
	test_compare();
	test_long_names();
	test_counts();
	return tap_done();
}
