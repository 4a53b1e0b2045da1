// SPDX-License-Identifier: Apache-2.0
/* The processor time of a JVM's own threads: the method that a compiler thread compiles is below
 * the compiler's functions, the operation of a pause below those of a collector's threads. */
#include "lib/eventread.h"
#include "lib/tap.h"
#include "profile/tasks.h"

#define BROKER	  "CompileBroker::invoke_compiler_on_method"
#define CALLS	  "worker;" BROKER
#define COLLECTOR "GC_Thread#0"

static const struct event_library lib = {"/lib/libx.so", "work"};

static struct sample_detail compilation(uint64_t ns, unsigned level, const char *method)
{
	return (struct sample_detail){.event = SESSION_COMPILE,
				      .amount = ns,
				      .flags = PERFWRITE_LEVEL(level),
				      .name = method,
				      .name_len = strlen(method)};
}

static void add(struct perf_writer *w, pid_t tid, uint64_t time, const struct sample_detail *d)
{
	struct walked_sample s = sample_at(time, d);

	s.tid = tid;
	perf_writer_walked(w, &s);
}

/* A thread compiles from 100 to 200 and from 300 to 310, another one from 150 on, and has not
 * ended. */
static int recording(void)
{
	const struct sample_detail first = compilation(100, 4, "a/B.c"),
				   second = compilation(10, 2, "a/B.d"),
				   gone = {.event = SESSION_COMPILE,
					   .flags = PERFWRITE_DISCARDED | PERFWRITE_LEVEL(3),
					   NAMED("a/B.e")},
				   waited = {.event = SESSION_SAFEPOINT,
					     .amount = 10,
					     .flags = PERFWRITE_WAITED,
					     NAMED("Collect (full)")},
				   stopped = {.event = SESSION_SAFEPOINT,
					      .amount = 40,
					      .flags = PERFWRITE_STOPPED,
					      NAMED("Collect (full)")},
				   never = compilation(UINT64_MAX, 4, "a/B.f");
	const struct walked_sample s = sample_at(0, NULL);
	struct perf_writer *w;
	int fd;

	w = begin(&fd, SESSION_COMPILE + 1);
	perf_writer_comm(w, PID, PID + 1, "worker");
	perf_writer_comm(w, PID, PID + 2, "worker");
	map_code(w, &lib);
	perf_writer_code(w, &s, NUMBER, CODE, 42);
	add(w, PID + 1, 99, NULL);
	add(w, PID + 1, 100, NULL);
	add(w, PID + 2, 160, NULL);
	add(w, PID + 1, 170, NULL);
	add(w, PID + 1, 180, &gone);
	add(w, PID + 1, 200, NULL);
	add(w, PID + 1, 200, &first);
	add(w, PID + 1, 250, NULL);
	add(w, PID + 1, 305, NULL);
	add(w, PID + 1, 310, &second);
	add(w, PID + 1, 320, &never);
	add(w, PID + 1, 330, NULL);
	perf_writer_comm(w, PID, PID + 3, "GC Thread#0");
	add(w, PID + 3, 340, NULL);
	add(w, PID + 3, 370, NULL);
	add(w, PID + 1, 370, NULL);
	add(w, PID + 3, 400, &waited);
	add(w, PID + 3, 400, &stopped);
	end(w);
	return fd;
}

static void read_text(int fd, bool has_tasks, size_t parts, const char *method, struct str *ret)
{
	CLEANUP(read_fini)
	struct read r = read_recording(
		(struct recording){.perf_fd = fd, .parts = parts, .has_tasks = has_tasks}, &lib,
		snapshots_of(&method, 1, 1, 1000));

	str_clear(ret);
	str_adds(ret, r.stacks.buf);
}

static void test_profile(void)
{
	CLEANUP(str_fini) struct str got = {0};
	int fd = recording();

	for (size_t parts = 1; parts <= 3; parts++) {
		read_text(fd, true, parts, BROKER, &got);
		is_str(got.buf,
		       COLLECTOR ";Collect (full);" BROKER ";" BROKER " 1\n" COLLECTOR ";" BROKER
				 ";" BROKER " 1\n" CALLS ";" BROKER " 5\n" CALLS
				 ";a.B.c (C2);" BROKER " 3\n" CALLS ";a.B.d (C1);" BROKER " 1\n",
		       "in %zu parts: samples are below the method of their thread and time",
		       parts);
	}
	read_text(fd, false, 1, BROKER, &got);
	is_str(got.buf, COLLECTOR ";" BROKER ";" BROKER " 2\n" CALLS ";" BROKER " 9\n",
	       "without recorded compilations it is not known");
	read_text(fd, true, 1, "a.B.run", &got);
	is_str(got.buf,
	       COLLECTOR ";Collect (full);a.B.run;a.B.run 1\n" COLLECTOR ";a.B.run;a.B.run 1\n"
			 "worker;a.B.run;a.B.run 9\n",
	       "stacks without the broker are what they are");
	close(fd);
}

static void test_find(void)
{
	CLEANUP(tasks_free) struct tasks *t = NULL;
	int fd = recording();

	ok(tasks_read(fd, &t, &err) == 0, "compilations are read");
	is_str(tasks_find(t, PID, PID + 1, 200), "a.B.c (C2)", "until the end");
	is_str(tasks_find(t, PID, TASKS_PAUSE, 360), "Collect (full)", "a pause");
	ok(!tasks_find(t, PID, TASKS_PAUSE, 359), "from when all threads had stopped on");
	ok(!tasks_find(t, PID, PID + 1, 201) && !tasks_find(t, PID, PID + 1, 99), "not longer");
	ok(!tasks_find(t, PID, PID, 150) && !tasks_find(t, PID, PID + 2, 150) &&
		   !tasks_find(t, PID + 1, PID + 1, 150),
	   "not of other threads");
	ok(!tasks_find(t, PID, PID + 1, UINT64_MAX) && !tasks_find(NULL, PID, PID + 1, 150),
	   "not where there are none");
	close(fd);
	fd = file_of("", 0);
	ok(tasks_read(fd, &t, &err) < 0, "not of an empty file: %s", err.msg);
	close(fd);
}

int main(void)
{
	test_profile();
	test_find();
	return tap_done();
}
