// SPDX-License-Identifier: Apache-2.0
/* Recordings of several events, as the reader has them: named samples that count bytes, walked or
 * with a copy of the stack. */
#include "lib/eventmake.h"

#include "common/fs.h"
#include "lib/tap.h"
#include "perf/perfdata.h"

#define DEEP 8192u

static struct err err;

static struct perf_record next(struct perfdata *pd)
{
	struct perf_record r = {0};

	if (!perfdata_next(pd, &r))
		r.type = 0;
	return r;
}

static bool is_named(const struct perf_sample *s, const char *name)
{
	return s->named && s->name && s->name_len == strlen(name) &&
	       memcmp(s->name, name, s->name_len) == 0;
}

/* A detail with registers and `len` bytes, at most 64, of a stack that count up. */
static struct sample_detail copied(size_t len)
{
	static uint64_t regs[REGISTERS];
	static uint8_t stack[64];

	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = (uint8_t)(i + 1);
	for (size_t i = 0; i < REGISTERS; i++)
		regs[i] = 1000 + i;
	return (struct sample_detail){.event = 1,
				      .amount = 1 << 17,
				      .flags = PERFWRITE_OUTSIDE | PERFWRITE_HUMONGOUS,
				      NAMED("[[B"),
				      .regs = regs,
				      .stack = stack,
				      .stack_len = len};
}

static void check_copied(const struct perf_record *r, size_t len)
{
	const struct sample_detail want = copied(len);
	const struct perf_sample *s = &r->sample;

	ok(r->type == PERF_RECORD_SAMPLE && r->event == 2 && is_named(s, "[[B") &&
		   s->period == 1 << 17 && s->flags == want.flags && !s->walked,
	   "a copied one has its name, its amount and its flags");
	ok(s->user_regs && s->user_regs_abi == PERF_SAMPLE_REGS_ABI_64 &&
		   s->user_regs_mask == UNWIND_PERFMASK &&
		   memcmp(s->user_regs, want.regs, REGISTERS * sizeof(uint64_t)) == 0,
	   "the registers");
	ok(s->stack && s->stack_dyn == len && memcmp(s->stack, want.stack, len) == 0,
	   "%zu bytes of the stack", len);
	is_int(s->stack_limit, PERFWRITE_STACK, "how many there can be");
}

static void test_records(void)
{
	const struct sample_detail walked = {.event = 1,
					     .amount = 640 << 10,
					     .flags = PERFWRITE_OUTSIDE,
					     NAMED("java/lang/Integer")};
	const struct sample_detail nameless = {.event = 1, .amount = 1}, eight = copied(16),
				   odd = copied(21);
	CLEANUP(perfdata_close) struct perfdata *pd = NULL;
	struct walked_sample s = sample_at(20, NULL);
	struct perf_record r;
	struct perf_writer *w;
	int fd;

	w = begin(&fd, EVENTS);
	add_kernel_sample(w, 10);
	perf_writer_code(w, &s, NUMBER, CODE, 42);
	perf_writer_walked(w, &s);
	s = sample_at(30, &walked);
	perf_writer_walked(w, &s);
	s = sample_at(40, &nameless);
	s.cut = true;
	perf_writer_walked(w, &s);
	s = sample_at(50, &eight);
	perf_writer_walked(w, &s);
	s = sample_at(60, &odd);
	perf_writer_walked(w, &s);
	end(w);
	pd = perfdata_open(fd, &err);
	if (!ok(pd != NULL, "a recording of two events is read: %s", pd ? "" : err.msg))
		return;
	r = next(pd);
	ok(r.type == PERF_RECORD_SAMPLE && r.event == 0 && r.time == 10 && !r.sample.named &&
		   r.sample.chain_len == 2,
	   "a sample of the kernel's is as without a second event");
	r = next(pd);
	ok(r.type == PERFWRITE_CODE && r.code.number == NUMBER, "a code, too");
	r = next(pd);
	ok(r.type == PERF_RECORD_SAMPLE && r.event == 1 && r.time == 20 && !r.sample.named &&
		   r.sample.walked_count == ARRAY_LEN(frames),
	   "and a walked sample of the processor's time");
	r = next(pd);
	ok(r.type == PERF_RECORD_SAMPLE && r.event == 3 && r.time == 30 && r.pid == PID &&
		   r.tid == PID + 1 && r.sample.ip == LIB + 0x10,
	   "a walked sample of the second event");
	ok(is_named(&r.sample, "java/lang/Integer") && r.sample.period == 640 << 10 &&
		   r.sample.flags == PERFWRITE_OUTSIDE,
	   "its name, its amount and its flags");
	ok(r.sample.walked_count == ARRAY_LEN(frames) && !r.sample.walked_cut && r.sample.walked &&
		   memcmp(r.sample.walked, frames, sizeof(frames)) == 0,
	   "its frames");
	r = next(pd);
	ok(is_named(&r.sample, "") && r.sample.period == 1 && r.sample.flags == 0 &&
		   r.sample.walked_cut && r.sample.walked_count == ARRAY_LEN(frames),
	   "one without a name whose stack is cut");
	r = next(pd);
	check_copied(&r, 16);
	r = next(pd);
	check_copied(&r, 21);
	is_int(next(pd).type, 0, "no more");
	is_int(perfdata_cut(pd), 0, "nothing is damaged");
	close(fd);
}

/* The stack of a thread that others name by its time, and one that names two of them. */
static void test_held(void)
{
	const struct sample_detail holder = {.event = 1, .flags = PERFWRITE_HOLDER};
	const struct sample_detail held = {
		.event = 1, .amount = 5000, .holder = 20, NAMED("java/lang/Object")};
	const struct sample_detail both = {.event = 1,
					   .amount = 6000,
					   .holder = 20,
					   .asker = UINT64_MAX,
					   .flags = PERFWRITE_OUTSIDE,
					   NAMED("A")};
	struct sample_detail copy = copied(16);
	const struct sample_detail *const list[] = {&holder, &held, &both, &copy};
	CLEANUP(perfdata_close) struct perfdata *pd = NULL;
	struct perf_record r;
	struct perf_writer *w;
	int fd;

	copy.holder = 30;
	w = begin(&fd, EVENTS);
	for (size_t i = 0; i < ARRAY_LEN(list); i++) {
		struct walked_sample s = sample_at(20 + i, list[i]);

		perf_writer_walked(w, &s);
	}
	end(w);
	pd = perfdata_open(fd, &err);
	r = next(pd);
	ok(r.time == 20 && is_named(&r.sample, "") && r.sample.flags == PERFWRITE_HOLDER &&
		   r.sample.period == 0 && !r.sample.holder && r.sample.walked_count == 2,
	   "the stack of a holder has a time and no amount");
	r = next(pd);
	ok(is_named(&r.sample, "java/lang/Object") && r.sample.flags == PERFWRITE_HELD &&
		   r.sample.period == 5000 && r.sample.holder == 20 && !r.sample.asker,
	   "a wait names it by that");
	ok(r.sample.walked_count == 2 && memcmp(r.sample.walked, frames, sizeof(frames)) == 0,
	   "it has its own frames");
	r = next(pd);
	ok(is_named(&r.sample, "A") && r.sample.holder == 20 && r.sample.asker == UINT64_MAX &&
		   r.sample.flags == (PERFWRITE_HELD | PERFWRITE_ASKED | PERFWRITE_OUTSIDE) &&
		   r.sample.walked_count == 2,
	   "a sample can name two");
	r = next(pd);
	ok(is_named(&r.sample, "[[B") && r.sample.holder == 30 && r.sample.stack_dyn == 16,
	   "so can one with a copy");
	is_int(next(pd).type, 0, "no more");
	is_int(perfdata_cut(pd), 0, "nothing is damaged");
	close(fd);
}

/* Each event has its own pair of attributes. */
static void test_third(void)
{
	const struct sample_detail d = {.event = 2, .amount = 5, NAMED("x")};
	struct sample_detail c = copied(8);
	struct walked_sample s = sample_at(20, &d);
	CLEANUP(perfdata_close) struct perfdata *pd = NULL;
	struct perf_writer *w;
	int fd;

	w = begin(&fd, 3);
	perf_writer_walked(w, &s);
	c.event = 2;
	s.detail = &c;
	perf_writer_walked(w, &s);
	end(w);
	pd = perfdata_open(fd, &err);
	is_int(next(pd).event, 5, "the walked samples of a third event have theirs");
	is_int(next(pd).event, 4, "its copied ones, too");
	close(fd);
}

/* A record has 64 KiB, with the name. */
static void test_deep(void)
{
	static uint64_t deep[DEEP];
	static char name[256];
	struct sample_detail d = {.event = 1,
				  .amount = 3,
				  .holder = 1,
				  .asker = 2,
				  .heap_before = 5,
				  .heap_after = 4,
				  .name = name,
				  .name_len = sizeof(name)};
	struct walked_sample s = sample_at(20, &d);
	CLEANUP(perfdata_close) struct perfdata *pd = NULL;
	struct perf_record r;
	struct perf_writer *w;
	int fd;

	memset(name, 'n', sizeof(name));
	s.frames = deep;
	w = begin(&fd, EVENTS);
	for (size_t len = sizeof(name) - 8; len <= sizeof(name); len++) {
		d.name_len = len;
		s.frame_count = DEEP;
		perf_writer_walked(w, &s);
	}
	s.frame_count = 8000;
	perf_writer_walked(w, &s);
	end(w);
	pd = perfdata_open(fd, &err);
	for (size_t len = sizeof(name) - 8; len <= sizeof(name); len++) {
		r = next(pd);
		ok(r.sample.named && r.sample.name_len == len && r.sample.holder == 1 &&
			   r.sample.heap_before == 5 && r.sample.heap_after == 4 &&
			   r.sample.walked_count > 8000 && r.sample.walked_count < DEEP &&
			   r.sample.walked_cut,
		   "of a deep stack with a name of %zu bytes the innermost are kept: %zu", len,
		   r.sample.walked_count);
	}
	r = next(pd);
	ok(r.sample.walked_count == 8000 && !r.sample.walked_cut, "one of 8000 is whole");
	is_int(perfdata_cut(pd), 0, "nothing is damaged");
	close(fd);
}

/* The samples that are read of a recording with one named sample, whose name's length, flags, or
 * size of RAW, is another. */
static unsigned read_flags(bool is_copied, uint32_t name_len, uint32_t raw_size, uint32_t flags)
{
	struct sample_detail d = copied(16);
	struct walked_sample s = sample_at(20, &d);
	CLEANUP(perfdata_close) struct perfdata *pd = NULL;
	CLEANUP(str_fini) struct str all = {0};
	CLEANUP(close_fd) int fd = -1, forged = -1;
	struct perf_record r;
	struct perf_writer *w;
	unsigned n = 0;
	char *at;

	d.regs = is_copied ? d.regs : NULL;
	w = begin(&fd, EVENTS);
	perf_writer_walked(w, &s);
	end(w);
	if (lseek(fd, 0, SEEK_SET) < 0 || fs_read_all(fd, 1 << 20, &all, &err) < 0)
		abort();
	at = memmem(all.buf, all.len, "[[B\0\0\0\0\0", 8);
	memcpy(at - 8, &name_len, sizeof(name_len));
	if (flags)
		memcpy(at - 4, &flags, sizeof(flags));
	if (raw_size)
		memcpy(at - 16, &raw_size, sizeof(raw_size));
	forged = file_of(all.buf, all.len);
	pd = perfdata_open(forged, &err);
	while (perfdata_next(pd, &r)) {
		const char *end_of = (const char *)perfdata_bytes(pd, &(size_t){0});

		n += r.sample.named && r.sample.name >= end_of && r.sample.name_len <= UINT16_MAX &&
		     r.sample.walked_count <= UINT16_MAX / sizeof(uint64_t);
	}
	if (n == 0)
		ok(perfdata_cut(pd) > 0, "what is passed over is counted");
	return n;
}

static unsigned read_forged(bool is_copied, uint32_t name_len, uint32_t raw_size)
{
	return read_flags(is_copied, name_len, raw_size, 0);
}

/* Flags of times that are not there: the name and frames are taken for them. */
static void test_no_times(void)
{
	static const uint32_t both = PERFWRITE_HELD | PERFWRITE_ASKED, heap = PERFWRITE_HEAP;

	is_int(read_flags(false, 8, 0, PERFWRITE_HELD), 1, "a time is in what RAW has");
	is_int(read_flags(false, 8, 0, both), 1, "two of them, too");
	is_int(read_flags(false, 9, 0, both), 0, "with a name that has no room it is refused");
	is_int(read_flags(false, 17, 0, PERFWRITE_HELD), 0, "so is a longer one after a time");
	is_int(read_flags(true, 3, 0, PERFWRITE_HELD), 0, "so is a copy without room for a name");
	is_int(read_flags(true, 0, 0, both), 0, "or for the second time");
	is_int(read_flags(true, 0, 12, PERFWRITE_HELD), 0, "or for the first one");
	is_int(read_flags(false, 0, 16, PERFWRITE_HELD), 0, "or for all of it");
	is_int(read_flags(false, 8, 0, heap), 1, "a heap is in what RAW has");
	is_int(read_flags(false, 9, 0, heap), 0, "with a name that has no room it is refused");
	is_int(read_flags(true, 3, 0, heap), 0, "so is a copy without room for it");
	is_int(read_flags(false, 0, 16, heap), 0, "or for half of it");
	is_int(read_flags(false, 3, 0, ~0u & ~both & ~heap), 1,
	       "flags that nobody knows are no matter");
}

static void test_forged(void)
{
	static const uint32_t longer[] = {25, 32, 4096, 1u << 31, UINT32_MAX - 7, UINT32_MAX};

	is_int(read_forged(false, 3, 0), 1, "a walked sample is read");
	is_int(read_forged(true, 3, 0), 1, "a copied one");
	is_int(read_forged(false, 24, 0), 1, "a name may take all of RAW");
	is_int(read_forged(true, 8, 0), 1, "of a copy, too");
	for (size_t i = 0; i < ARRAY_LEN(longer); i++) {
		is_int(read_forged(false, longer[i], 0), 0, "a longer name is refused");
		is_int(read_forged(true, longer[i], 0), 0, "of a copy, too");
	}
	is_int(read_forged(true, 9, 0), 0, "a name that is not whole words has no room either");
	is_int(read_forged(false, 3, 12), 0, "a name in RAW that ends before it is refused");
	is_int(read_forged(false, 3, 4), 0, "so is one without a length");
	is_int(read_forged(false, 3, UINT32_MAX), 0, "RAW is not larger than its record");
}

int main(void)
{
	test_records();
	test_held();
	test_third();
	test_deep();
	test_forged();
	test_no_times();
	return tap_done();
}
