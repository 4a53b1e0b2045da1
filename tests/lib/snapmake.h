/* SPDX-License-Identifier: Apache-2.0 */
/* Makes snapshots in memory, for tests. */
#ifndef DFG_LIB_SNAPMAKE_H
#define DFG_LIB_SNAPMAKE_H

#include "common/str.h"
#include "dfg/snapshot.h"
#include "jit/code_history.h"
#include "lib/textfile.h"

/* The parts of a CODE record; the counts of `head` are set from them. */
struct sm_code {
	struct snap_code head;
	const struct snap_scope *scopes;
	const struct snap_region *regions;
	const struct snap_exit *exits;
	const uint32_t *calls;
	const struct snap_spill *spills;
	size_t spill_count;
	const char *name;
};

/* Makes the record that starts at `at` whole: a multiple of 8 bytes, its size set. */
__attribute__((unused)) static void sm_end(struct str *s, size_t at)
{
	uint32_t size;

	while (s->len % 8)
		str_addc(s, 0);
	size = (uint32_t)(s->len - at);
	memcpy(s->buf + at + offsetof(struct snap_record, size), &size, sizeof(size));
}

__attribute__((unused)) static void sm_head(struct str *s, struct snap_head head)
{
	head.record = (struct snap_record){.type = SNAP_HEAD, .size = sizeof(head)};
	head.magic = SNAP_MAGIC;
	head.version = SNAP_VERSION;
	str_add(s, &head, sizeof(head));
}

__attribute__((unused)) static void sm_method(struct str *s, uint64_t id, const char *name,
					      const char *file)
{
	struct snap_method m = {.record = {.type = SNAP_METHOD},
				.id = id,
				.name_len = (uint32_t)strlen(name),
				.file_len = (uint32_t)strlen(file)};
	size_t at = s->len;

	str_add(s, &m, sizeof(m));
	str_adds(s, name);
	str_adds(s, file);
	sm_end(s, at);
}

/* The same as one that was asked for. */
__attribute__((unused)) static void sm_asked(struct str *s, uint64_t id, const char *name)
{
	static const uint32_t type = SNAP_ASKED;
	const size_t at = s->len;

	sm_method(s, id, name, "");
	memcpy(s->buf + at + offsetof(struct snap_record, type), &type, sizeof(type));
}

/* A time at which classes were unloaded. */
__attribute__((unused)) static void sm_unloaded(struct str *s, uint64_t time)
{
	const struct snap_unloaded u = {.record = {SNAP_UNLOADED, sizeof(u)}, .time = time};

	str_add(s, &u, sizeof(u));
}

__attribute__((unused)) static void sm_code(struct str *s, struct sm_code c)
{
	size_t at = s->len;

	c.head.record.type = SNAP_CODE;
	c.head.name_len = c.name ? (uint32_t)strlen(c.name) : 0;
	str_add(s, &c.head, sizeof(c.head));
	str_add(s, c.scopes, c.head.scope_count * sizeof(*c.scopes));
	str_add(s, c.regions, c.head.region_count * sizeof(*c.regions));
	str_add(s, c.exits, c.head.exit_count * sizeof(*c.exits));
	str_add(s, c.calls, c.head.call_count * sizeof(*c.calls));
	str_adds(s, c.name ? c.name : "");
	while (s->len % 8)
		str_addc(s, 0);
	str_add(s, c.spills, c.spill_count * sizeof(*c.spills));
	sm_end(s, at);
}

/* The same of one that was asked for. */
__attribute__((unused)) static void sm_asked_code(struct str *s, struct sm_code c)
{
	static const uint32_t type = SNAP_ASKED_CODE;
	const size_t at = s->len;

	sm_code(s, c);
	memcpy(s->buf + at + offsetof(struct snap_record, type), &type, sizeof(type));
}

/* Compiled code of 256 bytes of method 1: a frame of 32 bytes, no calls, never deoptimised. */
__attribute__((unused)) static struct sm_code sm_compiled(uint64_t start)
{
	return (struct sm_code){.head = {.start = start,
					 .size = 0x100,
					 .kind = SNAP_COMPILED,
					 .method = 1,
					 .frame_size = 32,
					 .frame_complete = 0x10,
					 .push_end = 4,
					 .sub_end = 8,
					 .deopt = SNAP_NONE,
					 .deopt_mh = SNAP_NONE,
					 .orig_pc = SNAP_NONE}};
}

__attribute__((unused)) static void sm_gone(struct str *s, const uint64_t *starts, size_t n)
{
	struct snap_gone g = {.record = {.type = SNAP_GONE}, .count = n};
	size_t at = s->len;

	str_add(s, &g, sizeof(g));
	str_add(s, starts, n * sizeof(*starts));
	sm_end(s, at);
}

__attribute__((unused)) static void sm_stub(struct str *s, uint64_t start, uint32_t size,
					    const char *name)
{
	struct snap_stub t = {.record = {.type = SNAP_STUB},
			      .start = start,
			      .size = size,
			      .name_len = (uint32_t)strlen(name)};
	size_t at = s->len;

	str_add(s, &t, sizeof(t));
	str_adds(s, name);
	sm_end(s, at);
}

/* The end of one that was taken until `time`. */
__attribute__((unused)) static void sm_done_at(struct str *s, uint64_t time)
{
	struct snap_end end = {.record = {.type = SNAP_END, .size = sizeof(end)}, .time = time};

	str_add(s, &end, sizeof(end));
}

__attribute__((unused)) static void sm_done(struct str *s)
{
	sm_done_at(s, 0);
}

/* Adds the snapshots in memory to a history. */
__attribute__((unused)) static int sm_read(struct snapfile *sf, const void *p, size_t len,
					   struct err *err)
{
	CLEANUP(close_fd) int fd = file_of(p, len);

	return snapfile_read(sf, fd, err);
}

#endif
