// SPDX-License-Identifier: Apache-2.0
#include "profile/reader.h"

/* ---- processes --------------------------------------------------------------------------- */

/* What the caller knows of a process goes before what it inherited. */
static void meet_process(struct reader *r, struct process *p)
{
	uint32_t code = symbolizer_code(r->symbols, p->pid);

	p->new = false;
	p->code = code ? code : p->code;
	p->wanted = p->wanted || !r->in->only_processes;
	for (size_t i = 0; i < r->in->process_count; i++) {
		if (r->in->processes[i].pid != p->pid)
			continue;
		p->wanted = true;
		p->root = r->in->processes[i].root;
	}
}

static struct process *process_of(struct reader *r, pid_t pid)
{
	struct process *p = space_process(r->space, pid);

	if (p->new)
		meet_process(r, p);
	return p;
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

	if (p->wanted)
		reader_add_sample(r, p, rec);
}

static void add_record(struct reader *r, const struct perf_record *rec, bool counts)
{
	switch (rec->type) {
	case PERF_RECORD_SAMPLE:
		r->begin = r->begin ? r->begin : rec->time;
		if (counts)
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

/* ---- the pass ---------------------------------------------------------------------------- */

struct reader *reader_new(struct sources *sources, struct perfdata *recording,
			  struct profile *profile)
{
	struct reader *r = xcalloc(1, sizeof(*r));

	r->in = sources_input(sources);
	r->stacks = profile->stacks;
	r->quality = &profile->quality;
	r->samples = profile->samples;
	r->recording = recording;
	r->monotonic = perfdata_is_monotonic(recording);
	r->space = space_new();
	r->symbols = symbolizer_new(sources, recording, r->space, r->stacks);
	r->traits = traits_new(r->stacks, symbolizer_stale(r->symbols));
	r->unwinder = userstack_new(r->symbols, r->stacks);
	r->thread_names = sources_threads(sources);
	space_process(r->space, SPACE_KERNEL);
	return r;
}

void reader_free(struct reader *r)
{
	if (!r)
		return;
	userstack_free(r->unwinder);
	traits_free(r->traits);
	symbolizer_free(r->symbols);
	space_free(r->space);
	perfdata_close(r->recording);
	str_fini(&r->text);
	free(r);
}

void reader_read(struct reader *r, uint64_t from, uint64_t to)
{
	struct perf_record rec;
	uint64_t at;

	while ((at = perfdata_passed(r->recording)) < to && perfdata_next(r->recording, &rec))
		add_record(r, &rec, at >= from);
}
