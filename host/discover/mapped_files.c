// SPDX-License-Identifier: Apache-2.0
#include "discover/mapped_files.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#include "common/fs.h"
#include "common/proc.h"

/* An answer: the number of files that it lacks, and for each other one its range, its path and a
 * NUL. */
struct file_range {
	uint64_t start, end;
};

/* ---- in the jail ---- */

struct file_list {
	char *answer;
	size_t len;
	const char *last; /* the path before this one, in the answer */
	uint32_t cut;
};

static int add_file(const struct proc_map *m, void *arg)
{
	const struct file_range range = {m->start, m->end};
	struct file_list *l = arg;
	size_t len = strlen(m->path) + 1;

	if (!m->exec || (m->path[0] != '/' && strcmp(m->path, "[vdso]")) ||
	    !strcmp(m->path, l->last))
		return 0;
	if (len > PATH_MAX || len + sizeof(range) > LOOK_ANSWER - l->len) {
		l->cut++;
		return 0;
	}
	memcpy(l->answer + l->len, &range, sizeof(range));
	l->last = memcpy(l->answer + l->len + sizeof(range), m->path, len);
	l->len += sizeof(range) + len;
	return 0;
}

/* One that cannot be read to its end, as of a process that has ended, has none. */
static size_t read_maps(int fd, char *answer)
{
	struct file_list l = {.answer = answer, .len = sizeof(l.cut), .last = ""};

	if (proc_each_map_in(fd, add_file, &l, NULL) < 0)
		return 0;
	memcpy(answer, &l.cut, sizeof(l.cut));
	return l.len;
}

int mapped_files_read(const int *procfds, size_t n, int ms, uint64_t deadline,
		      struct look_answer *ret, struct err *err)
{
	const struct look maps = {"maps", read_maps, ms};

	return look_at(&maps, procfds, n, deadline, ret, err);
}

/* ---- what it says ---- */

/* It becomes part of a path on the host (debug_files.h). Of files only the name of a memfd(2) can
 * have "..". */
static bool is_plain(const char *path)
{
	return path[0] == '/' ? strlen(path) < PATH_MAX && !strstr(path, "/../")
			      : !strcmp(path, "[vdso]");
}

bool mapped_file_next(const struct look_answer *a, size_t *at, struct file_mapping *ret)
{
	size_t from = *at ? *at : sizeof(uint32_t);

	while (a->text.len > from && a->text.len - from > sizeof(struct file_range)) {
		const char *path = a->text.buf + from + sizeof(struct file_range);
		struct file_range range;

		/* It has a NUL at its end in any case. */
		memcpy(&range, a->text.buf + from, sizeof(range));
		from += sizeof(range) + strlen(path) + 1;
		if (range.start >= range.end || !is_plain(path))
			continue;
		*at = from;
		*ret = (struct file_mapping){range.start, range.end, path};
		return true;
	}
	return false;
}

uint32_t mapped_files_cut(const struct look_answer *a)
{
	uint32_t n = 0;

	if (a->text.len >= sizeof(n))
		memcpy(&n, a->text.buf, sizeof(n));
	return n;
}

int mapped_file_open(int procfd, const struct file_mapping *f, struct stat *st)
{
	CLEANUP(close_fd) int at = -1;
	char path[64];

	snprintf(path, sizeof(path), "map_files/%llx-%llx", (unsigned long long)f->start,
		 (unsigned long long)f->end);
	at = openat(procfd, path, O_PATH | O_CLOEXEC);
	return fs_reopen_regular(at, st);
}
