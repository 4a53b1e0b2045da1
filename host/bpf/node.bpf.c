// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The node's program: finds whose sample it is, and hands it to the walk of that container
 * (walk.bpf.c), which returns for it. Follows the processes' children and programs. Linux 5.17. */
#include "bpf/walk_state.h"

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
}

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
	bpf_tail_call(ctx, &walkers, p->walker);
	count(FLAT_NO_TABLES);
	return 1;
}

/* ---- probes ------------------------------------------------------------------------------- */

/* A thread's allocations. */
struct allocated {
	uint64_t thread; /* the JVM's */
	uint64_t seen;	 /* of its counter */
	uint64_t rest;	 /* bytes since its last interval ended */
	uint64_t interval;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* is set before loading */
	__type(key, uint32_t);	/* tid */
	__type(value, struct allocated);
} allocations SEC(".maps");

/* Threads that G1 gives regions for their next object. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* is set before loading */
	__type(key, uint32_t);	/* tid */
	__type(value, uint8_t);
} humongous SEC(".maps");

/* One sample for each 2^shift bytes: so many that a processor sends some hundred to some thousand
 * of a container a second. */
#define WINDOW_NS     100000000u
#define WINDOW_MOST   200u
#define WINDOW_FEW    40u
#define WINDOW_COPIES 20u /* of stacks */
#define SHIFT_LEAST   17u /* 128 KiB: buffers (TLABs) are seldom smaller */
#define SHIFT_MOST    32u

/* Adapts the interval; false: even the largest is too small. */
static inline bool adapt(struct flat_rate *r, uint64_t time)
{
	bool over = time - r->begin >= WINDOW_NS;

	if (r->events >= WINDOW_MOST && !over && r->shift >= SHIFT_MOST)
		return false;
	if (r->events >= WINDOW_MOST && r->shift < SHIFT_MOST) {
		r->shift++;
		over = true;
	} else if (over && r->events < WINDOW_FEW && r->shift > SHIFT_LEAST) {
		r->shift--;
	}
	if (over) {
		r->begin = time;
		r->events = 0;
	}
	if (r->shift < SHIFT_LEAST)
		r->shift = SHIFT_LEAST;
	return true;
}

#ifdef FLAT_ARM64
#define ARGUMENT(r, n) ((r)->regs[n])
#else
#define ARGUMENT(r, n)                                                                             \
	((n) == 0   ? (r)->rdi                                                                     \
	 : (n) == 1 ? (r)->rsi                                                                     \
	 : (n) == 2 ? (r)->rdx                                                                     \
	 : (n) == 3 ? (r)->rcx                                                                     \
		    : (r)->r8)
#endif

static inline uint64_t word_at(uint64_t object, uint32_t place)
{
	uint64_t word = 0;

	if (place != FLAT_NONE)
		(void)bpf_probe_read_user(&word, sizeof(word), (const void *)(object + place));
	return word;
}

/* Takes the name of a class. It is alive: an object of it is being made. */
static inline void take_class(struct scratch *s, uint64_t class)
{
	const struct flat_layout *l = &s->walk.process.layout;
	uint64_t symbol = word_at(class, l->class_name);
	uint16_t len = 0;
	uint32_t n;

	s->detail.name_len = 0;
	if (!symbol || l->symbol_length == FLAT_NONE || l->symbol_body == FLAT_NONE)
		return;
	(void)bpf_probe_read_user(&len, sizeof(len), (const void *)(symbol + l->symbol_length));
	n = len < FLAT_NAME_MAX ? len : FLAT_NAME_MAX - 1;
	n &= FLAT_NAME_MAX - 1;
	if (bpf_probe_read_user(s->detail.name, n, (const void *)(symbol + l->symbol_body)) == 0)
		s->detail.name_len = n;
}

/* What is known of a thread; of a new one its counter was at `seen`. */
static inline struct allocated *allocated_of(uint32_t tid, uint64_t thread, uint64_t seen)
{
	struct allocated *a = bpf_map_lookup_elem(&allocations, &tid), first;

	if (a && a->thread == thread)
		return a;
	first = (struct allocated){.thread = thread, .seen = seen, .interval = 1};
	bpf_map_update_elem(&allocations, &tid, &first, BPF_ANY);
	return bpf_map_lookup_elem(&allocations, &tid);
}

/* Goes on with intervals of another size, or the first ones, as likely at one place in them as at
 * another: else the longer ones, of which each change would be the beginning, would have less than
 * all bytes. */
static inline void change_interval(struct allocated *a, uint64_t interval)
{
	uint64_t any = bpf_get_prandom_u32();

	if (interval > a->interval)
		a->rest |= any & (interval - 1) & ~(a->interval - 1);
	a->rest &= interval - 1;
	a->interval = interval;
}

/* Counts the bytes of an event, of which each interval's last one makes a sample: it stands for the
 * interval, or the intervals, that end in it. So an event is taken with the probability of its
 * bytes, and the sum is that of all. */
static inline bool take_bytes(struct scratch *s, struct allocated *a, uint64_t bytes)
{
	const uint32_t walker = s->walk.sample.walker;
	struct flat_rate *r = bpf_map_lookup_elem(&rates, &walker);
	uint64_t interval;

	if (!r)
		return false;
	if (!adapt(r, s->walk.sample.time)) {
		r->lost++;
		return false;
	}
	interval = 1ull << (r->shift & 63);
	if (a->interval != interval)
		change_interval(a, interval);
	a->rest += bytes;
	s->detail.amount = a->rest & ~(interval - 1);
	a->rest &= interval - 1;
	if (!s->detail.amount)
		return false;
	s->may_copy = r->events++ < WINDOW_COPIES;
	return true;
}

/* A thread gets a new buffer (TLAB): takes the bytes of the buffers before, and of the object at
 * the beginning of the new one, as the JVM's own counter has them. How much of them a thread's
 * first event is about is not known: at most a buffer's size, so that the part of it that is from
 * before makes up for the buffer that the recording's end cuts. */
static inline bool take_buffer(struct scratch *s, uint64_t thread, uint64_t buffer)
{
	const struct flat_layout *l = &s->walk.process.layout;
	uint64_t now = word_at(thread, l->allocated) + word_at(thread, l->tlab_top) -
		       word_at(thread, l->tlab_start);
	const bool known =
		l->allocated != FLAT_NONE && l->tlab_top != FLAT_NONE && l->tlab_start != FLAT_NONE;
	struct allocated *a = allocated_of(s->walk.sample.tid, thread, now);
	uint64_t bytes;

	if (!a)
		return false;
	if (!known)
		return take_bytes(s, a, buffer);
	bytes = a->seen < now ? now - a->seen : now < buffer ? now : buffer;
	a->seen = now;
	return take_bytes(s, a, bytes);
}

/* Takes an object outside of buffers, which the counter has, too. */
static inline bool take_object(struct scratch *s, uint64_t thread, uint64_t size)
{
	const struct flat_layout *l = &s->walk.process.layout;
	uint64_t now = word_at(thread, l->allocated);
	struct allocated *a = allocated_of(s->walk.sample.tid, thread, now - size);

	if (!a)
		return false;
	a->seen += size;
	s->detail.flags = FLAT_OUTSIDE;
	if (bpf_map_delete_elem(&humongous, &s->walk.sample.tid) == 0)
		s->detail.flags |= FLAT_HUMONGOUS;
	return take_bytes(s, a, size);
}

/* Takes what an event of this probe says. False: it is not sent. */
static inline bool take_detail(const bpf_user_pt_regs_t *r, struct scratch *s, uint64_t probe)
{
	const uint8_t yes = 1;
	bool taken = false;

	s->detail.flags = 0;
	if (probe == FLAT_PROBE_HUMONGOUS)
		bpf_map_update_elem(&humongous, &s->walk.sample.tid, &yes, BPF_ANY);
	else if (probe == FLAT_PROBE_TLAB)
		taken = take_buffer(s, ARGUMENT(r, 4), ARGUMENT(r, 2));
	else if (probe == FLAT_PROBE_OUTSIDE)
		taken = take_object(s, ARGUMENT(r, 3), ARGUMENT(r, 2));
	if (taken)
		take_class(s, ARGUMENT(r, 0));
	return taken;
}

/* A function of the JVM that is called: cookie is an enum flat_probe. */
SEC("uprobe")
int probed(bpf_user_pt_regs_t *ctx)
{
	uint64_t time = bpf_ktime_get_ns(), thread = bpf_get_current_pid_tgid();
	uint32_t tgid, tid, number;
	struct scratch *s = probe_scratch(0, &number);
	const struct flat_process *p;

	find_numbers(&tgid, &tid);
	p = bpf_map_lookup_elem(&processes, &tgid);
	if (!p || p->walker == FLAT_NO_WALKER)
		return 0;
	if (!s || __sync_val_compare_and_swap(&s->owner, 0, thread) != 0) {
		count_lost(p->walker);
		return 0;
	}
	begin_sample(s, p, time, tgid, tid, FLAT_EVENT_ALLOC);
	if (take_detail(ctx, s, bpf_get_attach_cookie(ctx))) {
		bpf_tail_call(ctx, &probe_walkers, p->walker);
		count_lost(p->walker);
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
