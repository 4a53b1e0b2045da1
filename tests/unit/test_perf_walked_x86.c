// SPDX-License-Identifier: Apache-2.0
/* Recordings of walked stacks: what perfwrite.h writes is what the reader and the profile have. */
#include "perf/perfwrite.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "common/fs.h"
#include "lib/perffile.h"
#include "lib/snapmake.h"
#include "lib/stackstext.h"
#include "lib/tap.h"
#include "profile/read.h"

#define CODE   0x7000000u
#define OTHER  0x7004000u
#define WORKER 3u /* the number of the code there */
#define PID    7
#define DEEP   8192u

#define NATIVE(addr)	    (addr)
#define IN_CODE(number, at) (1ull << 60 | (uint64_t)(number) << 32 | (at))
#define INTERPRETED(method) (2ull << 60 | (method))

static struct err err;

/* The attributes of the first event, as a recorder has them. */
static struct perf_event_attr first_attr(void)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
}

static struct perf_writer *begin(int *ret_fd)
{
	const struct perf_event_attr attr = first_attr();
	const uint64_t ids[] = {11, 12};
	struct perf_writer *w;

	*ret_fd = file_of("", 0);
	if (perf_writer_open(*ret_fd, &attr, ids, ARRAY_LEN(ids), 1, &w, &err) < 0)
		abort();
	return w;
}

static struct walked_sample sample_at(uint64_t time, const uint64_t *frames, size_t n)
{
	return (struct walked_sample){.pid = PID,
				      .tid = PID + 1,
				      .time = time,
				      .ip = 5,
				      .frames = frames,
				      .frame_count = n};
}

/* ---- the reader ---- */

static struct perf_record next(struct perfdata *pd)
{
	struct perf_record r = {0};

	if (!perfdata_next(pd, &r))
		r.type = 0;
	return r;
}

static void test_records(void)
{
	static const uint64_t frames[] = {NATIVE(0x1000), IN_CODE(WORKER, 8)};
	static const uint64_t kernel[] = {(uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000000,
					  0xffffffff81000010};
	const struct proc_map map = {.start = 0x1000, .end = 0x3000, .exec = true, .path = "/a"};
	struct walked_sample s = sample_at(20, frames, ARRAY_LEN(frames));
	CLEANUP(perfdata_close) struct perfdata *pd = NULL;
	struct perf_writer *w;
	struct perf_record r;
	int fd;

	w = begin(&fd);
	perf_writer_comm(w, PID, PID + 1, "worker");
	perf_writer_map(w, PID, &map);
	perf_writer_code(w, &s, WORKER, CODE, 42);
	s.kernel = kernel;
	s.kernel_count = ARRAY_LEN(kernel);
	perf_writer_walked(w, &s);
	perf_writer_round(w);
	ok(perf_writer_end(w, &err) == 0, "a recording is written");
	is_int(perf_writer_size(w), lseek(fd, 0, SEEK_END), "as large as it says");
	perf_writer_free(w);
	pd = perfdata_open(fd, &err);
	if (!ok(pd != NULL, "it is read: %s", pd ? "" : err.msg))
		return;
	ok(perfdata_is_monotonic(pd), "its times are CLOCK_MONOTONIC's");
	r = next(pd);
	ok(r.type == PERF_RECORD_COMM && r.tid == PID + 1 && r.time == 0 &&
		   !strcmp(r.comm.name, "worker"),
	   "a thread's name, from before the recording");
	r = next(pd);
	ok(r.type == PERF_RECORD_MMAP && r.pid == PID && r.mmap.start == 0x1000 &&
		   r.mmap.len == 0x2000 && r.mmap.exec && !strcmp(r.mmap.path, "/a"),
	   "a mapping");
	r = next(pd);
	ok(r.type == PERFWRITE_CODE && r.code.number == WORKER && r.code.start == CODE &&
		   r.code.compile_id == 42,
	   "what a number stands for, before it is used");
	r = next(pd);
	ok(r.type == PERF_RECORD_SAMPLE && r.pid == PID && r.tid == PID + 1 && r.time == 20,
	   "a sample");
	ok(r.sample.walked_count == 2 && !r.sample.walked_cut && r.sample.walked &&
		   memcmp(r.sample.walked, frames, sizeof(frames)) == 0,
	   "its frames");
	ok(r.sample.chain_len == 3 && r.sample.cpumode == PERF_RECORD_MISC_KERNEL,
	   "its part in the kernel, with one mark");
	is_int(next(pd).type, 0, "no more");
	is_int(perfdata_cut(pd), 0, "nothing is damaged");
	close(fd);
}

/* A record has 64 KiB. */
static void test_deep(void)
{
	static uint64_t frames[DEEP];
	struct walked_sample s = sample_at(20, frames, DEEP);
	CLEANUP(perfdata_close) struct perfdata *pd = NULL;
	struct perf_writer *w;
	struct perf_record r;
	int fd;

	w = begin(&fd);
	perf_writer_walked(w, &s);
	s.time++;
	s.frame_count = 8000;
	perf_writer_walked(w, &s);
	if (perf_writer_end(w, &err) < 0)
		abort();
	perf_writer_free(w);
	pd = perfdata_open(fd, &err);
	r = next(pd);
	ok(r.sample.walked_count > 8000 && r.sample.walked_count < DEEP && r.sample.walked_cut,
	   "of a stack of %u frames the innermost are kept, and it is marked: %zu", DEEP,
	   r.sample.walked_count);
	r = next(pd);
	ok(r.sample.walked_count == 8000 && !r.sample.walked_cut, "one of 8000 is whole");
	close(fd);
}

static void test_full(void)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	const struct perf_event_attr attr = first_attr();
	struct perf_writer *w;

	err = (struct err){0};
	ok(perf_writer_open(fd, &attr, NULL, 0, 1, &w, &err) < 0 && err.code == ENOSPC,
	   "a full disk is told");
	close(fd);
}

/* ---- the profile ---- */

static void compiled(struct str *s, uint64_t start, uint32_t id, uint32_t frame)
{
	static const struct snap_scope scopes[] = {{.method = 1, .parent = SNAP_NONE},
						   {.method = 2, .parent = 0}};
	static const struct snap_region region = {.end = 0x100, .scope = 1};

	sm_code(s, (struct sm_code){.head = {.start = start,
					     .size = 0x100,
					     .kind = SNAP_COMPILED,
					     .level = 4,
					     .frame_size = frame,
					     .compile_id = id,
					     .method = 1,
					     .region_count = 1,
					     .scope_count = ARRAY_LEN(scopes)},
				    .scopes = scopes,
				    .regions = &region});
}

/* Code 42 at CODE up to the third snapshot, which has code 43 there, with a frame of its own or
 * not. */
static uint32_t later_frame = 64;
static int snapshots(void)
{
	CLEANUP(str_fini) struct str s = {0};
	const struct snap_head head = {.time = 100,
				       .flags = SNAP_METHODS_COMPLETE,
				       .code_low = CODE,
				       .code_high = CODE + 0x10000};
	struct snap_head later = head;

	sm_head(&s, head);
	sm_method(&s, 1, "a.B.outer", "");
	sm_method(&s, 2, "a.B.inlined", "");
	sm_method(&s, 5, "a.B.loop", "");
	compiled(&s, CODE, 42, 32);
	sm_done_at(&s, 110);
	later.flags = SNAP_METHODS_NAMED | SNAP_DELTA;
	later.time = 200;
	sm_head(&s, later);
	sm_done_at(&s, 210);
	later.time = 300;
	sm_head(&s, later);
	compiled(&s, CODE, 43, later_frame);
	sm_done_at(&s, 310);
	return file_of(s.buf, s.len);
}

/* The stacks of one sample, and its quality. */
static void read_sample(const struct walked_sample *s, struct str *ret, struct quality *q)
{
	struct session_map map = {.pid = PID, .fd = snapshots()};
	struct recording in = {.kallsyms_fd = -1, .maps = &map, .map_count = 1, .parts = 1};
	const struct proc_map code = {
		.start = CODE, .end = CODE + 0x10000, .exec = true, .path = ""};
	struct perf_writer *w = begin(&in.perf_fd);
	struct profile p;

	perf_writer_comm(w, PID, PID + 1, "worker");
	perf_writer_map(w, PID, &code);
	perf_writer_code(w, s, WORKER, CODE, 42);
	perf_writer_walked(w, s);
	if (perf_writer_end(w, &err) < 0)
		abort();
	perf_writer_free(w);
	profile_init(&p, false);
	if (profile_read(&in, &p, &err) < 0)
		abort();
	stacks_sort(p.stacks);
	str_clear(ret);
	stacks_text(p.stacks, 0, "", ret);
	*q = p.quality;
	profile_fini(&p);
	close(in.perf_fd);
	close(map.fd);
}

static void test_profile(void)
{
	static const uint64_t frames[] = {IN_CODE(WORKER, 16), INTERPRETED(5), IN_CODE(WORKER, 17)};
	static const uint64_t unknown[] = {INTERPRETED(5), IN_CODE(WORKER + 1, 16), INTERPRETED(5)};
	static const struct sample_detail receiver = {.name = "a/B", .name_len = 3};
	struct walked_sample s = sample_at(150, frames, ARRAY_LEN(frames));
	CLEANUP(str_fini) struct str got = {0};
	struct quality q;

	read_sample(&s, &got, &q);
	is_str(got.buf, "worker;a.B.outer;a.B.inlined;a.B.loop;a.B.outer;a.B.inlined 1\n",
	       "walked frames are named, with what is inlined");
	ok(q.samples == 1 && q.java_samples == 1 && q.java_complete == 1 && q.truncated == 0,
	   "the stack is complete");
	s.detail = &receiver;
	read_sample(&s, &got, &q);
	is_str(got.buf,
	       "worker;a.B.outer;a.B.inlined;a.B.loop;a.B.outer;a.B.inlined;a.B (receiver) 1\n",
	       "the class for which a stub selects a method is the innermost frame");
	ok(q.samples == 1 && q.java_samples == 1 && q.java_complete == 1 && q.java_frames == 5,
	   "which counts one, and is no method");
	s.detail = NULL;
	s.cut = true;
	read_sample(&s, &got, &q);
	ok(q.truncated == 1 && q.java_complete == 0, "one that is cut is not");
	s.cut = false;
	s.time = 250;
	read_sample(&s, &got, &q);
	ok(q.java_complete == 0 && q.stale == 1,
	   "between two snapshots with other code there, the walk is not believed");
	is_str(got.buf, "worker;[stale] 1\n", "and no frame is made up");
	later_frame = 32;
	read_sample(&s, &got, &q);
	ok(q.java_complete == 1 && q.stale == 0, "but it is with the same frame in both");
	later_frame = 64;
	s.time = 400;
	read_sample(&s, &got, &q);
	ok(q.java_complete == 0 && q.stale == 1, "nor where the code has gone");
	s = sample_at(150, unknown, ARRAY_LEN(unknown));
	read_sample(&s, &got, &q);
	is_str(got.buf, "worker;[stale];a.B.loop 1\n",
	       "of a number that nothing was said about the callers are not believed");
}

int main(void)
{
	test_records();
	test_deep();
	test_full();
	test_profile();
	return tap_done();
}
