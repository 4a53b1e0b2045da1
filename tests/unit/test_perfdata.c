// SPDX-License-Identifier: Apache-2.0
#include "perf/perfdata.h"

#include <sys/mman.h>

#include "lib/perffile.h"
#include "lib/tap.h"

#define TYPE_PLAIN (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN)

static const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, 0x401000, 0x402000};

static void plain_start(struct perffile *f)
{
	struct perf_event_attr a = {
		.size = sizeof(a), .sample_type = TYPE_PLAIN, .sample_id_all = 1};

	pf_start(f, &a, 1);
}

static struct perfdata *open_whole(struct perffile *f, const char *what)
{
	struct err err = {0};
	struct perfdata *pd = pf_open(f, f->s.len, &err);

	ok(pd != NULL, "%s: %s", what, pd ? "opens" : err.msg);
	return pd;
}

/* Buffers of two CPUs, one after the other, and what perf found before it started. */
static void test_order(void)
{
	CLEANUP(str_fini) struct str kinds = {0};
	struct perf_record rec;
	struct perffile f;
	struct perfdata *pd;

	plain_start(&f);
	pf_sample(&f, 7, 8, 50, chain, 3);
	pf_mmap2(&f, 7, 0x400000, 0x1000, 0, PROT_EXEC | PROT_READ, "/bin/x", 40);
	pf_sample(&f, 7, 7, 60, chain, 3);
	pf_begin(&f, 68, 0); /* FINISHED_ROUND */
	pf_end(&f);
	pf_comm(&f, 7, 7, "early", 0, 0);
	pf_comm(&f, 7, 8, "late", 0, 55);
	pf_done(&f);
	pd = open_whole(&f, "a recording of two CPUs");
	while (perfdata_next(pd, &rec))
		str_addf(&kinds, "%u@%llu ", rec.type, (unsigned long long)rec.time);
	is_str(kinds.buf, "3@0 1@40 9@50 3@55 9@60 ", "records come in the order of time");
	is_int(perfdata_cut(pd), 0, "nothing is cut");
	perfdata_close(pd);
	str_fini(&f.s);
}

/* Only two rounds are looked at: one that comes later than perf promises comes late. */
static void test_rounds(void)
{
	static const uint64_t times[] = {10, 20, 0, 30, 15, 0, 40, 12, 35, 0, 25, 0};
	CLEANUP(str_fini) struct str seen = {0};
	struct perf_record rec;
	struct perffile f;
	struct perfdata *pd;

	plain_start(&f);
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		if (times[i]) {
			pf_sample(&f, 7, 7, times[i], chain, 3);
		} else {
			pf_begin(&f, 68, 0); /* FINISHED_ROUND */
			pf_end(&f);
		}
	}
	pf_done(&f);
	pd = open_whole(&f, "a recording of four rounds");
	for (int pass = 0; pass < 2; pass++) {
		while (perfdata_next(pd, &rec))
			str_addf(&seen, "%llu ", (unsigned long long)rec.time);
		is_str(seen.buf, "10 15 20 12 30 25 35 40 ", "rounds are put in order");
		str_clear(&seen);
		perfdata_rewind(pd);
	}
	perfdata_close(pd);
	str_fini(&f.s);
}

static void test_fields(void)
{
	struct perf_record rec;
	struct perffile f;
	struct perfdata *pd;

	plain_start(&f);
	pf_mmap2(&f, 7, 0x400000, 0x1000, 0x2000, PROT_EXEC, "/bin/x", 1);
	pf_comm(&f, 7, 9, "name", PERF_RECORD_MISC_COMM_EXEC, 2);
	pf_fork(&f, 10, 7, 10, 9, 3);
	pf_sample(&f, 7, 9, 4, chain, 3);
	pf_begin(&f, PERF_RECORD_LOST, 0);
	pf_u64(&f, 100);
	pf_u64(&f, 17);
	pf_id(&f, 7, 7, 5, 0);
	pf_begin(&f, PERF_RECORD_LOST_SAMPLES, 0);
	pf_u64(&f, 4);
	pf_id(&f, 7, 7, 6, 0);
	pf_begin(&f, PERF_RECORD_KSYMBOL, 0);
	pf_u64(&f, 0xffffffffc0000000);
	pf_u32(&f, 64);
	pf_u16(&f, 1);
	pf_u16(&f, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	pf_text(&f, "bpf_prog_x");
	pf_id(&f, 0, 0, 7, 0);
	pf_done(&f);
	pd = open_whole(&f, "one of each kind");
	ok(perfdata_next(pd, &rec) && rec.type == PERF_RECORD_MMAP, "MMAP2 is given as MMAP");
	ok(rec.pid == 7 && rec.mmap.start == 0x400000 && rec.mmap.len == 0x1000 &&
		   rec.mmap.pgoff == 0x2000 && rec.mmap.exec,
	   "its fields");
	is_str(rec.mmap.path, "/bin/x", "its path");
	ok(perfdata_next(pd, &rec) && rec.type == PERF_RECORD_COMM && rec.comm.exec,
	   "COMM of exec");
	is_str(rec.comm.name, "name", "its name");
	ok(perfdata_next(pd, &rec) && rec.type == PERF_RECORD_FORK && rec.pid == 10 &&
		   rec.fork.ppid == 7 && rec.fork.ptid == 9 && !rec.fork.exec,
	   "FORK");
	ok(perfdata_next(pd, &rec) && rec.type == PERF_RECORD_SAMPLE && rec.pid == 7 &&
		   rec.tid == 9,
	   "SAMPLE");
	ok(rec.sample.chain_len == 3 && memcmp(rec.sample.chain, chain, sizeof(chain)) == 0 &&
		   rec.sample.ip == 0x401000 && rec.sample.cpumode == PERF_RECORD_MISC_USER &&
		   rec.sample.max_stack == 127,
	   "its fields");
	ok(perfdata_next(pd, &rec) && rec.type == PERF_RECORD_LOST && rec.lost.samples == 17,
	   "LOST");
	ok(perfdata_next(pd, &rec) && rec.type == PERF_RECORD_LOST && rec.lost.samples == 4 &&
		   rec.lost.at_end,
	   "LOST_SAMPLES");
	ok(perfdata_next(pd, &rec) && rec.type == PERF_RECORD_KSYMBOL && rec.ksymbol.gone &&
		   rec.ksymbol.len == 64,
	   "KSYMBOL");
	is_str(rec.ksymbol.name, "bpf_prog_x", "its name");
	ok(!perfdata_next(pd, &rec), "the end");
	perfdata_rewind(pd);
	ok(perfdata_next(pd, &rec) && rec.type == PERF_RECORD_MMAP, "and again from the start");
	perfdata_close(pd);
	str_fini(&f.s);
}

/* Every field there is in front of the user's registers and stack. */
static void test_all_fields(void)
{
	struct perf_event_attr a = {
		.size = sizeof(a),
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
			       PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
			       PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST |
			       PERF_FORMAT_TOTAL_TIME_ENABLED,
		.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_HW_INDEX,
		.sample_regs_user = 1 << 6 | 1 << 7 | 1 << 8,
		.sample_stack_user = 32,
		.sample_id_all = 1,
	};
	struct perf_record rec;
	struct perffile f;
	struct perfdata *pd;
	uint64_t reg;

	pf_start(&f, &a, 1);
	pf_begin(&f, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
	pf_u64(&f, 100); /* identifier */
	pf_u64(&f, 0x1234);
	pf_u32(&f, 7);
	pf_u32(&f, 8);
	pf_u64(&f, 99);	   /* time */
	pf_u64(&f, 0xadd); /* addr */
	pf_u64(&f, 100);   /* id */
	pf_u64(&f, 101);   /* stream id */
	pf_u64(&f, 3);	   /* cpu */
	pf_u64(&f, 1000);  /* period */
	pf_u64(&f, 2);	   /* group of two: value, id, lost each */
	for (int i = 0; i < 1 + 2 * 3; i++)
		pf_u64(&f, 0xbad);
	pf_u64(&f, 1);
	pf_u64(&f, 0xc0de); /* chain */
	pf_u32(&f, 12);	    /* raw */
	for (int i = 0; i < 3; i++)
		pf_u32(&f, 0xbad);
	pf_u64(&f, 1); /* branches */
	for (int i = 0; i < 1 + 3; i++)
		pf_u64(&f, 0xbad);
	pf_u64(&f, PERF_SAMPLE_REGS_ABI_64);
	for (uint64_t i = 0; i < 3; i++)
		pf_u64(&f, 0x1000 + i);
	pf_u64(&f, 32);
	for (int i = 0; i < 4; i++)
		pf_u64(&f, 0x57ac);
	pf_u64(&f, 24); /* of which copied */
	pf_u64(&f, 0xbad);
	pf_end(&f);
	pf_done(&f);
	pd = open_whole(&f, "a sample with everything");
	if (!ok(perfdata_next(pd, &rec), "is read"))
		return;
	ok(rec.sample.ip == 0x1234 && rec.time == 99 && rec.sample.addr == 0xadd &&
		   rec.sample.cpu == 3 && rec.sample.period == 1000 && rec.event == 0,
	   "the simple fields");
	ok(rec.sample.chain_len == 1 && rec.sample.chain[0] == 0xde, "the chain");
	is_int(rec.sample.user_regs_mask, 1 << 6 | 1 << 7 | 1 << 8, "the mask of registers");
	memcpy(&reg, rec.sample.user_regs + 16, sizeof(reg));
	is_int(reg, 0x1002, "the third register");
	ok(rec.sample.stack_len == 32 && rec.sample.stack_dyn == 24 && rec.sample.stack[0] == 0xac,
	   "the stack");
	is_int(rec.sample.stack_limit, 32, "and how much was asked for");
	perfdata_close(pd);
	str_fini(&f.s);
}

static void test_two_events(void)
{
	struct perf_event_attr a[2] = {{.size = sizeof(*a),
					.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
						       PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
					.sample_id_all = 1},
				       {.size = sizeof(*a),
					.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
						       PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
						       PERF_SAMPLE_CPU,
					.sample_id_all = 1}};
	struct perf_record rec;
	struct perffile f;
	struct perfdata *pd;

	pf_start(&f, a, 2);
	for (uint64_t id = 100; id < 103; id++) { /* 102 is no event */
		pf_begin(&f, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
		pf_u64(&f, id);
		pf_u64(&f, 0x400);
		pf_u64(&f, 7);
		pf_u64(&f, id);
		pf_u64(&f, 3);
		pf_end(&f);
	}
	pf_done(&f);
	pd = open_whole(&f, "two events");
	ok(perfdata_next(pd, &rec) && rec.event == 0 && rec.sample.cpu == 0, "the first by its id");
	ok(perfdata_next(pd, &rec) && rec.event == 1 && rec.sample.cpu == 3,
	   "the second by its id");
	ok(!perfdata_next(pd, &rec), "one of no event is left out");
	is_int(perfdata_cut(pd), 48, "and counted");
	perfdata_close(pd);
	str_fini(&f.s);
}

static void test_cut(void)
{
	struct perf_record rec;
	struct perffile f;
	struct perfdata *pd;
	struct err err;
	uint64_t zero = 0;

	plain_start(&f);
	pf_sample(&f, 7, 7, 10, chain, 3);
	pf_sample(&f, 7, 7, 20, chain, 3);
	pf_done(&f);
	pd = pf_open(&f, f.s.len - 5, &err);
	ok(pd && perfdata_next(pd, &rec) && !perfdata_next(pd, &rec), "the last record is cut off");
	is_int(perfdata_cut(pd), 64, "its bytes are counted, also those that are missing");
	perfdata_close(pd);
	memcpy(f.s.buf + 48, &zero, sizeof(zero));
	pd = pf_open(&f, f.s.len, &err);
	ok(pd && perfdata_next(pd, &rec) && perfdata_next(pd, &rec), "perf was killed: size 0");
	perfdata_close(pd);
	f.s.buf[PERFFILE_DATA + 64 + 32] = 0x7f; /* entries of the second chain */
	pd = pf_open(&f, f.s.len, &err);
	ok(pd && perfdata_next(pd, &rec) && !perfdata_next(pd, &rec),
	   "a chain over its record's end");
	is_int(perfdata_cut(pd), 64, "is left out and counted");
	perfdata_close(pd);
	str_fini(&f.s);
}

static void is_error(const struct perffile *f, const char *want)
{
	struct err err = {0};

	ok(pf_open(f, f->s.len, &err) == NULL && strstr(err.msg, want), "refused: %s (%s)", want,
	   err.msg);
}

static void test_refused(void)
{
	struct perffile f;

	plain_start(&f);
	pf_begin(&f, 81, 0);
	pf_u64(&f, 0);
	pf_end(&f);
	pf_done(&f);
	is_error(&f, "compressed");
	memcpy(f.s.buf, "2ELIFREP", 8);
	is_error(&f, "byte order");
	memcpy(f.s.buf, "PERFILE1", 8);
	is_error(&f, "not a perf.data");
	memcpy(f.s.buf, "PERFILE2\x10", 9);
	is_error(&f, "pipe");
	f.s.len = 3;
	is_error(&f, "not a perf.data");
	str_fini(&f.s);
	plain_start(&f);
	f.s.buf[24 + 7] = 1; /* attributes far after the end */
	is_error(&f, "table of events");
	str_fini(&f.s);
}

/* Makes a recording with these features; returns the place of the table of their sections. */
static size_t with_features(struct perffile *f, uint64_t flags)
{
	size_t table;

	plain_start(f);
	pf_sample(f, 7, 7, 10, chain, 3);
	pf_done(f);
	memcpy(f->s.buf + 72, &flags, sizeof(flags));
	table = f->s.len;
	for (; flags; flags &= flags - 1) {
		pf_u64(f, 1);
		pf_u64(f, 1);
	}
	return table;
}

/* Sets an entry of that table: the section begins there and ends with the file. */
static void section_set(struct perffile *f, size_t entry, uint64_t at)
{
	uint64_t size = f->s.len - at;

	memcpy(f->s.buf + entry, &at, sizeof(at));
	memcpy(f->s.buf + entry + 8, &size, sizeof(size));
}

static void test_build_ids(void)
{
	struct perffile f;
	struct perfdata *pd;
	size_t table, at;

	table = with_features(&f, 1 << 2);
	at = f.s.len;
	pf_begin(&f, 67, PERF_RECORD_MISC_USER);
	pf_u32(&f, (uint32_t)-1);
	str_add(&f.s, "aaaaaaaaaaaaaaaaaaaa\0\0\0\0", 24);
	pf_text(&f, "/lib/x.so");
	pf_end(&f);
	section_set(&f, table, at);
	pd = open_whole(&f, "with build ids");
	ok(!perfdata_other_build(pd, "/lib/x.so", (const uint8_t *)"aaaaaaaaaaaaaaaaaaaa", 20),
	   "the build that was recorded");
	ok(perfdata_other_build(pd, "/lib/x.so", (const uint8_t *)"aaaaaaaaaaaaaaaaaaab", 20),
	   "another one");
	ok(!perfdata_other_build(pd, "/lib/y.so", (const uint8_t *)"aaaaaaaaaaaaaaaaaaab", 20),
	   "a file that is not in the table");
	perfdata_close(pd);
	str_fini(&f.s);
}

/* A record of build ids: with an id of its own size, or one whose size is not told. */
static void add_build(struct perffile *f, uint16_t misc, uint8_t size, const char *path)
{
	pf_begin(f, 67, misc);
	pf_u32(f, (uint32_t)-1);
	str_add(&f->s, "aaaaaaaaaaaaaaaaaaaa", 20);
	str_addc(&f->s, (char)size);
	str_add(&f->s, "\0\0\0", 3);
	pf_text(f, path);
	pf_end(f);
}

/* Sections of features are in the order of their bits; one before that of build ids is passed over.
 */
static void test_features(void)
{
	static const uint8_t id[] = "aaaaaaaaaaaaaaaaaaaa";
	struct perffile f;
	struct perfdata *pd;
	size_t table, at;

	table = with_features(&f, 1 << 1 | 1 << 2 | 1 << 3);
	at = f.s.len;
	add_build(&f, 1 << 15, 8, "/short");
	add_build(&f, 1 << 15, 21, "/long");
	add_build(&f, 0, 8, "/old");
	add_build(&f, 0, 0, "/twice");
	add_build(&f, 1 << 15, 8, "/twice");
	section_set(&f, table + 16, at);
	pd = open_whole(&f, "three features");
	ok(!perfdata_other_build(pd, "/short", id, 8), "an id may be short");
	ok(perfdata_other_build(pd, "/short", id, 20), "a longer one is another");
	ok(!perfdata_other_build(pd, "/long", id, 20), "it is no longer than there is room");
	ok(!perfdata_other_build(pd, "/old", id, 20), "where the size is not told it is 20 bytes");
	ok(perfdata_other_build(pd, "/old", id, 8), "and not what stands in its place");
	ok(!perfdata_other_build(pd, "/twice", id, 8) &&
		   !perfdata_other_build(pd, "/twice", id, 20),
	   "a file may have been two builds");
	perfdata_close(pd);
	str_fini(&f.s);
}

/* AUXTRACE has bytes after it that its size leaves out. */
static void test_auxtrace(void)
{
	static const struct {
		uint64_t claimed;
		int records;
		const char *check;
	} rows[] = {
		{64, 1, "as many as it says are passed over"},
		{0, 2, "it may have none"},
		{1000, 0, "more than there are end the recording"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct perf_record rec;
		struct perffile f;
		struct perfdata *pd;
		int records = 0;

		plain_start(&f);
		pf_begin(&f, 71, 0);
		pf_u64(&f, rows[i].claimed);
		pf_end(&f);
		pf_sample(&f, 7, 7, 10, chain, 3);
		pf_sample(&f, 7, 7, 20, chain, 3);
		pf_done(&f);
		pd = open_whole(&f, "bytes of a trace");
		while (perfdata_next(pd, &rec))
			records++;
		is_int(records, rows[i].records, "%s", rows[i].check);
		is_int(perfdata_cut(pd), rows[i].records ? 0 : (int64_t)perfdata_size(pd),
		       "only what is not whole is counted");
		perfdata_close(pd);
		str_fini(&f.s);
	}
}

/* The size of an event's entry, of all of them, of the first one's ids. */
static void test_tables(void)
{
	enum { ENTRY = sizeof(struct perf_event_attr) + 16 };
	static const struct {
		uint64_t entry, size, ids;
		const char *want;
	} rows[] = {
		{ENTRY, ENTRY, 8, NULL},
		{ENTRY, ENTRY, 0, NULL},
		{ENTRY, 0, 8, "table of events"},
		{ENTRY, ENTRY - 1, 8, "table of events"},
		{ENTRY, ENTRY + ENTRY / 2, 8, "table of events"},
		{79, 79, 8, "table of events"},
		{4096, 4096, 8, "ids of event 0"},
		{4097, 4097, 8, "table of events"},
		{ENTRY, ENTRY, 1 << 20, "ids of event 0"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = {0};
		struct perffile f;
		struct perfdata *pd;

		plain_start(&f);
		for (int k = 0; k < 80; k++)
			pf_sample(&f, 7, 7, 10, chain, 3);
		pf_done(&f);
		memcpy(f.s.buf + 16, &rows[i].entry, 8);
		memcpy(f.s.buf + 32, &rows[i].size, 8);
		if (rows[i].entry == ENTRY)
			memcpy(f.s.buf + 112 + ENTRY - 8, &rows[i].ids, 8);
		pd = pf_open(&f, f.s.len, &err);
		ok(rows[i].want ? !pd && strstr(err.msg, rows[i].want) : pd != NULL,
		   "entries of %d bytes, %d in all, %d of ids: %s", (int)rows[i].entry,
		   (int)rows[i].size, (int)rows[i].ids, pd ? "good" : err.msg);
		perfdata_close(pd);
		str_fini(&f.s);
	}
}

int main(void)
{
	is_int(perfdata_samples_about(330000, 32600), 10, "about how many samples");
	is_int(perfdata_samples_about(330000, UINT32_MAX - 399), 0, "of a stack that none has");
	test_order();
	test_rounds();
	test_fields();
	test_all_fields();
	test_two_events();
	test_cut();
	test_refused();
	test_build_ids();
	test_features();
	test_auxtrace();
	test_tables();
	return tap_done();
}
