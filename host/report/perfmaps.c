// SPDX-License-Identifier: Apache-2.0
#include "report/perfmaps.h"

#include "common/fs.h"
#include "jit/perf_map.h"
#include "report/sandbox.h"

#define BLOCK 512

/* POSIX.1-1988, as in tar(5); the rest of the block is 0. Owned by root, as perf wants it for root.
 */
struct tar_header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
	char magic[6], version[2], user[32], group[32];
	char rest[BLOCK - 329];
};
_Static_assert(sizeof(struct tar_header) == BLOCK, "a block");

static void tar_add(struct str *out, const char *name, const struct str *text)
{
	static const char zeros[BLOCK];
	struct tar_header h = {.mode = "0000644",
			       .uid = "0000000",
			       .gid = "0000000",
			       .mtime = "00000000000",
			       .checksum = {' ', ' ', ' ', ' ', ' ', ' ', ' ', ' '},
			       .type = '0',
			       .magic = "ustar",
			       .version = {'0', '0'},
			       .user = "root",
			       .group = "root"};
	unsigned sum = 0;

	snprintf(h.name, sizeof(h.name), "%s", name);
	snprintf(h.size, sizeof(h.size), "%011zo", text->len);
	for (size_t i = 0; i < sizeof(h); i++)
		sum += ((const unsigned char *)&h)[i];
	snprintf(h.checksum, sizeof(h.checksum) - 1, "%06o", sum & 0777777);
	str_add(out, &h, sizeof(h));
	str_add(out, text->buf, text->len);
	str_add(out, zeros, (BLOCK - text->len % BLOCK) % BLOCK);
}

/* All snapshots of a process, in their order; false: it has none. */
static bool text_of(const struct session *s, const struct input_files *files, pid_t pid,
		    struct str *ret)
{
	CLEANUP(snapfile_free) struct snapfile *sf = snapfile_new();
	struct err ignored;
	bool any = false;

	for (size_t i = 0; i < s->map_count; i++) {
		int fd = files->list[INPUT_MAPS + i];

		if (s->maps[i].pid == pid && fd >= 0 && snapfile_is(fd))
			any = snapfile_read(sf, fd, &ignored) == 0 || any;
	}
	if (!any)
		return false;
	snapfile_finish(sf);
	perf_map_text(sf, ret);
	return ret->len > 0;
}

static bool is_first(const struct session *s, size_t map)
{
	for (size_t i = 0; i < map; i++)
		if (s->maps[i].pid == s->maps[map].pid)
			return false;
	return true;
}

static int write_session(const struct session *s, const struct input_files *files, int fd,
			 struct err *err)
{
	for (size_t i = 0; i < s->map_count; i++) {
		CLEANUP(str_fini) struct str text = {0};
		CLEANUP(str_fini) struct str member = {0};
		char name[32];

		if (!is_first(s, i) || !text_of(s, files, s->maps[i].pid, &text))
			continue;
		snprintf(name, sizeof(name), "perf-%d.map", (int)s->maps[i].pid);
		tar_add(&member, name, &text);
		if (fs_write_all(fd, member.buf, member.len, err) < 0)
			return -1;
	}
	return 0;
}

/* In the child. */
static int write_all(struct reading *r, void *arg, void *reply, struct err *err)
{
	static const char end[2 * BLOCK];
	const struct inputs *in = reading_inputs(r);
	int fd = *(const int *)arg;

	(void)reply;
	while (reading_at(r) < in->count) {
		CLEANUP(input_close) struct input_files files = {0};
		const struct session *s = input_session(&in->list[reading_at(r)]);

		if (reading_files(r, &files, err) < 0)
			return -1;
		if (s && write_session(s, &files, fd, err) < 0)
			return -1;
	}
	return fs_write_all(fd, end, sizeof(end), err);
}

int perfmaps_draw(const struct inputs *in, int fd, struct err *err)
{
	char nothing;

	return reading_run(in, write_all, &fd, &nothing, sizeof(nothing), err);
}
