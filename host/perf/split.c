// SPDX-License-Identifier: Apache-2.0
#include "perf/split.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/fs.h"
#include "common/str.h"
#include "perf/perfdata.h"
#include "perf/perfformat.h"

#ifndef PID_MAX
#define PID_MAX (1 << 22) /* PID_MAX_LIMIT of 64-bit machines, include/linux/threads.h */
#endif
#define BUF_BYTES (256 << 10) /* written at once */
#define ROUND	  4096	      /* records */

/* In the file's header (linux tools/perf/util/header.h, struct perf_file_header). */
#define AT_SIZE	       48 /* of the records */
#define AT_FEATURES    72
#define FEATURES_BYTES 32

enum { OWNED = 1, LISTED = 2 };

struct part {
	const struct perf_part *to;
	uint8_t *pid; /* by pid: OWNED, LISTED */
	struct str buf;
	uint64_t size; /* of the records */
	unsigned records;
};

static int flush(struct part *p, struct err *err)
{
	int rc = p->buf.len ? fs_write_all(p->to->fd, p->buf.buf, p->buf.len, err) : 0;

	str_clear(&p->buf);
	return rc;
}

static int add(struct part *p, const void *bytes, size_t len, struct err *err)
{
	str_add(&p->buf, bytes, len);
	p->size += len;
	return p->buf.len < BUF_BYTES ? 0 : flush(p, err);
}

static int add_zeros(struct part *p, uint64_t len, struct err *err)
{
	static const char zeros[4096];

	for (uint64_t n; len; len -= n) {
		n = len < sizeof(zeros) ? len : sizeof(zeros);
		if (add(p, zeros, (size_t)n, err) < 0)
			return -1;
	}
	return 0;
}

/* Adds a sample. Where the kernel could not fill the copy of the stack, it leaves what the ring
 * buffer held before, which is of other processes' samples (linux 6.18, kernel/events/core.c,
 * perf_output_sample_ustack: perf_output_skip). */
static int add_sample(struct part *p, const struct perf_sample *s, const uint8_t *bytes, size_t len,
		      struct err *err)
{
	const size_t filled = (size_t)(s->stack - bytes) + (size_t)s->stack_dyn;
	const size_t rest = (size_t)(s->stack_len - s->stack_dyn);

	if (add(p, bytes, filled, err) < 0 || add_zeros(p, rest, err) < 0)
		return -1;
	return add(p, bytes + filled + rest, len - filled - rest, err);
}

/* Adds a record, and from time to time the mark that all before it are earlier than all after it:
 * a reader need not sort the whole part then. */
static int add_record(struct part *p, const struct perf_record *r, const uint8_t *bytes, size_t len,
		      struct err *err)
{
	static const struct perf_event_header round = {.type = RECORD_FINISHED_ROUND,
						       .size = sizeof(round)};

	if ((r->type == PERF_RECORD_SAMPLE && r->sample.stack
		     ? add_sample(p, &r->sample, bytes, len, err)
		     : add(p, bytes, len, err)) < 0)
		return -1;
	return ++p->records % ROUND ? 0 : add(p, &round, sizeof(round), err);
}

/* ---- whose record it is ---- */

static bool is_pid(pid_t pid)
{
	return pid >= 0 && pid < PID_MAX;
}

static bool has_fork(struct part *p, const struct perf_record *r)
{
	uint8_t *child = &p->pid[r->pid];

	if (r->pid != r->fork.ppid) /* a process, no thread */
		*child = (uint8_t)((*child & LISTED) |
				   (p->pid[r->fork.ppid] || *child & LISTED ? OWNED : 0));
	return *child & OWNED;
}

/* True if the record belongs to the part. A listed pid is another process's after an exit. */
static bool has_record(struct part *p, const struct perf_record *r)
{
	uint8_t *flags;

	if (r->type == PERF_RECORD_LOST || r->type == PERF_RECORD_KSYMBOL ||
	    (r->type == PERF_RECORD_MMAP && r->pid == -1))
		return true;
	if (!is_pid(r->pid))
		return false;
	flags = &p->pid[r->pid];
	switch (r->type) {
	case PERF_RECORD_FORK:
		return is_pid(r->fork.ppid) && has_fork(p, r);
	case PERF_RECORD_EXIT:
		if (r->pid == r->tid)
			*flags &= (uint8_t)~LISTED;
		return *flags & OWNED;
	default:
		return *flags & OWNED;
	}
}

/* ---- the file ---- */

/* Begins a part with what stands before the records: header and events, without the tables at the
 * end. */
static int begin_part(struct part *p, const struct perf_part *to, const struct perfdata *pd,
		      struct err *err)
{
	static const char no_features[FEATURES_BYTES];
	const size_t records = (size_t)(pd->data.p - pd->file);

	*p = (struct part){.to = to, .pid = xcalloc(PID_MAX, 1)};
	for (size_t i = 0; i < to->count; i++)
		if (is_pid(to->pids[i]))
			p->pid[to->pids[i]] = OWNED | LISTED;
	if (records < AT_FEATURES + FEATURES_BYTES)
		return err_set(err, 0, "perf.data: its records do not follow its header");
	str_add(&p->buf, pd->file, records);
	memcpy(p->buf.buf + AT_FEATURES, no_features, FEATURES_BYTES);
	return flush(p, err);
}

static int end_part(struct part *p, struct err *err)
{
	if (flush(p, err) < 0)
		return -1;
	if (pwrite(p->to->fd, &p->size, sizeof(p->size), AT_SIZE) != sizeof(p->size))
		return err_set(err, errno, "write the head of a recording");
	return 0;
}

static int copy_records(struct perfdata *pd, struct part *parts, size_t count, struct err *err)
{
	struct perf_record r;

	while (perfdata_next(pd, &r)) {
		size_t len;
		const uint8_t *bytes = perfdata_bytes(pd, &len);

		for (size_t i = 0; i < count; i++)
			if (has_record(&parts[i], &r) &&
			    add_record(&parts[i], &r, bytes, len, err) < 0)
				return -1;
	}
	return 0;
}

int perf_split(int fd, const struct perf_part *to, size_t count, struct err *err)
{
	CLEANUP(perfdata_close) struct perfdata *pd = perfdata_open(fd, err);
	struct part *parts;
	size_t begun = 0;
	int rc = 0;

	if (!pd)
		return -1;
	parts = xcalloc(count, sizeof(*parts));
	for (; begun < count && rc == 0; begun++)
		rc = begin_part(&parts[begun], &to[begun], pd, err);
	if (rc == 0)
		rc = copy_records(pd, parts, count, err);
	for (size_t i = 0; i < begun; i++) {
		if (rc == 0)
			rc = end_part(&parts[i], err);
		free(parts[i].pid);
		str_fini(&parts[i].buf);
	}
	free(parts);
	return rc == 0 ? 0 : err_wrap(err, "split the recording");
}
