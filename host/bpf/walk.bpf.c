// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Walks the stack of a sample of one container's process, by that container's own tables: they are
 * this program's, and no other one reads them. Called by node.bpf.c. Returns 0 if the ring has the
 * walked stack; else 1: the kernel then writes the ordinary sample with registers and stack copy.
 * Linux 5.17: bpf_loop. */
#define FLAT_FUNCTION __attribute__((noinline))			   /* global: verified by itself */
#define FLAT_INLINE   static inline __attribute__((always_inline)) /* returns a struct */
#include "bpf/flat_walk.h"
#include "bpf/walk_state.h"

#define CPL_MASK  3u	/* asm/ptrace.h: the privilege level in cs; of user space 3 */
#define USER_CS	  0x33u /* asm/segment.h: of 64-bit programs */
#define STEPS_MAX (FLAT_FRAMES_MAX + 1)

#define TABLE(name, entry)                                                                         \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
		__uint(max_entries, 1);                                                            \
		__type(key, uint32_t);                                                             \
		__type(value, entry);                                                              \
	} name SEC(".maps")

/* Sizes are set before loading (walker.c). */
TABLE(dir, uint32_t);
TABLE(pages, struct flat_page);
TABLE(codes, struct flat_code);
TABLE(ranges, struct flat_range);
TABLE(mappings, struct flat_mapping);
TABLE(blocks, uint32_t);
TABLE(rows, struct flat_row);
TABLE(methods, uint64_t);

/* For tests: every sample is written both ways. */
const volatile bool both = false;

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

static void count_ns(uint64_t ns)
{
	uint32_t bit = 0;

	for (uint32_t i = 0; i < 31 && ns > 1; i++) {
		ns >>= 1;
		bit++;
	}
	count(FLAT_COUNT_NS + bit);
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
	count(FLAT_COUNT_LOST);
	return false;
}

SEC("perf_event")
int walk(struct bpf_perf_event_data *ctx)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	struct scratch *s = bpf_map_lookup_elem(&scratches, &cpu);
	struct flat_walk *w;
	bool whole, sent;

	if (!s)
		return 1;
	w = &s->walk;
	w->exact = w->pushes = true;
	w->unread = w->unsure = false;
	w->searches = 0;
	w->mapping = w->process.mappings;
	w->number_at = w->words_len = 0;
	w->sample.count = 0;
	w->sample.end = FLAT_REGISTERS;
	if (find_registers(ctx, s)) {
		w->sample.pc = w->pc;
		w->sample.sp = w->sp;
		bpf_loop(STEPS_MAX, step, &cpu, 0);
	}
	w->sample.ns = bpf_ktime_get_ns() - w->sample.time;
	whole = w->sample.end == FLAT_ROOT || w->sample.end == FLAT_FULL;
	count(w->sample.end);
	sent = (whole || both) && send(ctx, w);
	count_ns(bpf_ktime_get_ns() - w->sample.time);
	return both || !whole || !sent;
}

const char licence[] SEC("license") = "Dual BSD/GPL";
