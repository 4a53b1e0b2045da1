// SPDX-License-Identifier: Apache-2.0
#include "bpf/recording.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "bpf/builder.h"
#include "bpf/recorder.h"
#include "common/clock.h"
#include "common/message.h"
#include "common/str.h"
#include "common/table.h"
#include "perf/perfwrite.h"

#define READ_MS	     50
#define MAPPINGS_MAX 8192  /* of a process: as flat_find_mapping */
#define FOLLOWED_MAX 65536 /* processes of a target, also those that have ended */

struct followed {
	pid_t pid;
	size_t target;
	bool ended;
	struct flat_process tables; /* mapping_count 0: none */
	uint64_t forgotten;	    /* ns: walks since then went by wrong tables; 0: none did */
};

/* Processes of a target. */
struct family {
	size_t followed, alive;
	unsigned messages; /* of its builder */
};

struct recorded {
	const struct kernel_recording_config *config;
	int control, fd;
	struct stack_recorder *recorder;
	struct perf_writer *writer;
	struct flat_part *parts; /* by target */
	struct family *families; /* by target */
	struct followed *processes;
	size_t count, cap, left;
	struct hash_table index;
	uint8_t *defined; /* bit for each code's number that the file explains */
	struct kernel_counts *counts, *shared; /* of this file; as the caller sees them */
	size_t codes;
	struct err failed;
};

static void say(const struct recorded *r, enum said said, const struct err *err)
{
	struct word w = {.said = said,
			 .full = r->failed.code == ENOSPC || r->failed.code == EDQUOT};

	if (err)
		w.err = *err;
	(void)!message_send(r->control, &w, sizeof(w), NULL, 0, 0);
}

/* ---- processes ---- */

static struct followed *find_process(const struct recorded *r, pid_t pid)
{
	for (struct hash_probe p = {.hash = hash_mix((uint64_t)pid)}; hash_next(&r->index, &p);)
		if (r->processes[p.index].pid == pid && !r->processes[p.index].ended)
			return &r->processes[p.index];
	return NULL;
}

/* Finds whose samples are counted; processes that have ended since, too. */
static struct kernel_counts *counts_of(const struct recorded *r, pid_t pid)
{
	struct kernel_counts *ret = NULL;

	for (struct hash_probe p = {.hash = hash_mix((uint64_t)pid)}; hash_next(&r->index, &p);)
		if (r->processes[p.index].pid == pid)
			ret = &r->counts[r->processes[p.index].target];
	return ret;
}

/* The time of a record that is no sample: struct sample_id ends with time and id. */
static uint64_t time_of(const struct perf_event_header *h)
{
	struct bytes b = bytes_of(h, h->size);

	bytes_take(&b, h->size - 2 * sizeof(uint64_t));
	return bytes_u64(&b);
}

/* Without tables all of its samples come with copies. Each target has its share of the processes
 * that the program can look at. */
static int add_process(struct recorded *r, pid_t pid, size_t target, struct err *err)
{
	static const struct flat_process unknown;
	struct family *f = &r->families[target];

	if (find_process(r, pid))
		return 0;
	if (f->followed >= FOLLOWED_MAX || f->alive >= FLAT_PROCESSES / r->config->count) {
		r->counts[target].missed++;
		stack_recorder_remove(r->recorder, (uint32_t)pid);
		return 0;
	}
	f->followed++;
	f->alive++;
	r->processes = grow(r->processes, r->count, &r->cap, sizeof(*r->processes));
	r->processes[r->count] = (struct followed){.pid = pid, .target = target};
	hash_add(&r->index, hash_mix((uint64_t)pid), (uint32_t)r->count++);
	r->left++;
	return stack_recorder_add(r->recorder, (uint32_t)pid, &unknown, err);
}

/* From this record on its tables are not right. */
static void forget_tables(struct recorded *r, struct followed *p, const struct perf_event_header *h)
{
	static const struct flat_process unknown;
	struct err ignored;

	if (!p->forgotten)
		p->forgotten = time_of(h);
	p->tables = unknown;
	(void)!stack_recorder_add(r->recorder, (uint32_t)p->pid, &unknown, &ignored);
}

static void end_process(struct recorded *r, struct followed *p)
{
	p->ended = true;
	r->left--;
	r->families[p->target].alive--;
	stack_recorder_remove(r->recorder, (uint32_t)p->pid);
}

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

/* ---- records ---- */

static void follow_fork(struct recorded *r, const struct perf_event_header *h)
{
	struct bytes b = bytes_of(h + 1, h->size - sizeof(*h));
	pid_t pid = (pid_t)bytes_u32(&b), ppid = (pid_t)bytes_u32(&b);
	const struct followed *parent = pid == ppid ? NULL : find_process(r, ppid);
	struct err ignored;

	if (parent)
		(void)!add_process(r, pid, parent->target, &ignored);
}

static void follow_exit(struct recorded *r, const struct perf_event_header *h)
{
	struct bytes b = bytes_of(h + 1, h->size - sizeof(*h));
	pid_t pid = (pid_t)bytes_u32(&b);
	struct followed *p;

	bytes_u32(&b);
	p = (pid_t)bytes_u32(&b) == pid ? find_process(r, pid) : NULL;
	if (p)
		end_process(r, p);
}

static void follow_exec(struct recorded *r, const struct perf_event_header *h)
{
	struct bytes b = bytes_of(h + 1, h->size - sizeof(*h));
	struct followed *p = find_process(r, (pid_t)bytes_u32(&b));

	if (p)
		forget_tables(r, p, h);
}

/* True if executable memory by which the process's stacks are walked is in the range. The code
 * cache is looked at by the snapshots. */
static bool is_walked_by(const struct recorded *r, const struct followed *p, uint64_t start,
			 uint64_t end)
{
	const struct flat_process *t = &p->tables;

	for (uint32_t i = 0; i < t->mapping_count && i < MAPPINGS_MAX; i++) {
		struct flat_mapping m = stack_recorder_mapping(r->recorder, t->mappings + i);

		if (m.start < end && start < m.end &&
		    !(m.start >= t->code_low && m.end <= t->code_high))
			return true;
	}
	return false;
}

/* A file that is mapped where another one was, as after dlclose(3) and dlopen(3). */
static void follow_mapping(struct recorded *r, const struct perf_event_header *h)
{
	struct bytes b = bytes_of(h + 1, h->size - sizeof(*h));
	struct followed *p = find_process(r, (pid_t)bytes_u32(&b));
	uint64_t start;

	bytes_u32(&b);
	start = bytes_u64(&b);
	if (p && !(h->misc & PERF_RECORD_MISC_MMAP_DATA) &&
	    is_walked_by(r, p, start, start + bytes_u64(&b)))
		forget_tables(r, p, h);
}

static void count_copied(struct recorded *r, const struct perf_event_header *h)
{
	struct copied_sample s;
	struct kernel_counts *c = copied_sample_of(h, &s) ? counts_of(r, (pid_t)s.pid) : NULL;

	if (c)
		c->copied++;
}

static void take_record(void *arg, const struct perf_event_header *h)
{
	struct recorded *r = arg;

	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		count_copied(r, h);
		break;
	case PERF_RECORD_FORK:
		follow_fork(r, h);
		break;
	case PERF_RECORD_EXIT:
		follow_exit(r, h);
		break;
	case PERF_RECORD_MMAP2:
		follow_mapping(r, h);
		break;
	case PERF_RECORD_COMM:
		if (h->misc & PERF_RECORD_MISC_COMM_EXEC)
			follow_exec(r, h);
		break;
	default:
		break;
	}
	perf_writer_record(r->writer, h);
}

/* Explains a code's number where it is used first. */
static void define_code(struct recorded *r, const struct walked_sample *s, uint32_t number)
{
	uint8_t *byte = &r->defined[number / 8], bit = (uint8_t)(1u << number % 8);
	struct flat_code code;

	if (*byte & bit)
		return;
	*byte |= bit;
	code = stack_recorder_code(r->recorder, number);
	perf_writer_code(r->writer, s, number, code.start, code.compile_id);
}

static void take_walked(void *arg, const struct flat_sample *f, const uint64_t *frames)
{
	struct recorded *r = arg;
	const struct walked_sample s = {.pid = (pid_t)f->tgid,
					.tid = (pid_t)f->tid,
					.time = f->time,
					.ip = f->kernel ? 0 : f->pc,
					.cut = f->end == FLAT_FULL,
					.frames = frames,
					.frame_count = f->count,
					.kernel = frames + f->count,
					.kernel_count = f->kernel};
	const struct followed *p = find_process(r, s.pid);
	struct kernel_counts *c = counts_of(r, s.pid);

	if (p && p->forgotten && f->time >= p->forgotten) {
		perf_writer_lost(r->writer, s.pid, 1);
		return;
	}
	if (c)
		c->walked++;
	for (uint32_t i = 0; i < f->count; i++)
		if (frames[i] >> 60 == FLAT_FRAME_CODE)
			define_code(r, &s, (uint32_t)(PERFWRITE_VALUE(frames[i]) >> 32));
	perf_writer_walked(r->writer, &s);
}

/* Reads what has been recorded, and writes it. */
static int take_round(struct recorded *r, struct err *err)
{
	const struct stack_handler handler = {
		.walked = take_walked, .record = take_record, .arg = r};

	if (stack_recorder_read(r->recorder, &handler, err) < 0)
		return -1;
	perf_writer_round(r->writer);
	if (perf_writer_flush(r->writer, err) < 0)
		return -1;
	if (r->config->max_bytes && perf_writer_size(r->writer) > r->config->max_bytes)
		return err_set(err, ENOSPC, "the recording is larger than its room");
	return 0;
}

/* ---- builders ---- */

/* Receives what each container's tables need. One that says nothing by the deadline has none. */
static void receive_wishes(struct recorded *r, struct kernel_target *targets)
{
	for (size_t i = 0; i < r->config->count; i++) {
		struct pollfd p = {.fd = targets[i].builder, .events = POLLIN};
		struct builder_wish wish;
		size_t n;

		if (p.fd < 0)
			continue;
		if (poll(&p, 1, deadline_ms_left(r->config->deadline)) == 1 &&
		    message_receive(p.fd, &wish, sizeof(wish), NULL, 0, &n) == sizeof(wish) &&
		    flat_part_is_sane(&wish.part))
			r->parts[i] = wish.part;
		else
			targets[i].builder = -1;
	}
}

static void send_places(const struct recorded *r, const struct kernel_target *targets)
{
	int maps[FLAT_TABLES];

	stack_recorder_tables(r->recorder, maps);
	for (size_t i = 0; i < r->config->count; i++) {
		const struct builder_place place = {.part = r->parts[i]};

		if (targets[i].builder >= 0)
			(void)!message_send(targets[i].builder, &place, sizeof(place), maps,
					    FLAT_TABLES, 0);
	}
}

/* A builder speaks for its own container, and not without end. False: that was all. */
static bool receive_ready(struct recorded *r, struct kernel_target *t, size_t target)
{
	struct builder_ready ready;
	struct err ignored;
	struct followed *p;
	size_t n;

	if (r->families[target].messages++ > BUILDER_PROCESSES_MAX ||
	    message_receive(t->builder, &ready, sizeof(ready), NULL, 0, &n) != sizeof(ready)) {
		t->builder = -1;
		return false;
	}
	p = find_process(r, (pid_t)ready.pid);
	if (p && p->target == target && !p->forgotten &&
	    stack_recorder_add(r->recorder, ready.pid, &ready.process, &ignored) == 0)
		p->tables = ready.process;
	return ready.pid != 0;
}

/* Receives the first tables. Those of builders that are late come while it records. */
static void wait_until_ready(struct recorded *r, struct kernel_target *targets)
{
	for (size_t i = 0; i < r->config->count; i++) {
		struct pollfd p = {.fd = targets[i].builder, .events = POLLIN};

		while (p.fd >= 0 && poll(&p, 1, deadline_ms_left(r->config->deadline)) == 1 &&
		       receive_ready(r, &targets[i], i))
			;
	}
}

/* ---- files ---- */

/* Begins r->fd. */
static int begin_file(struct recorded *r, struct err *err)
{
	const struct perf_event_attr attr = stack_recorder_attr(r->recorder);
	size_t n;
	CLEANUP(free) uint64_t *ids = stack_recorder_ids(r->recorder, &n);

	return perf_writer_open(r->fd, &attr, ids, n, &r->writer, err);
}

/* Tells the caller the numbers of the file that ends. */
static void share_counts(struct recorded *r)
{
	const size_t bytes = r->config->count * sizeof(*r->counts);

	memcpy(r->shared, r->counts, bytes);
	memset(r->counts, 0, bytes);
}

/* Ends the file, and goes on in another one. */
static void go_on_in(struct recorded *r, int fd)
{
	struct err *err = &r->failed;

	if (take_round(r, err) < 0 || perf_writer_end(r->writer, err) < 0)
		return;
	share_counts(r);
	perf_writer_free(r->writer);
	r->writer = NULL;
	close(r->fd);
	r->fd = fd;
	memset(r->defined, 0, r->codes / 8 + 1);
	if (begin_file(r, err) == 0 && write_begin(r, err) == 0)
		say(r, SAID_SWITCHED, NULL);
}

/* ---- the loop ---- */

/* Carries out what the caller wants. True: the end. Data that nobody reads would take the last
 * words to the caller with it. */
static bool obey(struct recorded *r)
{
	int fd = -1;
	char byte;
	size_t n;

	if (message_receive(r->control, &byte, sizeof(byte), &fd, 1, &n) != sizeof(byte) || !n)
		return true;
	go_on_in(r, fd);
	return r->failed.msg[0];
}

/* Waits for some time, and handles what comes meanwhile. True: it is the end. */
static bool wait_some(struct recorded *r, struct kernel_target *targets)
{
	const size_t count = r->config->count;
	CLEANUP(free) struct pollfd *p = xcalloc(count + 1, sizeof(*p));

	for (size_t i = 0; i < count; i++)
		p[i] = (struct pollfd){.fd = targets[i].builder, .events = POLLIN};
	p[count] = (struct pollfd){.fd = r->control, .events = POLLIN};
	if (poll(p, count + 1, READ_MS) <= 0)
		return false;
	for (size_t i = 0; i < count; i++)
		if (p[i].revents)
			(void)receive_ready(r, &targets[i], i);
	return p[count].revents && obey(r);
}

static void record(struct recorded *r, struct kernel_target *targets)
{
	while (!wait_some(r, targets) && r->left)
		if (take_round(r, &r->failed) < 0)
			return;
	(void)!stack_recorder_enable(r->recorder, false, &r->failed);
	(void)!take_round(r, &r->failed);
	share_counts(r);
	say(r, SAID_DISABLED, NULL);
}

/* The events are enabled before what is there is listed: what changes meanwhile is recorded. */
static int begin(struct recorded *r, struct kernel_target *targets, struct err *err)
{
	const struct kernel_recording_config *c = r->config;
	const struct stack_recorder_config config = {.frequency = c->frequency,
						     .stack_bytes = c->stack_bytes};
	uint32_t rooms[FLAT_TABLES];

	receive_wishes(r, targets);
	if (flat_parts_place(r->parts, c->count, rooms, err) < 0 ||
	    stack_recorder_open(&config, rooms, &r->recorder, err) < 0 || begin_file(r, err) < 0)
		return -1;
	send_places(r, targets);
	r->codes = rooms[FLAT_CODES];
	r->defined = xcalloc(r->codes / 8 + 1, 1);
	for (size_t i = 0; i < c->count; i++)
		for (size_t k = 0; k < targets[i].count; k++)
			if (add_process(r, targets[i].pids[k], i, err) < 0)
				return -1;
	wait_until_ready(r, targets);
	return stack_recorder_enable(r->recorder, true, err) < 0 ? -1 : write_begin(r, err);
}

int recording_serve(void *arg)
{
	const struct recording_job *j = arg;
	const size_t count = j->config->count;
	struct recorded r = {.config = j->config,
			     .control = j->control,
			     .fd = j->config->fd,
			     .counts = xcalloc(count + 1, sizeof(*r.counts)),
			     .shared = j->counts};
	CLEANUP(free) struct kernel_target *targets = xcalloc(count + 1, sizeof(*targets));
	struct err err;

	memcpy(targets, j->config->targets, count * sizeof(*targets));
	r.parts = xcalloc(count, sizeof(*r.parts));
	r.families = xcalloc(count, sizeof(*r.families));
	if (begin(&r, targets, &err) < 0) {
		say(&r, SAID_FAILED, &err);
		return 1;
	}
	say(&r, SAID_RECORDS, NULL);
	record(&r, targets);
	if (r.writer)
		(void)!perf_writer_end(r.writer, &r.failed);
	stack_recorder_close(r.recorder);
	say(&r, SAID_ENDED, NULL);
	return 0;
}
