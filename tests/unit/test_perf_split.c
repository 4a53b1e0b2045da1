// SPDX-License-Identifier: Apache-2.0
/* Recordings that are split by processes. */
#include "perf/split.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/perffile.h"
#include "lib/tap.h"

#define KERNEL ((uint32_t)-1)

static const struct perf_event_attr attr = {
	.size = sizeof(struct perf_event_attr),
	.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
	.sample_id_all = 1,
};
static struct perffile file;
static struct err err;

/* ---- a recording, record by record ---- */

static void start(void)
{
	str_fini(&file.s);
	pf_start(&file, &attr, 1);
}

static void sample(uint32_t pid, uint64_t time)
{
	const uint64_t chain[] = {PERF_CONTEXT_USER, 0x1000 + pid};

	pf_sample(&file, pid, pid, time, chain, 2);
}

static void thread_exit(uint32_t pid, uint32_t tid, uint64_t time)
{
	pf_begin(&file, PERF_RECORD_EXIT, 0);
	pf_u32(&file, pid);
	pf_u32(&file, 1);
	pf_u32(&file, tid);
	pf_u32(&file, 1);
	pf_u64(&file, time);
	pf_id(&file, pid, tid, time, 0);
}

static void lost(uint64_t time)
{
	pf_begin(&file, PERF_RECORD_LOST, 0);
	pf_u64(&file, 100);
	pf_u64(&file, 7);
	pf_id(&file, 77, 77, time, 0);
}

static void finished_round(void)
{
	pf_begin(&file, 68, 0);
	pf_end(&file);
}

/* ---- its parts ---- */

/* The records of a file as text: a letter, the pid, and the time. */
static char *text_of(int fd)
{
	static const char letters[] = {
		[PERF_RECORD_MMAP] = 'm', [PERF_RECORD_LOST] = 'l',   [PERF_RECORD_COMM] = 'c',
		[PERF_RECORD_EXIT] = 'x', [PERF_RECORD_SAMPLE] = 's', [PERF_RECORD_FORK] = 'f',
	};
	CLEANUP(perfdata_close) struct perfdata *pd = perfdata_open(fd, &err);
	struct str text = {0};
	struct perf_record r;

	str_adds(&text, pd ? "" : err.msg);
	while (pd && perfdata_next(pd, &r))
		str_addf(&text, "%s%c%d@%d", text.len ? " " : "", letters[r.type], (int)r.pid,
			 (int)r.time);
	return text.buf;
}

/* Splits the file into two parts, of these processes each; NULL where that fails. */
static bool split(const pid_t *one, size_t ones, const pid_t *two, size_t twos, char *ret[2])
{
	CLEANUP(close_fd) int fd = -1;
	struct perf_part parts[] = {
		{.pids = one, .count = ones, .fd = memfd_create("one", MFD_CLOEXEC)},
		{.pids = two, .count = twos, .fd = memfd_create("two", MFD_CLOEXEC)},
	};
	bool done;

	pf_done(&file);
	fd = file_of(file.s.buf, file.s.len);
	done = perf_split(fd, parts, 2, &err) == 0;
	for (size_t i = 0; i < 2; i++) {
		ret[i] = done ? text_of(parts[i].fd) : NULL;
		close(parts[i].fd);
	}
	return done;
}

static void splits_into(const char *one, const char *two, const char *check)
{
	const pid_t first = 10, second = 20;
	char *got[2];

	if (!ok(split(&first, 1, &second, 1, got), "%s", check)) {
		printf("# %s\n", err.msg);
		return;
	}
	is_str(got[0], one, "the first part has what is its own");
	is_str(got[1], two, "the second has what is its own");
	free(got[0]);
	free(got[1]);
}

static void test_processes(void)
{
	start();
	pf_mmap2(&file, KERNEL, 0xffff0000, 0x1000, 0, 5, "[kernel.kallsyms]_text", 0);
	pf_comm(&file, 10, 10, "one", 0, 0);
	pf_mmap2(&file, 10, 0x1000, 0x1000, 0, 5, "/one", 0);
	pf_comm(&file, 20, 20, "two", 0, 0);
	pf_comm(&file, 30, 30, "other", 0, 0);
	sample(10, 1);
	sample(20, 2);
	sample(30, 3);
	lost(4);
	splits_into("m-1@0 c10@0 m10@0 s10@1 l77@4", "m-1@0 c20@0 s20@2 l77@4",
		    "records of processes, and of the kernel");
	start();
	splits_into("", "", "a recording without records");
}

static void test_children(void)
{
	start();
	pf_fork(&file, 11, 10, 11, 10, 1);
	pf_fork(&file, 12, 11, 12, 11, 2);
	pf_fork(&file, 31, 30, 31, 30, 3);
	pf_fork(&file, 10, 10, 15, 10, 4);
	sample(12, 5);
	sample(31, 6);
	splits_into("f11@1 f12@2 f10@4 s12@5", "", "children and threads");
	start();
	thread_exit(10, 15, 1);
	sample(10, 2);
	thread_exit(10, 10, 3);
	sample(10, 4);
	pf_fork(&file, 10, 30, 10, 30, 5);
	sample(10, 6);
	pf_fork(&file, 20, 30, 20, 30, 7);
	sample(20, 8);
	splits_into("x10@1 s10@2 x10@3 s10@4", "f20@7 s20@8",
		    "a pid after its process's end is another's, unless it was not used before");
	start();
	pf_fork(&file, 20, 10, 20, 10, 1);
	sample(20, 2);
	splits_into("f20@1 s20@2", "f20@1 s20@2", "a child that is asked for by itself");
}

static void test_order(void)
{
	start();
	sample(10, 5);
	sample(20, 3);
	finished_round();
	sample(10, 4);
	sample(10, 6);
	finished_round();
	sample(10, 7);
	splits_into("s10@4 s10@5 s10@6 s10@7", "s20@3", "parts are in the order of time");
}

/* Many records: the buffer is written several times, and rounds are marked. */
static void test_many(void)
{
	const pid_t first = 10, second = 20;
	CLEANUP(close_fd) int fd = -1;
	struct perf_part part = {.pids = &first, .count = 1, .fd = memfd_create("p", MFD_CLOEXEC)};
	struct perf_record r;
	struct perfdata *pd;
	uint64_t last = 0;
	size_t n = 0, sorted = 0;
	struct stat st;

	start();
	for (uint64_t i = 1; i <= 20000; i++) {
		sample(i % 2 ? 10 : (uint32_t)second, (i + 1) ^ 1);
		if (i % 1000 == 0)
			finished_round();
	}
	pf_done(&file);
	fd = file_of(file.s.buf, file.s.len);
	is_int(perf_split(fd, &part, 1, &err), 0, "a long recording is split");
	pd = perfdata_open(part.fd, &err);
	for (; pd && perfdata_next(pd, &r); n++, last = r.time)
		sorted += r.pid == 10 && r.time > last;
	is_int(n, 10000, "the part has all records of its process");
	is_int(sorted, 10000, "in the order of time");
	is_int(pd ? perfdata_cut(pd) : 1, 0, "all of it is whole");
	perfdata_close(pd);
	fstat(part.fd, &st);
	is_int(st.st_size, PERFFILE_DATA + 10000 * 56 + 2 * 8, "there are marks between rounds");
	close(part.fd);
}

static void test_features(void)
{
	const pid_t first = 10;
	const uint64_t build_ids = 4;
	CLEANUP(close_fd) int fd = -1;
	struct perf_part part = {.pids = &first, .count = 1, .fd = memfd_create("p", MFD_CLOEXEC)};
	uint64_t got = 1;

	start();
	sample(10, 1);
	pf_done(&file);
	memcpy(file.s.buf + 72, &build_ids, sizeof(build_ids));
	str_adds(&file.s, "a table of another process's files");
	fd = file_of(file.s.buf, file.s.len);
	is_int(perf_split(fd, &part, 1, &err), 0, "a recording with tables at its end is split");
	is_int(pread(part.fd, &got, sizeof(got), 72), 8, "the part has a head");
	is_int((int64_t)got, 0, "without these tables");
	is_int(lseek(part.fd, 0, SEEK_END), PERFFILE_DATA + 56, "and ends with its records");
	close(part.fd);
}

/* The kernel leaves in a copy that it could not fill what the ring buffer held before. */
static void test_stale_stack(void)
{
	static const struct perf_event_attr with_stack = {
		.size = sizeof(with_stack),
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_STACK_USER,
		.sample_stack_user = 64,
		.sample_id_all = 1,
	};
	static const char stack[64] = "its own|another container's key, and more of the like";
	const pid_t first = 10;
	CLEANUP(close_fd) int fd = -1;
	struct perf_part part = {.pids = &first, .count = 1, .fd = memfd_create("p", MFD_CLOEXEC)};
	static const char zeros[56];
	struct perf_record r = {0};
	struct perfdata *pd;

	str_fini(&file.s);
	pf_start(&file, &with_stack, 1);
	pf_begin(&file, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	pf_u32(&file, 10);
	pf_u32(&file, 10);
	pf_u64(&file, 1);
	pf_u64(&file, sizeof(stack));
	str_add(&file.s, stack, sizeof(stack));
	pf_u64(&file, 8); /* the kernel could copy so much */
	pf_end(&file);
	pf_done(&file);
	fd = file_of(file.s.buf, file.s.len);
	is_int(perf_split(fd, &part, 1, &err), 0, "a recording with copies of stacks is split");
	pd = perfdata_open(part.fd, &err);
	if (ok(pd && perfdata_next(pd, &r) && r.sample.stack, "the part has the copy")) {
		is_int(r.sample.stack_len, sizeof(stack), "it is as long");
		is_int(r.sample.stack_dyn, 8, "as much of it is filled");
		ok(!memcmp(r.sample.stack, "its own|", 8), "that is what was copied");
		ok(!memcmp(r.sample.stack + 8, zeros, sizeof(zeros)),
		   "case 79: the rest, which is of others, is empty");
	}
	perfdata_close(pd);
	close(part.fd);
}

static void test_refused(void)
{
	const pid_t first = 10;
	CLEANUP(close_fd) int full = open("/dev/full", O_RDWR | O_CLOEXEC);
	CLEANUP(close_fd) int none = file_of("no recording", 12);
	CLEANUP(close_fd) int fd = -1;
	struct perf_part part = {.pids = &first, .count = 1, .fd = full};
	const uint64_t far = 1ull << 40;

	is_int(perf_split(none, &part, 1, &err), -1, "what is no recording is an error");
	start();
	sample(10, 1);
	pf_done(&file);
	fd = file_of(file.s.buf, file.s.len);
	is_int(perf_split(fd, &part, 1, &err), -1, "a full disk is an error");
	is_int(err.code, ENOSPC, "it has its code");
	is_str(err.msg, "split the recording: write: No space left on device", "it says so");
	memcpy(file.s.buf + 40, &far, sizeof(far));
	close(fd);
	fd = file_of(file.s.buf, file.s.len);
	is_int(perf_split(fd, &part, 1, &err), -1, "records that are nowhere are an error");
}

/* A pid that no kernel gives is no index. */
static void test_odd_pids(void)
{
	const pid_t odd[] = {-1, -5, 1 << 22, INT32_MAX};
	char *got[2];

	start();
	pf_fork(&file, 1u << 22, 1u << 22, 1u << 22, 1u << 22, 1);
	pf_fork(&file, UINT32_MAX - 4, 1u << 31, 5, 6, 2);
	sample(UINT32_MAX - 4, 3);
	sample(1u << 22, 4);
	if (ok(split(odd, 4, odd, 0, got), "pids that cannot be are no error")) {
		is_str(got[0], "", "they have no records");
		is_str(got[1], "", "nor has a part without processes");
		free(got[0]);
		free(got[1]);
	}
}

int main(void)
{
	test_processes();
	test_children();
	test_order();
	test_many();
	test_features();
	test_stale_stack();
	test_refused();
	test_odd_pids();
	str_fini(&file.s);
	return tap_done();
}
