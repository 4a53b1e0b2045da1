// SPDX-License-Identifier: Apache-2.0
#include "calltree/subjects.h"
#include "elf/names.h"
#include "perf/perfwrite.h"
#include "profile/holders.h"
#include "profile/reader.h"
#include "profile/resolve.h"
#include "profile/tasks.h"
#include "session/session.h"

#if defined(__x86_64__)
#define REG_IP 8 /* PERF_REG_X86_IP, asm/perf_regs.h */
#elif defined(__aarch64__)
#define REG_IP 32 /* PERF_REG_ARM64_PC */
#else
#error "the bit of the instruction pointer in the user registers is not known here"
#endif

/* ---- the stack, innermost frame first ---------------------------------------------------- */

static void add_frame(struct sample_ctx *c, uint32_t frame)
{
	if (c->used < FRAMES_MAX) {
		c->used++;
		*first_frame(c) = frame;
	}
}

/* Counts the frames up to the innermost of the program's: the JVM's own by which it came to the
 * probe say nothing. */
static size_t before_probe(const struct reader *r, struct userframes f)
{
	size_t n = f.count;

	while (n && (frame_of(r, f.list[n - 1])->kind == FRAME_JVM ||
		     frame_of(r, f.list[n - 1])->kind == FRAME_STUB))
		n--;
	return n ? n : f.count;
}

/* Adds the user part: the innermost frames where there is no room for all. */
static void add_user(struct reader *r, struct userframes f)
{
	struct sample_ctx *c = &r->ctx;
	size_t room = FRAMES_MAX - c->used, n;

	if (c->sample->named && r->in->event < SESSION_PERF)
		f.count = before_probe(r, f);
	n = f.count < room ? f.count : room;
	c->used += n;
	memcpy(first_frame(c), f.list + f.count - n, n * sizeof(*f.list));
	c->truncated = c->truncated || n < f.count;
	for (size_t i = 0; i < f.count && !c->has_java; i++)
		c->has_java = frame_of(r, f.list[i])->java || f.list[i] == r->stale;
	if (!n)
		return;
	c->has_user = true;
	c->outermost = *first_frame(c);
}

static void add_user_chain(struct reader *r)
{
	struct sample_ctx *c = &r->ctx;

	if (c->user_count)
		add_user(r, userstack_chain(r->unwinder, c->process, c->tid, c->user, c->user_count,
					    c->time));
	c->user_count = 0;
}

/* Adds one address of a chain. User addresses are collected and resolved by add_user_chain. */
static void add_address(struct reader *r, uint64_t context, uint64_t addr)
{
	struct sample_ctx *c = &r->ctx;

	if (context == (uint64_t)PERF_CONTEXT_USER)
		c->user[c->user_count++] = addr;
	else if (context == (uint64_t)PERF_CONTEXT_KERNEL)
		add_frame(c, symbolize_kernel(r->symbols, space_process(r->space, SPACE_KERNEL),
					      addr));
	else /* a guest, a hypervisor, or an unknown mode */
		add_frame(c, stacks_intern(r->stacks, "[unknown]", strlen("[unknown]"),
					   FRAME_UNKNOWN));
}

static uint64_t context_of(uint16_t cpumode)
{
	switch (cpumode) {
	case PERF_RECORD_MISC_KERNEL:
		return (uint64_t)PERF_CONTEXT_KERNEL;
	case PERF_RECORD_MISC_USER:
		return (uint64_t)PERF_CONTEXT_USER;
	default:
		return (uint64_t)PERF_CONTEXT_GUEST;
	}
}

static bool is_context(uint64_t addr)
{
	return addr == (uint64_t)PERF_CONTEXT_KERNEL || addr == (uint64_t)PERF_CONTEXT_USER ||
	       addr == (uint64_t)PERF_CONTEXT_HV || addr == (uint64_t)PERF_CONTEXT_GUEST ||
	       addr == (uint64_t)PERF_CONTEXT_GUEST_KERNEL ||
	       addr == (uint64_t)PERF_CONTEXT_GUEST_USER;
}

/* Adds the chain of addresses, its user part only if `user`. The first address after a context mark
 * is that of the next instruction; all others are return addresses. They follow the call, which may
 * be the last instruction of its function. */
static void add_chain(struct reader *r, bool user)
{
	const struct perf_sample *s = r->ctx.sample;
	struct bytes chain = bytes_of(s->chain, s->chain ? (size_t)s->chain_len * 8 : 0);
	uint64_t context = context_of(s->cpumode);
	bool is_return = false;
	size_t entries = 0;

	while (chain.len) {
		uint64_t addr = bytes_u64(&chain);

		if (addr >= (uint64_t)PERF_CONTEXT_MAX) {
			/* -1 and the like was read from a stack without a frame there, as was
			 * everything after it. */
			if (!is_context(addr))
				break;
			add_user_chain(r);
			context = addr;
			is_return = false;
			continue;
		}
		entries++;
		if (user || context != (uint64_t)PERF_CONTEXT_USER)
			add_address(r, context, is_return && addr ? addr - 1 : addr);
		is_return = true;
	}
	if (!entries && (user || context_of(s->cpumode) != (uint64_t)PERF_CONTEXT_USER))
		add_address(r, context_of(s->cpumode), s->ip);
	add_user_chain(r);
	r->ctx.truncated = r->ctx.truncated || entries >= s->max_stack;
}

/* Adds the instruction pointer of a 32-bit program, or of registers that were recorded without a
 * copy of the stack. */
static void add_registers(struct reader *r)
{
	const struct perf_sample *s = r->ctx.sample;
	uint64_t below = s->user_regs_mask & ((1ull << REG_IP) - 1);
	struct bytes regs;

	if (r->ctx.has_user || !s->user_regs || !(s->user_regs_mask >> REG_IP & 1))
		return;
	regs = bytes_of(s->user_regs, (size_t)__builtin_popcountll(s->user_regs_mask) * 8);
	bytes_take(&regs, (size_t)__builtin_popcountll(below) * 8);
	add_address(r, (uint64_t)PERF_CONTEXT_USER, bytes_u64(&regs));
	add_user_chain(r);
}

/* A walked stack is what it is. With registers and a copy of the stack, the user part is unwound
 * even if the chain has it, since unwinding needs no frame pointers. */
static void add_stack(struct reader *r)
{
	struct sample_ctx *c = &r->ctx;
	enum unwind_end end = STACK_LOST;
	struct userframes unwound = {0};

	if (userstack_is_walked(c->sample))
		unwound =
			userstack_walked(r->unwinder, c->process, c->tid, c->sample, c->time, &end);
	else if (userstack_has(c->sample))
		unwound =
			userstack_unwind(r->unwinder, c->process, c->tid, c->sample, c->time, &end);
	add_chain(r, unwound.count == 0);
	if (unwound.count)
		add_user(r, unwound);
	else
		add_registers(r);
	c->unwound_to_root = end == STACK_ROOT && c->used < FRAMES_MAX;
	c->truncated = c->truncated || end == STACK_TRUNCATED;
}

/* ---- the root ---------------------------------------------------------------------------- */

static bool has_name(const struct frame *f)
{
	return f->kind != FRAME_UNKNOWN && !f->nameless;
}

/* True if the stack reaches the thread's first function. A chain of frame pointers that has only
 * been in a C library without symbols may have broken there. */
static bool is_complete(const struct reader *r)
{
	const struct sample_ctx *c = &r->ctx;
	const struct frame *f = c->has_user ? frame_of(r, c->outermost) : NULL;

	return c->unwound_to_root || (f && f->start && (c->has_java || has_name(f)));
}

/* Replaces the outermost frames of a complete stack by one if they are in a C library without
 * symbols: they can only be the functions that start a thread (clone3, start_thread). */
static void merge_start(struct reader *r)
{
	static const char name[] = "[thread start]";
	struct sample_ctx *c = &r->ctx;
	size_t n = 0;

	for (; c->unwound_to_root && n < c->used; n++) {
		const struct frame *f = frame_of(r, first_frame(c)[n]);

		if (has_name(f) || !f->start)
			break;
	}
	if (n == 0)
		return;
	c->used -= n;
	add_frame(c, stacks_intern(r->stacks, name, strlen(name), FRAME_NATIVE));
}

/* Returns the frame of a thread. As in stackcollapse-perf.pl, blanks become '_' and a thread
 * without a name is ":tid". Java's name is preferred to the kernel's, which is cut to 15 bytes. */
static uint32_t thread_frame(struct reader *r, struct thread *t)
{
	if (!t->mark) {
		size_t len;
		const char *java = sources_thread_name(r->sources, t->pid, t->tid, &len);

		if (java)
			symname_add_clean(&r->text, java, len);
		else if (t->comm[0])
			symname_add_clean(&r->text, t->comm, strlen(t->comm));
		else
			str_addf(&r->text, ":%d", t->tid);
		for (size_t i = 0; i < r->text.len; i++)
			if (r->text.buf[i] == ' ')
				r->text.buf[i] = '_';
		t->mark = stacks_intern(r->stacks, r->text.buf, r->text.len, FRAME_ROOT) + 1;
		str_clear(&r->text);
	}
	return t->mark - 1;
}

uint32_t reader_thread(struct reader *r, pid_t pid, pid_t tid)
{
	struct thread *t = space_thread(r->space, pid, tid);

	if (!t->number)
		t->number = samples_add_thread(r->samples, r->in->origin, pid, tid) + 1;
	return t->number - 1;
}

/* ---- counting ---------------------------------------------------------------------------- */

static void count_frames(struct reader *r)
{
	const uint32_t *frames = first_frame(&r->ctx);
	struct quality *q = r->quality;

	for (size_t i = 0; i < r->ctx.used; i++) {
		const struct frame *f = frame_of(r, frames[i]);
		bool stale = frames[i] == r->stale;

		q->frames_unknown += f->kind == FRAME_UNKNOWN;
		q->frames_nameless += f->nameless;
		q->java_frames += f->java || stale;
		q->stale += stale;
	}
	q->frames += r->ctx.used;
}

static void add_text(struct reader *r, const char *name)
{
	add_frame(&r->ctx, stacks_intern(r->stacks, name, strlen(name), FRAME_STUB));
}

/* Adds who was waited for, above what was waited for: its innermost frame is the lowest. */
static void add_holder(struct reader *r)
{
	struct sample_ctx *c = &r->ctx;
	const struct holder *h = holders_find(r->holders, c->process->pid, c->sample->holder);

	for (size_t i = 0; h && i < h->count; i++)
		add_frame(c, h->frames[i]);
	if (c->sample->flags & PERFWRITE_WAITED)
		add_text(r, event_names[EVENT_SAFEPOINT].held);
	else if (h)
		add_text(r,
			 event_names[r->in->event == SESSION_WALL ? EVENT_CLOCK : EVENT_LOCK].held);
}

void reader_add_subject(struct str *to, const struct perf_sample *s)
{
	symname_add_class(to, s->name, s->name_len);
	if (!s->named)
		str_adds(to, " (receiver)");
	else if (s->flags & PERFWRITE_HUMONGOUS)
		str_adds(to, " (humongous)");
	else if (s->flags & PERFWRITE_OUTSIDE)
		str_adds(to, " (outside TLAB)");
	else if (PERFWRITE_LEVEL_OF(s->flags))
		str_adds(to, PERFWRITE_LEVEL_OF(s->flags) > 3 ? " (C2)" : " (C1)");
}

/* Adds what the event is about as the innermost frame. */
static void add_subject(struct reader *r)
{
	const struct perf_sample *s = r->ctx.sample;

	add_holder(r);
	if (!s->name_len)
		return;
	reader_add_subject(&r->text, s);
	add_text(r, r->text.buf);
	str_clear(&r->text);
}

/* A sample of the processors' time counts 1. */
static uint64_t amount_of(const struct reader *r, const struct perf_sample *s)
{
	if (!s->named && !r->in->by_period)
		return 1;
	return s->period < COUNT_MAX ? s->period : COUNT_MAX;
}

static void begin_sample(struct reader *r, const struct process *p, const struct perf_record *rec)
{
	struct sample_ctx *c = &r->ctx;

	c->process = p;
	c->sample = &rec->sample;
	c->tid = rec->tid;
	c->time = r->monotonic ? rec->time : SNAPFILE_LATEST;
	c->used = c->user_count = 0;
	c->has_user = c->has_java = c->truncated = c->unwound_to_root = false;
}

/* Keeps the Java methods of a thread that held a lock, and what they have called: how threads are
 * started, and how the JVM calls Java, says nothing. */
void reader_add_holder(struct reader *r, const struct process *p, const struct perf_record *rec)
{
	struct sample_ctx *c = &r->ctx;
	const uint32_t *frames;
	size_t outer = 0;

	begin_sample(r, p, rec);
	add_stack(r);
	merge_start(r);
	frames = first_frame(c);
	while (!(rec->sample.flags & PERFWRITE_ENTIRE) && outer < c->used &&
	       !frame_of(r, frames[outer])->java)
		outer++;
	if (outer == c->used)
		return;
	if (r->in->event == SESSION_WALL && c->used < FRAMES_MAX) {
		c->used++; /* who woke it */
		*first_frame(c) = thread_frame(r, space_thread(r->space, rec->pid, rec->tid));
		frames = first_frame(c);
	}
	if (!r->holders)
		r->holders = holders_new();
	holders_keep(r->holders, p->pid, rec->tid, rec->time, c->unwound_to_root, frames + outer,
		     c->used - outer);
}

/* Adds the stack of the thread that asked for it, if that is known. */
static bool add_asker(struct reader *r)
{
	struct sample_ctx *c = &r->ctx;
	const struct holder *h = holders_find(r->holders, c->process->pid, c->sample->asker);

	if (!h)
		return false;
	add_user(r, (struct userframes){.list = h->frames, .count = h->count});
	c->unwound_to_root = h->to_root;
	return true;
}

/* Lists a safepoint, whose second sample ends it. */
static void add_pause(struct reader *r, const struct perf_record *rec, uint32_t node)
{
	/* Samples of the processors' time may be earlier than the recording. */
	const uint64_t began = r->monotonic && r->in->began ? r->in->began : r->begin;
	const uint64_t end = rec->time > began ? rec->time - began : 0;
	const uint64_t amount = rec->sample.period;
	struct pause *p = &r->pause;

	if (rec->sample.flags & PERFWRITE_WAITED) {
		*p = (struct pause){.begin = end, .stopping = amount};
		subject_of(r->stacks, EVENT_SAFEPOINT, node, &p->subject);
		return;
	}
	if (p->begin != end)
		*p = (struct pause){0};
	if (!p->stopping)
		subject_of(r->stacks, EVENT_SAFEPOINT, node, &p->subject);
	p->all = p->stopping + amount;
	p->heap_before = rec->sample.heap_before;
	p->heap_after = rec->sample.heap_after;
	p->begin = end > p->all ? end - p->all : 0;
	pauses_add(r->pauses, p);
	*p = (struct pause){0};
}

/* Counts a compilation, or code that is not entered any more. */
static void add_compiled(struct reader *r, const struct perf_sample *s)
{
	const unsigned level = PERFWRITE_LEVEL_OF(s->flags);
	struct compiled what = {.discarded = s->flags & PERFWRITE_DISCARDED ? 1 : 0};

	if (!s->name_len)
		return;
	what.times[level < COMPILE_LEVELS ? level : 0] = !what.discarded;
	what.ns = what.discarded ? 0 : s->period;
	symname_add_class(&r->text, s->name, s->name_len);
	compilations_add(r->compilations, r->text.buf, &what);
	str_clear(&r->text);
}

/* Adds the stack of a sample of the wall clock, if it has one, above which is what was waited for,
 * and who ended that. */
static void add_clock(struct reader *r, const struct perf_record *rec)
{
	add_holder(r);
	reader_add_cause_subject(&r->text, &rec->sample);
	if (r->text.len)
		add_text(r, r->text.buf);
	str_clear(&r->text);
	r->ctx.above = r->ctx.used;
	if (rec->sample.walked_count == 0 && !rec->sample.user_regs)
		add_text(r, "[no stack was taken]");
	else
		add_stack(r);
}

void reader_add_sample(struct reader *r, const struct process *p, const struct perf_record *rec)
{
	struct thread *t = space_thread(r->space, rec->pid, rec->tid);
	struct sample_ctx *c = &r->ctx;
	const uint64_t amount = amount_of(r, &rec->sample);
	struct wall_part part = {0};
	uint32_t node;

	if (rec->sample.flags & (PERFWRITE_LEVEL(~0u) | PERFWRITE_DISCARDED))
		add_compiled(r, &rec->sample);
	if (!amount || rec->sample.flags & PERFWRITE_DISCARDED)
		return;
	begin_sample(r, p, rec);
	if (r->in->event == SESSION_WALL)
		add_clock(r, rec);
	else
		add_subject(r);
	if (r->in->event == SESSION_WALL) {
		part = reader_add_cause(r, rec, frame_of(r, thread_frame(r, t))->name);
	} else if (!add_asker(r)) {
		add_stack(r);
		merge_start(r);
		tasks_add(r, frame_of(r, thread_frame(r, t))->name);
	}
	count_frames(r);
	c->used++;
	*first_frame(c) = thread_frame(r, t);
	node = stacks_add(r->stacks, first_frame(c), c->used, amount);
	if (rec->sample.flags & (PERFWRITE_WAITED | PERFWRITE_STOPPED))
		add_pause(r, rec, node);
	part.node = node;
	if (part.ns)
		wall_add_part(r->wall, &part);
	if (r->samples && !rec->sample.named && !r->in->by_period)
		samples_add(r->samples, rec->time - r->begin, node,
			    reader_thread(r, rec->pid, rec->tid));
	*r->excess += (double)amount * (double)(amount - 1);
	r->quality->samples = count_add(r->quality->samples, amount);
	r->quality->truncated = count_add(r->quality->truncated, c->truncated ? amount : 0);
	r->quality->between_safepoints +=
		rec->sample.cpumode == PERF_RECORD_MISC_USER &&
		symbolize_is_between(r->symbols, p, rec->sample.ip, c->time);
	if (p->code) {
		t->code = t->code || c->has_java;
		t->samples = count_add(t->samples, amount);
		t->complete = count_add(t->complete, is_complete(r) ? amount : 0);
	}
}
