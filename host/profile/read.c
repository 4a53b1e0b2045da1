// SPDX-License-Identifier: Apache-2.0
#include "profile/read.h"

#include "common/parallel.h"
#include "perf/perfwrite.h"
#include "profile/holders.h"
#include "profile/reader.h"
#include "profile/resolve.h"
#include "profile/tasks.h"

/* Each part reads all mappings and resolves its own addresses, which costs as much as some thousand
 * samples. */
#define PART_SAMPLES 2500
#define PARTS_MAX    4 /* threads: leave processors to the workload */

/* ---- processes --------------------------------------------------------------------------- */

/* Sets what the session knows of a process: it goes before what the process inherited. */
static void init_process(struct reader *r, struct process *p)
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
		init_process(r, p);
	return p;
}

/* ---- records ----------------------------------------------------------------------------- */

static void add_mapping(struct reader *r, const struct perf_record *rec)
{
	const struct perf_mmap *m = &rec->mmap;

	process_of(r, rec->pid);
	space_map(r->space, rec->pid, m->start, m->len, m->pgoff, m->exec, m->path);
}

/* Each event has two attributes where there are several (perfwrite.h); those of the first have no
 * named samples. */
static bool is_of_event(const struct reader *r, const struct perf_record *rec)
{
	const unsigned event = r->in->event;

	return rec->sample.named ? event && rec->event / 2 == event : !event;
}

/* Adds a sample of the part; stacks of holders are needed in later parts, too. */
static void add_sample(struct reader *r, const struct perf_record *rec, bool in_part)
{
	const bool holds = rec->sample.flags & PERFWRITE_HOLDER;
	const struct process *p;

	if ((!in_part && !holds) || !is_of_event(r, rec))
		return;
	p = process_of(r, rec->pid);
	if (p->wanted && holds)
		reader_add_holder(r, p, rec);
	else if (p->wanted)
		reader_add_sample(r, p, rec);
}

/* An order to record is given before its time is taken: a sample may be a little earlier. */
static uint64_t begin_of(const struct reader *r, uint64_t first_sample)
{
	return r->monotonic && r->in->began && r->in->began < first_sample ? r->in->began
									   : first_sample;
}

static void add_record(struct reader *r, const struct perf_record *rec, bool in_part)
{
	uint64_t *lost;

	switch (rec->type) {
	case PERF_RECORD_SAMPLE:
		r->begin = r->begin ? r->begin : begin_of(r, rec->time);
		add_sample(r, rec, in_part);
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
		lost = &r->lost[rec->lost.at_end];
		*lost = count_add(*lost, rec->lost.samples);
		break;
	case PERF_RECORD_KSYMBOL:
		symbolizer_kernel_change(r->symbols, &rec->ksymbol);
		space_touch(r->space, SPACE_KERNEL);
		break;
	case PERFWRITE_CODE:
		userstack_define(r->unwinder, &rec->code);
		break;
	default: /* an exited process keeps its mappings until its number is used again */
		break;
	}
}

/* ---- the pass ---------------------------------------------------------------------------- */

/* Takes over the recording; the store and the profile must stay. */
static struct reader *reader_new(struct sources *sources, struct perfdata *recording,
				 struct profile *profile)
{
	struct reader *r = xcalloc(1, sizeof(*r));

	r->in = sources_input(sources);
	r->stacks = profile->stacks;
	r->quality = &profile->quality;
	r->excess = &profile->excess;
	r->pauses = &profile->pauses;
	r->compilations = &profile->compilations;
	r->wall = &profile->wall;
	r->samples = profile->samples;
	r->recording = recording;
	r->monotonic = perfdata_is_monotonic(recording);
	r->space = space_new();
	r->symbols = symbolizer_new(sources, recording, r->space, r->stacks);
	r->stale = symbolizer_stale(r->symbols);
	r->unwinder = userstack_new(r->symbols, r->stacks);
	r->sources = sources;
	space_process(r->space, SPACE_KERNEL);
	return r;
}

static void reader_free(struct reader *r)
{
	if (!r)
		return;
	userstack_free(r->unwinder);
	holders_free(r->holders);
	symbolizer_free(r->symbols);
	space_free(r->space);
	perfdata_close(r->recording);
	str_fini(&r->text);
	free(r->known);
	free(r);
}

/* Reads the samples whose records begin in [from, to) bytes of the recording; all other records are
 * read from the beginning. */
static void reader_read(struct reader *r, uint64_t from, uint64_t to)
{
	struct perf_record rec;
	uint64_t at;

	while ((at = perfdata_passed(r->recording)) < to && perfdata_next(r->recording, &rec))
		add_record(r, &rec, at >= from);
}

/* ---- parts, read in parallel ------------------------------------------------------------- */

/* A part of the recording's samples and its reader. Each reader follows mappings and names from the
 * beginning of the recording. */
struct reader_part {
	struct sources *sources;
	const struct tasks *tasks;
	struct profile *profile;
	uint64_t from, to;	    /* bytes of the recording */
	struct perfdata *recording; /* until the reader takes it over */
	struct reader *reader;
	struct profile own; /* of all but the first, which uses the caller's */
};

static size_t part_count(const struct recording *in, const struct perfdata *pd)
{
	uint64_t samples = perfdata_samples_about(perfdata_size(pd), perfdata_stack_bytes(pd));
	size_t n = parallel_cpus(), fit = samples / PART_SAMPLES;

	if (in->parts)
		return in->parts;
	n = n < PARTS_MAX ? n : PARTS_MAX;
	n = n < fit ? n : fit;
	return n ? n : 1;
}

static int part_open(struct reader_part *p, const struct reader_part *first, struct err *err)
{
	p->sources = first->sources;
	p->tasks = first->tasks;
	profile_init(&p->own, first->profile->samples != NULL);
	p->profile = &p->own;
	p->recording = perfdata_open(sources_input(p->sources)->perf_fd, err);
	return p->recording ? 0 : -1;
}

static void read_part(void *arg, size_t i)
{
	struct reader_part *p = (struct reader_part *)arg + i;

	p->reader = reader_new(p->sources, TAKE_PTR(p->recording), p->profile);
	p->reader->tasks = p->tasks;
	reader_read(p->reader, p->from, p->to);
}

static void parts_free(struct reader_part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		reader_free(parts[i].reader);
		perfdata_close(parts[i].recording);
		profile_fini(&parts[i].own);
	}
	free(parts);
}

/* ---- merging the parts ------------------------------------------------------------------- */

static void add_threads(struct space *to, const struct space *from)
{
	for (size_t i = 0; i < space_thread_count(from); i++) {
		const struct thread *t = space_thread_at(from, i);
		struct thread *all = space_thread(to, t->pid, t->tid);

		all->code = all->code || t->code;
		all->samples += t->samples;
		all->complete += t->complete;
	}
}

static void add_part(const struct reader_part *first, const struct reader_part *p)
{
	const struct samples *samples = p->own.samples;
	CLEANUP(free) uint32_t *threads = NULL;

	add_threads(first->reader->space, p->reader->space);
	if (samples)
		threads = xcalloc(samples->thread_count, sizeof(*threads));
	for (size_t i = 0; samples && i < samples->thread_count; i++)
		threads[i] = reader_thread(first->reader, samples->threads[i].pid,
					   samples->threads[i].tid);
	profile_add_part(first->profile, &p->own, &(struct graft){0}, threads);
}

/* Counts all samples of a thread that was seen in Java code once: a stack that is cut before it
 * reaches the Java code is incomplete, too. */
static void count_java(const struct space *space, struct quality *q)
{
	for (size_t i = 0; i < space_thread_count(space); i++) {
		const struct thread *t = space_thread_at(space, i);

		if (!t->code)
			continue;
		q->java_samples = count_add(q->java_samples, t->samples);
		q->java_complete = count_add(q->java_complete, t->complete);
	}
}

/* The last part has read all records. */
static void finish(const struct reader_part *parts, size_t n)
{
	const struct reader *last = parts[n - 1].reader;
	struct profile *profile = parts[0].profile;

	for (size_t i = 1; i < n; i++)
		add_part(&parts[0], &parts[i]);
	count_java(parts[0].reader->space, &profile->quality);
	profile->quality.lost =
		count_add(profile->quality.lost,
			  last->lost[0] > last->lost[1] ? last->lost[0] : last->lost[1]);
	profile->cut += perfdata_cut(last->recording);
	profile->nameless_files += sources_cut(last->sources);
}

int profile_read(const struct recording *in, struct profile *profile, struct err *err)
{
	struct perfdata *pd = perfdata_open(in->perf_fd, err);
	CLEANUP(sources_free) struct sources *sources = NULL;
	CLEANUP(tasks_free) struct tasks *tasks = NULL;
	struct reader_part *parts;
	uint64_t bytes;
	size_t n;
	int rc = 0;

	if (!pd)
		return -1;
	if (in->has_tasks && !in->event)
		rc = tasks_read(in->perf_fd, &tasks, err);
	n = part_count(in, pd);
	bytes = perfdata_size(pd) / n;
	parts = xcalloc(n, sizeof(*parts));
	sources = sources_new(in);
	parts[0] = (struct reader_part){
		.sources = sources, .tasks = tasks, .profile = profile, .recording = pd};
	for (size_t i = 0; i < n && rc == 0; i++) {
		parts[i].from = bytes * i;
		parts[i].to = i + 1 < n ? bytes * (i + 1) : UINT64_MAX;
		rc = i ? part_open(&parts[i], &parts[0], err) : 0;
	}
	if (rc == 0) {
		parallel_run(n, read_part, parts);
		finish(parts, n);
	}
	parts_free(parts, n);
	return rc;
}
