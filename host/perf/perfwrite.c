// SPDX-License-Identifier: Apache-2.0
#include "perf/perfwrite.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/fs.h"
#include "common/str.h"
#include "perf/perfformat.h"

#define BUF_BYTES  (256u << 10) /* written at once */
#define HEAD_BYTES 104u		/* linux tools/perf/util/header.h, struct perf_file_header */
#define AT_SIZE	   48		/* in it: of the records */

/* Ids of the attributes that are not the kernel's, which counts from 1. */
#define WALKED_ID(event) (UINT64_MAX - 2 * (uint64_t)(event))
#define COPIED_ID(event) (WALKED_ID(event) - 1)

struct perf_writer {
	int fd;
	struct str buf;
	uint64_t regs_mask;  /* of copies */
	uint64_t head, size; /* bytes before the records, and of them */
	struct err failed;   /* the first failure; "": none */
};

static void flush(struct perf_writer *w)
{
	if (w->buf.len && !w->failed.msg[0])
		(void)!fs_write_all(w->fd, w->buf.buf, w->buf.len, &w->failed);
	str_clear(&w->buf);
}

static void add(struct perf_writer *w, const void *p, size_t len)
{
	str_add(&w->buf, p, len);
}

static void add_u32(struct perf_writer *w, uint32_t v)
{
	add(w, &v, sizeof(v));
}

static void add_u64(struct perf_writer *w, uint64_t v)
{
	add(w, &v, sizeof(v));
}

/* ---- the head ----------------------------------------------------------------------------- */

static struct perf_event_attr walked_attr(bool detailed)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.freq = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | (detailed ? PERF_SAMPLE_PERIOD : 0) |
			       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
}

/* Of the samples of further events that have a copy of the stack. */
static struct perf_event_attr copied_attr(const struct perf_event_attr *first)
{
	struct perf_event_attr a = walked_attr(true);

	a.config = PERF_COUNT_SW_DUMMY;
	a.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	a.sample_regs_user = first->sample_regs_user;
	a.sample_stack_user = PERFWRITE_STACK;
	return a;
}

/* Adds an event's attributes and the place of its ids; returns the place of the next one's. */
static uint64_t add_attr(struct perf_writer *w, const struct perf_event_attr *attr, uint64_t ids_at,
			 size_t ids)
{
	add(w, attr, sizeof(*attr));
	add_u64(w, ids_at);
	add_u64(w, ids * sizeof(uint64_t));
	return ids_at + ids * sizeof(uint64_t);
}

static void add_events(struct perf_writer *w, const struct perf_event_attr *first,
		       const uint64_t *ids, size_t id_count, unsigned events, uint64_t ids_at)
{
	for (unsigned i = 0; i < events; i++) {
		const struct perf_event_attr walked = walked_attr(i > 0);
		const struct perf_event_attr copied = i ? copied_attr(first) : *first;

		ids_at = add_attr(w, &copied, ids_at, i ? 1 : id_count);
		ids_at = add_attr(w, &walked, ids_at, 1);
	}
	add(w, ids, id_count * sizeof(*ids));
	for (unsigned i = 0; i < events; i++) {
		if (i)
			add_u64(w, COPIED_ID(i));
		add_u64(w, WALKED_ID(i));
	}
}

int perf_writer_open(int fd, const struct perf_event_attr *attr, const uint64_t *ids,
		     size_t id_count, unsigned events, struct perf_writer **ret, struct err *err)
{
	const size_t entry = sizeof(struct perf_event_attr) + 2 * sizeof(uint64_t);
	struct perf_writer *w = xcalloc(1, sizeof(*w));
	uint64_t ids_at = HEAD_BYTES + 2 * events * entry;

	w->fd = fd;
	w->regs_mask = attr->sample_regs_user;
	w->head = ids_at + (id_count + 2 * events - 1) * sizeof(uint64_t);
	add(w, "PERFILE2", 8);
	add_u64(w, HEAD_BYTES);
	add_u64(w, entry);
	add_u64(w, HEAD_BYTES); /* the events */
	add_u64(w, 2 * events * entry);
	add_u64(w, w->head);		 /* the records */
	for (unsigned i = 0; i < 7; i++) /* their size, no table of names, no features */
		add_u64(w, 0);
	add_events(w, attr, ids, id_count, events, ids_at);
	if (perf_writer_flush(w, err) < 0) {
		perf_writer_free(w);
		return -1;
	}
	*ret = w;
	return 0;
}

void perf_writer_free(struct perf_writer *w)
{
	if (!w)
		return;
	str_fini(&w->buf);
	free(w);
}

/* ---- records ------------------------------------------------------------------------------ */

void perf_writer_record(struct perf_writer *w, const struct perf_event_header *h)
{
	add(w, h, h->size);
	w->size += h->size;
	if (w->buf.len >= BUF_BYTES)
		flush(w);
}

/* Begins a record; returns where. */
static size_t begin(struct perf_writer *w, uint32_t type, uint16_t misc)
{
	const struct perf_event_header h = {.type = type, .misc = misc};
	size_t at = w->buf.len;

	add(w, &h, sizeof(h));
	return at;
}

static void end(struct perf_writer *w, size_t at)
{
	struct perf_event_header h;

	memcpy(&h, w->buf.buf + at, sizeof(h));
	h.size = (uint16_t)(w->buf.len - at);
	memcpy(w->buf.buf + at, &h, sizeof(h));
	w->size += h.size;
	if (w->buf.len >= BUF_BYTES)
		flush(w);
}

/* struct sample_id; event 0: perf's way to say that a record was made up. */
static void add_trailer(struct perf_writer *w, pid_t pid, pid_t tid, uint64_t time)
{
	add_u32(w, (uint32_t)pid);
	add_u32(w, (uint32_t)tid);
	add_u64(w, time);
	add_u64(w, 0);
}

/* Adds a text with its NUL, filled up to whole words. */
static void add_text(struct perf_writer *w, const char *text)
{
	static const char zeros[8];
	size_t len = strlen(text) + 1;

	add(w, text, len);
	add(w, zeros, (8 - len % 8) % 8);
}

static bool is_mark(uint64_t addr)
{
	return addr >= (uint64_t)PERF_CONTEXT_MAX;
}

static void add_chain(struct perf_writer *w, const struct walked_sample *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->kernel_count; i++)
		n += !is_mark(s->kernel[i]);
	add_u64(w, n ? n + 1 : 0);
	if (n)
		add_u64(w, (uint64_t)PERF_CONTEXT_KERNEL);
	for (size_t i = 0; i < s->kernel_count; i++)
		if (!is_mark(s->kernel[i]))
			add_u64(w, s->kernel[i]);
}

static size_t begin_walked(struct perf_writer *w, const struct walked_sample *s, uint16_t misc,
			   uint64_t id)
{
	size_t at = begin(w, PERF_RECORD_SAMPLE, misc);

	add_u64(w, id);
	add_u64(w, s->ip);
	add_u32(w, (uint32_t)s->pid);
	add_u32(w, (uint32_t)s->tid);
	add_u64(w, s->time);
	return at;
}

/* Adds the head of RAW, and the name of a sample that has one. */
static void add_raw(struct perf_writer *w, const struct sample_detail *d, uint32_t what,
		    size_t frames)
{
	static const char zeros[8];
	const size_t fill = d ? -d->name_len % 8 : 0;
	const size_t held = d && d->holder ? sizeof(d->holder) : 0;
	const size_t asked = d && d->asker ? sizeof(d->asker) : 0;
	const uint64_t heap[2] = {d ? d->heap_before : 0, d ? d->heap_after : 0};
	const size_t heaps = heap[0] || heap[1] ? sizeof(heap) : 0;
	const size_t named = d ? sizeof(uint64_t) + held + asked + heaps + d->name_len + fill : 0;

	add_u32(w, (uint32_t)(sizeof(uint32_t) + named + frames * sizeof(uint64_t)));
	add_u32(w, what);
	if (!d)
		return;
	add_u32(w, (uint32_t)d->name_len);
	add_u32(w, d->flags | (held ? PERFWRITE_HELD : 0) | (asked ? PERFWRITE_ASKED : 0) |
			   (heaps ? PERFWRITE_HEAP : 0));
	add(w, &d->holder, held);
	add(w, &d->asker, asked);
	add(w, heap, heaps);
	add(w, d->name, d->name_len);
	add(w, zeros, fill);
}

/* A record has 64 KiB: of the deepest stacks the outermost frames are left out. */
static void add_frames(struct perf_writer *w, const struct walked_sample *s)
{
	const struct sample_detail *d = s->detail;
	const size_t other = 12 + s->kernel_count + (d ? d->name_len / 8 + 6 : 0);
	const size_t most = UINT16_MAX / sizeof(uint64_t) - other;
	const size_t n = s->frame_count < most ? s->frame_count : most;
	const bool cut = s->cut || n < s->frame_count;
	const uint32_t whole = d ? PERFWRITE_NAMED_WHOLE : PERFWRITE_WHOLE;
	const uint32_t shorter = d ? PERFWRITE_NAMED_CUT : PERFWRITE_CUT;

	add_raw(w, d, cut ? shorter : whole, n);
	add(w, s->frames, n * sizeof(uint64_t));
}

static void add_copy(struct perf_writer *w, const struct sample_detail *d)
{
	const size_t fill = -d->stack_len % 8;

	add_raw(w, d, PERFWRITE_NAMED_COPY, 0);
	add_u64(w, PERF_SAMPLE_REGS_ABI_64);
	add(w, d->regs, (size_t)__builtin_popcountll(w->regs_mask) * sizeof(uint64_t));
	add_u64(w, d->stack_len + fill);
	add(w, d->stack, d->stack_len);
	add(w, &(uint64_t){0}, fill);
	add_u64(w, d->stack_len);
}

void perf_writer_walked(struct perf_writer *w, const struct walked_sample *s)
{
	const struct sample_detail *d = s->detail;
	const bool copied = d && d->regs;
	const unsigned event = d ? d->event : 0;
	size_t at = begin_walked(w, s,
				 s->kernel_count ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
				 copied ? COPIED_ID(event) : WALKED_ID(event));

	if (event)
		add_u64(w, d->amount);
	add_chain(w, s);
	if (copied)
		add_copy(w, d);
	else
		add_frames(w, s);
	end(w, at);
}

void perf_writer_code(struct perf_writer *w, const struct walked_sample *of, uint32_t number,
		      uint64_t start, uint32_t compile_id)
{
	size_t at = begin_walked(w, of, PERF_RECORD_MISC_USER, WALKED_ID(0));

	add_u64(w, 0); /* no chain */
	add_u32(w, 3 * sizeof(uint32_t) + sizeof(uint64_t));
	add_u32(w, PERFWRITE_CODE);
	add_u32(w, number);
	add_u32(w, compile_id);
	add_u64(w, start);
	end(w, at);
}

void perf_writer_comm(struct perf_writer *w, pid_t pid, pid_t tid, const char *name)
{
	size_t at = begin(w, PERF_RECORD_COMM, 0);

	add_u32(w, (uint32_t)pid);
	add_u32(w, (uint32_t)tid);
	add_text(w, name);
	add_trailer(w, pid, tid, 0);
	end(w, at);
}

void perf_writer_map(struct perf_writer *w, pid_t pid, const struct proc_map *m)
{
	const char *path = *m->path ? m->path : "//anon";
	size_t at;

	if (strlen(path) >= PATH_MAX)
		return;
	at = begin(w, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	add_u32(w, (uint32_t)pid);
	add_u32(w, (uint32_t)pid);
	add_u64(w, m->start);
	add_u64(w, m->end - m->start);
	add_u64(w, m->offset);
	add_u32(w, m->dev_major);
	add_u32(w, m->dev_minor);
	add_u64(w, m->inode);
	add_u64(w, 0); /* the inode's generation */
	add_u32(w, PROT_READ | PROT_EXEC);
	add_u32(w, MAP_PRIVATE);
	add_text(w, path);
	add_trailer(w, pid, pid, 0);
	end(w, at);
}

void perf_writer_lost(struct perf_writer *w, pid_t pid, uint64_t samples)
{
	size_t at = begin(w, PERF_RECORD_LOST, 0);

	add_u64(w, 0); /* the event */
	add_u64(w, samples);
	add_trailer(w, pid, pid, 0);
	end(w, at);
}

void perf_writer_round(struct perf_writer *w)
{
	end(w, begin(w, RECORD_FINISHED_ROUND, 0));
}

/* ---- the file ----------------------------------------------------------------------------- */

int perf_writer_flush(struct perf_writer *w, struct err *err)
{
	flush(w);
	if (!w->failed.msg[0])
		return 0;
	*err = w->failed;
	return -1;
}

int perf_writer_resume(struct perf_writer *w, struct err *err)
{
	off_t end = lseek(w->fd, 0, SEEK_END);

	if (end < (off_t)w->head)
		return err_set(err, errno, "find the end of the recording");
	w->size = (uint64_t)end - w->head;
	return 0;
}

uint64_t perf_writer_size(const struct perf_writer *w)
{
	return w->head + w->size;
}

int perf_writer_end(struct perf_writer *w, struct err *err)
{
	if (perf_writer_flush(w, err) < 0)
		return -1;
	if (pwrite(w->fd, &w->size, sizeof(w->size), AT_SIZE) != sizeof(w->size))
		return err_set(err, errno, "write the head of a recording");
	return 0;
}
