// SPDX-License-Identifier: Apache-2.0
#include "doctor/stack_depth.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "common/proc.h"
#include "common/str.h"

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

static bool stack_pointer(int taskfd, const char *tid, uint64_t *ret)
{
	CLEANUP(free) char *path = xasprintf("%s/syscall", tid);
	CLEANUP(close_fd) int fd = openat(taskfd, path, O_RDONLY | O_CLOEXEC);
	char text[256] = "";

	return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && stack_pointer_parse(text, ret);
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

int stack_depths_read(int procfd, uint64_t bytes, struct stack_depths *ret, struct err *err)
{
	CLEANUP(close_fd) int pagemap = openat(procfd, "pagemap", O_RDONLY | O_CLOEXEC);
	int taskfd = openat(procfd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = taskfd >= 0 ? fdopendir(taskfd) : NULL;
	struct stack_depths d = {0};
	struct mapped_ranges maps = {0};
	struct dirent *e;

	if (!dir)
		return err_set(err, errno, "list its threads");
	if (proc_each_map(procfd, add_map, &maps, err) < 0) {
		closedir(dir);
		return -1;
	}
	while ((e = readdir(dir))) {
		uint64_t sp, end;

		if (e->d_name[0] == '.')
			continue;
		d.threads++;
		end = stack_pointer(taskfd, e->d_name, &sp) ? map_end(&maps, sp) : 0;
		if (end)
			add_depth(touched_end(pagemap, sp, end) - sp, bytes, &d);
	}
	closedir(dir);
	free(maps.list);
	*ret = d;
	return 0;
}
