// SPDX-License-Identifier: Apache-2.0
/* Profiles of recordings of several events: the class is the innermost frame, bytes are counted. */
#include "common/fs.h"
#include "lib/eventprofile.h"
#include "lib/tap.h"

#define STACK 0x7f0000u

enum { SP = 7, IP = 8 }; /* of the registers */

static void test_profile(void)
{
	const struct sample_detail string = {.event = 1, .amount = 4096, NAMED("java/lang/String")};
	const struct sample_detail bytes = {.event = 1, .amount = 100, NAMED("[B")};
	const struct sample_detail none = {.event = 1, .amount = 7, .flags = PERFWRITE_OUTSIDE};
	const struct sample_detail out = {
		.event = 1, .amount = 20, .flags = PERFWRITE_OUTSIDE, NAMED("[B")};
	const struct sample_detail region = {.event = 1,
					     .amount = 30,
					     .flags = PERFWRITE_OUTSIDE | PERFWRITE_HUMONGOUS,
					     NAMED("[B")};
	CLEANUP(read_fini) struct read first = {0}, second = {0}, third = {0};
	struct perf_writer *w;
	int fd;

	w = begin(&fd, EVENTS);
	add_process(w);
	add_kernel_sample(w, 90);
	add(w, 100, false, NULL);
	add(w, 101, false, &string);
	add(w, 102, false, &bytes);
	add(w, 103, false, &string);
	add(w, 104, true, &bytes);
	add(w, 105, false, &none);
	add(w, 106, false, &out);
	add(w, 107, false, &region);
	end(w);
	first = read_event(fd, 0, true);
	is_str(first.stacks.buf, "worker;a.B.make;a.B.make 1\nworker;work 1\n",
	       "the first event has its own samples only");
	ok(first.p.quality.samples == 2 && first.p.quality.truncated == 0 &&
		   first.p.samples->count == 2,
	   "they count 1, with their times");
	second = read_event(fd, 1, true);
	is_str(second.stacks.buf,
	       "worker;a.B.make;a.B.make 7\n"
	       "worker;a.B.make;a.B.make;byte[] 200\n"
	       "worker;a.B.make;a.B.make;byte[] (humongous) 30\n"
	       "worker;a.B.make;a.B.make;byte[] (outside TLAB) 20\n"
	       "worker;a.B.make;a.B.make;java.lang.String 8192\n",
	       "the second has the class as the innermost frame, and counts its bytes");
	is_int(second.p.quality.samples, 8449, "samples are bytes");
	is_int(second.p.quality.java_samples, 8449, "of Java, too");
	is_int(second.p.quality.java_complete, 8349,
	       "those of a stack that is cut are not complete");
	is_int(second.p.quality.truncated, 100, "they are truncated");
	is_int(second.p.quality.frames, 20, "frames are frames, with that of the class");
	is_int(second.p.quality.java_frames, 14, "which is no method");
	is_int((int64_t)second.p.samples->count, 0, "they have no times");
	third = read_event(fd, 2, true);
	ok(third.stacks.len == 0 && third.p.quality.samples == 0,
	   "an event that is not there is empty");
	close(fd);
}

/* Returns the file with a word, which it has once, replaced. */
static int replaced(int fd, uint32_t from, uint32_t to)
{
	CLEANUP(str_fini) struct str all = {0};

	if (lseek(fd, 0, SEEK_SET) < 0 || fs_read_all(fd, 1 << 20, &all, &err) < 0)
		abort();
	memcpy(memmem(all.buf, all.len, &from, sizeof(from)), &to, sizeof(to));
	close(fd);
	return file_of(all.buf, all.len);
}

/* A sample of the first event that has a name. */
static void test_forged(void)
{
	const uint64_t named[] = {3, 0x425b5b, frames[0]};
	struct walked_sample s = sample_at(100, NULL);

	s.frames = named;
	s.frame_count = ARRAY_LEN(named);
	for (unsigned event = 0; event < EVENTS; event++) {
		CLEANUP(read_fini) struct read r = {0};
		struct perf_writer *w;
		int fd;

		w = begin(&fd, EVENTS);
		add_process(w);
		perf_writer_walked(w, &s);
		end(w);
		fd = replaced(fd, PERFWRITE_WHOLE, PERFWRITE_NAMED_WHOLE);
		r = read_event(fd, event, true);
		ok(r.p.quality.samples == (event ? 0 : 1) &&
			   r.p.samples->count == r.p.quality.samples,
		   "a named sample of the first event is one of it only, and counts one");
		is_str(r.stacks.buf, event ? "" : "worker;a.B.make;byte[][] (receiver) 1\n",
		       "its name is a class for which a method was selected");
		close(fd);
	}
}

static void test_copied(void)
{
	static uint64_t regs[REGISTERS] = {[SP] = STACK, [IP] = LIB + 0x10};
	static const uint64_t stack[] = {0, LIB + 0x20, 0, LIB + 0x110};
	const struct sample_detail d = {.event = 1,
					.amount = 64,
					NAMED("[Ljava/lang/Object;"),
					.regs = regs,
					.stack = (const uint8_t *)stack,
					.stack_len = sizeof(stack)};
	struct sample_detail half = d;
	CLEANUP(read_fini) struct read r = {0};
	struct perf_writer *w;
	int fd;

	half.stack_len = 16;
	w = begin(&fd, EVENTS);
	add_process(w);
	for (unsigned i = 0; i < 2; i++) {
		struct walked_sample s = sample_at(100 + i, i ? &half : &d);

		s.frame_count = 0;
		perf_writer_walked(w, &s);
	}
	end(w);
	r = read_event(fd, 1, false);
	is_str(r.stacks.buf,
	       "worker;start;work;work;java.lang.Object[] 64\n"
	       "worker;work;work;java.lang.Object[] 64\n",
	       "a copied stack is unwound, with the class as the innermost frame");
	is_int(r.p.quality.samples, 128, "and counts its bytes");
	close(fd);
}

/* The session of a JVM may lack its snapshots, whichever event it is. */
static void test_no_snapshots(void)
{
	static const uint64_t interpreted[] = {2ull << 60 | 5, LIB + 0x20, 2ull << 60,
					       IN_CODE(NUMBER, 16)};
	const struct sample_detail d = {.event = 1, .amount = 64, NAMED("A")};

	for (unsigned event = 0; event < EVENTS; event++) {
		CLEANUP(read_fini) struct read r = {0};
		struct walked_sample s = sample_at(100, event ? &d : NULL);
		struct perf_writer *w;
		int fd;

		s.frames = interpreted;
		s.frame_count = ARRAY_LEN(interpreted);
		w = begin(&fd, EVENTS);
		add_process(w);
		perf_writer_walked(w, &s);
		end(w);
		r = read_event(fd, event, false);
		is_str(r.stacks.buf,
		       event ? "worker;[stale];Interpreter;work;Interpreter;A 64\n"
			     : "worker;[stale];Interpreter;work;Interpreter 1\n",
		       "without snapshots no method has a name");
		close(fd);
	}
}

/* Amounts that nobody allocated: a JVM's counter is its own. What is drawn has less (load.h). */
static void test_amounts(void)
{
	const struct sample_detail most = {.event = 1, .amount = UINT64_MAX, NAMED("A")};
	const struct sample_detail nothing = {.event = 1, .amount = 0, NAMED("B")};

	for (unsigned n = 1; n <= 4; n++) {
		CLEANUP(read_fini) struct read r = {0};
		struct walked_sample s = sample_at(100, &most);
		struct perf_writer *w;
		int fd;

		w = begin(&fd, EVENTS);
		add_process(w);
		add(w, 100, false, &nothing);
		for (unsigned i = 0; i < n; i++, s.tid++) {
			s.cut = i % 2;
			perf_writer_walked(w, &s);
		}
		end(w);
		r = read_event(fd, 1, true);
		ok(r.p.quality.samples == COUNT_MAX && r.p.quality.java_samples == COUNT_MAX &&
			   r.p.quality.java_complete == COUNT_MAX &&
			   r.p.quality.truncated == (n > 1 ? COUNT_MAX : 0),
		   "the samples of %u threads end at COUNT_MAX", n);
		if (n == 1)
			is_str(r.stacks.buf, "worker;a.B.make;a.B.make;A 9007199254740992\n",
			       "so does one; nothing counts nothing");
		close(fd);
	}
}

int main(void)
{
	test_profile();
	test_forged();
	test_copied();
	test_no_snapshots();
	test_amounts();
	return tap_done();
}
