/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of recordings of several events (eventmake.h), of a process with a library and a JVM's
 * code. */
#ifndef DFG_LIB_EVENTPROFILE_H
#define DFG_LIB_EVENTPROFILE_H

#include "lib/eventread.h"

enum { HOLD = 2, RUN = 3 }; /* ids of methods */

static const struct event_library lib = {"/lib/libx.so", "work"};

/* Code 42 at CODE and two interpreted methods. */
static int snapshots(void)
{
	static const char *const methods[] = {"a.B.make", "a.B.hold", "a.B.run"};

	return snapshots_of(methods, ARRAY_LEN(methods), 1, 1000);
}

/* Reads one event of a recording in so many parts, with the JVM's snapshots or without. */
static struct read read_parts(int perf_fd, unsigned event, bool jvm, size_t parts)
{
	return read_recording(
		(struct recording){.perf_fd = perf_fd, .event = event, .parts = parts}, &lib,
		jvm ? snapshots() : -1);
}

static struct read read_event(int perf_fd, unsigned event, bool jvm)
{
	return read_parts(perf_fd, event, jvm, 1);
}

static void add_process(struct perf_writer *w)
{
	const struct walked_sample s = sample_at(0, NULL);

	perf_writer_comm(w, PID, PID + 1, "worker");
	map_code(w, &lib);
	perf_writer_code(w, &s, NUMBER, CODE, 42);
}

__attribute__((unused)) static void add(struct perf_writer *w, uint64_t time, bool cut,
					const struct sample_detail *d)
{
	struct walked_sample s = sample_at(time, d);

	s.cut = cut;
	perf_writer_walked(w, &s);
}

#endif
