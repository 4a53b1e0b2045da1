// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Walks the stack of a sample of one container's process, by that container's own tables: they are
 * this program's, and no other one reads them. Called by node.bpf.c. Returns 0 if the ring has the
 * walked stack; else 1: the kernel then writes the ordinary sample with registers and stack copy.
 * Linux 5.17: bpf_loop. */
#define FLAT_FUNCTION __attribute__((noinline))			   /* global: verified by itself */
#define FLAT_INLINE   static inline __attribute__((always_inline)) /* returns a struct */
#include "kernel/events.bpf.h"
#include "kernel/flat_walk.h"
#include "kernel/walk_state.h"

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
TABLE(spots, struct flat_pair);
TABLE(rows, struct flat_pair);
TABLE(methods, uint64_t);
TABLE(found, uint64_t);

/* For tests: every sample is written both ways. */
const volatile bool both = false;

/* There are other events than the processors' time; the wall clock among them. */
const volatile bool events = false, wall = false;

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

static inline const struct flat_spot *flat_spot(uint32_t i)
{
	return (const void *)in_pair(&spots, i);
}

static inline const struct flat_row *flat_row(uint32_t i)
{
	return (const void *)in_pair(&rows, i);
}

static inline const uint64_t *flat_method(uint32_t i)
{
	return bpf_map_lookup_elem(&methods, &i);
}

static inline volatile uint64_t *flat_found(uint32_t i)
{
	return bpf_map_lookup_elem(&found, &i);
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

/* Words of the names of a class and of a thread. */
static inline uint32_t name_words(const struct scratch *s)
{
	return (s->detail.name_len + s->walk.sample.thread_len + 7) / 8;
}

/* The JavaThread of the walked stack, which the frame that calls Java has (runtime/javaCalls.hpp,
 * JDK 8 to 27: the first field of a JavaCallWrapper); 0: the walk has not come there. */
static uint64_t java_thread_of(const struct flat_walk *w)
{
	const uint64_t slot = w->entry + (uint64_t)(w->process.wrapper_slot * 8ll);

	return w->entry ? word_at(word_at(slot, 0), 0) : 0;
}

static bool send(struct scratch *s)
{
	struct flat_walk *w = &s->walk;
	uint32_t n, words;

	take_receiver(s);
	if (wall)
		take_virtual(s, mounted_on(&w->process.objects, java_thread_of(w)));
	w->sample.receiver = s->detail.name_len;
	words = name_words(s);
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

static void begin_walk(struct flat_walk *w)
{
	w->exact = w->pushes = true;
	w->unread = w->unsure = false;
	w->searches = 0;
	w->mapping = w->process.mappings;
	w->entry = w->chunk = w->mount = w->called = w->caller = 0;
	w->number_at = w->words_len = 0;
	w->sample.count = 0;
	w->sample.end = FLAT_REGISTERS;
}

/* Makes all steps. `number`: of the state. */
static void walk_steps(struct flat_walk *w, bool valid, uint32_t number)
{
	if (valid) {
		w->sample.pc = w->pc;
		w->sample.sp = w->sp;
		bpf_loop(STEPS_MAX, step, &number, 0);
	}
	w->sample.ns = bpf_ktime_get_ns() - w->sample.time;
	count(w->sample.end);
}

/* Walks the stack from the registers on. */
static void walk_on(struct flat_walk *w, bool valid, uint32_t number)
{
	begin_walk(w);
	w->base = w->sp;
	walk_steps(w, valid, number);
}

/* Walks the frames in the heap of the virtual thread that is about to go on. */
static void walk_unmounted(struct scratch *s, uint32_t number)
{
	const struct flat_objects *o = &s->walk.process.objects;
	const uint64_t thread = object_of(o, ARGUMENT(&s->regs, 0), o->thread_object);
	const uint64_t continuation = object_in(o, thread, o->virtual.continuation);

	begin_walk(&s->walk);
	walk_steps(&s->walk,
		   flat_enter_chunk(&s->walk, object_in(o, continuation, o->virtual.chunk)),
		   number);
}

static bool is_whole(const struct flat_walk *w)
{
	return w->sample.end == FLAT_ROOT || w->sample.end == FLAT_FULL;
}

/* ---- other events ------------------------------------------------------------------------- */

/* Words of the detail with its names. */
static inline uint32_t detail_words(const struct scratch *s)
{
	return offsetof(struct flat_detail, name) / 8 + name_words(s);
}

/* The entry of the current thread; NULL: it has none. */
static struct flat_thread *current_thread(void)
{
	uint64_t task = bpf_get_current_task();

	return bpf_map_lookup_elem(&threads, &task);
}

/* The number that the JVM gives the system's thread of a JavaThread. */
static uint64_t thread_id(const struct flat_objects *o, uint64_t java)
{
	return (uint32_t)word_at(word_at(java, o->os_thread), o->os_thread_id);
}

/* Finds the JavaThread of the current thread. A walk that does not come to a frame which has it
 * takes that of an earlier one, if it is still this thread's. 0: none is known. */
static uint64_t find_java_thread(const struct flat_walk *w, struct flat_thread *t)
{
	const struct flat_objects *o = &w->process.objects;
	const uint64_t java = java_thread_of(w);

	if (java) {
		t->java = java;
		t->id = thread_id(o, java);
	}
	return t->java && t->id == thread_id(o, t->java) ? t->java : 0;
}

/* Takes the class of the monitor that a thread wants, or is to be notified by, or of the object
 * that it parks for. */
static void take_lock(struct scratch *s, uint64_t thread)
{
	const struct flat_objects *o = &s->walk.process.objects;
	uint64_t monitor, class;

	monitor = word_at(thread, o->pending_monitor);
	if (!monitor)
		monitor = word_at(thread, o->waiting_monitor);
	if (monitor)
		class = class_of_monitor(o, monitor);
	else
		class = class_of(
			o, object_in(o, object_of(o, thread, o->thread_object), o->park_blocker));
	if (class)
		take_class(s, class);
}

/* Takes what the current thread waits for, and which virtual one that is. */
static void take_java(struct scratch *s)
{
	struct flat_thread *t = current_thread();
	const uint64_t thread = t ? find_java_thread(&s->walk, t) : 0;

	if (thread && s->detail.flags & FLAT_FOR_LOCK)
		take_lock(s, thread);
	take_virtual(s, mounted_on(&s->walk.process.objects, thread));
}

static bool send_event(struct scratch *s)
{
	struct flat_walk *w = &s->walk;
	uint32_t n = take_stack(s), words = detail_words(s);

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
	if (wall && s->detail.flags & FLAT_UNMOUNTED)
		walk_unmounted(s, number);
	else
		walk_on(&s->walk, take_registers(&s->walk, &s->regs), number);
	end_event(s, number);
	s->owner = 0;
	return 0;
}

/* Has the current thread's stack walked again when it waits at this place the next time. */
static void walk_again(void)
{
	struct flat_thread *t = current_thread();

	if (t && t->place)
		t->places[(t->place - 1) & (FLAT_PLACES - 1)].copied = 1;
}

/* The thread that begins to wait is still the current one. */
SEC("raw_tp")
int walk_wait(__attribute__((unused)) struct bpf_raw_tracepoint_args *ctx)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	struct scratch *s = bpf_map_lookup_elem(&scratches, &cpu);
	struct task_struct *task = bpf_get_current_task_btf();
	bool valid;

	if (!s)
		return 0;
	valid = bpf_probe_read_kernel(&s->regs, sizeof(s->regs),
				      (const void *)bpf_task_pt_regs(task)) == 0 &&
		take_registers(&s->walk, &s->regs);
	walk_on(&s->walk, valid, cpu);
	if (!s->detail.holder_tid)
		take_java(s);
	if (!is_whole(&s->walk) && !s->detail.holder_tid)
		walk_again();
	end_event(s, cpu);
	return 0;
}

const char licence[] SEC("license") = "Dual BSD/GPL";
