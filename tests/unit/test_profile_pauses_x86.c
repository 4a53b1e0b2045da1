// SPDX-License-Identifier: Apache-2.0
/* Profiles of safepoints: who asked, what was waited for, how long; and files that lie. */
#include "lib/eventread.h"
#include "lib/tap.h"

#define KINDS	  4 /* events of the file: safepoints are the last */
#define SAFEPOINT 3
#define MS	  1000000ull
#define BEGAN	  1000 /* ns */
#define ASKER	  (PID + 2)
#define VM_THREAD (PID + 3)

static const struct event_library lib = {"/lib/libjvm.so", "execute"};

/* Code 42 has method a.B.ask, code 43 a.B.loop. */
static int snapshots(void)
{
	static const char *const methods[] = {"a.B.ask", "a.B.loop"};

	return snapshots_of(methods, ARRAY_LEN(methods), ARRAY_LEN(methods), 1000 * MS);
}

/* Reads the safepoints of a recording, which began at `began` ns, or is not known when. */
static struct read read_from(int perf_fd, uint64_t began, unsigned parts)
{
	return read_recording(
		(struct recording){
			.perf_fd = perf_fd, .event = SAFEPOINT, .began = began, .parts = parts},
		&lib, snapshots());
}

static void add_process(struct perf_writer *w)
{
	const struct walked_sample s = sample_at(0, NULL);

	perf_writer_comm(w, PID, PID + 1, "late");
	perf_writer_comm(w, PID, ASKER, "asker");
	perf_writer_comm(w, PID, VM_THREAD, "VM Thread");
	map_code(w, &lib);
	perf_writer_code(w, &s, NUMBER, CODE, 42);
	perf_writer_code(w, &s, NUMBER + 1, CODE + 0x100, 43);
}

static const uint64_t native[] = {LIB + 0x20, LIB + 0x110};
static const uint64_t asking[] = {LIB + 0x20, IN_CODE(NUMBER, 16), LIB + 0x110};
static const uint64_t looping[] = {IN_CODE(NUMBER + 1, 16), LIB + 0x110};

static void add(struct perf_writer *w, uint64_t time, pid_t tid, const uint64_t *list, size_t n,
		const struct sample_detail *d)
{
	struct walked_sample s = sample_at(time, d);

	s.tid = tid;
	s.frames = list;
	s.frame_count = n;
	perf_writer_walked(w, &s);
}

static void add_holders(struct perf_writer *w, uint64_t asked, uint64_t late)
{
	const struct sample_detail asks = {
		.event = SAFEPOINT, .name = "", .flags = PERFWRITE_HOLDER | PERFWRITE_ENTIRE};
	const struct sample_detail arrives = {
		.event = SAFEPOINT, .name = "", .flags = PERFWRITE_HOLDER};

	if (asked)
		add(w, asked, ASKER, asking, ARRAY_LEN(asking), &asks);
	if (late)
		add(w, late, PID + 1, looping, ARRAY_LEN(looping), &arrives);
}

/* The two samples of a pause, as the recorder writes them. */
static void add_pause(struct perf_writer *w, uint64_t end, uint64_t stopping, uint64_t rest,
		      uint64_t asker, uint64_t holder)
{
	struct sample_detail d = {.event = SAFEPOINT,
				  .amount = stopping,
				  .asker = asker,
				  .holder = holder,
				  .flags = PERFWRITE_WAITED,
				  NAMED("HeapDumper")};
	const pid_t tid = asker ? ASKER : VM_THREAD;

	add(w, end, tid, native, ARRAY_LEN(native), &d);
	d.flags = PERFWRITE_STOPPED;
	d.holder = 0;
	d.amount = rest;
	d.heap_before = rest / 2;
	d.heap_after = rest / 4;
	add(w, end, tid, native, ARRAY_LEN(native), &d);
}

static bool is_pause(const struct pause *p, uint64_t begin, uint64_t stopping, uint64_t all)
{
	if (p->begin == begin && p->stopping == stopping && p->all == all)
		return true;
	printf("# begin %lu, %lu of %lu\n", (unsigned long)p->begin, (unsigned long)p->stopping,
	       (unsigned long)p->all);
	return false;
}

static bool is_subject(const struct pause *p, const char *method, const char *holder)
{
	const struct subject *s = &p->subject;

	if (!strcmp(s->class, "HeapDumper") && !strcmp(s->method, method) &&
	    !strcmp(s->holder, holder))
		return true;
	printf("# %s, %s, %s\n", s->class, s->method, s->holder);
	return false;
}

static void test_whole(void)
{
	CLEANUP(read_fini) struct read r = {0}, unknown = {0};
	struct perf_writer *w;
	int fd;

	w = begin(&fd, KINDS);
	add_process(w);
	add_holders(w, 2000, 3000);
	add_pause(w, 50 * MS, 5 * MS, 20 * MS, 2000, 3000);
	add_pause(w, 90 * MS, 1000, MS, 2000, 0);
	add_pause(w, 95 * MS, 100, MS - 101, 0, 0);
	end(w);
	r = read_from(fd, BEGAN, 1);
	is_str(r.stacks.buf,
	       "VM_Thread;start;execute;HeapDumper 999899\n"
	       "VM_Thread;start;execute;HeapDumper;waiting for 100\n"
	       "asker;start;a.B.ask;HeapDumper 21000000\n"
	       "asker;start;a.B.ask;HeapDumper;waiting for 1000\n"
	       "asker;start;a.B.ask;HeapDumper;waiting for;a.B.loop 5000000\n",
	       "a pause has the stack of who asked, and above it who was waited for");
	ok(r.p.pauses.count == 2 && r.p.pauses.listed == 2, "those of 1 ms or more are listed");
	ok(is_pause(&r.p.pauses.list[0], 25 * MS - BEGAN, 5 * MS, 25 * MS) &&
		   is_subject(&r.p.pauses.list[0], "a.B.ask", "a.B.loop"),
	   "the longest, from the recording's begin on");
	ok(r.p.pauses.list[0].heap_before == 10 * MS && r.p.pauses.list[0].heap_after == 5 * MS,
	   "with the heap before and after");
	ok(is_pause(&r.p.pauses.list[1], 89 * MS - 1000 - BEGAN, 1000, MS + 1000) &&
		   is_subject(&r.p.pauses.list[1], "a.B.ask", ""),
	   "the other one");
	ok(r.p.quality.samples == 27 * MS + 999 && r.p.quality.java_complete == 26 * MS + 1000,
	   "ns are counted, and stacks of those who asked are whole");
	is_int((int64_t)r.p.samples->count, 0, "they have no times");
	unknown = read_from(fd, 0, 1);
	ok(is_pause(&unknown.p.pauses.list[0], 25 * MS - 2000, 5 * MS, 25 * MS),
	   "where it is not known when the recording began, from its first sample on");
	close(fd);
}

/* The processors' time is sampled a little before the time of the recording. */
static void test_early(void)
{
	CLEANUP(read_fini) struct read r = {0};
	struct perf_writer *w;
	int fd;

	w = begin(&fd, KINDS);
	add_process(w);
	add(w, 10 * MS, PID + 1, looping, ARRAY_LEN(looping), NULL);
	add_pause(w, 50 * MS, 5 * MS, 20 * MS, 0, 0);
	add_pause(w, 51 * MS, 5 * MS, 40 * MS, 0, 0);
	end(w);
	r = read_from(fd, 20 * MS, 1);
	ok(is_pause(&r.p.pauses.list[1], 5 * MS, 5 * MS, 25 * MS),
	   "when a pause began is told from the recording's begin, not from its first sample");
	ok(is_pause(&r.p.pauses.list[0], 0, 5 * MS, 45 * MS),
	   "of one that began before it, as if it had begun with it");
	close(fd);
}

/* Stacks that are named and not there, or not of that process. */
static void test_unknown(void)
{
	CLEANUP(read_fini) struct read r = {0};
	struct perf_writer *w;
	int fd;

	w = begin(&fd, KINDS);
	add_process(w);
	add_holders(w, 0, 3000);
	add_pause(w, 50 * MS, 5 * MS, 20 * MS, 2000, 3001);
	end(w);
	r = read_from(fd, BEGAN, 1);
	is_str(r.stacks.buf,
	       "asker;start;execute;HeapDumper 20000000\n"
	       "asker;start;execute;HeapDumper;waiting for 5000000\n",
	       "without the stack of who asked there is that of the sample");
	ok(r.p.pauses.listed == 1 && is_subject(&r.p.pauses.list[0], "", ""),
	   "and nobody is named");
	close(fd);
}

/* A stack is whole where that which is shown is. */
static void test_cut(void)
{
	const struct sample_detail asks = {
		.event = SAFEPOINT, .name = "", .flags = PERFWRITE_HOLDER | PERFWRITE_ENTIRE};
	CLEANUP(read_fini) struct read r = {0};
	struct perf_writer *w;
	int fd;

	w = begin(&fd, KINDS);
	add_process(w);
	for (unsigned i = 0; i < 2; i++) {
		const struct sample_detail d = {.event = SAFEPOINT,
						.amount = i ? 5 * MS : 7 * MS,
						.asker = 2000 + i,
						.flags = PERFWRITE_WAITED,
						NAMED("HeapDumper")};
		struct walked_sample s = sample_at(2000 + i, &asks);

		s.cut = i == 0;
		perf_writer_walked(w, &s);
		s = sample_at(MS + i, &d);
		s.cut = i == 1;
		perf_writer_walked(w, &s);
	}
	end(w);
	r = read_from(fd, BEGAN, 1);
	ok(r.p.quality.java_samples == 12 * MS && r.p.quality.java_complete == 5 * MS,
	   "a stack is whole where that of who asked is");
	close(fd);
}

/* Halves of pauses, and pauses of no time. */
static void test_halves(void)
{
	struct sample_detail d = {.event = SAFEPOINT, NAMED("HeapDumper")};
	CLEANUP(read_fini) struct read r = {0};
	struct perf_writer *w;
	int fd;

	w = begin(&fd, KINDS);
	add_process(w);
	add_holders(w, 2000, 3000);
	d.amount = 7 * MS;
	d.asker = 2000;
	d.flags = PERFWRITE_WAITED;
	add(w, 20 * MS, ASKER, native, ARRAY_LEN(native), &d);
	d.flags = PERFWRITE_STOPPED;
	d.amount = 3 * MS;
	add(w, 30 * MS, ASKER, native, ARRAY_LEN(native), &d);
	add_pause(w, 40 * MS, 0, 2 * MS, 2000, 3000);
	add_pause(w, 50 * MS, 0, 0, 2000, 3000);
	d.amount = UINT64_MAX;
	add(w, 60 * MS, ASKER, native, ARRAY_LEN(native), &d);
	end(w);
	r = read_from(fd, BEGAN, 1);
	is_int((int64_t)r.p.pauses.count, 3, "a pause is what has an end");
	ok(is_pause(&r.p.pauses.list[1], 27 * MS - BEGAN, 0, 3 * MS) &&
		   is_subject(&r.p.pauses.list[1], "a.B.ask", ""),
	   "one that ends has nothing of another one's beginning");
	ok(is_pause(&r.p.pauses.list[2], 38 * MS - BEGAN, 0, 2 * MS) &&
		   is_subject(&r.p.pauses.list[2], "a.B.ask", ""),
	   "nor that has no time until all had stopped");
	ok(r.p.pauses.list[0].begin == 0, "one that is longer than the recording began with it");
	close(fd);
}

/* A record has 64 KiB: the deepest stacks are cut, with who is named. */
static void test_deep(void)
{
	static uint64_t deep[9000];
	static char name[200];
	struct sample_detail d = {.event = SAFEPOINT,
				  .amount = 8 * MS,
				  .holder = 3000,
				  .flags = PERFWRITE_WAITED,
				  .name = name,
				  .name_len = sizeof(name)};
	CLEANUP(read_fini) struct read r = {0};
	struct perf_writer *w;
	int fd;

	for (size_t i = 0; i < ARRAY_LEN(deep); i++)
		deep[i] = LIB + 0x20;
	memset(name, 'n', sizeof(name));
	w = begin(&fd, KINDS);
	add_process(w);
	add_holders(w, 2000, 3000);
	for (size_t n = 8100; n < 8200; n++) {
		d.asker = n % 2 ? 2000 : 1999;
		add(w, n * 1000, VM_THREAD, deep, n, &d);
	}
	end(w);
	r = read_from(fd, BEGAN, 1);
	is_int((int64_t)r.p.quality.samples, 800 * (int64_t)MS, "the deepest are read");
	ok(strstr(r.stacks.buf, ";a.B.ask;") &&
		   strstr(r.stacks.buf, ";waiting for;a.B.loop 400000000"),
	   "with who asked, and who was waited for");
	close(fd);
}

int main(void)
{
	test_whole();
	test_early();
	test_unknown();
	test_cut();
	test_halves();
	test_deep();
	return tap_done();
}
