/* SPDX-License-Identifier: Apache-2.0 */
/* Makes recordings of several events: named samples that count bytes. */
#ifndef DFG_LIB_EVENTMAKE_H
#define DFG_LIB_EVENTMAKE_H

#include <time.h>

#include "common/str.h"
#include "lib/textfile.h"
#include "perf/perfwrite.h"
#include "unwind/unwind_regs.h"

#define PID    7
#define EVENTS 2
#define ID     11 /* of the kernel's event */
#define CODE   0x7000000u
#define NUMBER 3u	 /* of the code there */
#define LIB    0x100000u /* a library */

#define IN_CODE(number, at) (1ull << 60 | (uint64_t)(number) << 32 | (at))
#define NAMED(text)	    .name = (text), .name_len = sizeof(text) - 1

#define REGISTERS 17 /* of UNWIND_PERFMASK */

static const uint64_t frames[] = {IN_CODE(NUMBER, 16), IN_CODE(NUMBER, 17)};

static struct perf_writer *begin(int *ret_fd, unsigned events)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr),
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
		.sample_regs_user = UNWIND_PERFMASK,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	const uint64_t ids[] = {ID, ID + 1};
	struct perf_writer *w;
	struct err err;

	*ret_fd = file_of("", 0);
	if (perf_writer_open(*ret_fd, &attr, ids, ARRAY_LEN(ids), events, &w, &err) < 0)
		abort();
	return w;
}

static void end(struct perf_writer *w)
{
	struct err err;

	if (perf_writer_end(w, &err) < 0)
		abort();
	perf_writer_free(w);
}

/* A walked sample; `d` NULL: of the processor's time. */
static struct walked_sample sample_at(uint64_t time, const struct sample_detail *d)
{
	return (struct walked_sample){.pid = PID,
				      .tid = PID + 1,
				      .time = time,
				      .ip = LIB + 0x10,
				      .frames = frames,
				      .frame_count = ARRAY_LEN(frames),
				      .detail = d};
}

/* A sample that the kernel wrote, in the first function of the library. */
__attribute__((unused)) static void add_kernel_sample(struct perf_writer *w, uint64_t time)
{
	struct {
		struct perf_event_header h;
		uint64_t id, ip;
		uint32_t pid, tid;
		uint64_t time, entries, chain[2];
	} r = {{PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof(r)},
	       ID,
	       LIB + 0x10,
	       PID,
	       PID + 1,
	       time,
	       2,
	       {(uint64_t)PERF_CONTEXT_USER, LIB + 0x10}};

	perf_writer_record(w, &r.h);
}

#endif
