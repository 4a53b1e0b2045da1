// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The node's program: finds whose sample it is, and hands it to the walk of that container
 * (walk.bpf.c), which returns for it. Follows the processes' children and programs. Linux 5.17. */
#include "bpf/alloc.bpf.h"
#include "bpf/compile.bpf.h"
#include "bpf/lock.bpf.h"
#include "bpf/safepoint.bpf.h"

#include <bpf/bpf_core_read.h>

#define LEVELS_MAX 33 /* linux/pid_namespace.h: MAX_PID_NS_LEVEL, and the initial one */

/* The parts that are used here, of which libbpf finds the places in the running kernel. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct ns_common {
	unsigned int inum;
};
struct pid_namespace {
	struct ns_common ns;
};
struct upid {
	int nr;
	struct pid_namespace *ns;
};
struct pid {
	unsigned int level;
	struct upid numbers[1];
};
struct task_struct {
	int pid, tgid;
	struct task_struct *group_leader;
	struct pid *thread_pid;
};
#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FLAT_PROCESSES);
	__type(key, uint32_t); /* tgid */
	__type(value, struct flat_process);
} processes SEC(".maps");

/* Programs walk.bpf.c by number; nothing is at FLAT_NO_WALKER. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, FLAT_WALKERS);
	__type(key, uint32_t);
	__type(value, uint32_t);
} walkers SEC(".maps");

/* The same programs, for probes. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, FLAT_WALKERS);
	__type(key, uint32_t);
	__type(value, uint32_t);
} probe_walkers SEC(".maps");

/* The pid namespace of dfg, which knows processes by their numbers in it; 0: the initial one. */
const volatile uint32_t namespace = 0;

/* The number of a task in our namespace; 0: it has none. */
static inline uint32_t number_here(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	uint32_t level = BPF_CORE_READ(pid, level);
	struct upid at;

	for (uint32_t i = 0; i <= level && i < LEVELS_MAX; i++) {
		if (bpf_core_read(&at, sizeof(at), &pid->numbers[i]))
			return 0;
		if (BPF_CORE_READ(at.ns, ns.inum) == namespace)
			return (uint32_t)at.nr;
	}
	return 0;
}

/* Sets the numbers of the thread, as perf has them. */
static inline void find_numbers(uint32_t *ret_tgid, uint32_t *ret_tid)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint64_t id = bpf_get_current_pid_tgid();

	*ret_tgid = id >> 32;
	*ret_tid = (uint32_t)id;
	if (!namespace)
		return;
	*ret_tgid = number_here(BPF_CORE_READ(task, group_leader));
	*ret_tid = *ret_tgid ? number_here(task) : 0;
}

/* Takes the part of the stack that is in the kernel. The walk cannot: 6.1 and 6.2 get it ready only
 * if the event's own program calls bpf_get_stack (16817ad7e8b3 in Linux); a program which that one
 * hands over to follows a stray pointer. */
static inline uint32_t take_kernel(struct bpf_perf_event_data *ctx, struct scratch *s)
{
	long bytes = 0;

	if (!is_user(&ctx->regs))
		bytes = bpf_get_stack(ctx, s->kernel, sizeof(s->kernel), 0);
	return bytes > 0 ? (uint32_t)bytes / sizeof(uint64_t) : 0;
}

/* Begins a sample of a process, whose walk has this state from then on. */
static inline void begin_sample(struct scratch *s, const struct flat_process *p, uint64_t time,
				uint32_t tgid, uint32_t tid, uint32_t event)
{
	s->walk.process = *p;
	s->walk.sample.time = time;
	s->walk.sample.tgid = tgid;
	s->walk.sample.tid = tid;
	s->walk.sample.cpu = bpf_get_smp_processor_id();
	s->walk.sample.walker = p->walker;
	s->walk.sample.event = event;
	s->walk.sample.kernel = 0;
	s->walk.sample.stopping = s->walk.sample.receiver = 0;
}

/* Events of safepoints are taken, too. */
const volatile bool safepoints = false;

SEC("perf_event")
int sampled(struct bpf_perf_event_data *ctx)
{
	uint32_t tgid, tid, cpu = bpf_get_smp_processor_id();
	struct scratch *s = bpf_map_lookup_elem(&scratches, &cpu);
	uint64_t time = bpf_ktime_get_ns();
	const struct flat_process *p;

	find_numbers(&tgid, &tid);
	p = bpf_map_lookup_elem(&processes, &tgid);
	if (!p || !s)
		return p != NULL;
	begin_sample(s, p, time, tgid, tid, FLAT_EVENT_CPU);
	s->walk.sample.kernel = take_kernel(ctx, s);
	s->walk.sample.stopping = safepoints && is_stopping(s);
	bpf_tail_call(ctx, &walkers, p->walker);
	count(FLAT_NO_TABLES);
	return 1;
}

/* An event that the kernel counts: the program does, and takes one for each of an interval, which
 * grows and shrinks as they come. */
SEC("perf_event")
int counted(struct bpf_perf_event_data *ctx)
{
	uint32_t tgid, tid, cpu = bpf_get_smp_processor_id();
	struct scratch *s = bpf_map_lookup_elem(&scratches, &cpu);
	uint64_t time = bpf_ktime_get_ns();
	const struct flat_process *p;
	struct flat_rate *r;

	find_numbers(&tgid, &tid);
	p = bpf_map_lookup_elem(&processes, &tgid);
	if (!p || p->walker == FLAT_NO_WALKER || !s)
		return 0;
	begin_sample(s, p, time, tgid, tid, FLAT_EVENT_PERF);
	__builtin_memset(&s->detail, 0, offsetof(struct flat_detail, name));
	r = rate_of(&s->walk.sample);
	if (!r)
		return 0;
	s->detail.amount = take_amount(s, r, (struct shifts){0, 40}, &r->part, ctx->sample_period);
	if (!s->detail.amount)
		return 0;
	s->walk.sample.kernel = take_kernel(ctx, s);
	bpf_tail_call(ctx, &walkers, p->walker);
	count_lost(FLAT_EVENT_PERF, p->walker);
	return 0;
}

/* ---- probes ------------------------------------------------------------------------------- */

static inline bool take_event(const bpf_user_pt_regs_t *r, struct scratch *s, uint64_t cookie)
{
	const uint64_t probe = FLAT_COOKIE_PROBE(cookie);

	switch (s->walk.sample.event) {
	case FLAT_EVENT_ALLOC:
		return take_allocation(r, s, probe);
	case FLAT_EVENT_LOCK:
		return take_lock(r, s, probe);
	case FLAT_EVENT_SAFEPOINT:
		return take_safepoint(r, s, cookie);
	case FLAT_EVENT_COMPILE:
		return take_compilation(r, s, probe);
	case FLAT_EVENT_DEOPT:
		return take_trap(r, s);
	}
	return false;
}

/* A function of the JVM that is called: cookie is that of flat_cookie. */
SEC("uprobe")
int probed(bpf_user_pt_regs_t *ctx)
{
	uint64_t time = bpf_ktime_get_ns(), thread = bpf_get_current_pid_tgid();
	uint32_t tgid, tid, number, event;
	uint64_t cookie = bpf_get_attach_cookie(ctx);
	struct scratch *s = probe_scratch(0, &number);
	const struct flat_process *p;

	find_numbers(&tgid, &tid);
	p = bpf_map_lookup_elem(&processes, &tgid);
	if (!p || p->walker == FLAT_NO_WALKER)
		return 0;
	event = flat_probe_event(FLAT_COOKIE_PROBE(cookie));
	if (!s || __sync_val_compare_and_swap(&s->owner, 0, thread) != 0) {
		count_lost(event, p->walker);
		return 0;
	}
	begin_sample(s, p, time, tgid, tid, event);
	__builtin_memset(&s->detail, 0, offsetof(struct flat_detail, name));
	s->may_copy = false;
	if (take_event(ctx, s, cookie)) {
		bpf_tail_call(ctx, &probe_walkers, p->walker);
		count_lost(event, p->walker);
	}
	s->owner = 0;
	return 0;
}

/* What is known of a process ends with its program: its samples are left to the copy until user
 * space knows the next one. */
SEC("raw_tp/sched_process_exec")
int executed(__attribute__((unused)) void *ctx)
{
	static const struct flat_process unknown;
	uint32_t tgid, tid;

	find_numbers(&tgid, &tid);
	bpf_map_update_elem(&processes, &tgid, &unknown, BPF_EXIST);
	return 0;
}

/* Looks at the children of a process from their first moment: user space hears of them some 50 ms
 * later, when they may have ended. */
SEC("raw_tp/sched_process_fork")
int forked(struct bpf_raw_tracepoint_args *ctx)
{
	static const struct flat_process unknown;
	struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	uint32_t ptgid = BPF_CORE_READ(parent, tgid), tgid = BPF_CORE_READ(child, tgid);

	if (BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid))
		return 0;
	if (namespace) {
		ptgid = number_here(BPF_CORE_READ(parent, group_leader));
		tgid = number_here(child);
	}
	if (tgid && bpf_map_lookup_elem(&processes, &ptgid))
		bpf_map_update_elem(&processes, &tgid, &unknown, BPF_NOEXIST);
	return 0;
}

const char licence[] SEC("license") = "Dual BSD/GPL";
