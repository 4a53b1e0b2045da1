// SPDX-License-Identifier: Apache-2.0
#include "profile.h"

#include "reader.h"

/* ---- processes --------------------------------------------------------------------------- */

/* What the caller knows of a process goes before what it inherited. */
static void meet_process(struct reader *r, struct process *p)
{
	uint32_t code = symbolizer_code(r->symbols, p->pid);

	p->new = false;
	p->code = code ? code : p->code;
	p->wanted = p->wanted || r->in->only_count == 0;
	for (size_t i = 0; i < r->in->only_count; i++)
		p->wanted = p->wanted || r->in->only[i] == p->pid;
	for (size_t i = 0; i < r->in->process_count; i++)
		if (r->in->processes[i].pid == p->pid)
			p->root = r->in->processes[i].root;
}

static struct process *process_of(struct reader *r, pid_t pid)
{
	struct process *p = space_process(r->space, pid);

	if (p->new)
		meet_process(r, p);
	return p;
}

/* A thread that was once seen in Java code is a Java thread, and all its samples count: one that is
 * cut before it reaches the Java code is no less incomplete. */
static void count_java(const struct space *space, struct quality *q)
{
	for (size_t i = 0; i < space_thread_count(space); i++) {
		const struct thread *t = space_thread_at(space, i);

		if (!t->code)
			continue;
		q->java_samples += t->samples;
		q->java_complete += t->complete;
	}
}

/* ---- all records ------------------------------------------------------------------------- */

static void add_mapping(struct reader *r, const struct perf_record *rec)
{
	const struct perf_mmap *m = &rec->mmap;

	process_of(r, rec->pid);
	space_map(r->space, rec->pid, m->start, m->len, m->pgoff, m->exec, m->path);
}

static void add_sample(struct reader *r, const struct perf_record *rec)
{
	const struct process *p = process_of(r, rec->pid);

	r->begin = r->begin ? r->begin : rec->time;
	if (p->wanted)
		reader_add_sample(r, p, rec);
}

static void add_record(struct reader *r, const struct perf_record *rec)
{
	switch (rec->type) {
	case PERF_RECORD_SAMPLE:
		add_sample(r, rec);
		break;
	case PERF_RECORD_MMAP:
		add_mapping(r, rec);
		break;
	case PERF_RECORD_COMM:
		space_comm(r->space, rec->pid, rec->tid, rec->comm.name);
		if (rec->comm.exec)
			space_exec(r->space, rec->pid);
		process_of(r, rec->pid);
		break;
	case PERF_RECORD_FORK:
		process_of(r, rec->fork.ppid);
		space_fork(r->space, rec->pid, rec->fork.ppid, rec->tid, rec->fork.ptid,
			   !rec->fork.exec);
		process_of(r, rec->pid);
		break;
	case PERF_RECORD_LOST:
		r->lost[rec->lost.at_end] += rec->lost.samples;
		break;
	case PERF_RECORD_KSYMBOL:
		symbolizer_kernel_change(r->symbols, &rec->ksymbol);
		space_touch(r->space, SPACE_KERNEL);
		break;
	default: /* an exited process keeps its mappings until its number is used again */
		break;
	}
}

int profile_read(const struct profile_input *in, struct profile *profile, struct err *err)
{
	CLEANUP(perfdata_close) struct perfdata *pd = perfdata_open(in->perf_fd, err);
	CLEANUP(space_free) struct space *space = NULL;
	CLEANUP(symbolizer_free) struct symbolizer *symbols = NULL;
	CLEANUP(traits_free) struct traits *traits = NULL;
	CLEANUP(userstack_free) struct userstack *unwinder = NULL;
	CLEANUP(threadnames_free) struct threadnames *thread_names = NULL;
	CLEANUP(free) struct reader *r = NULL;
	struct perf_record rec;

	if (!pd)
		return -1;
	space = space_new();
	symbols = symbolizer_new(in, pd, space, profile->stacks);
	traits = traits_new(profile->stacks, symbolizer_stale(symbols));
	unwinder = userstack_new(symbols, profile->stacks);
	r = xcalloc(1, sizeof(*r));
	r->in = in;
	r->stacks = profile->stacks;
	r->quality = &profile->quality;
	r->samples = profile->samples;
	r->space = space;
	r->symbols = symbols;
	r->traits = traits;
	r->unwinder = unwinder;
	r->thread_names = thread_names = threadnames_new(in);
	r->monotonic = perfdata_is_monotonic(pd);
	space_process(space, SPACE_KERNEL);
	while (perfdata_next(pd, &rec))
		add_record(r, &rec);
	count_java(space, r->quality);
	r->quality->lost += r->lost[0] > r->lost[1] ? r->lost[0] : r->lost[1];
	profile->cut += perfdata_cut(pd);
	str_fini(&r->text);
	return 0;
}
