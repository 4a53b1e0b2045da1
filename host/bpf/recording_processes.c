// SPDX-License-Identifier: Apache-2.0
#include "bpf/probe_events.h"
#include "bpf/recording_parts.h"
#include "bpf/walker.h"
#include "common/str.h"
#include "dfg/bytes.h"

#define MAPPINGS_MAX 8192 /* of a process: as flat_find_mapping */

struct followed *recording_find(const struct recorded *r, pid_t pid)
{
	for (struct hash_probe p = {.hash = hash_mix((uint64_t)pid)}; hash_next(&r->index, &p);)
		if (r->processes[p.index].pid == pid && !r->processes[p.index].ended)
			return &r->processes[p.index];
	return NULL;
}

struct kernel_counts *recording_counts(const struct recorded *r, pid_t pid)
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
int recording_add(struct recorded *r, pid_t pid, size_t target, struct err *err)
{
	static const struct flat_process unknown;
	struct family *f = &r->families[target];

	if (recording_find(r, pid))
		return 0;
	if (f->followed >= KERNEL_FOLLOWED || f->alive >= FLAT_PROCESSES / r->config->count) {
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

static void close_probes(struct followed *p)
{
	stack_probes_close(p->probes);
	stack_probes_close(p->virtual);
	stack_probes_close(p->code);
	p->probes = p->virtual = p->code = NULL;
}

/* From this record on its tables are not right. */
static void forget_tables(struct recorded *r, struct followed *p, const struct perf_event_header *h)
{
	static const struct flat_process unknown;
	struct err ignored;

	if (!p->forgotten || p->known != UINT64_MAX)
		p->forgotten = time_of(h);
	p->known = UINT64_MAX;
	p->tables = unknown;
	close_probes(p);
	(void)!stack_recorder_add(r->recorder, (uint32_t)p->pid, &unknown, &ignored);
}

bool recording_is_wrong(const struct followed *p, uint64_t time)
{
	return p->forgotten && time >= p->forgotten && time < p->known;
}

static void end_process(struct recorded *r, struct followed *p)
{
	p->ended = true;
	close_probes(p);
	r->left--;
	r->families[p->target].alive--;
	stack_recorder_remove(r->recorder, (uint32_t)p->pid);
}

/* ---- records ---- */

static void follow_fork(struct recorded *r, const struct perf_event_header *h)
{
	struct bytes b = bytes_of(h + 1, h->size - sizeof(*h));
	pid_t pid = (pid_t)bytes_u32(&b), ppid = (pid_t)bytes_u32(&b);
	const struct followed *parent = pid == ppid ? NULL : recording_find(r, ppid);
	struct err ignored;

	if (parent)
		(void)!recording_add(r, pid, parent->target, &ignored);
}

static void follow_exit(struct recorded *r, const struct perf_event_header *h)
{
	struct bytes b = bytes_of(h + 1, h->size - sizeof(*h));
	pid_t pid = (pid_t)bytes_u32(&b);
	struct followed *p;

	bytes_u32(&b);
	p = (pid_t)bytes_u32(&b) == pid ? recording_find(r, pid) : NULL;
	if (p)
		end_process(r, p);
}

static void follow_exec(struct recorded *r, const struct perf_event_header *h)
{
	struct bytes b = bytes_of(h + 1, h->size - sizeof(*h));
	struct followed *p = recording_find(r, (pid_t)bytes_u32(&b));

	if (!p)
		return;
	forget_tables(r, p, h);
	p->changes = false;
	r->shared[p->target].execs = ++r->counts[p->target].execs;
}

/* True if executable memory by which the process's stacks are walked is in the range. The code
 * cache is looked at by the snapshots. */
static bool is_walked_by(const struct recorded *r, const struct followed *p, uint64_t start,
			 uint64_t end)
{
	const struct flat_process *t = &p->tables;
	const struct walker *w = stack_recorder_walker(r->recorder, t->walker);

	for (uint32_t i = 0; w && i < t->mapping_count && i < MAPPINGS_MAX; i++) {
		struct flat_mapping m = walker_mapping(w, t->mappings + i);

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
	struct followed *p = recording_find(r, (pid_t)bytes_u32(&b));
	uint64_t start;

	bytes_u32(&b);
	start = bytes_u64(&b);
	if (p && !(h->misc & PERF_RECORD_MISC_MMAP_DATA) &&
	    is_walked_by(r, p, start, start + bytes_u64(&b))) {
		forget_tables(r, p, h);
		p->changes = true;
	}
}

void recording_follow(struct recorded *r, const struct perf_event_header *h)
{
	switch (h->type) {
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
}
