// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Walks the stack of a sample when the sample is taken. Returns 0 if the ring has the walked stack;
 * else 1: the kernel then writes the ordinary sample with registers and stack copy. Linux 5.17:
 * bpf_loop. */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define FLAT_FUNCTION __attribute__((noinline))			   /* global: verified by itself */
#define FLAT_INLINE   static inline __attribute__((always_inline)) /* returns a struct */
#include "bpf/flat_walk.h"

#define CPL_MASK   3u	 /* asm/ptrace.h: the privilege level in cs; of user space 3 */
#define USER_CS	   0x33u /* asm/segment.h: of 64-bit programs */
#define LEVELS_MAX 33	 /* linux/pid_namespace.h: MAX_PID_NS_LEVEL, and the initial one */
#define STEPS_MAX  (FLAT_FRAMES_MAX + 1)

#define TABLE(name, entry)                                                                         \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
		__uint(max_entries, 1);                                                            \
		__type(key, uint32_t);                                                             \
		__type(value, entry);                                                              \
	} name SEC(".maps")

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

/* Sizes are set before loading (recorder.c). */
TABLE(dir, uint32_t);
TABLE(pages, struct flat_page);
TABLE(codes, struct flat_code);
TABLE(ranges, struct flat_range);
TABLE(mappings, struct flat_mapping);
TABLE(blocks, uint32_t);
TABLE(rows, struct flat_row);
TABLE(methods, uint64_t);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FLAT_PROCESSES);
	__type(key, uint32_t); /* tgid */
	__type(value, struct flat_process);
} processes SEC(".maps");

/* State of a walk by processor; on one there is never more than one walk. Values of a per-CPU array
 * are too small for so many frames. */
struct scratch {
	bpf_user_pt_regs_t regs;
	struct flat_walk walk;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct scratch);
} scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FLAT_COUNTS);
	__type(key, uint32_t);
	__type(value, uint64_t);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} samples SEC(".maps");

/* For tests: every sample is written both ways. */
const volatile bool both = false;

/* The pid namespace of dfg, which knows processes by their numbers in it; 0: the initial one. */
const volatile uint32_t namespace = 0;

static inline const uint32_t *flat_dir(uint32_t i)
{
	return bpf_map_lookup_elem(&dir, &i);
}

static inline const struct flat_page *flat_page(uint32_t i)
{
	return bpf_map_lookup_elem(&pages, &i);
}

static inline const struct flat_code *flat_code(uint32_t i)
{
	return bpf_map_lookup_elem(&codes, &i);
}

static inline const struct flat_range *flat_range(uint32_t i)
{
	return bpf_map_lookup_elem(&ranges, &i);
}

static inline const struct flat_mapping *flat_mapping(uint32_t i)
{
	return bpf_map_lookup_elem(&mappings, &i);
}

static inline const uint32_t *flat_block(uint32_t i)
{
	return bpf_map_lookup_elem(&blocks, &i);
}

static inline const struct flat_row *flat_row(uint32_t i)
{
	return bpf_map_lookup_elem(&rows, &i);
}

static inline const uint64_t *flat_method(uint32_t i)
{
	return bpf_map_lookup_elem(&methods, &i);
}

static inline bool flat_memory(uint64_t at, void *ret, uint32_t size)
{
	return bpf_probe_read_user(ret, size, (const void *)at) == 0;
}

static void count(uint32_t which, uint64_t by)
{
	uint64_t *n = bpf_map_lookup_elem(&counts, &which);

	if (n)
		*n += by;
}

static void count_ns(uint64_t ns)
{
	uint32_t bit = 0;

	for (uint32_t i = 0; i < 31 && ns > 1; i++) {
		ns >>= 1;
		bit++;
	}
	count(FLAT_COUNT_NS + bit, 1);
}

static long step(__attribute__((unused)) uint32_t i, uint32_t *cpu)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, cpu);

	if (!s)
		return 1;
	s->walk.sample.end = flat_step(&s->walk);
	return s->walk.sample.end != FLAT_ON;
}

/* Registers of the thread in user space: the sample's own, or those it had at entry to the
 * kernel. */
static bool find_registers(struct bpf_perf_event_data *ctx, struct scratch *s)
{
	const bpf_user_pt_regs_t *r = &s->regs;
	struct flat_walk *w = &s->walk;
	struct task_struct *task;

	if (ctx->regs.cs & CPL_MASK) {
		s->regs = ctx->regs;
	} else {
		task = bpf_get_current_task_btf();
		if (bpf_probe_read_kernel(&s->regs, sizeof(s->regs),
					  (const void *)bpf_task_pt_regs(task)))
			return false;
	}
	w->pc = r->rip;
	w->sp = w->base = r->rsp;
	w->fp = r->rbp;
	w->rax = r->rax;
	w->rbx = r->rbx;
	w->rcx = r->rcx;
	w->rdx = r->rdx;
	w->r8 = r->r8;
	w->r10 = r->r10;
	w->r13 = r->r13;
	return r->cs == USER_CS;
}

/* Adds the part of the stack that is in the kernel, after the `n` frames. */
static uint32_t add_kernel(struct bpf_perf_event_data *ctx, struct flat_walk *w, uint32_t n)
{
	long bytes = 0;

	if (!(ctx->regs.cs & CPL_MASK) && n <= FLAT_FRAMES_MAX)
		bytes = bpf_get_stack(ctx, &w->frames[n], FLAT_KERNEL_MAX * sizeof(uint64_t), 0);
	return bytes > 0 ? (uint32_t)bytes / sizeof(uint64_t) : 0;
}

static bool send(struct bpf_perf_event_data *ctx, struct flat_walk *w)
{
	uint32_t n = w->sample.count;

	if (n > FLAT_FRAMES_MAX)
		n = FLAT_FRAMES_MAX;
	w->sample.kernel = add_kernel(ctx, w, n);
	n += w->sample.kernel;
	if (n > FLAT_FRAMES_MAX + FLAT_KERNEL_MAX)
		n = FLAT_FRAMES_MAX + FLAT_KERNEL_MAX;
	if (bpf_ringbuf_output(&samples, &w->sample,
			       sizeof(struct flat_sample) + n * sizeof(uint64_t),
			       BPF_RB_NO_WAKEUP) == 0)
		return true;
	count(FLAT_COUNT_LOST, 1);
	return false;
}

/* The number of a task in our namespace; 0: it has none. */
static uint32_t number_here(struct task_struct *task)
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
static void find_numbers(uint32_t *ret_tgid, uint32_t *ret_tid)
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

SEC("perf_event")
int walk(struct bpf_perf_event_data *ctx)
{
	uint32_t tgid, tid, cpu = bpf_get_smp_processor_id();
	struct scratch *s = bpf_map_lookup_elem(&scratches, &cpu);
	uint64_t begin = bpf_ktime_get_ns();
	struct flat_process *p;
	struct flat_walk *w;
	bool whole, sent;

	find_numbers(&tgid, &tid);
	p = bpf_map_lookup_elem(&processes, &tgid);
	if (!p || !s)
		return p != NULL;
	w = &s->walk;
	w->process = *p;
	w->exact = w->pushes = true;
	w->unread = w->unsure = false;
	w->searches = 0;
	w->mapping = p->mappings;
	w->number_at = w->words_at = 0;
	w->sample.count = 0;
	w->sample.end = FLAT_REGISTERS;
	if (find_registers(ctx, s)) {
		w->sample.pc = w->pc;
		w->sample.sp = w->sp;
		bpf_loop(STEPS_MAX, step, &cpu, 0);
	}
	w->sample.time = begin;
	w->sample.ns = bpf_ktime_get_ns() - begin;
	w->sample.tgid = tgid;
	w->sample.tid = tid;
	w->sample.cpu = cpu;
	whole = w->sample.end == FLAT_ROOT || w->sample.end == FLAT_FULL;
	count(w->sample.end, 1);
	sent = (whole || both) && send(ctx, w);
	count_ns(bpf_ktime_get_ns() - begin);
	return both || !whole || !sent;
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
