// SPDX-License-Identifier: Apache-2.0
#include "doctor/stack_depth.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "common/child.h"
#include "common/jail.h"
#include "common/proc.h"
#include "common/str.h"

#define DEPTHS_MS  5000
#define MEMORY_MAX (1ull << 30) /* maps have up to 256 MiB */
#define TEXTS_MAX  (16u << 20)	/* of about 100 000 threads */

/* Documentation/admin-guide/mm/pagemap.rst */
#define PAGE_SWAPPED (1ull << 62)
#define PAGE_PRESENT (1ull << 63)

struct mapped_ranges {
	struct stack_range {
		uint64_t start, end;
	} * list;
	size_t count, cap;
};

static int add_map(const struct proc_map *m, void *arg)
{
	struct mapped_ranges *maps = arg;

	maps->list = grow(maps->list, maps->count, &maps->cap, sizeof(*maps->list));
	maps->list[maps->count++] = (struct stack_range){m->start, m->end};
	return 0;
}

bool stack_pointer_parse(const char *text, uint64_t *ret)
{
	const char *last = strrchr(text, ' ');
	const char *at = last ? memrchr(text, ' ', (size_t)(last - text)) : NULL;

	if (!at || !has_prefix(at + 1, "0x"))
		return false;
	return parse_hex(at + 3, (size_t)(last - at - 3), ret);
}

/* The end of the mapping that holds the address; 0: none does. They are in ascending order. */
static uint64_t map_end(const struct mapped_ranges *maps, uint64_t addr)
{
	size_t low = 0, high = maps->count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (maps->list[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < maps->count && addr >= maps->list[low].start ? maps->list[low].end : 0;
}

/* The end of the pages in memory or swapped out that follow the one of `addr`, at most `end`. */
static uint64_t touched_end(int pagemap, uint64_t addr, uint64_t end)
{
	const uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t entries[512], page = addr / size + 1;

	while (page * size < end) {
		ssize_t n = pread(pagemap, entries, sizeof(entries), (off_t)(page * 8));

		if (n < (ssize_t)sizeof(*entries))
			return end;
		for (size_t i = 0; i < (size_t)n / 8 && page * size < end; i++, page++)
			if (!(entries[i] & (PAGE_PRESENT | PAGE_SWAPPED)))
				return page * size;
	}
	return end;
}

static void add_depth(uint64_t depth, uint64_t bytes, struct stack_depths *d)
{
	d->asleep++;
	d->deeper += depth > bytes;
	if (depth > d->deepest)
		d->deepest = depth;
}

/* Reads what the kernel tells of each thread, each text with its NUL, which it does not tell in a
 * jail. */
static int read_texts(int procfd, struct str *ret, struct err *err)
{
	int taskfd = openat(procfd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = taskfd >= 0 ? fdopendir(taskfd) : NULL;
	struct dirent *e;

	if (!dir)
		return err_set(err, errno, "list its threads");
	while (ret->len < TEXTS_MAX && (e = readdir(dir))) {
		CLEANUP(free) char *path = xasprintf("%s/syscall", e->d_name);
		CLEANUP(close_fd) int fd = -1;
		char text[256] = "";

		if (e->d_name[0] == '.')
			continue;
		fd = openat(taskfd, path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			(void)!read(fd, text, sizeof(text) - 1);
		str_add(ret, text, strlen(text) + 1);
	}
	closedir(dir);
	return 0;
}

struct stack_job {
	int procfd;
	uint64_t bytes;
};

static int read_depths(void *arg, void *reply, struct err *err)
{
	const struct stack_job *j = arg;
	struct stack_depths *d = reply;
	CLEANUP(close_fd) int maps = openat(j->procfd, "maps", O_RDONLY | O_CLOEXEC);
	CLEANUP(close_fd) int pagemap = openat(j->procfd, "pagemap", O_RDONLY | O_CLOEXEC);
	const int keep[] = {maps, pagemap};
	const struct jail jail = {.role = JAIL_DISCOVER,
				  .memory = MEMORY_MAX,
				  .cpu_seconds = DEPTHS_MS / 1000,
				  .keep = keep,
				  .keep_count = ARRAY_LEN(keep)};
	CLEANUP(str_fini) struct str texts = {0};
	struct mapped_ranges ranges = {0};

	if (read_texts(j->procfd, &texts, err) < 0 || jail_enter(&jail, err) < 0 ||
	    proc_each_map_in(maps, add_map, &ranges, err) < 0)
		return -1;
	for (size_t at = 0; at < texts.len; at += strlen(texts.buf + at) + 1) {
		uint64_t sp, end;

		d->threads++;
		end = stack_pointer_parse(texts.buf + at, &sp) ? map_end(&ranges, sp) : 0;
		if (end)
			add_depth(touched_end(pagemap, sp, end) - sp, j->bytes, d);
	}
	free(ranges.list);
	return 0;
}

int stack_depths_read(int procfd, uint64_t bytes, struct stack_depths *ret, struct err *err)
{
	struct stack_job j = {procfd, bytes};
	struct stack_depths d = {0};

	if (child_call(read_depths, &j, &d, sizeof(d), DEPTHS_MS, err) < 0)
		return -1;
	if (d.asleep > d.threads || d.deeper > d.asleep)
		return err_set(err, 0, "the answer about its threads makes no sense");
	*ret = d;
	return 0;
}
