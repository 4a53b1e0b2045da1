// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "bpf/recording_parts.h"
#include "bpf/walker.h"
#include "common/clock.h"
#include "common/message.h"
#include "common/str.h"
#include "dfg/bytes.h"
#include "unwind/unwind_regs.h"

#define READ_MS 50

static void say(const struct recorded *r, enum said said, const struct err *err)
{
	struct word w = {.said = said,
			 .began = r->began,
			 .end = r->end,
			 .full = r->failed.code == ENOSPC || r->failed.code == EDQUOT};

	if (err)
		w.err = *err;
	(void)!message_send(r->control, &w, sizeof(w), NULL, 0, 0);
}

/* ---- samples ---- */

bool copied_sample_of(const struct perf_event_header *h, struct copied_sample *ret)
{
	struct copied_sample s = {.regs_mask = UNWIND_PERFMASK};
	struct bytes b = bytes_of(h + 1, h->size - sizeof(*h));
	uint64_t size, used;

	if (h->type != PERF_RECORD_SAMPLE)
		return false;
	bytes_u64(&b); /* the event's id */
	bytes_u64(&b); /* the instruction pointer */
	s.pid = bytes_u32(&b);
	s.tid = bytes_u32(&b);
	s.time = bytes_u64(&b);
	size = bytes_u64(&b);
	bytes_take(&b, size < b.len / 8 ? (size_t)size * 8 : b.len);
	s.regs_abi = bytes_u64(&b);
	if (s.regs_abi)
		s.regs = bytes_take(&b, 8u * (size_t)__builtin_popcountll(UNWIND_PERFMASK));
	size = bytes_u64(&b);
	if (size) {
		s.stack = bytes_take(&b, size);
		used = bytes_u64(&b);
		s.stack_len = used < size ? (size_t)used : (size_t)size;
		s.limited = used >= size;
	}
	*ret = s;
	return !b.bad;
}

static void count_copied(struct recorded *r, const struct perf_event_header *h)
{
	struct copied_sample s;
	struct kernel_counts *c =
		copied_sample_of(h, &s) ? recording_counts(r, (pid_t)s.pid) : NULL;

	if (c)
		c->copied++;
}

static void take_record(void *arg, const struct perf_event_header *h)
{
	struct recorded *r = arg;

	if (h->type == PERF_RECORD_SAMPLE)
		count_copied(r, h);
	else
		recording_follow(r, h);
	perf_writer_record(r->writer, h);
}

void recording_write(struct recorded *r, const struct flat_sample *f, const uint64_t *frames,
		     const struct sample_detail *detail)
{
	const struct walked_sample s = {.pid = (pid_t)f->tgid,
					.tid = (pid_t)f->tid,
					.time = f->time,
					.ip = f->kernel ? 0 : f->pc,
					.cut = f->end != FLAT_ROOT,
					.frames = r->frames,
					.frame_count = f->count,
					.kernel = frames + f->count,
					.kernel_count = f->kernel,
					.detail = detail};
	struct followed *p = recording_find(r, s.pid);
	struct kernel_counts *c = recording_counts(r, s.pid);

	if ((p && recording_is_wrong(p, f->time)) || f->count > FLAT_FRAMES_MAX ||
	    !recording_number(r, &s, f, frames)) {
		perf_writer_lost(r->writer, s.pid, 1);
		return;
	}
	if (c && (!detail || detail->event == FLAT_EVENT_CPU))
		c->walked++;
	perf_writer_walked(r->writer, &s);
	if (p)
		recording_ask(r, p, f, frames);
}

/* Keeps the time of a thread's sample, in place of its last one, or of the oldest. Others run
 * meanwhile that are not waited for: the JVM's compilers and collectors. */
static void keep_stopping(struct followed *p, uint32_t tid, uint64_t time)
{
	unsigned at = 0;

	for (unsigned i = 0; i < RECORDING_STOPPING; i++) {
		if (p->stopping[i].tid == tid) {
			at = i;
			break;
		}
		if (p->stopping[i].time < p->stopping[at].time)
			at = i;
	}
	p->stopping[at].tid = tid;
	p->stopping[at].time = time;
}

/* The time of a thread's last such sample since then; 0: there is none. */
static uint64_t stopping_since(const struct followed *p, uint32_t tid, uint64_t begin)
{
	for (unsigned i = 0; i < RECORDING_STOPPING; i++)
		if (p->stopping[i].tid == tid && p->stopping[i].time > begin)
			return p->stopping[i].time;
	return 0;
}

/* Keeps the stack of a thread for which its JVM waited: it says more than that where it stopped. */
static void take_walked(void *arg, const struct flat_sample *f, const uint64_t *frames)
{
	const struct sample_detail running = {
		.event = FLAT_EVENT_SAFEPOINT, .flags = PERFWRITE_HOLDER, .name = ""};
	const struct sample_detail receiver = {
		.event = FLAT_EVENT_CPU,
		.name = (const char *)(frames + f->count + f->kernel),
		.name_len = f->receiver};
	struct followed *p = f->stopping ? recording_find(arg, (pid_t)f->tgid) : NULL;
	struct recorded *r = arg;

	if (r->clock)
		recording_clock_ran(r, f, frames);
	if (!(r->config->events & 1u << FLAT_EVENT_CPU))
		return;
	recording_write(arg, f, frames, f->receiver ? &receiver : NULL);
	if (!p)
		return;
	keep_stopping(p, f->tid, f->time);
	recording_write(arg, f, frames, &running);
}

static struct sample_detail detail_of(const struct flat_sample *f, const struct stack_event *e)
{
	_Static_assert(PERFWRITE_OUTSIDE == FLAT_OUTSIDE && PERFWRITE_HUMONGOUS == FLAT_HUMONGOUS &&
			       PERFWRITE_HOLDER == FLAT_HOLDER && PERFWRITE_ENTIRE == FLAT_WHOLE &&
			       PERFWRITE_DISCARDED == FLAT_DISCARDED,
		       "the same flags");
	_Static_assert(PERFWRITE_STACK == FLAT_COPY - FLAT_PIECE, "whole copies have as much");
	return (struct sample_detail){
		.event = f->event,
		.amount = e->amount,
		.holder = e->holder,
		.asker = e->asker,
		.flags = e->flags | PERFWRITE_LEVEL(e->level),
		.name = e->name,
		.name_len = e->name_len,
		.regs = e->stack ? e->regs : NULL,
		.stack = e->stack,
		.stack_len = e->stack_len < PERFWRITE_STACK ? e->stack_len : PERFWRITE_STACK};
}

#define NO_CAUSE "No GC"

/* Writes a safepoint as two samples, of the thread that asked for it: of the time until all threads
 * had stopped, and of the rest. */
static void write_safepoint(struct recorded *r, const struct flat_sample *f, const uint64_t *frames,
			    const struct stack_event *e, struct sample_detail *d)
{
	const struct followed *p = recording_find(r, (pid_t)f->tgid);
	const char *name = !e->operation ? "Cleanup" /* JDK 11's own: there is no operation */
			   : p && p->operations ? operations_name(p->operations, e->operation)
						: NULL;
	const uint64_t running =
		p && e->holder ? stopping_since(p, e->holder_tid, f->time - e->amount) : 0;
	struct flat_sample of = *f;
	CLEANUP(str_fini) struct str text = {0};

	if (running)
		d->holder = running;
	of.tid = e->asker ? e->asker_tid : f->tid;
	name = name ? name : "unknown operation";
	str_add(&text, name,
		strnlen(name, OPERATION_NAME_MAX)); /* the builder's: maybe without NUL */
	/* A collector may tell no cause (gc/shared/gcCause.cpp). */
	if (e->name_len && operations_has_cause(text.buf) &&
	    (e->name_len != strlen(NO_CAUSE) || memcmp(e->name, NO_CAUSE, strlen(NO_CAUSE)) != 0))
		str_addf(&text, " (%.*s)", (int)e->name_len, e->name);
	d->name = text.buf;
	d->name_len = text.len;
	d->flags |= PERFWRITE_WAITED;
	d->amount = e->part;
	recording_write(r, &of, frames, d);
	d->flags ^= PERFWRITE_WAITED | PERFWRITE_STOPPED;
	d->holder = 0;
	d->heap_before = e->heap_before;
	d->heap_after = e->heap_after;
	d->amount = e->amount - (e->part < e->amount ? e->part : e->amount);
	recording_write(r, &of, frames, d);
}

static void take_event(void *arg, const struct flat_sample *f, const uint64_t *frames,
		       const struct stack_event *e)
{
	struct recorded *r = arg;
	struct sample_detail d = detail_of(f, e);

	/* An event of now may name an earlier one. */
	if (f->event >= FLAT_EVENTS ||
	    (f->time < r->began && !(e->flags & (FLAT_HOLDER | FLAT_FREEZES))) ||
	    (r->end && f->time > r->end))
		return;
	if (f->event == FLAT_EVENT_WALL && f->virtual && e->flags & (FLAT_UNMOUNTED | FLAT_FREEZES))
		recording_unmounted(r, f, frames, e);
	else if (f->event == FLAT_EVENT_WALL && !e->holder_tid)
		recording_clock_stack(r, f, frames, e);
	else if (f->event == FLAT_EVENT_SAFEPOINT && !(e->flags & FLAT_HOLDER))
		write_safepoint(r, f, frames, e, &d);
	else
		recording_write(r, f, frames, &d);
}

/* Reads what has been recorded, and writes it. */
static int take_round(struct recorded *r, struct err *err)
{
	const struct stack_handler handler = {.walked = take_walked,
					      .event = take_event,
					      .times = recording_clock_times,
					      .record = take_record,
					      .arg = r};

	if (stack_recorder_read(r->recorder, &handler, err) < 0)
		return -1;
	perf_writer_round(r->writer);
	if (perf_writer_flush(r->writer, err) < 0)
		return -1;
	if (r->config->max_bytes && perf_writer_size(r->writer) > r->config->max_bytes)
		return err_set(err, ENOSPC, "the recording is larger than its room");
	return 0;
}

/* ---- files ---- */

/* Lists what is there when a file begins: names of threads, mappings. */
static int write_begin(struct recorded *r, struct err *err)
{
	CLEANUP(free) pid_t *pids = xcalloc(r->count + 1, sizeof(*pids));
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		if (!r->processes[i].ended)
			pids[n++] = r->processes[i].pid;
	return recording_list(r->writer, r->fd, r->config->max_bytes, pids, n, err);
}

/* Begins r->fd. */
static int begin_file(struct recorded *r, struct err *err)
{
	const struct perf_event_attr attr = stack_recorder_attr(r->recorder);
	size_t n;
	CLEANUP(free) uint64_t *ids = stack_recorder_ids(r->recorder, &n);

	return perf_writer_open(r->fd, &attr, ids, n, r->config->events & ~1u ? FLAT_EVENTS : 1,
				&r->writer, err);
}

/* Begins to count for another file. */
static void forget_file(struct kernel_counts *c)
{
	c->walked = c->copied = c->missed = 0;
	memset(c->lost, 0, sizeof(c->lost));
}

/* Tells the caller the numbers of the file that ends. */
static void share_counts(struct recorded *r)
{
	for (uint32_t i = FLAT_NO_WALKER + 1;
	     i < FLAT_WALKERS && stack_recorder_walker(r->recorder, i); i++)
		for (unsigned event = 1; event < FLAT_EVENTS; event++)
			r->counts[r->targets[i]].lost[event] +=
				stack_recorder_events_lost(r->recorder, event, i);
	for (size_t i = 0; i < r->config->count; i++) {
		r->shared[i] = r->counts[i];
		forget_file(&r->counts[i]);
	}
}

static void forget_numbers(struct recorded *r)
{
	for (unsigned i = 0; i < FLAT_WALKERS; i++) {
		free(r->numbers[i]);
		r->numbers[i] = NULL;
	}
	r->number_count = 0;
	recording_virtual_forget(r);
}

/* Ends the file, and goes on in another one. */
static void go_on_in(struct recorded *r, int fd)
{
	struct err *err = &r->failed;

	if (r->clock)
		recording_clock_flush(r);
	if (take_round(r, err) < 0 || perf_writer_end(r->writer, err) < 0)
		return;
	share_counts(r);
	perf_writer_free(r->writer);
	r->writer = NULL;
	close(r->fd);
	r->fd = fd;
	forget_numbers(r);
	if (begin_file(r, err) == 0 && write_begin(r, err) == 0)
		say(r, SAID_SWITCHED, NULL);
}

/* ---- the loop ---- */

/* Records more processes, whose names and mappings are listed as at the beginning of a file. */
static void add_more(struct recorded *r, const struct recording_wish *w, int builder)
{
	pid_t more[KERNEL_RECORDING_MORE];
	size_t n = 0;

	for (size_t i = 0; i < w->count; i++)
		if (!recording_find(r, w->pids[i]) &&
		    recording_add(r, w->pids[i], w->target, &r->failed) == 0)
			more[n++] = w->pids[i];
	if (n)
		(void)!recording_list(r->writer, r->fd, r->config->max_bytes, more, n, &r->failed);
	if (builder >= 0)
		recording_take_builder(r, builder, w->target);
}

/* Carries out what the caller wants. True: the end. Data that nobody reads would take the last
 * words to the caller with it. */
static bool obey(struct recorded *r)
{
	struct recording_wish w;
	int fd = -1;
	size_t n;

	if (message_receive(r->control, &w, sizeof(w), &fd, 1, &n) != sizeof(w))
		return true;
	if (w.wanted == WANTED_END)
		return true;
	if (w.wanted == WANTED_MORE)
		add_more(r, &w, n ? fd : -1);
	else if (n)
		go_on_in(r, fd);
	return r->failed.msg[0];
}

/* Waits for some time, and handles what comes meanwhile. True: it is the end. */
static bool wait_some(struct recorded *r)
{
	const size_t count = r->builder_count;
	CLEANUP(free) struct pollfd *p = xcalloc(count + 1, sizeof(*p));

	for (size_t i = 0; i < count; i++)
		p[i] = (struct pollfd){.fd = r->builders[i].sock, .events = POLLIN};
	recording_begin_builders(r);
	p[count] = (struct pollfd){.fd = r->control, .events = POLLIN};
	if (poll(p, count + 1, READ_MS) <= 0)
		return false;
	for (size_t i = 0; i < count; i++)
		if (p[i].revents)
			recording_hear_builder(r, &r->builders[i]);
	return p[count].revents && obey(r);
}

static void record(struct recorded *r)
{
	while (!wait_some(r) && r->left) {
		recording_virtual_bound(r);
		if (take_round(r, &r->failed) < 0)
			return;
	}
	if (r->clock)
		stack_recorder_stop_wall(r->recorder);
	r->end = clock_us() * 1000; /* the caller's time ends */
	(void)!stack_recorder_enable(r->recorder, false, &r->failed);
	(void)!take_round(r, &r->failed);
	recording_clock_end(r);
	share_counts(r);
	say(r, SAID_DISABLED, NULL);
}

/* The events are enabled before what is there is listed: what changes meanwhile is recorded. */
static int begin(struct recorded *r, struct err *err)
{
	const struct kernel_recording_config *c = r->config;
	const struct stack_recorder_config config = {
		.frequency = c->frequency,
		.stack_bytes = c->stack_bytes,
		.probes = c->events & ~(1u << FLAT_EVENT_CPU),
		.locks = c->events & 1u << FLAT_EVENT_LOCK,
		.safepoints = c->events & 1u << FLAT_EVENT_SAFEPOINT,
		.wall = c->events & 1u << FLAT_EVENT_WALL,
		.counted = c->events & 1u << FLAT_EVENT_PERF,
		.event = c->event,
		.no_samples = !(c->events & (1u << FLAT_EVENT_CPU | 1u << FLAT_EVENT_WALL))};

	if (stack_recorder_open(&config, &r->recorder, err) < 0 || begin_file(r, err) < 0)
		return -1;
	for (size_t i = 0; i < c->count; i++)
		for (size_t k = 0; k < c->targets[i].count; k++)
			if (recording_add(r, c->targets[i].pids[k], i, err) < 0)
				return -1;
	for (size_t i = 0; i < c->count; i++)
		if (c->targets[i].builder >= 0)
			recording_take_builder(r, c->targets[i].builder, i);
	recording_wait_builders(r);
	r->began = UINT64_MAX;
	return stack_recorder_enable(r->recorder, true, err) < 0 ? -1 : write_begin(r, err);
}

int recording_serve(void *arg)
{
	const struct recording_job *j = arg;
	const size_t count = j->config->count;
	struct recorded *r = xcalloc(1, sizeof(*r));
	struct err err;

	r->config = j->config;
	r->control = j->control;
	r->fd = j->config->fd;
	r->shared = j->counts;
	r->counts = xcalloc(count + 1, sizeof(*r->counts));
	r->families = xcalloc(count + 1, sizeof(*r->families));
	r->frames = xcalloc(FLAT_FRAMES_MAX, sizeof(*r->frames));
	if (begin(r, &err) < 0) {
		say(r, SAID_FAILED, &err);
		return 1;
	}
	r->began = clock_us() * 1000; /* the caller's time begins */
	recording_clock_begin(r);
	say(r, SAID_RECORDS, NULL);
	record(r);
	if (r->writer)
		(void)!perf_writer_end(r->writer, &r->failed);
	stack_recorder_close(r->recorder);
	say(r, SAID_ENDED, &r->failed);
	return 0;
}
