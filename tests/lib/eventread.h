/* SPDX-License-Identifier: Apache-2.0 */
/* Reads recordings of several events (eventmake.h), of a process with a library and a JVM's code.
 */
#ifndef DFG_LIB_EVENTREAD_H
#define DFG_LIB_EVENTREAD_H

#include "lib/ehmake.h"
#include "lib/eventmake.h"
#include "lib/snapmake.h"
#include "lib/stackstext.h"
#include "profile/read.h"

static struct err err;

/* Methods 1, 2, …, of which the first so many have code 42, 43, … of 256 bytes from CODE on, and
 * the others are interpreted; from the first snapshot to the last, at `last` ns. */
static int snapshots_of(const char *const *methods, size_t count, size_t compiled, uint64_t last)
{
	static const struct snap_region region = {.end = 0x100};
	CLEANUP(str_fini) struct str s = {0};
	struct snap_head head = {.time = 1,
				 .flags = SNAP_METHODS_COMPLETE,
				 .code_low = CODE,
				 .code_high = CODE + 0x10000};

	sm_head(&s, head);
	for (uint32_t i = 0; i < count; i++)
		sm_method(&s, i + 1, methods[i], "");
	for (uint32_t i = 0; i < compiled; i++) {
		const struct snap_scope scope = {.method = i + 1, .parent = SNAP_NONE};

		sm_code(&s, (struct sm_code){.head = {.start = CODE + i * 0x100,
						      .size = 0x100,
						      .kind = SNAP_COMPILED,
						      .level = 4,
						      .compile_id = 42 + i,
						      .method = i + 1,
						      .region_count = 1,
						      .scope_count = 1},
					     .scopes = &scope,
					     .regions = &region});
	}
	sm_done_at(&s, 2);
	head.flags = SNAP_METHODS_NAMED | SNAP_DELTA;
	head.time = last;
	sm_head(&s, head);
	sm_done_at(&s, last + 1);
	return file_of(s.buf, s.len);
}

/* A library of a function with an ordinary frame and the outermost one, which is mapped at LIB. */
struct event_library {
	const char *path, *function;
};

static int library_file(const struct event_library *l)
{
	static const uint8_t usual[] = {EH_USUAL}, outermost[] = {EH_OUTERMOST};
	static const struct eh_function list[] = {{0x1000, usual, sizeof(usual)},
						  {0x1100, outermost, sizeof(outermost)}};
	CLEANUP(str_fini) struct str file = {0};
	char names[64];

	snprintf(names, sizeof(names), "%s@1000+40 start@1100+40", l->function);
	eh_file(&file, names, list, ARRAY_LEN(list));
	while (file.len < 0x3000)
		str_addc(&file, 0);
	return file_of(file.buf, file.len);
}

static void map_code(struct perf_writer *w, const struct event_library *l)
{
	const struct proc_map code = {
		.start = CODE, .end = CODE + 0x10000, .exec = true, .path = ""};
	const struct proc_map lib = {
		.start = LIB, .end = LIB + 0x1000, .offset = 0x1000, .exec = true, .path = l->path};

	perf_writer_map(w, PID, &code);
	perf_writer_map(w, PID, &lib);
}

struct read {
	struct profile p;
	struct str stacks; /* as text */
};

static void cleanup_read_fini(struct read *r)
{
	profile_fini(&r->p);
	str_fini(&r->stacks);
}

/* Reads perf_fd, event, began and parts of `in`, with the JVM's snapshots, which are closed; -1:
 * without. */
static struct read read_recording(struct recording in, const struct event_library *l, int snapshots)
{
	struct read ret = {0};
	struct session_map map = {.pid = PID, .fd = snapshots};
	struct session_elf elf = {.path = l->path, .fd = library_file(l), .debug_fd = -1};

	in.kallsyms_fd = -1;
	in.maps = &map;
	in.map_count = snapshots >= 0;
	in.elfs = &elf;
	in.elf_count = 1;
	profile_init(&ret.p, true);
	if (profile_read(&in, &ret.p, &err) < 0)
		abort();
	str_adds(&ret.stacks, "");
	stacks_sort(ret.p.stacks);
	stacks_text(ret.p.stacks, 0, "", &ret.stacks);
	close(elf.fd);
	if (snapshots >= 0)
		close(snapshots);
	return ret;
}

#endif
