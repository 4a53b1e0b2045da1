// SPDX-License-Identifier: Apache-2.0
/* Profiles of waits for locks: who held the lock is above its class. */
#include "lib/eventprofile.h"
#include "lib/tap.h"
#include "profile/holders.h"

#define LOCK	    2 /* the event */
#define METHOD(id)  (2ull << 60 | (id))
#define HELD(stack) "worker;a.B.make;a.B.make;java.lang.Object;held by;" stack " 500\n"
#define ALONE	    "worker;a.B.make;a.B.make;java.lang.Object 500\n"

static const uint64_t holds[] = {LIB + 0x10, METHOD(HOLD), METHOD(RUN), LIB + 0x110};

/* A recording of one process. */
struct made {
	struct perf_writer *w;
	int fd;
};

static void make(struct made *m)
{
	m->w = begin(&m->fd, LOCK + 1);
	add_process(m->w);
}

static void add_holder(struct made *m, pid_t pid, uint64_t time, const uint64_t *list, size_t n)
{
	const struct sample_detail d = {.event = LOCK, .flags = PERFWRITE_HOLDER};
	struct walked_sample s = sample_at(time, &d);

	s.pid = pid;
	s.tid = pid + 7;
	s.frames = list;
	s.frame_count = n;
	perf_writer_walked(m->w, &s);
}

/* A wait of 500 ns; `holder` 0: that names none. */
static void add_wait(struct made *m, pid_t pid, uint64_t time, uint64_t holder)
{
	const struct sample_detail d = {
		.event = LOCK, .amount = 500, .holder = holder, NAMED("java/lang/Object")};
	struct walked_sample s = sample_at(time, &d);

	s.pid = pid;
	perf_writer_walked(m->w, &s);
}

static struct read read_made(struct made *m, size_t parts)
{
	return read_parts(m->fd, LOCK, true, parts);
}

static void test_held(void)
{
	CLEANUP(read_fini) struct read r = {0}, other = {0};
	struct made m;

	make(&m);
	add_holder(&m, PID, 100, holds, ARRAY_LEN(holds));
	add_wait(&m, PID, 110, 100);
	end(m.w);
	r = read_made(&m, 1);
	is_str(r.stacks.buf, HELD("work;a.B.hold;a.B.run"),
	       "the holder's frames are above the class, innermost first, without the thread's "
	       "first functions");
	ok(r.p.quality.samples == 500 && r.p.quality.java_samples == 500 &&
		   r.p.quality.java_complete == 500 && r.p.quality.truncated == 0,
	   "what a holder did is no sample");
	is_int(r.p.quality.frames, 7, "its frames are counted where they are shown");
	is_int(r.p.quality.java_frames, 4, "methods, too");
	is_int((int64_t)r.p.samples->count, 0, "without times of their own");
	other = read_event(m.fd, 1, true);
	is_int(other.p.quality.samples, 0, "another event has none of it");
	close(m.fd);
}

/* A wait that names what is none. */
static void test_missing(void)
{
	static const struct {
		const char *what;
		pid_t pid; /* of the holder */
		uint64_t time, holder;
		bool later, native;
	} rows[] = {
		{"no holder", PID, 100, 0, false, false},
		{"one of another time", PID, 100, 101, false, false},
		{"one that is not there", PID, 100, UINT64_MAX, false, false},
		{"one that comes later", PID, 100, 100, true, false},
		{"one of another process", PID + 40, 100, 100, false, false},
		{"one without Java methods", PID, 100, 100, false, true},
	};
	static const uint64_t native[] = {LIB + 0x10, LIB + 0x110};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(read_fini) struct read r = {0};
		struct made m;

		make(&m);
		for (unsigned step = 0; step < 2; step++) {
			if (step == rows[i].later)
				add_holder(&m, rows[i].pid, rows[i].time,
					   rows[i].native ? native : holds,
					   rows[i].native ? ARRAY_LEN(native) : ARRAY_LEN(holds));
			else
				add_wait(&m, PID, 90 + 20 * step, rows[i].holder);
		}
		end(m.w);
		r = read_made(&m, 1);
		is_str(r.stacks.buf, ALONE, "%s: the wait has its own stack", rows[i].what);
		close(m.fd);
	}
}

/* The waits of another process cannot name this one's. */
static void test_foreign(void)
{
	CLEANUP(read_fini) struct read r = {0};
	struct made m;

	make(&m);
	add_holder(&m, PID, 100, holds, ARRAY_LEN(holds));
	add_wait(&m, PID + 40, 110, 100);
	end(m.w);
	r = read_made(&m, 1);
	ok(r.p.quality.samples == 500 && !strstr(r.stacks.buf, "held by"),
	   "a wait of another process is not held by it: %s", r.stacks.buf);
	close(m.fd);
}

static void test_overwritten(void)
{
	enum { MANY = 60000 };
	CLEANUP(read_fini) struct read r = {0};
	struct made m;

	make(&m);
	for (unsigned i = 0; i < MANY; i++)
		add_holder(&m, PID, 100 + i, holds, ARRAY_LEN(holds));
	add_wait(&m, PID, 100 + MANY, 100);
	add_wait(&m, PID, 101 + MANY, 99 + MANY);
	end(m.w);
	r = read_made(&m, 1);
	is_str(r.stacks.buf, ALONE HELD("work;a.B.hold;a.B.run"),
	       "of very many the last ones are known");
	close(m.fd);
}

static void test_deep(void)
{
	static uint64_t deep[2 * HOLDER_FRAMES];
	CLEANUP(read_fini) struct read r = {0};
	const char *at;
	struct made m;
	unsigned n = 0;

	for (size_t i = 0; i < ARRAY_LEN(deep); i++)
		deep[i] = METHOD(i ? RUN : HOLD);
	make(&m);
	add_holder(&m, PID, 100, deep, ARRAY_LEN(deep));
	add_wait(&m, PID, 110, 100);
	end(m.w);
	r = read_made(&m, 1);
	at = strstr(r.stacks.buf, ";held by;a.B.hold;a.B.run");
	ok(at != NULL, "of a deep holder the innermost are kept");
	for (; at && (at = strstr(at, ";a.B.run")); at++)
		n++;
	is_int(n, HOLDER_FRAMES - 1, "so many of them");
	close(m.fd);
}

/* Holders in an earlier part of the recording than the waits. */
static void test_parts(void)
{
	enum { WAITS = 300 };
	CLEANUP(read_fini) struct read whole = {0};
	struct made m;

	make(&m);
	for (unsigned i = 0; i < 3; i++)
		add_holder(&m, PID, 100 + i, holds + i, ARRAY_LEN(holds) - i);
	for (unsigned i = 0; i < WAITS; i++)
		add_wait(&m, PID, 200 + i, 100 + i % 3);
	end(m.w);
	whole = read_made(&m, 1);
	is_str(whole.stacks.buf,
	       "worker;a.B.make;a.B.make;java.lang.Object;held by;a.B.hold;a.B.run 50000\n"
	       "worker;a.B.make;a.B.make;java.lang.Object;held by;a.B.run 50000\n"
	       "worker;a.B.make;a.B.make;java.lang.Object;held by;work;a.B.hold;a.B.run 50000\n",
	       "waits for three holders");
	for (size_t parts = 2; parts <= 8; parts += 3) {
		CLEANUP(read_fini) struct read r = read_made(&m, parts);

		is_str(r.stacks.buf, whole.stacks.buf, "the same in %zu parts", parts);
		is_int(r.p.quality.samples, WAITS * 500, "each wait counts once");
	}
	close(m.fd);
}

/* A recording that was made up may have this: a holder with an amount, one that names itself, one
 * that is no wait. */
static void test_forged(void)
{
	const struct sample_detail d = {.event = LOCK,
					.amount = 7,
					.holder = 100,
					.flags = PERFWRITE_HOLDER | PERFWRITE_HUMONGOUS,
					NAMED("A")};
	struct walked_sample s = sample_at(100, &d);
	CLEANUP(read_fini) struct read r = {0};
	struct made m;

	make(&m);
	s.frames = holds;
	s.frame_count = ARRAY_LEN(holds);
	perf_writer_walked(m.w, &s);
	perf_writer_walked(m.w, &s);
	add_wait(&m, PID, 110, 100);
	end(m.w);
	r = read_made(&m, 1);
	is_str(r.stacks.buf, HELD("work;a.B.hold;a.B.run"),
	       "a holder has frames, and nothing else that counts");
	close(m.fd);
}

int main(void)
{
	test_held();
	test_missing();
	test_foreign();
	test_overwritten();
	test_deep();
	test_parts();
	test_forged();
	return tap_done();
}
