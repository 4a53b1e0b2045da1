// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Walks the stack of a sample of one container's process, by that container's own tables: they are
 * this program's, and no other one reads them. Called by node.bpf.c. Returns 0 if the ring has the
 * walked stack; else 1: the kernel then writes the ordinary sample with registers and stack copy.
 * Linux 5.17: bpf_loop. */
#define FLAT_FUNCTION __attribute__((noinline))			   /* global: verified by itself */
#define FLAT_INLINE   static inline __attribute__((always_inline)) /* returns a struct */
#include "bpf/flat_walk.h"
#include "bpf/walk_state.h"

#define USER_CS	  0x33u /* x86, asm/segment.h: of 64-bit programs */
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
TABLE(dir, struct flat_pair);
TABLE(pages, struct flat_page);
TABLE(codes, struct flat_code);
TABLE(ranges, struct flat_range);
TABLE(mappings, struct flat_mapping);
TABLE(blocks, struct flat_pair);
TABLE(rows, struct flat_row);
TABLE(methods, uint64_t);

/* For tests: every sample is written both ways. */
const volatile bool both = false;

static inline const uint32_t *in_pair(void *table, uint32_t i)
{
	uint32_t pair = i / 2;
	const struct flat_pair *p = bpf_map_lookup_elem(table, &pair);

	return p ? &p->of[i % 2] : NULL;
}

static inline const uint32_t *flat_dir(uint32_t i)
{
	return in_pair(&dir, i);
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
	return in_pair(&blocks, i);
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

#ifdef FLAT_ARM64
FLAT_INLINE bool take_registers(struct flat_walk *w, const bpf_user_pt_regs_t *r)
{
	w->pc = r->pc;
	w->sp = r->sp;
	w->fp = r->regs[29];
	w->first = (struct flat_registers){.link = r->regs[30],
					   .x12 = r->regs[12],
					   .x13 = r->regs[13],
					   .x19 = r->regs[19],
					   .x20 = r->regs[20]};
	return !(r->pstate & MODE_32);
}
#else
FLAT_INLINE bool take_registers(struct flat_walk *w, const bpf_user_pt_regs_t *r)
{
	w->pc = r->rip;
	w->sp = r->rsp;
	w->fp = r->rbp;
	w->first = (struct flat_registers){.rax = r->rax,
					   .rbx = r->rbx,
					   .rcx = r->rcx,
					   .rdx = r->rdx,
					   .r8 = r->r8,
					   .r10 = r->r10,
					   .r13 = r->r13};
	return r->cs == USER_CS;
}
#endif

/* Finds the registers of the thread in user space: the sample's own, or those it had at entry to
 * the kernel. False: it has none of a 64-bit program. */
static bool find_registers(struct bpf_perf_event_data *ctx, struct scratch *s)
{
	struct task_struct *task;

	if (is_user(&ctx->regs)) {
		s->regs = ctx->regs;
	} else {
		task = bpf_get_current_task_btf();
		if (bpf_probe_read_kernel(&s->regs, sizeof(s->regs),
					  (const void *)bpf_task_pt_regs(task)))
			return false;
	}
	return take_registers(&s->walk, &s->regs);
}

static bool send(struct scratch *s)
{
	struct flat_walk *w = &s->walk;
	uint32_t n = w->sample.count, kernel = w->sample.kernel;

	if (n > FLAT_FRAMES_MAX)
		n = FLAT_FRAMES_MAX;
	if (kernel > FLAT_KERNEL_MAX)
		kernel = FLAT_KERNEL_MAX;
	bpf_probe_read_kernel(&w->frames[n], kernel * sizeof(uint64_t), s->kernel);
	n += kernel;
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
		w->sample.sp = w->base = w->sp;
		bpf_loop(STEPS_MAX, step, &cpu, 0);
	}
	w->sample.ns = bpf_ktime_get_ns() - w->sample.time;
	whole = w->sample.end == FLAT_ROOT || w->sample.end == FLAT_FULL;
	count(w->sample.end);
	sent = (whole || both) && send(s);
	count_ns(bpf_ktime_get_ns() - w->sample.time);
	return both || !whole || !sent;
}

const char licence[] SEC("license") = "Dual BSD/GPL";
