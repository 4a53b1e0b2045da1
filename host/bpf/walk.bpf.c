// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Walks the stack of a sample of one container's process, by that container's own tables: they are
 * this program's, and no other one reads them. Called by node.bpf.c. Returns 0 if the ring has the
 * walked stack; else 1: the kernel then writes the ordinary sample with registers and stack copy.
 * Linux 5.17: bpf_loop. */
#define FLAT_FUNCTION __attribute__((noinline))			   /* global: verified by itself */
#define FLAT_INLINE   static inline __attribute__((always_inline)) /* returns a struct */
#include "bpf/events.bpf.h"
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

/* There are other events than the processors' time. */
const volatile bool events = false;

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

static long step(__attribute__((unused)) uint32_t i, uint32_t *number)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, number);

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

/* Sends n words from the sample on. */
static bool send_words(struct flat_walk *w, uint32_t n)
{
	return bpf_ringbuf_output(&samples, &w->sample,
				  sizeof(struct flat_sample) + n * sizeof(uint64_t),
				  BPF_RB_NO_WAKEUP) == 0;
}

/* Puts the part in the kernel after the frames; returns how many words both are. */
static uint32_t take_stack(struct scratch *s)
{
	struct flat_walk *w = &s->walk;
	uint32_t n = w->sample.count, kernel = w->sample.kernel;

	if (n > FLAT_FRAMES_MAX)
		n = FLAT_FRAMES_MAX;
	if (kernel > FLAT_KERNEL_MAX)
		kernel = FLAT_KERNEL_MAX;
	bpf_probe_read_kernel(&w->frames[n], kernel * sizeof(uint64_t), s->kernel);
	return n + kernel;
}

/* Takes the class whose method a vtable or itable stub selects: the object stays in the register of
 * the first argument all through it (code/vtableStubs, JDK 8 to 27). */
static void take_receiver(struct scratch *s)
{
	const struct flat_walk *w = &s->walk;
	const uint64_t frame = w->frames[0];
	const struct flat_code *c = NULL;

	s->detail.name_len = 0;
	if (w->sample.count && frame >> 60 == FLAT_FRAME_CODE)
		c = flat_code((uint32_t)((frame & ~(15ull << 60)) >> 32));
	if (c && c->flags & FLAT_SELECTS)
		take_class(s, class_of(&w->process.objects, ARGUMENT(&s->regs, 1)));
}

static bool send(struct scratch *s)
{
	struct flat_walk *w = &s->walk;
	uint32_t n, words;

	take_receiver(s);
	w->sample.receiver = s->detail.name_len;
	words = (s->detail.name_len + 7) / 8;
	if (words > FLAT_NAME_MAX / 8)
		words = FLAT_NAME_MAX / 8;
	n = take_stack(s);
	if (n > FLAT_FRAMES_MAX + FLAT_KERNEL_MAX)
		n = FLAT_FRAMES_MAX + FLAT_KERNEL_MAX;
	bpf_probe_read_kernel(&w->frames[n], words * sizeof(uint64_t), s->detail.name);
	if (send_words(w, n + words))
		return true;
	count(FLAT_COUNT_LOST);
	return false;
}

/* Walks the stack from the registers on. `number`: of the state. */
static void walk_on(struct flat_walk *w, bool valid, uint32_t number)
{
	w->exact = w->pushes = true;
	w->unread = w->unsure = false;
	w->searches = 0;
	w->mapping = w->process.mappings;
	w->number_at = w->words_len = 0;
	w->sample.count = 0;
	w->sample.end = FLAT_REGISTERS;
	if (valid) {
		w->sample.pc = w->pc;
		w->sample.sp = w->base = w->sp;
		bpf_loop(STEPS_MAX, step, &number, 0);
	}
	w->sample.ns = bpf_ktime_get_ns() - w->sample.time;
	count(w->sample.end);
}

static bool is_whole(const struct flat_walk *w)
{
	return w->sample.end == FLAT_ROOT || w->sample.end == FLAT_FULL;
}

/* ---- other events ------------------------------------------------------------------------- */

/* Words of the detail with its name. */
static inline uint32_t detail_words(const struct flat_detail *d)
{
	return (offsetof(struct flat_detail, name) + d->name_len + 7) / 8;
}

static bool send_event(struct scratch *s)
{
	struct flat_walk *w = &s->walk;
	uint32_t n = take_stack(s), words = detail_words(&s->detail);

	if (words > sizeof(struct flat_detail) / 8)
		words = sizeof(struct flat_detail) / 8;
	if (n > FLAT_FRAMES_MAX + FLAT_KERNEL_MAX)
		n = FLAT_FRAMES_MAX + FLAT_KERNEL_MAX;
	s->detail.copied = 0;
	bpf_probe_read_kernel(&w->frames[n], words * sizeof(uint64_t), &s->detail);
	return send_words(w, n + words);
}

static long copy_piece(uint32_t i, uint32_t *number)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, number);
	uint32_t at = i * FLAT_PIECE;
	uint64_t from;

	if (!s || at > FLAT_COPY - FLAT_PIECE)
		return 1;
	from = s->walk.base / FLAT_PIECE * FLAT_PIECE + at;
	if (bpf_probe_read_user(&s->stack[at], FLAT_PIECE, (const void *)from))
		return 1;
	s->detail.copied = at + FLAT_PIECE;
	return 0;
}

/* Sends the registers and a copy of the stack, as the kernel does for samples. */
static bool send_copy(struct scratch *s, uint32_t number)
{
	struct flat_walk *w = &s->walk;
	uint32_t bytes;

	s->detail.copied = 0;
	w->sample.count = w->sample.kernel = 0;
	bpf_loop(FLAT_COPY / FLAT_PIECE, copy_piece, &number, 0);
	bytes = s->detail.copied;
	if (!bytes || bytes > FLAT_COPY)
		return false;
	s->sample = w->sample;
	return bpf_ringbuf_output(&samples, &s->sample,
				  offsetof(struct scratch, stack) -
					  offsetof(struct scratch, sample) + bytes,
				  BPF_RB_NO_WAKEUP) == 0;
}

/* A walk that is not whole is right as far as it is. */
static void end_event(struct scratch *s, uint32_t number)
{
	if (is_whole(&s->walk) || !s->may_copy ? !send_event(s) : !send_copy(s, number))
		count_lost(s->walk.sample.event, s->walk.sample.walker);
}

SEC("perf_event")
int walk(struct bpf_perf_event_data *ctx)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	struct scratch *s = bpf_map_lookup_elem(&scratches, &cpu);
	struct flat_walk *w;
	bool sent;

	if (!s)
		return 1;
	w = &s->walk;
	walk_on(w, find_registers(ctx, s), cpu);
	if (events && w->sample.event != FLAT_EVENT_CPU) {
		end_event(s, cpu);
		return 0;
	}
	sent = (is_whole(w) || both) && send(s);
	count_ns(bpf_ktime_get_ns() - w->sample.time);
	return both || !is_whole(w) || !sent;
}

SEC("uprobe")
int walk_probe(bpf_user_pt_regs_t *ctx)
{
	uint32_t number;
	struct scratch *s = probe_scratch(bpf_get_current_pid_tgid(), &number);

	if (!s)
		return 0;
	s->regs = *ctx;
	walk_on(&s->walk, take_registers(&s->walk, &s->regs), number);
	end_event(s, number);
	s->owner = 0;
	return 0;
}

const char licence[] SEC("license") = "Dual BSD/GPL";
