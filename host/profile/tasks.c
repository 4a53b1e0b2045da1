// SPDX-License-Identifier: Apache-2.0
#include "profile/tasks.h"

#include <stdlib.h>

#include "common/str.h"
#include "perf/perfdata.h"
#include "perf/perfwrite.h"
#include "profile/reader.h"

struct thread_task {
	pid_t pid, tid;
	uint64_t begin, end; /* ns */
	char *method;
};

struct tasks {
	struct thread_task *list; /* by thread and time */
	size_t count, cap;
};

static void add(struct tasks *t, const struct perf_record *rec)
{
	const struct perf_sample *s = &rec->sample;
	CLEANUP(str_fini) struct str method = {0};

	if (!s->name_len || s->flags & PERFWRITE_DISCARDED || s->period > rec->time)
		return;
	reader_add_subject(&method, s);
	t->list = grow(t->list, t->count, &t->cap, sizeof(*t->list));
	t->list[t->count++] = (struct thread_task){.pid = rec->pid,
						   .tid = rec->tid,
						   .begin = rec->time - s->period,
						   .end = rec->time,
						   .method = TAKE_PTR(method.buf)};
}

/* Of two tasks of a thread, the one that ends later is greater. */
static int compare(const void *a, const void *b)
{
	const struct thread_task *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

int tasks_read(int perf_fd, unsigned event, struct tasks **ret, struct err *err)
{
	CLEANUP(perfdata_close) struct perfdata *pd = perfdata_open(perf_fd, err);
	struct perf_record rec;
	struct tasks *t;

	if (!pd)
		return -1;
	t = xcalloc(1, sizeof(*t));
	while (perfdata_next(pd, &rec))
		if (rec.type == PERF_RECORD_SAMPLE && rec.event / 2 == event)
			add(t, &rec);
	if (t->count)
		qsort(t->list, t->count, sizeof(*t->list), compare);
	*ret = t;
	return 0;
}

void tasks_free(struct tasks *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->count; i++)
		free(t->list[i].method);
	free(t->list);
	free(t);
}

const char *tasks_find(const struct tasks *t, pid_t pid, pid_t tid, uint64_t time)
{
	const struct thread_task at = {.pid = pid, .tid = tid, .end = time};
	size_t low = 0, high = t ? t->count : 0;

	/* The first one that has not ended before. */
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (compare(&t->list[middle], &at) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (!t || low == t->count || t->list[low].pid != pid || t->list[low].tid != tid)
		return NULL;
	return t->list[low].begin <= time ? t->list[low].method : NULL;
}
