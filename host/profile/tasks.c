// SPDX-License-Identifier: Apache-2.0
#include "profile/tasks.h"

#include <stdlib.h>

#include "calltree/thread_root.h"
#include "calltree/view.h"
#include "common/str.h"
#include "perf/perfdata.h"
#include "perf/perfwrite.h"
#include "profile/reader.h"

struct thread_task {
	pid_t pid, tid;	     /* TASKS_PAUSE: of the process */
	uint64_t begin, end; /* ns */
	char *text;
};

struct tasks {
	struct thread_task *list; /* by thread and time */
	size_t count, cap;
};

/* A sample is at the end of what it is about. */
static void add(struct tasks *t, const struct perf_record *rec)
{
	const struct perf_sample *s = &rec->sample;
	const bool pause = rec->event / 2 == SESSION_SAFEPOINT;
	CLEANUP(str_fini) struct str text = {0};

	if (!s->name_len || s->period > rec->time ||
	    (pause ? !(s->flags & PERFWRITE_STOPPED) : s->flags & PERFWRITE_DISCARDED))
		return;
	reader_add_subject(&text, s);
	t->list = grow(t->list, t->count, &t->cap, sizeof(*t->list));
	t->list[t->count++] = (struct thread_task){.pid = rec->pid,
						   .tid = pause ? TASKS_PAUSE : rec->tid,
						   .begin = rec->time - s->period,
						   .end = rec->time,
						   .text = TAKE_PTR(text.buf)};
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

int tasks_read(int perf_fd, struct tasks **ret, struct err *err)
{
	CLEANUP(perfdata_close) struct perfdata *pd = perfdata_open(perf_fd, err);
	struct perf_record rec;
	struct tasks *t;

	if (!pd)
		return -1;
	t = xcalloc(1, sizeof(*t));
	while (perfdata_next(pd, &rec))
		if (rec.type == PERF_RECORD_SAMPLE &&
		    (rec.event / 2 == SESSION_COMPILE || rec.event / 2 == SESSION_SAFEPOINT))
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
		free(t->list[i].text);
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
	return t->list[low].begin <= time ? t->list[low].text : NULL;
}

/* ---- frames ------------------------------------------------------------------------------- */

/* Puts a frame below the first `outer` of the stack. */
static void insert_frame(struct reader *r, size_t outer, const char *name)
{
	struct sample_ctx *c = &r->ctx;
	uint32_t *frames = first_frame(c);

	if (c->used == FRAMES_MAX)
		return;
	memmove(frames - 1, frames, outer * sizeof(*frames));
	frames[outer - 1] = stacks_intern(r->stacks, name, strlen(name), FRAME_STUB);
	c->used++;
}

/* Adds the method that a compiler thread works on, as what the JVM's broker of compilations calls:
 * the compiler's own functions are above it. */
static void add_method(struct reader *r, const char *method)
{
	static const char broker[] = "CompileBroker::invoke_compiler_on_method";

	for (size_t i = 0; i < r->ctx.used; i++)
		if (has_prefix(frame_of(r, first_frame(&r->ctx)[i])->name, broker)) {
			insert_frame(r, i + 1, method);
			break;
		}
}

/* Adds the operation of the pause in which a thread of a collector runs, below the functions that
 * start threads. */
static void add_operation(struct reader *r, const char *operation)
{
	size_t outer = 0;

	while (outer < r->ctx.used) {
		const struct frame *f = frame_of(r, first_frame(&r->ctx)[outer]);

		if (!f->start && !thread_is_start(f))
			break;
		outer++;
	}
	insert_frame(r, outer, operation);
}

void tasks_add(struct reader *r, const char *thread)
{
	const pid_t pid = r->ctx.process->pid;
	const char *method = tasks_find(r->tasks, pid, r->ctx.tid, r->ctx.time);
	const char *operation = tasks_find(r->tasks, pid, TASKS_PAUSE, r->ctx.time);

	if (method)
		add_method(r, method);
	if (operation && busy_thread(thread) == BUSY_GC)
		add_operation(r, operation);
}
