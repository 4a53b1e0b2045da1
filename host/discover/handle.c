// SPDX-License-Identifier: Apache-2.0
#include "discover/handle.h"

#include <fcntl.h>
#include <sys/resource.h>

#include "common/proc.h"
#include "common/str.h"

int handle_open(pid_t pid, struct handle *ret, struct err *err)
{
	CLEANUP(close_fd) int procfd = proc_open(pid, err);
	uint64_t start;

	if (procfd < 0 || proc_start_time(procfd, &start, err) < 0)
		return -1;
	*ret = (struct handle){pid, TAKE_FD(procfd), start};
	return 0;
}

void handle_close(struct handle *p)
{
	cleanup_close_fd(&p->procfd);
	*p = (struct handle){.procfd = -1};
}

bool handle_is_alive(const struct handle *p)
{
	return faccessat(p->procfd, "stat", F_OK, 0) == 0;
}

static size_t most_handles(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur / 2 > HANDLES_MAX)
		return HANDLES_MAX;
	return r.rlim_cur / 2;
}

bool handles_add(struct handles *list, struct handle *p)
{
	list->is_cut |= list->count >= most_handles();
	if (list->is_cut) {
		handle_close(p);
		return false;
	}
	list->list = grow(list->list, list->count, &list->cap, sizeof(*list->list));
	list->list[list->count++] = *p;
	*p = (struct handle){.procfd = -1};
	return true;
}

void handles_fini(struct handles *list)
{
	for (size_t i = 0; i < list->count; i++)
		handle_close(&list->list[i]);
	free(list->list);
	*list = (struct handles){0};
}

pid_t *handles_pids(const struct handles *list)
{
	pid_t *pids = xcalloc(list->count + 1, sizeof(*pids));

	for (size_t i = 0; i < list->count; i++)
		pids[i] = list->list[i].pid;
	return pids;
}

void handles_remove_ended(struct handles *list, pid_t **ret, size_t *ret_count)
{
	pid_t *ended = xcalloc(list->count + 1, sizeof(*ended));
	size_t kept = 0, count = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct handle *p = &list->list[i];

		if (handle_is_alive(p)) {
			list->list[kept++] = *p;
		} else {
			ended[count++] = p->pid;
			handle_close(p);
		}
	}
	list->count = kept;
	*ret = ended;
	*ret_count = count;
}
