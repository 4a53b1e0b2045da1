// SPDX-License-Identifier: Apache-2.0
#include "profile/profile.h"

#include "common/parallel.h"
#include "profile/reader.h"

/* What each part finds out for itself takes the time of some thousand samples. */
#define PART_SAMPLES 2500
#define PARTS_MAX    4 /* the rest of the machine is for those it is there for */

/* A part of the recording's samples, with a reader of its own: what changes from record to record
 * (mappings, names) each follows from the beginning, a sample is named by one. */
struct part {
	struct sources *sources;
	struct profile *profile;
	uint64_t from, to;	    /* bytes of the recording */
	struct perfdata *recording; /* the reader takes it over */
	struct reader *reader;
	struct profile own; /* of all but the first, which adds to the caller's */
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

static int part_open(struct part *p, const struct part *first, struct err *err)
{
	p->sources = first->sources;
	profile_init(&p->own, first->profile->samples != NULL);
	p->profile = &p->own;
	p->recording = perfdata_open(sources_input(p->sources)->perf_fd, err);
	return p->recording ? 0 : -1;
}

static void read_part(void *arg, size_t i)
{
	struct part *p = (struct part *)arg + i;

	p->reader = reader_new(p->sources, TAKE_PTR(p->recording), p->profile);
	reader_read(p->reader, p->from, p->to);
}

static void parts_free(struct part *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		reader_free(parts[i].reader);
		perfdata_close(parts[i].recording);
		profile_fini(&parts[i].own);
	}
	free(parts);
}

/* ---- together ---------------------------------------------------------------------------- */

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

static void add_part(const struct part *first, const struct part *p)
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

/* The last part has seen all records. */
static void finish(const struct part *parts, size_t n)
{
	const struct reader *last = parts[n - 1].reader;
	struct profile *profile = parts[0].profile;

	for (size_t i = 1; i < n; i++)
		add_part(&parts[0], &parts[i]);
	count_java(parts[0].reader->space, &profile->quality);
	profile->quality.lost += last->lost[0] > last->lost[1] ? last->lost[0] : last->lost[1];
	profile->cut += perfdata_cut(last->recording);
}

int profile_read(const struct recording *in, struct profile *profile, struct err *err)
{
	struct perfdata *pd = perfdata_open(in->perf_fd, err);
	CLEANUP(sources_free) struct sources *sources = NULL;
	struct part *parts;
	uint64_t bytes;
	size_t n;
	int rc = 0;

	if (!pd)
		return -1;
	n = part_count(in, pd);
	bytes = perfdata_size(pd) / n;
	parts = xcalloc(n, sizeof(*parts));
	sources = sources_new(in);
	parts[0] = (struct part){.sources = sources, .profile = profile, .recording = pd};
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
