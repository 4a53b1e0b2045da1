/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of recordings of several events (eventmake.h), of a process with a library and a JVM's
 * code. */
#ifndef DFG_LIB_EVENTPROFILE_H
#define DFG_LIB_EVENTPROFILE_H

#include "lib/ehmake.h"
#include "lib/eventmake.h"
#include "lib/snapmake.h"
#include "lib/stackstext.h"
#include "profile/read.h"

static struct err err;

enum { HOLD = 2, RUN = 3 }; /* ids of methods */

/* Code 42 at CODE and two interpreted methods, from the first snapshot to the last. */
static int snapshots(void)
{
	static const struct snap_scope scope = {.method = 1, .parent = SNAP_NONE};
	static const struct snap_region region = {.end = 0x100};
	CLEANUP(str_fini) struct str s = {0};
	struct snap_head head = {.time = 1,
				 .flags = SNAP_METHODS_COMPLETE,
				 .code_low = CODE,
				 .code_high = CODE + 0x10000};

	sm_head(&s, head);
	sm_method(&s, 1, "a.B.make", "");
	sm_method(&s, HOLD, "a.B.hold", "");
	sm_method(&s, RUN, "a.B.run", "");
	sm_code(&s, (struct sm_code){.head = {.start = CODE,
					      .size = 0x100,
					      .kind = SNAP_COMPILED,
					      .level = 4,
					      .compile_id = 42,
					      .method = 1,
					      .region_count = 1,
					      .scope_count = 1},
				     .scopes = &scope,
				     .regions = &region});
	sm_done_at(&s, 2);
	head.flags = SNAP_METHODS_NAMED | SNAP_DELTA;
	head.time = 1000;
	sm_head(&s, head);
	sm_done_at(&s, 1001);
	return file_of(s.buf, s.len);
}

/* A library of a function with an ordinary frame and the outermost one. */
static int library(void)
{
	static const uint8_t usual[] = {EH_USUAL}, outermost[] = {EH_OUTERMOST};
	static const struct eh_function list[] = {{0x1000, usual, sizeof(usual)},
						  {0x1100, outermost, sizeof(outermost)}};
	CLEANUP(str_fini) struct str file = {0};

	eh_file(&file, "work@1000+40 start@1100+40", list, ARRAY_LEN(list));
	while (file.len < 0x3000)
		str_addc(&file, 0);
	return file_of(file.buf, file.len);
}

struct read {
	struct str stacks;
	struct quality quality;
	size_t timed; /* samples that have a time of their own */
};

static void cleanup_read_fini(struct read *r)
{
	str_fini(&r->stacks);
}

/* Reads one event of a recording in so many parts, with the JVM's snapshots or without. */
static struct read read_parts(int perf_fd, unsigned event, bool jvm, size_t parts)
{
	struct session_map map = {.pid = PID, .fd = jvm ? snapshots() : -1};
	struct session_elf elf = {.path = "/lib/libx.so", .fd = library(), .debug_fd = -1};
	struct recording in = {.perf_fd = perf_fd,
			       .kallsyms_fd = -1,
			       .maps = &map,
			       .map_count = jvm,
			       .elfs = &elf,
			       .elf_count = 1,
			       .event = event,
			       .parts = parts};
	struct read ret = {0};
	struct profile p;

	profile_init(&p, true);
	if (profile_read(&in, &p, &err) < 0)
		abort();
	str_adds(&ret.stacks, "");
	stacks_sort(p.stacks);
	stacks_text(p.stacks, 0, "", &ret.stacks);
	ret.quality = p.quality;
	ret.timed = p.samples->count;
	profile_fini(&p);
	close(elf.fd);
	if (jvm)
		close(map.fd);
	return ret;
}

static struct read read_event(int perf_fd, unsigned event, bool jvm)
{
	return read_parts(perf_fd, event, jvm, 1);
}

static void add_process(struct perf_writer *w)
{
	const struct proc_map code = {
		.start = CODE, .end = CODE + 0x10000, .exec = true, .path = ""};
	const struct proc_map lib = {.start = LIB,
				     .end = LIB + 0x1000,
				     .offset = 0x1000,
				     .exec = true,
				     .path = "/lib/libx.so"};
	const struct walked_sample s = sample_at(0, NULL);

	perf_writer_comm(w, PID, PID + 1, "worker");
	perf_writer_map(w, PID, &code);
	perf_writer_map(w, PID, &lib);
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
