// SPDX-License-Identifier: Apache-2.0
#include "depth_probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "dfg/proc.h"
#include "dfg/str.h"

struct maps {
	struct range {
		uint64_t start, end;
	} * list;
	size_t count, cap;
};

static int add_map(const struct proc_map *m, void *arg)
{
	struct maps *maps = arg;

	maps->list = grow(maps->list, maps->count, &maps->cap, sizeof(*maps->list));
	maps->list[maps->count++] = (struct range){m->start, m->end};
	return 0;
}

bool parse_stack_pointer(const char *text, uint64_t *ret)
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

	return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && parse_stack_pointer(text, ret);
}

/* Maps are in rising order. */
static void add_depth(const struct maps *maps, uint64_t sp, uint64_t bytes, struct depths *d)
{
	size_t low = 0, high = maps->count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (maps->list[mid].end <= sp)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == maps->count || sp < maps->list[low].start)
		return;
	d->asleep++;
	d->deeper += maps->list[low].end - sp > bytes;
	if (maps->list[low].end - sp > d->deepest)
		d->deepest = maps->list[low].end - sp;
}

int depths_of(int procfd, uint64_t bytes, struct depths *ret, struct err *err)
{
	int taskfd = openat(procfd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = taskfd >= 0 ? fdopendir(taskfd) : NULL;
	struct depths d = {0};
	struct maps maps = {0};
	struct dirent *e;

	if (!dir)
		return err_set(err, errno, "list its threads");
	if (proc_each_map(procfd, add_map, &maps, err) < 0) {
		closedir(dir);
		return -1;
	}
	while ((e = readdir(dir))) {
		uint64_t sp;

		if (e->d_name[0] == '.')
			continue;
		d.threads++;
		if (stack_pointer(taskfd, e->d_name, &sp))
			add_depth(&maps, sp, bytes, &d);
	}
	closedir(dir);
	free(maps.list);
	*ret = d;
	return 0;
}
