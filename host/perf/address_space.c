// SPDX-License-Identifier: Apache-2.0
#include "perf/address_space.h"

#include "common/str.h"
#include "common/table.h"
#include "perf/perfwrite.h"

/* Shared by parent and child of a fork until one of them changes it. */
struct mappings {
	size_t refs;
	size_t count, cap;
	struct mapping *list; /* sorted, no overlap */
};

struct space {
	struct process *processes;
	size_t process_count, process_cap;
	struct hash_table by_pid;

	struct thread *threads;
	size_t thread_count, thread_cap;
	struct hash_table by_tid;

	char **paths;
	size_t path_count, path_cap;
	struct hash_table by_path;

	uint32_t generation;
};

static void maps_unref(struct mappings *m)
{
	if (--m->refs)
		return;
	free(m->list);
	free(m);
}

static struct mappings *maps_new(void)
{
	struct mappings *m = xcalloc(1, sizeof(*m));

	m->refs = 1;
	return m;
}

struct space *space_new(void)
{
	struct space *sp = xcalloc(1, sizeof(*sp));

	space_comm(sp, 0, 0, "swapper"); /* perf writes no record for the idle task */
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
	hash_fini(&sp->by_pid);
	free(sp->threads);
	hash_fini(&sp->by_tid);
	free(sp->paths);
	hash_fini(&sp->by_path);
	free(sp);
}

struct process *space_process(struct space *sp, pid_t pid)
{
	uint64_t hash = hash_mix((uint64_t)pid);
	struct process *p;

	for (struct hash_probe at = {.hash = hash}; hash_next(&sp->by_pid, &at);)
		if (sp->processes[at.index].pid == pid)
			return &sp->processes[at.index];
	sp->processes =
		grow(sp->processes, sp->process_count, &sp->process_cap, sizeof(*sp->processes));
	hash_add(&sp->by_pid, hash, (uint32_t)sp->process_count);
	p = &sp->processes[sp->process_count++];
	*p = (struct process){
		.pid = pid, .generation = ++sp->generation, .new = true, .maps = maps_new()};
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
	uint64_t hash = hash_mix((uint64_t)tid);
	struct thread *t;

	for (struct hash_probe at = {.hash = hash}; hash_next(&sp->by_tid, &at);)
		if (sp->threads[at.index].tid == tid &&
		    ((uint32_t)tid < PERFWRITE_VIRTUAL || sp->threads[at.index].pid == pid))
			return &sp->threads[at.index];
	sp->threads = grow(sp->threads, sp->thread_count, &sp->thread_cap, sizeof(*sp->threads));
	hash_add(&sp->by_tid, hash, (uint32_t)sp->thread_count);
	t = &sp->threads[sp->thread_count++];
	*t = (struct thread){.pid = pid, .tid = tid};
	return t;
}

static uint32_t intern_path(struct space *sp, const char *path)
{
	uint64_t hash = hash_bytes(0, path, strlen(path));

	for (struct hash_probe at = {.hash = hash}; hash_next(&sp->by_path, &at);)
		if (strcmp(sp->paths[at.index], path) == 0)
			return at.index;
	sp->paths = grow(sp->paths, sp->path_count, &sp->path_cap, sizeof(*sp->paths));
	hash_add(&sp->by_path, hash, (uint32_t)sp->path_count);
	sp->paths[sp->path_count++] = xstrdup(path);
	return (uint32_t)sp->path_count - 1;
}

/* Index of the first mapping that ends above addr. */
static size_t find_mapping(const struct mappings *m, uint64_t addr)
{
	return m->count ? upper_bound(&m->list->end, m->count, sizeof(*m->list), addr) : 0;
}

/* Returns the process's mappings for a change, unshared. */
static struct mappings *own_maps(struct space *sp, struct process *p)
{
	p->generation = ++sp->generation;
	if (p->maps->refs > 1) {
		struct mappings *m = maps_new();

		m->count = m->cap = p->maps->count;
		m->list = xrealloc(NULL, m->cap, sizeof(*m->list));
		if (m->count)
			memcpy(m->list, p->maps->list, m->count * sizeof(*m->list));
		maps_unref(p->maps);
		p->maps = m;
	}
	return p->maps;
}

/* Replaces list[at, at + gone) by `add`. */
static void splice(struct mappings *m, size_t at, size_t gone, const struct mapping *add, size_t n)
{
	while (m->cap < m->count + n)
		m->list = grow(m->list, m->cap, &m->cap, sizeof(*m->list));
	memmove(m->list + at + n, m->list + at + gone, (m->count - at - gone) * sizeof(*m->list));
	memcpy(m->list + at, add, n * sizeof(*add));
	m->count = m->count - gone + n;
}

/* Recognises memory without a file by the names that the kernel and perf give it. */
static bool is_anonymous(const char *path)
{
	static const char *const starts[] = {
		"//anon", "[anon:", "/memfd:", "/anon_hugepage", "/dev/zero", "/SYSV"};

	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (has_prefix(path, starts[i]))
			return true;
	return !*path;
}

void space_map(struct space *sp, pid_t pid, uint64_t start, uint64_t len, uint64_t pgoff, bool exec,
	       const char *path)
{
	struct mapping new = {.start = start, .end = start + len, .pgoff = pgoff, .exec = exec};
	struct mapping parts[3];
	struct process *p = space_process(sp, pid);
	struct mappings *m;
	size_t at, last, n = 0;

	if (new.end <= start)
		return;
	new.path = intern_path(sp, path);
	new.anonymous = is_anonymous(path);
	m = own_maps(sp, p);
	at = last = find_mapping(m, start);
	while (last < m->count && m->list[last].start < new.end)
		last++;
	/* Keeps the remainders of the first and the last mapping that it overlaps. */
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

	/* The pid may have been another process's before. */
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
	size_t at = find_mapping(p->maps, addr);

	if (at == p->maps->count || p->maps->list[at].start > addr)
		return NULL;
	return &p->maps->list[at];
}

const char *space_path(const struct space *sp, uint32_t path)
{
	return sp->paths[path];
}
