// SPDX-License-Identifier: Apache-2.0
#include "perf/address_space.h"

#include "common/str.h"

/* Shared by the processes of a fork until one of them changes it. */
struct maps {
	size_t refs;
	size_t count, cap;
	struct mapping *list; /* sorted, no overlap */
};

/* Open addressing: index + 1 of an array's element, 0: empty. Nothing is ever removed. */
struct table {
	uint32_t *slots;
	size_t mask;
};

struct space {
	struct process *processes;
	size_t process_count, process_cap;
	struct table by_pid;

	struct thread *threads;
	size_t thread_count, thread_cap;
	struct table by_tid;

	char **paths;
	size_t path_count, path_cap;
	struct table by_path;

	uint32_t generation;
};

static uint64_t hash_number(uint64_t n)
{
	n *= 0x9e3779b97f4a7c15ull;
	return n ^ n >> 32;
}

static uint64_t hash_text(const char *s)
{
	uint64_t h = 14695981039346656037ull;

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 1099511628211ull;
	return hash_number(h);
}

static uint64_t hash_process(const struct space *sp, size_t i)
{
	return hash_number((uint64_t)sp->processes[i].pid);
}

static uint64_t hash_thread(const struct space *sp, size_t i)
{
	return hash_number((uint64_t)sp->threads[i].tid);
}

static uint64_t hash_path(const struct space *sp, size_t i)
{
	return hash_text(sp->paths[i]);
}

static void table_place(struct table *t, uint64_t hash, size_t index)
{
	size_t i = hash & t->mask;

	while (t->slots[i])
		i = (i + 1) & t->mask;
	t->slots[i] = (uint32_t)index + 1;
}

/* Takes in element `index`, the newest of the array. */
static void table_add(const struct space *sp, struct table *t, size_t index,
		      uint64_t (*hash)(const struct space *, size_t))
{
	if (!t->slots || index >= t->mask / 2) {
		free(t->slots);
		t->mask = t->mask ? t->mask * 2 + 1 : 63;
		t->slots = xcalloc(t->mask + 1, sizeof(*t->slots));
		for (size_t i = 0; i < index; i++)
			table_place(t, hash(sp, i), i);
	}
	table_place(t, hash(sp, index), index);
}

static void maps_unref(struct maps *m)
{
	if (--m->refs)
		return;
	free(m->list);
	free(m);
}

static struct maps *maps_new(void)
{
	struct maps *m = xcalloc(1, sizeof(*m));

	m->refs = 1;
	return m;
}

struct space *space_new(void)
{
	struct space *sp = xcalloc(1, sizeof(*sp));

	space_comm(sp, 0, 0, "swapper"); /* the idle task has no record of its own */
	return sp;
}

void space_free(struct space *sp)
{
	if (!sp)
		return;
	for (size_t i = 0; i < sp->process_count; i++)
		maps_unref(sp->processes[i].maps);
	for (size_t i = 0; i < sp->path_count; i++)
		free(sp->paths[i]);
	free(sp->processes);
	free(sp->by_pid.slots);
	free(sp->threads);
	free(sp->by_tid.slots);
	free(sp->paths);
	free(sp->by_path.slots);
	free(sp);
}

struct process *space_process(struct space *sp, pid_t pid)
{
	size_t i = hash_number((uint64_t)pid) & sp->by_pid.mask;
	struct process *p;

	for (; sp->by_pid.slots && sp->by_pid.slots[i]; i = (i + 1) & sp->by_pid.mask) {
		p = &sp->processes[sp->by_pid.slots[i] - 1];
		if (p->pid == pid)
			return p;
	}
	sp->processes =
		grow(sp->processes, sp->process_count, &sp->process_cap, sizeof(*sp->processes));
	p = &sp->processes[sp->process_count++];
	*p = (struct process){
		.pid = pid, .generation = ++sp->generation, .new = true, .maps = maps_new()};
	table_add(sp, &sp->by_pid, sp->process_count - 1, hash_process);
	return p;
}

size_t space_thread_count(const struct space *sp)
{
	return sp->thread_count;
}

const struct thread *space_thread_at(const struct space *sp, size_t i)
{
	return &sp->threads[i];
}

struct thread *space_thread(struct space *sp, pid_t pid, pid_t tid)
{
	size_t i = hash_number((uint64_t)tid) & sp->by_tid.mask;
	struct thread *t;

	for (; sp->by_tid.slots && sp->by_tid.slots[i]; i = (i + 1) & sp->by_tid.mask) {
		t = &sp->threads[sp->by_tid.slots[i] - 1];
		if (t->tid == tid)
			return t;
	}
	sp->threads = grow(sp->threads, sp->thread_count, &sp->thread_cap, sizeof(*sp->threads));
	t = &sp->threads[sp->thread_count++];
	*t = (struct thread){.pid = pid, .tid = tid};
	table_add(sp, &sp->by_tid, sp->thread_count - 1, hash_thread);
	return t;
}

static uint32_t intern_path(struct space *sp, const char *path)
{
	size_t i = hash_text(path) & sp->by_path.mask;

	for (; sp->by_path.slots && sp->by_path.slots[i]; i = (i + 1) & sp->by_path.mask)
		if (strcmp(sp->paths[sp->by_path.slots[i] - 1], path) == 0)
			return sp->by_path.slots[i] - 1;
	sp->paths = grow(sp->paths, sp->path_count, &sp->path_cap, sizeof(*sp->paths));
	sp->paths[sp->path_count++] = xstrdup(path);
	table_add(sp, &sp->by_path, sp->path_count - 1, hash_path);
	return (uint32_t)sp->path_count - 1;
}

/* The first mapping that ends behind addr. */
static size_t lower(const struct maps *m, uint64_t addr)
{
	size_t lo = 0, n = m->count;

	while (n) {
		size_t half = n / 2;

		if (m->list[lo + half].end <= addr) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return lo;
}

/* The process's mappings, for itself alone and about to change. */
static struct maps *own_maps(struct space *sp, struct process *p)
{
	p->generation = ++sp->generation;
	if (p->maps->refs > 1) {
		struct maps *m = maps_new();

		m->count = m->cap = p->maps->count;
		m->list = xrealloc(NULL, m->cap, sizeof(*m->list));
		memcpy(m->list, p->maps->list, m->count * sizeof(*m->list));
		maps_unref(p->maps);
		p->maps = m;
	}
	return p->maps;
}

/* Replaces list[at, at + gone) by `add`. */
static void splice(struct maps *m, size_t at, size_t gone, const struct mapping *add, size_t n)
{
	while (m->cap < m->count + n)
		m->list = grow(m->list, m->cap, &m->cap, sizeof(*m->list));
	memmove(m->list + at + n, m->list + at + gone, (m->count - at - gone) * sizeof(*m->list));
	memcpy(m->list + at, add, n * sizeof(*add));
	m->count = m->count - gone + n;
}

void space_map(struct space *sp, pid_t pid, uint64_t start, uint64_t len, uint64_t pgoff, bool exec,
	       const char *path)
{
	struct mapping new = {.start = start, .end = start + len, .pgoff = pgoff, .exec = exec};
	struct mapping parts[3];
	struct process *p = space_process(sp, pid);
	struct maps *m;
	size_t at, last, n = 0;

	if (new.end <= start)
		return;
	new.path = intern_path(sp, path);
	m = own_maps(sp, p);
	at = last = lower(m, start);
	while (last < m->count && m->list[last].start < new.end)
		last++;
	/* What is left of the first and the last mapping that it overlaps. */
	if (at < last && m->list[at].start < start) {
		parts[n] = m->list[at];
		parts[n++].end = start;
	}
	parts[n++] = new;
	if (at < last && m->list[last - 1].end > new.end) {
		parts[n] = m->list[last - 1];
		parts[n].pgoff += new.end - parts[n].start;
		parts[n++].start = new.end;
	}
	splice(m, at, last - at, parts, n);
}

void space_comm(struct space *sp, pid_t pid, pid_t tid, const char *comm)
{
	struct thread *t = space_thread(sp, pid, tid);

	t->pid = pid;
	t->mark = 0;
	snprintf(t->comm, sizeof(t->comm), "%s", comm);
}

void space_exec(struct space *sp, pid_t pid)
{
	struct process *p = space_process(sp, pid);

	maps_unref(p->maps);
	p->maps = maps_new();
	p->code = 0;
	p->new = true;
	p->generation = ++sp->generation;
}

void space_touch(struct space *sp, pid_t pid)
{
	struct process *p = space_process(sp, pid);

	p->generation = ++sp->generation;
}

static void copy_process(struct space *sp, pid_t pid, pid_t ppid, bool copy)
{
	struct process parent = *space_process(sp, ppid);
	struct process *p = space_process(sp, pid);

	/* Also when the number was another process's before. */
	maps_unref(p->maps);
	if (copy)
		parent.maps->refs++;
	p->maps = copy ? parent.maps : maps_new();
	p->generation = copy ? parent.generation : ++sp->generation;
	p->root = parent.root;
	p->wanted = parent.wanted;
	p->code = copy ? parent.code : 0;
	p->new = true;
}

void space_fork(struct space *sp, pid_t pid, pid_t ppid, pid_t tid, pid_t ptid, bool copy)
{
	struct thread parent = *space_thread(sp, ppid, ptid);
	struct thread *t = space_thread(sp, pid, tid);

	if (pid != ppid)
		copy_process(sp, pid, ppid, copy);
	*t = (struct thread){.pid = pid,
			     .tid = tid,
			     .number = t->number,
			     .samples = t->samples,
			     .complete = t->complete,
			     .code = t->code};
	memcpy(t->comm, parent.comm, sizeof(t->comm));
}

const struct mapping *space_find(const struct process *p, uint64_t addr)
{
	size_t at = lower(p->maps, addr);

	if (at == p->maps->count || p->maps->list[at].start > addr)
		return NULL;
	return &p->maps->list[at];
}

const char *space_path(const struct space *sp, uint32_t path)
{
	return sp->paths[path];
}

size_t space_path_count(const struct space *sp)
{
	return sp->path_count;
}
