// SPDX-License-Identifier: Apache-2.0
#include "profile/tasks.h"

#include <stdlib.h>

#include "calltree/thread_root.h"
#include "calltree/view.h"
#include "common/str.h"
#include "common/table.h"
#include "perf/perfdata.h"
#include "perf/perfwrite.h"
#include "profile/reader.h"

struct thread_task {
	uint64_t end, begin; /* ns */
	char *text;
};

/* In the order of time. */
struct thread_tasks {
	pid_t pid, tid; /* TASKS_PAUSE: of the process */
	struct thread_task *list;
	size_t count, cap;
};

struct tasks {
	struct thread_tasks *threads;
	size_t count, cap;
	struct hash_table index;
};

static uint64_t hash_of(pid_t pid, pid_t tid)
{
	return hash_mix((uint64_t)(uint32_t)pid << 32 | (uint32_t)tid);
}

/* NULL: nothing is known of it. */
static struct thread_tasks *thread_of(const struct tasks *t, pid_t pid, pid_t tid)
{
	for (struct hash_probe p = {.hash = hash_of(pid, tid)}; hash_next(&t->index, &p);)
		if (t->threads[p.index].pid == pid && t->threads[p.index].tid == tid)
			return &t->threads[p.index];
	return NULL;
}

/* A sample is at the end of what it is about. */
static void add(struct tasks *t, const struct perf_record *rec)
{
	const struct perf_sample *s = &rec->sample;
	const bool pause = rec->event / 2 == SESSION_SAFEPOINT;
	const pid_t tid = pause ? TASKS_PAUSE : rec->tid;
	struct thread_tasks *thread;
	struct str text = {0};

	if (!s->name_len || s->period > rec->time ||
	    (pause ? !(s->flags & PERFWRITE_STOPPED) : s->flags & PERFWRITE_DISCARDED))
		return;
	thread = thread_of(t, rec->pid, tid);
	if (!thread) {
		t->threads = grow(t->threads, t->count, &t->cap, sizeof(*t->threads));
		hash_add(&t->index, hash_of(rec->pid, tid), (uint32_t)t->count);
		thread = &t->threads[t->count++];
		*thread = (struct thread_tasks){.pid = rec->pid, .tid = tid};
	}
	reader_add_subject(&text, s);
	thread->list = grow(thread->list, thread->count, &thread->cap, sizeof(*thread->list));
	thread->list[thread->count++] = (struct thread_task){
		.end = rec->time, .begin = rec->time - s->period, .text = text.buf};
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
	*ret = t;
	return 0;
}

void tasks_free(struct tasks *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->count; i++) {
		for (size_t k = 0; k < t->threads[i].count; k++)
			free(t->threads[i].list[k].text);
		free(t->threads[i].list);
	}
	free(t->threads);
	hash_fini(&t->index);
	free(t);
}

const char *tasks_find(const struct tasks *t, pid_t pid, pid_t tid, uint64_t time)
{
	const struct thread_tasks *of = t && time ? thread_of(t, pid, tid) : NULL;
	const size_t n = of ? of->count : 0;
	const size_t ended = n ? upper_bound(&of->list->end, n, sizeof(*of->list), time - 1) : 0;

	return ended < n && of->list[ended].begin <= time ? of->list[ended].text : NULL;
}

/* ---- frames ------------------------------------------------------------------------------- */

/* Puts a frame below the first `outer` of the stack. */
static void insert_frame(struct reader *r, size_t outer, const char *name)
{
	struct sample_ctx *c = &r->ctx;
	const uint32_t *before = first_frame(c);

	if (c->used == FRAMES_MAX)
		return;
	c->used++;
	memmove(first_frame(c), before, outer * sizeof(*before));
	first_frame(c)[outer] = stacks_intern(r->stacks, name, strlen(name), FRAME_STUB);
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
	const uint32_t *frames = first_frame(&r->ctx);
	size_t outer = 0;

	while (outer < r->ctx.used &&
	       (frame_of(r, frames[outer])->start || thread_is_start(frame_of(r, frames[outer]))))
		outer++;
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
