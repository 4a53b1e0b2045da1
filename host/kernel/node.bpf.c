// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The node's program: finds whose sample it is, and hands it to the walk of that container
 * (walk.bpf.c), which returns for it. Follows the processes' children and programs. Linux 5.17. */
#include "kernel/alloc.bpf.h"
#include "kernel/cause.bpf.h"
#include "kernel/compile.bpf.h"
#include "kernel/lock.bpf.h"
#include "kernel/safepoint.bpf.h"
#include "kernel/virtual.bpf.h"

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
struct bpf_iter__task {
	struct task_struct *task;
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

/* The same programs, for threads that begin to wait. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, FLAT_WALKERS);
	__type(key, uint32_t);
	__type(value, uint32_t);
} wait_walkers SEC(".maps");

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

static inline uint32_t kernel_frames(long bytes)
{
	return bytes > 0 ? (uint32_t)bytes / sizeof(uint64_t) : 0;
}

/* Takes the part of the stack that is in the kernel. The walk cannot: 6.1 and 6.2 get it ready only
 * if the event's own program calls bpf_get_stack (16817ad7e8b3 in Linux); a program which that one
 * hands over to follows a stray pointer. */
static inline uint32_t take_kernel(struct bpf_perf_event_data *ctx, struct scratch *s)
{
	if (is_user(&ctx->regs))
		return 0;
	return kernel_frames(bpf_get_stack(ctx, s->kernel, sizeof(s->kernel), 0));
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
	s->walk.sample.virtual = s->walk.sample.thread_len = 0;
}

/* The wall clock is taken, too. */
const volatile bool wall = false;

/* The state of the look at threads that are asleep. */
const volatile uint32_t last_scratch = 0;

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
	begin_detail(s, 0);
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
	case FLAT_EVENT_WALL:
		return take_unmounted(r, s, probe);
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
	begin_detail(s, 0);
	if (take_event(ctx, s, cookie)) {
		bpf_tail_call(ctx, &probe_walkers, p->walker);
		count_lost(event, p->walker);
	}
	s->owner = 0;
	return 0;
}

/* ---- code --------------------------------------------------------------------------------- */

/* A JVM has made code, or unloads a class: cookie is that of flat_cookie. */
SEC("uprobe")
int makes_code(bpf_user_pt_regs_t *ctx)
{
	const uint64_t cookie = bpf_get_attach_cookie(ctx);
	const struct flat_process *p;
	struct flat_made code = {0};
	uint32_t tid;
	void *ring;

	find_numbers(&code.tgid, &tid);
	code.start = FLAT_COOKIE_PROBE(cookie) == FLAT_PROBE_UNLOAD
			     ? unload(code.tgid)
			     : argument_at(ctx, FLAT_COOKIE_FIRST(cookie));
	p = bpf_map_lookup_elem(&processes, &code.tgid);
	ring = p ? bpf_map_lookup_elem(&made, &p->walker) : NULL;
	if (ring && code.start) /* what finds no room is left to snapshots */
		bpf_ringbuf_output(ring, &code, sizeof(code), 0);
	return 0;
}

/* ---- the wall clock ------------------------------------------------------------------------ */

/* The current thread's entry; NULL: its process is not looked at. */
static inline struct flat_thread *current_thread(uint64_t task, uint64_t time)
{
	struct flat_thread *t = bpf_map_lookup_elem(&threads, &task);
	const struct flat_process *p;
	uint32_t tgid, tid;

	if (t)
		return t;
	find_numbers(&tgid, &tid);
	p = bpf_map_lookup_elem(&processes, &tgid);
	if (!p)
		return NULL;
	t = begin_thread(task, tgid, tid, p->walker, wall_looked ? time : wall_from);
	if (!t)
		count_lost(FLAT_EVENT_WALL, p->walker);
	return t;
}

/* Begins a walk of the current thread's stack; false: its process has no tables. */
static inline bool begin_wall_sample(struct scratch *s, uint32_t tgid, uint32_t tid, uint64_t time)
{
	const struct flat_process *p = bpf_map_lookup_elem(&processes, &tgid);

	if (!p || p->walker == FLAT_NO_WALKER)
		return false;
	begin_sample(s, p, time, tgid, tid, FLAT_EVENT_WALL);
	return true;
}

/* A processor goes from one thread to another. */
SEC("raw_tp/sched_switch")
int switched(struct bpf_raw_tracepoint_args *ctx)
{
	const struct task_struct___wall *task = (void *)bpf_get_current_task_btf();
	const bool idle = (uint32_t)bpf_get_current_pid_tgid() == 0;
	uint32_t cpu = bpf_get_smp_processor_id();
	uint64_t time = bpf_ktime_get_ns(), own = bpf_get_current_task();
	struct system_call call;
	struct flat_thread *t;
	struct scratch *s;

	if (time < wall_from)
		return 0;
	resume(ctx->args[2], time);
	t = idle ? NULL : current_thread(own, time);
	if (!t)
		return 0;
	if (is_dead(task)) {
		end_thread(own, t, time);
		return 0;
	}
	s = suspend(task, t, ctx->args[0], time, &call) ? bpf_map_lookup_elem(&scratches, &cpu)
							: NULL;
	if (!s || !begin_wall_sample(s, t->tgid, t->tid, time))
		return 0;
	t->walker = s->walk.sample.walker;
	begin_stack(task, t, &call, s);
	if (t->cause >= FLAT_FILE) /* of others the system call says all */
		s->walk.sample.kernel =
			kernel_frames(bpf_get_stack(ctx, s->kernel, sizeof(s->kernel), 0));
	bpf_tail_call(ctx, &wait_walkers, s->walk.sample.walker);
	return 0;
}

SEC("raw_tp/sched_waking")
int waking(struct bpf_raw_tracepoint_args *ctx)
{
	uint32_t tgid, tid, cpu = bpf_get_smp_processor_id();
	uint64_t task = ctx->args[0];
	struct flat_thread *t = bpf_map_lookup_elem(&threads, &task);
	uint64_t time = bpf_ktime_get_ns();
	struct scratch *s;

	if (time < wall_from || !t || !wake((void *)task, t, time))
		return 0;
	find_numbers(&tgid, &tid);
	s = bpf_map_lookup_elem(&scratches, &cpu);
	if (!s || !begin_wall_sample(s, tgid, tid, time))
		return 0;
	begin_detail(s, FLAT_HOLDER | FLAT_WHOLE);
	s->detail.holder_tid = t->tid;
	t->waker = time;
	bpf_tail_call(ctx, &wait_walkers, s->walk.sample.walker);
	return 0;
}

/* Follow what interrupts threads. */
#define INTERRUPT(tracepoint, set, clear)                                                          \
	SEC("raw_tp/" #tracepoint)                                                                 \
	int tracepoint(__attribute__((unused)) void *ctx)                                          \
	{                                                                                          \
		interrupt(set, clear);                                                             \
		return 0;                                                                          \
	}
INTERRUPT(hrtimer_expire_entry, IN_TIMER, 0)
INTERRUPT(hrtimer_expire_exit, 0, IN_TIMER)
INTERRUPT(irq_handler_entry, IN_IRQ, 0)
INTERRUPT(irq_handler_exit, 0, IN_IRQ)
INTERRUPT(softirq_entry, IN_SOFTIRQ, 0)
INTERRUPT(softirq_exit, 0, IN_SOFTIRQ)

/* The thread's entry, which it has from the clock's beginning on. */
static inline struct flat_thread *begin_task(struct task_struct *task, const struct system_call *c)
{
	const struct task_struct___wall *t = (void *)task;
	uint32_t tgid = BPF_CORE_READ(task, tgid), tid = BPF_CORE_READ(task, pid);
	uint64_t own = (uint64_t)task;
	struct flat_thread *known = bpf_map_lookup_elem(&threads, &own);
	const struct flat_process *p;

	if (known)
		return known;
	if (namespace) {
		tgid = number_here(BPF_CORE_READ(task, group_leader));
		tid = number_here(task);
	}
	p = tid ? bpf_map_lookup_elem(&processes, &tgid) : NULL;
	known = p ? begin_thread(own, tgid, tid, p->walker, wall_from) : NULL;
	if (!known)
		return NULL;
	if (BPF_CORE_READ(t, __state))
		known->cause = cause_of(t, c);
	return known;
}

/* All threads, one by one. When the clock begins: what they do, and of those that are asleep a copy
 * of the stack, which is not the current one's. Later: what they have waited up to now. Linux 5.18.
 */
SEC("iter.s/task")
int look(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	uint32_t number = last_scratch;
	struct scratch *s = bpf_map_lookup_elem(&scratches, &number);
	struct flat_thread *t;
	struct system_call c;
	uint64_t own;

	if (!task || !s)
		return 0;
	if (wall_looked) {
		own = (uint64_t)task;
		t = bpf_map_lookup_elem(&threads, &own);
		if (t)
			flush(t, bpf_ktime_get_ns());
		return 0;
	}
	if (!read_call((const void *)bpf_task_pt_regs(task), &c))
		return 0;
#ifdef FLAT_ARM64
	uint32_t instruction;

	if (bpf_copy_from_user_task(&instruction, sizeof(instruction),
				    (const void *)(c.pc - INSTRUCTION), task, 0) == 0)
		check_call(&c, instruction);
#endif
	if (polls_one(&c) &&
	    bpf_copy_from_user_task(&c.file, sizeof(c.file), (const void *)c.arguments[0], task, 0))
		c.file = -1;
	t = begin_task(task, &c);
	if (!t || t->place || t->cause < FLAT_WAITS_FROM)
		return 0;
	if (bpf_probe_read_kernel(&s->regs, sizeof(s->regs), (const void *)bpf_task_pt_regs(task)))
		return 0;
	begin_copy(s, t, bpf_ktime_get_ns());
	for (uint32_t at = 0; at < FLAT_COPY; at += FLAT_PIECE) {
		if (bpf_copy_from_user_task(
			    &s->stack[at], FLAT_PIECE,
			    (const void *)(s->sample.sp / FLAT_PIECE * FLAT_PIECE + at), task, 0))
			break;
		s->detail.copied = at + FLAT_PIECE;
	}
	send_asleep(s, t, &c);
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
	const bool is_thread = BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid);
	uint32_t ptgid = BPF_CORE_READ(parent, tgid), here = BPF_CORE_READ(child, pid);
	const struct flat_process *p;

	if (namespace) {
		ptgid = number_here(BPF_CORE_READ(parent, group_leader));
		here = number_here(child);
	}
	p = here ? bpf_map_lookup_elem(&processes, &ptgid) : NULL;
	if (!p)
		return 0;
	if (!is_thread)
		bpf_map_update_elem(&processes, &here, &unknown, BPF_NOEXIST);
	if (wall && bpf_ktime_get_ns() >= wall_from)
		begin_thread(ctx->args[1], is_thread ? ptgid : here, here, p->walker,
			     bpf_ktime_get_ns());
	return 0;
}

const char licence[] SEC("license") = "Dual BSD/GPL";
