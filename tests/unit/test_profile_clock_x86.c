// SPDX-License-Identifier: Apache-2.0
/* Profiles of the wall clock: causes by system call and stack, who woke whom. */
#include "lib/eventread.h"
#include "lib/tap.h"

#define MS    1000000ull
#define WAKER (PID + 2)

static const struct event_library lib = {"/lib/libjvm.so", "ObjectMonitor::EnterI"};

static int snapshots(void)
{
	static const char *const methods[] = {"a.B.run"};

	return snapshots_of(methods, 1, 1, 1000 * MS);
}

static const uint64_t waiting[] = {LIB + 0x20, IN_CODE(NUMBER, 16), LIB + 0x110};
static const uint64_t native[] = {LIB + 0x110};

static void add(struct perf_writer *w, pid_t tid, uint64_t time, const uint64_t *list, size_t n,
		struct sample_detail d)
{
	struct walked_sample s = sample_at(time, &d);

	d.event = SESSION_WALL;
	s.tid = tid;
	s.frames = list;
	s.frame_count = n;
	perf_writer_walked(w, &s);
}

static int recording(void)
{
	const struct walked_sample s = sample_at(0, NULL);
	struct perf_writer *w;
	int fd;

	w = begin(&fd, SESSION_WALL + 1);
	perf_writer_comm(w, PID, PID + 1, "worker");
	perf_writer_comm(w, PID, WAKER, "waker");
	map_code(w, &lib);
	perf_writer_code(w, &s, NUMBER, CODE, 42);
	add(w, PID + 1, 10 * MS, waiting, 3, (struct sample_detail){.amount = 5, NAMED("running")});
	add(w, WAKER, 20 * MS, native, 1,
	    (struct sample_detail){.flags = PERFWRITE_HOLDER | PERFWRITE_ENTIRE, .name = ""});
	add(w, PID + 1, 21 * MS, waiting, 3,
	    (struct sample_detail){.amount = 9 * MS,
				   .holder = 20 * MS,
				   .flags = PERFWRITE_WAIT,
				   NAMED("futex com/acme/Pool")});
	add(w, PID + 1, 22 * MS, waiting, 3, (struct sample_detail){.amount = 7, NAMED("futex")});
	add(w, PID + 1, 23 * MS, waiting, 3,
	    (struct sample_detail){.amount = 3, NAMED("socket 10.0.0.5:\0335432")});
	add(w, WAKER, 24 * MS, native, 1, (struct sample_detail){.amount = 4, NAMED("futex")});
	add(w, WAKER, 25 * MS, native, 0, (struct sample_detail){.amount = 2, NAMED("sleep")});
	add(w, WAKER, 26 * MS, native, 1, (struct sample_detail){.amount = 1, NAMED("nonsense")});
	end(w);
	return fd;
}

static void test_profile(void)
{
	int fd = recording();

	for (unsigned parts = 1; parts <= 3; parts++) {
		CLEANUP(read_fini)
		struct read r = read_recording(
			(struct recording){
				.perf_fd = fd, .event = SESSION_WALL, .began = MS, .parts = parts},
			&lib, snapshots());
		const struct wall *all;
		struct wall_list list;

		is_str(r.stacks.buf,
		       "waker;other 5\n"
		       "waker;sleep;[no stack was taken] 2\n"
		       "worker;monitor;a.B.run;ObjectMonitor::EnterI 7\n"
		       "worker;monitor;a.B.run;ObjectMonitor::EnterI;com.acme.Pool;woken "
		       "by;start;waker 9000000\n"
		       "worker;running;a.B.run;ObjectMonitor::EnterI 5\n"
		       "worker;socket;a.B.run;ObjectMonitor::EnterI;10.0.0.5:?5432 3\n",
		       "in %u parts: the cause is below the stack, and who woke above it", parts);
		all = &r.p.wall;
		wall_list_make(all, r.p.stacks, &list);
		ok(list.listed == 2 && list.ns[WALL_MONITOR] == 9 * MS + 7 &&
			   list.ns[WALL_OTHER] == 5 && list.ns[WALL_SLEEP] == 2,
		   "  threads have their time by cause");
		ok(list.waits.count == 1 && !strcmp(list.waits.list[0].thread, "worker") &&
			   list.waits.list[0].cause == WALL_MONITOR &&
			   list.waits.list[0].begin == 11 * MS && list.waits.list[0].ns == 9 * MS &&
			   !strcmp(list.waits.list[0].what.method, "a.B.run") &&
			   !strcmp(list.waits.list[0].what.class, "com.acme.Pool") &&
			   !strcmp(list.waits.list[0].waker, "waker"),
		   "  a wait of 1 ms or more is listed, with who ended it");
	}
	close(fd);
}

int main(void)
{
	test_profile();
	return tap_done();
}
