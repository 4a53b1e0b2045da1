// SPDX-License-Identifier: Apache-2.0
/* Records of every layout: which fields they have depends on the event. */
#include "perf/perfdata.h"

#include <sys/mman.h>
#include <time.h>

#include "lib/perffile.h"
#include "lib/tap.h"

#define BRANCH_COUNTERS (1u << 19) /* linux 6.7 */

/* Opens what was made; the bytes are copied. */
static struct perfdata *made(struct perffile *f)
{
	struct err err = {0};
	struct perfdata *pd;

	pf_done(f);
	pd = pf_open(f, f->s.len, &err);
	ok(pd != NULL, "a recording opens: %s", err.msg);
	str_fini(&f->s);
	return pd;
}

/* ---- samples ---- */

/* Fields of varying length stand before a call chain, which shows that they were passed over. */
static void test_lengths(void)
{
	enum {
		ENABLED = PERF_FORMAT_TOTAL_TIME_ENABLED,
		RUNNING = PERF_FORMAT_TOTAL_TIME_RUNNING,
		ID = PERF_FORMAT_ID,
		LOST = PERF_FORMAT_LOST,
		GROUP = PERF_FORMAT_GROUP,
	};
	static const struct {
		uint64_t format;
		unsigned members, words; /* after the number of members */
	} rows[] = {
		{0, 0, 1},
		{ENABLED, 0, 2},
		{RUNNING, 0, 2},
		{ENABLED | RUNNING, 0, 3},
		{ID, 0, 2},
		{LOST, 0, 2},
		{ID | LOST | ENABLED | RUNNING, 0, 5},
		{GROUP, 2, 2},
		{GROUP | ENABLED, 2, 3},
		{GROUP | ID, 2, 4},
		{GROUP | ID | LOST, 3, 9},
		{GROUP | ID | LOST | ENABLED | RUNNING, 1, 5},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct perf_event_attr a = {.size = sizeof(a),
						  .sample_type =
							  PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN,
						  .read_format = rows[i].format};
		struct perf_record rec = {0};
		struct perffile f;
		struct perfdata *pd;

		pf_start(&f, &a, 1);
		pf_begin(&f, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
		if (rows[i].members)
			pf_u64(&f, rows[i].members);
		for (unsigned w = 0; w < rows[i].words; w++)
			pf_u64(&f, 0xbad);
		pf_u64(&f, 1);
		pf_u64(&f, 0xc0de);
		pf_end(&f);
		pd = made(&f);
		ok(perfdata_next(pd, &rec) && rec.sample.chain_len == 1 &&
			   rec.sample.chain[0] == 0xde,
		   "read format %#x with %u members is passed over", (unsigned)rows[i].format,
		   rows[i].members);
		perfdata_close(pd);
	}
}

static void test_branches(void)
{
	static const struct {
		uint64_t type;
		unsigned branches, words;
	} rows[] = {
		{PERF_SAMPLE_BRANCH_ANY, 0, 0},
		{PERF_SAMPLE_BRANCH_ANY, 2, 6},
		{PERF_SAMPLE_BRANCH_HW_INDEX, 2, 7},
		{BRANCH_COUNTERS, 2, 8},
		{BRANCH_COUNTERS | PERF_SAMPLE_BRANCH_HW_INDEX, 3, 13},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct perf_event_attr a = {.size = sizeof(a),
						  .sample_type = PERF_SAMPLE_BRANCH_STACK |
								 PERF_SAMPLE_STACK_USER,
						  .branch_sample_type = rows[i].type};
		struct perf_record rec = {0};
		struct perffile f;
		struct perfdata *pd;

		pf_start(&f, &a, 1);
		pf_begin(&f, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
		pf_u64(&f, rows[i].branches);
		for (unsigned w = 0; w < rows[i].words; w++)
			pf_u64(&f, 0xbad);
		pf_u64(&f, 8);
		pf_u64(&f, 0x57ac);
		pf_u64(&f, 8);
		pf_end(&f);
		pd = made(&f);
		ok(perfdata_next(pd, &rec) && rec.sample.stack_len == 8 &&
			   rec.sample.stack[0] == 0xac,
		   "branches of type %#x are passed over", (unsigned)rows[i].type);
		perfdata_close(pd);
	}
}

/* Fields that the event says once for all its samples. */
static void test_of_event(void)
{
	static const struct {
		bool freq;
		uint64_t period;
		uint16_t max_stack, want_stack;
		uint64_t want;
	} rows[] = {
		{true, 99, 0, PERF_MAX_STACK_DEPTH, 1},
		{false, 5000, 0, PERF_MAX_STACK_DEPTH, 5000},
		{false, 1, 64, 64, 1},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct perf_event_attr a = {.size = sizeof(a),
						  .sample_type = PERF_SAMPLE_IP,
						  .freq = rows[i].freq,
						  .sample_period = rows[i].period,
						  .sample_max_stack = rows[i].max_stack,
						  .sample_stack_user = 4096};
		struct perf_record rec = {0};
		struct perffile f;
		struct perfdata *pd;

		pf_start(&f, &a, 1);
		pf_begin(&f, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL | 1 << 14);
		pf_u64(&f, 0x1234);
		pf_end(&f);
		pd = made(&f);
		ok(perfdata_next(pd, &rec) && rec.sample.ip == 0x1234, "a sample is read");
		is_int(rec.sample.period, rows[i].want, "its period is that of the event");
		is_int(rec.sample.max_stack, rows[i].want_stack, "so is the depth of its stack");
		is_int(rec.sample.cpumode, PERF_RECORD_MISC_KERNEL, "it was in the kernel");
		ok(rec.pid == -1 && rec.tid == -1 && rec.time == 0,
		   "without the fields its process and time are not known");
		ok(!rec.sample.chain && !rec.sample.stack && !rec.sample.user_regs,
		   "it has no stack");
		is_int(perfdata_stack_bytes(pd), 4096, "the bytes that were asked for are known");
		perfdata_close(pd);
	}
}

static void test_user_state(void)
{
	const struct perf_event_attr a = {.size = sizeof(a),
					  .sample_type =
						  PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
					  .sample_regs_user = 3,
					  .sample_stack_user = 16};
	struct perf_record rec = {0};
	struct perffile f;
	struct perfdata *pd;

	pf_start(&f, &a, 1);
	pf_begin(&f, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER); /* of a kernel thread */
	pf_u64(&f, PERF_SAMPLE_REGS_ABI_NONE);
	pf_u64(&f, 0);
	pf_end(&f);
	pf_begin(&f, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	pf_u64(&f, PERF_SAMPLE_REGS_ABI_64);
	pf_u64(&f, 0x10);
	pf_u64(&f, 0x11);
	pf_u64(&f, 16);
	pf_u64(&f, 1);
	pf_u64(&f, 2);
	pf_u64(&f, 17); /* more than there is */
	pf_end(&f);
	pf_begin(&f, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	pf_u64(&f, PERF_SAMPLE_REGS_ABI_64);
	pf_u64(&f, 0x10);
	pf_end(&f);
	pd = made(&f);
	ok(perfdata_next(pd, &rec) && !rec.sample.user_regs && rec.sample.stack_len == 0 &&
		   rec.sample.stack_dyn == 0,
	   "a sample may have neither registers nor a stack");
	ok(perfdata_next(pd, &rec) && rec.sample.user_regs && rec.sample.user_regs[8] == 0x11,
	   "another one has all registers");
	is_int(rec.sample.stack_dyn, 16, "no more of the stack is used than there is");
	ok(!perfdata_next(pd, &rec), "one whose registers are cut off is left out");
	is_int(perfdata_cut(pd), 24, "and counted");
	is_int(perfdata_passed(pd), perfdata_size(pd), "all bytes have been passed");
	perfdata_close(pd);
}

/* ---- other records ---- */

static void start_plain(struct perffile *f)
{
	const struct perf_event_attr a = {.size = sizeof(a),
					  .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
							 PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
					  .sample_id_all = 1};

	pf_start(f, &a, 1);
}

static void add_mmap(struct perffile *f, uint32_t type, uint16_t misc, uint64_t start, uint64_t len)
{
	pf_begin(f, type, misc);
	pf_u32(f, 7);
	pf_u32(f, 8);
	pf_u64(f, start);
	pf_u64(f, len);
	pf_u64(f, 0x3000);
	if (type == PERF_RECORD_MMAP2) {
		pf_u32(f, misc & PERF_RECORD_MISC_MMAP_BUILD_ID ? 8 : 0); /* its length */
		for (uint32_t i = 1; i < 6; i++)
			pf_u32(f, 0x01010101 * i);
		pf_u32(f, PROT_READ);
		pf_u32(f, 2);
	}
	pf_text(f, "/lib/x.so");
	pf_id(f, 7, 8, 5, 0);
}

static void test_mmaps(void)
{
	struct perf_record rec = {0};
	struct perffile f;
	struct perfdata *pd;

	start_plain(&f);
	add_mmap(&f, PERF_RECORD_MMAP, 0, 0x1000, 0x1000);
	add_mmap(&f, PERF_RECORD_MMAP, PERF_RECORD_MISC_MMAP_DATA, 0x1000, 0x1000);
	add_mmap(&f, PERF_RECORD_MMAP2, 0, 0x1000, 0x1000);
	add_mmap(&f, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, 0x1000, 0x1000);
	pd = made(&f);
	ok(perfdata_next(pd, &rec) && rec.mmap.exec && rec.pid == 7 && rec.tid == 8 &&
		   rec.mmap.pgoff == 0x3000,
	   "an old mapping is one of code");
	is_str(rec.mmap.path, "/lib/x.so", "it has its path");
	is_int(rec.time, 5, "it has its time");
	ok(perfdata_next(pd, &rec) && !rec.mmap.exec, "unless it says that it is of data");
	ok(perfdata_next(pd, &rec) && !rec.mmap.exec && !rec.mmap.build_id,
	   "a newer one says how it is protected");
	ok(perfdata_next(pd, &rec) && rec.mmap.build_id && rec.mmap.build_id[0] == 1 &&
		   rec.mmap.build_id_len == 8,
	   "or has a build id");
	is_str(rec.mmap.path, "/lib/x.so", "and its path after it");
	perfdata_close(pd);
}

static void test_bad_mmaps(void)
{
	static const struct {
		uint64_t start, len;
		bool good;
	} rows[] = {
		{0x1000, 0, false},
		{0x1000, 1, true},
		{UINT64_MAX - 0xfff, 0xfff, true},
		{UINT64_MAX - 0xfff, 0x1000, false},
		{UINT64_MAX - 0xfff, UINT64_MAX, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct perf_record rec = {0};
		struct perffile f;
		struct perfdata *pd;

		start_plain(&f);
		add_mmap(&f, PERF_RECORD_MMAP2, 0, rows[i].start, rows[i].len);
		pd = made(&f);
		is_int(perfdata_next(pd, &rec), rows[i].good, "a mapping of %#llx bytes at %#llx",
		       (unsigned long long)rows[i].len, (unsigned long long)rows[i].start);
		is_int(perfdata_cut(pd), rows[i].good ? 0 : (int64_t)perfdata_size(pd), "is %s",
		       rows[i].good ? "read" : "counted as damaged");
		perfdata_close(pd);
	}
}

static void test_tasks(void)
{
	struct perf_record rec = {0};
	struct perffile f;
	struct perfdata *pd;

	start_plain(&f);
	pf_begin(&f, PERF_RECORD_FORK, PERF_RECORD_MISC_FORK_EXEC);
	for (uint32_t i = 10; i < 14; i++)
		pf_u32(&f, i);
	pf_u64(&f, 5);
	pf_id(&f, 10, 12, 5, 0);
	pf_begin(&f, PERF_RECORD_EXIT, 0);
	for (uint32_t i = 20; i < 24; i++)
		pf_u32(&f, i);
	pf_u64(&f, 6);
	pf_id(&f, 20, 22, 6, 0);
	pf_comm(&f, 30, 31, "quiet", 0, 7);
	pf_begin(&f, PERF_RECORD_COMM, 0); /* without the trailer */
	pf_u32(&f, 40);
	pf_u32(&f, 41);
	pf_end(&f);
	pf_begin(&f, 12345, 0);
	pf_u64(&f, 0);
	pf_end(&f);
	pd = made(&f);
	ok(perfdata_next(pd, &rec) && rec.type == PERF_RECORD_FORK && rec.pid == 10 &&
		   rec.fork.ppid == 11 && rec.tid == 12 && rec.fork.ptid == 13 && rec.fork.exec,
	   "a fork has four ids, and what it is for");
	ok(perfdata_next(pd, &rec) && rec.type == PERF_RECORD_EXIT && rec.pid == 20 &&
		   rec.tid == 22 && rec.time == 6,
	   "so has an exit");
	ok(perfdata_next(pd, &rec) && !rec.comm.exec && rec.pid == 30 && rec.tid == 31 &&
		   rec.time == 7,
	   "a name that a thread gives itself is no exec");
	ok(!perfdata_next(pd, &rec), "a record without its text is left out");
	is_int(perfdata_cut(pd), 16, "and counted; one of an unknown kind is not");
	perfdata_close(pd);
}

/* All fields that may follow a record; those before the time come first. */
static void test_trailer(void)
{
	const struct perf_event_attr a[2] = {
		{.size = sizeof(*a),
		 .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
				PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU,
		 .sample_id_all = 1},
		{.size = sizeof(*a),
		 .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME,
		 .sample_id_all = 1}};
	struct perf_record rec = {0};
	struct perffile f;
	struct perfdata *pd;

	pf_start(&f, a, 2);
	pf_begin(&f, PERF_RECORD_LOST, 0);
	pf_u64(&f, 101);
	pf_u64(&f, 17);
	pf_u64(&f, 300); /* time: of the second event */
	pf_u64(&f, 101);
	pf_end(&f);
	pf_begin(&f, PERF_RECORD_LOST, 0);
	pf_u64(&f, 100);
	pf_u64(&f, 18);
	pf_u32(&f, 7);
	pf_u32(&f, 8);
	pf_u64(&f, 200); /* time */
	for (uint64_t i = 0; i < 3; i++)
		pf_u64(&f, 0xbad);
	pf_u64(&f, 100);
	pf_end(&f);
	pd = made(&f);
	ok(perfdata_next(pd, &rec) && rec.lost.samples == 18 && rec.event == 0 && rec.time == 200 &&
		   rec.pid == 7 && rec.tid == 8 && !rec.lost.at_end,
	   "the trailer is that of the record's event; records are in order of time");
	ok(perfdata_next(pd, &rec) && rec.lost.samples == 17 && rec.event == 1 && rec.time == 300 &&
		   rec.pid == -1,
	   "another event has another one");
	perfdata_close(pd);
}

/* ---- the recording ---- */

static void test_clock(void)
{
	static const struct {
		bool use[2];
		int clock[2];
		bool want;
	} rows[] = {
		{{true, true}, {CLOCK_MONOTONIC, CLOCK_MONOTONIC}, true},
		{{true, false}, {CLOCK_MONOTONIC, CLOCK_MONOTONIC}, false},
		{{true, true}, {CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW}, false},
		{{false, true}, {CLOCK_MONOTONIC, CLOCK_MONOTONIC}, false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct perf_event_attr a[2] = {0};
		struct perffile f;
		struct perfdata *pd;

		for (int k = 0; k < 2; k++)
			a[k] = (struct perf_event_attr){.size = sizeof(*a),
							.sample_type = PERF_SAMPLE_IP,
							.use_clockid = rows[i].use[k],
							.clockid = rows[i].clock[k]};
		pf_start(&f, a, 2);
		pd = made(&f);
		is_int(perfdata_is_monotonic(pd), rows[i].want,
		       "the clock is known where all events say it (row %zu)", i);
		is_int(perfdata_size(pd), 0, "a recording may have no record");
		perfdata_close(pd);
	}
}

static void test_layouts(void)
{
	struct perf_event_attr a[2] = {
		{.size = sizeof(*a), .sample_type = PERF_SAMPLE_IP, .sample_regs_user = 1},
		{.size = sizeof(*a), .sample_type = PERF_SAMPLE_IP, .sample_regs_user = 1}};
	struct {
		const char *name;
		void *field;
		size_t size;
	} rows[] = {
		{"fields", &a[1].sample_type, 8},
		{"formats of values", &a[1].read_format, 8},
		{"branches", &a[1].branch_sample_type, 8},
		{"registers", &a[1].sample_regs_user, 8},
		{"registers at the interrupt", &a[1].sample_regs_intr, 8},
	};
	const struct perf_event_attr before = a[1];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = {0};
		struct perfdata *pd;
		struct perffile f;

		*(uint64_t *)rows[i].field += 2;
		pf_start(&f, a, 2);
		pf_done(&f);
		pd = pf_open(&f, f.s.len, &err);
		ok(!pd && strstr(err.msg, "cannot be distinguished"),
		   "events with other %s cannot be told from each other: %s", rows[i].name,
		   err.msg);
		perfdata_close(pd);
		str_fini(&f.s);
		a[1] = before;
	}
	a[1].sample_type |= 1ull << 63;
	{
		struct err err = {0};
		struct perffile f;

		pf_start(&f, a, 2);
		pf_done(&f);
		ok(!pf_open(&f, f.s.len, &err), "fields that nobody knows are refused");
		is_str(err.msg,
		       "perf.data: event 1 records fields unknown to this version "
		       "(sample_type 0x8000000000000001)",
		       "the message has the event and its fields");
		str_fini(&f.s);
	}
}

int main(void)
{
	test_lengths();
	test_branches();
	test_of_event();
	test_user_state();
	test_mmaps();
	test_bad_mmaps();
	test_tasks();
	test_trailer();
	test_clock();
	test_layouts();
	return tap_done();
}
