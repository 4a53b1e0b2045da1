// SPDX-License-Identifier: Apache-2.0
#include "perf/split.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/fs.h"
#include "common/str.h"
#include "perf/perfdata.h"
#include "perf/perfformat.h"

#define PID_MAX	    (1 << 22)	/* PID_MAX_LIMIT of 64-bit machines, include/linux/threads.h */
#define BUF_BYTES   (256 << 10) /* written at once */
#define ROUND	    4096	/* records */
#define PREFIX_MAX  (64u << 20) /* what stands before the records: the table of events */
#define AT_OFFSET   40		/* in the file's header: the place of the records */
#define AT_SIZE	    48
#define AT_FEATURES 72 /* 256 bits */

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

/* Adds a record, and from time to time the mark that all before it are earlier than all after it:
 * a reader then needs not to sort the whole part. */
static int add_record(struct part *p, const uint8_t *bytes, size_t len, struct err *err)
{
	static const struct perf_event_header round = {.type = RECORD_FINISHED_ROUND,
						       .size = sizeof(round)};

	if (add(p, bytes, len, err) < 0)
		return -1;
	return ++p->records % ROUND ? 0 : add(p, &round, sizeof(round), err);
}

/* ---- whose record it is ---- */

static uint8_t *flags_of(const struct part *p, pid_t pid)
{
	static uint8_t none;

	none = 0;
	return pid >= 0 && pid < PID_MAX ? &p->pid[pid] : &none;
}

static bool has_fork(struct part *p, const struct perf_record *r)
{
	uint8_t *child = flags_of(p, r->pid);
	bool parent = *flags_of(p, r->fork.ppid) & OWNED;

	if (r->pid == r->fork.ppid) /* a thread */
		return *child & OWNED;
	*child = (uint8_t)((*child & LISTED) | (parent || *child & LISTED ? OWNED : 0));
	return *child & OWNED;
}

/* True if the record belongs to the part. A listed pid is another process's after an exit. */
static bool has_record(struct part *p, const struct perf_record *r)
{
	uint8_t *flags = flags_of(p, r->pid);

	switch (r->type) {
	case PERF_RECORD_LOST:
	case PERF_RECORD_KSYMBOL:
		return true;
	case PERF_RECORD_MMAP:
		return r->pid == -1 || *flags & OWNED;
	case PERF_RECORD_FORK:
		return has_fork(p, r);
	case PERF_RECORD_EXIT:
		if (r->pid == r->tid)
			*flags &= (uint8_t)~LISTED;
		return *flags & OWNED;
	default:
		return *flags & OWNED;
	}
}

/* ---- the file ---- */

/* Returns what stands before the records: header and events, without the tables at the end. */
static int read_prefix(int fd, struct str *ret, struct err *err)
{
	static const char no_features[32];
	uint64_t len = 0;

	if (pread(fd, &len, sizeof(len), AT_OFFSET) != sizeof(len) ||
	    len < AT_FEATURES + sizeof(no_features) || len > PREFIX_MAX)
		return err_set(err, 0, "perf.data: its records do not follow its table of events");
	while (ret->len < len) {
		char buf[4096];
		size_t left = (size_t)len - ret->len;
		ssize_t n =
			pread(fd, buf, left < sizeof(buf) ? left : sizeof(buf), (off_t)ret->len);

		if (n <= 0)
			return err_set(err, 0, "perf.data: cut in its table of events");
		str_add(ret, buf, (size_t)n);
	}
	memcpy(ret->buf + AT_FEATURES, no_features, sizeof(no_features));
	return 0;
}

static int begin_part(struct part *p, const struct perf_part *to, const struct str *prefix,
		      struct err *err)
{
	*p = (struct part){.to = to, .pid = xcalloc(PID_MAX, 1)};
	for (size_t i = 0; i < to->count; i++)
		*flags_of(p, to->pids[i]) = OWNED | LISTED;
	return fs_write_all(to->fd, prefix->buf, prefix->len, err);
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
			if (has_record(&parts[i], &r) && add_record(&parts[i], bytes, len, err) < 0)
				return -1;
	}
	return 0;
}

int perf_split(int fd, const struct perf_part *to, size_t count, struct err *err)
{
	CLEANUP(perfdata_close) struct perfdata *pd = perfdata_open(fd, err);
	CLEANUP(str_fini) struct str prefix = {0};
	struct part *parts;
	size_t begun = 0;
	int rc;

	if (!pd || read_prefix(fd, &prefix, err) < 0)
		return -1;
	parts = xcalloc(count, sizeof(*parts));
	rc = 0;
	for (; begun < count && rc == 0; begun++)
		rc = begin_part(&parts[begun], &to[begun], &prefix, err);
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
