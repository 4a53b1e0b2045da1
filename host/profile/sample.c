// SPDX-License-Identifier: Apache-2.0
#include "elf/names.h"
#include "profile/reader.h"

#if defined(__x86_64__)
#define REG_IP 8 /* PERF_REG_X86_IP, asm/perf_regs.h */
#elif defined(__aarch64__)
#define REG_IP 32 /* PERF_REG_ARM64_PC */
#else
#error "which bit of the user registers is the instruction pointer here?"
#endif

static void push(struct reader *r, uint32_t frame)
{
	if (r->used < CHAIN_MAX + 2)
		r->frames[ARRAY_LEN(r->frames) - ++r->used] = frame;
}

/* Where there is no room for all, the innermost. */
static void push_user(struct reader *r, struct userframes f)
{
	size_t room = CHAIN_MAX + 2 - r->used;
	size_t n = f.count < room ? f.count : room;

	r->used += n;
	memcpy(r->frames + ARRAY_LEN(r->frames) - r->used, f.list + f.count - n,
	       n * sizeof(*f.list));
	for (size_t i = 0; i < f.count && !r->has_java; i++)
		r->has_java = traits_of(r->traits, f.list[i]) & TRAIT_JAVA;
	r->has_user = true;
	r->outermost = f.list[0];
}

static void push_user_chain(struct reader *r, const struct process *p)
{
	if (r->user_count)
		push_user(r,
			  userstack_chain(r->unwinder, p, r->tid, r->user, r->user_count, r->time));
	r->user_count = 0;
}

static void push_kernel(struct reader *r, uint64_t addr)
{
	push(r, symbolize_kernel(r->symbols, space_process(r->space, SPACE_KERNEL), addr));
}

/* Those of the user are named together, by push_user_chain; only if `user`. */
static inline void push_addr(struct reader *r, uint64_t context, uint64_t addr, bool user)
{
	if (context == (uint64_t)PERF_CONTEXT_USER && user)
		r->user[r->user_count++] = addr;
	else if (context == (uint64_t)PERF_CONTEXT_USER)
		return;
	else if (context == (uint64_t)PERF_CONTEXT_KERNEL)
		push_kernel(r, addr);
	else /* a guest, a hypervisor, or a mode the kernel did not tell */
		push(r, stacks_intern(r->stacks, "[unknown]", strlen("[unknown]"), FRAME_UNKNOWN));
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

/* Innermost first; the user's part only if `user`. Behind a context mark stands the address where
 * it was left; all others are return addresses: the call is in front of them, maybe as the last
 * instruction of its function. */
static void push_chain(struct reader *r, const struct process *p, const struct perf_sample *s,
		       bool user)
{
	struct bytes chain = bytes_of(s->chain, s->chain ? (size_t)s->chain_len * 8 : 0);
	uint64_t context = context_of(s->cpumode);
	bool at_return = false;
	size_t entries = 0;

	while (chain.len) {
		uint64_t addr = bytes_u64(&chain);

		if (addr >= (uint64_t)PERF_CONTEXT_MAX) {
			/* -1 and the like: read off a stack that has no frame there, so is all
			 * behind it */
			if (!is_context(addr))
				break;
			push_user_chain(r, p);
			context = addr;
			at_return = false;
			continue;
		}
		entries++;
		push_addr(r, context, at_return && addr ? addr - 1 : addr, user);
		at_return = true;
	}
	if (!entries)
		push_addr(r, context_of(s->cpumode), s->ip, user);
	push_user_chain(r, p);
	if (entries >= s->max_stack)
		r->quality->truncated++;
}

/* Registers of a 32-bit program, or recorded without a copy of the stack: they give the first
 * address of the user's part. */
static void push_registers(struct reader *r, const struct process *p, const struct perf_sample *s)
{
	uint64_t below = s->user_regs_mask & ((1ull << REG_IP) - 1);
	struct bytes regs;

	if (r->has_user || !s->user_regs || !(s->user_regs_mask >> REG_IP & 1))
		return;
	regs = bytes_of(s->user_regs, (size_t)__builtin_popcountll(s->user_regs_mask) * 8);
	bytes_take(&regs, (size_t)__builtin_popcountll(below) * 8);
	push_addr(r, (uint64_t)PERF_CONTEXT_USER, bytes_u64(&regs), true);
	push_user_chain(r, p);
}

static bool has_name(const struct reader *r, uint32_t frame)
{
	return !(traits_of(r->traits, frame) & (TRAIT_UNKNOWN | TRAIT_NAMELESS));
}

static bool is_first(const struct reader *r, uint32_t frame)
{
	return traits_of(r->traits, frame) & TRAIT_FIRST;
}

/* A chain of frame pointers that has only been in a C library without symbols may have broken
 * there. */
static bool chain_begins(const struct reader *r)
{
	return r->has_user && is_first(r, r->outermost) &&
	       (r->has_java || has_name(r, r->outermost));
}

/* With registers and a copy of the stack, the user's part is unwound, even where the chain has it:
 * it needs no frame pointers. */
static void push_stack(struct reader *r, const struct process *p, const struct perf_sample *s)
{
	enum unwind_end end = UNWIND_LOST;
	struct userframes unwound = {0};

	if (userstack_has(s))
		unwound = userstack_unwind(r->unwinder, p, r->tid, s, r->time, &end);
	push_chain(r, p, s, unwound.count == 0);
	if (unwound.count)
		push_user(r, unwound);
	else
		push_registers(r, p, s);
	r->begins = end == UNWIND_ROOT;
	r->at_root = r->begins || chain_begins(r);
	r->quality->truncated += end == UNWIND_TRUNCATED;
}

/* A stripped C library has no names for the functions that start a thread (clone3, start_thread):
 * at the outermost place of a whole stack they can be nothing else, and become one frame. */
static void name_start(struct reader *r)
{
	uint32_t frame = 0;
	size_t n = 0;

	for (; r->begins && n < r->used; n++) {
		frame = r->frames[ARRAY_LEN(r->frames) - r->used + n];
		if (has_name(r, frame) || !is_first(r, frame))
			break;
	}
	if (n == 0)
		return;
	r->used -= n;
	push(r, stacks_intern(r->stacks, "[thread start]", strlen("[thread start]"), FRAME_NATIVE));
}

/* As stackcollapse-perf.pl has it: blanks become '_'; a thread without a name is ":tid". Java's
 * name goes before the kernel's, which is the same cut to 15 bytes, or an older one. */
static void push_thread(struct reader *r, pid_t pid, pid_t tid)
{
	struct thread *t = space_thread(r->space, pid, tid);

	if (!t->mark) {
		size_t len;
		const char *java = threadnames_find(r->thread_names, pid, tid, &len);

		if (java)
			symname_add_clean(&r->text, java, len);
		else if (t->comm[0])
			symname_add_clean(&r->text, t->comm, strlen(t->comm));
		else
			str_addf(&r->text, ":%d", tid);
		for (size_t i = 0; i < r->text.len; i++)
			if (r->text.buf[i] == ' ')
				r->text.buf[i] = '_';
		t->mark = stacks_intern(r->stacks, r->text.buf, r->text.len, FRAME_ROOT) + 1;
		str_clear(&r->text);
	}
	push(r, t->mark - 1);
}

static void count_frames(struct reader *r, const uint32_t *frames, size_t n)
{
	struct quality *q = r->quality;
	uint64_t counts = 0;

	for (size_t i = 0; i < n; i++)
		counts += traits_counts(traits_of(r->traits, frames[i]));
	q->frames += n;
	q->frames_unknown += traits_count(counts, TRAIT_UNKNOWN);
	q->frames_nameless += traits_count(counts, TRAIT_NAMELESS);
	q->java_frames += traits_count(counts, TRAIT_JAVA);
	q->stale += traits_count(counts, TRAIT_STALE);
}

uint32_t reader_thread(struct reader *r, pid_t pid, pid_t tid)
{
	struct thread *t = space_thread(r->space, pid, tid);

	if (!t->number)
		t->number = samples_add_thread(r->samples, r->in->origin, pid, tid) + 1;
	return t->number - 1;
}

static void count_thread(struct thread *t, bool code, bool complete)
{
	t->code = t->code || code;
	t->samples++;
	t->complete += complete;
}

void reader_add_sample(struct reader *r, const struct process *p, const struct perf_record *rec)
{
	const uint32_t *frames;
	uint32_t node;

	r->used = 0;
	r->tid = rec->tid;
	r->time = r->monotonic ? rec->time : SNAPFILE_LATEST;
	r->has_user = r->has_java = false;
	push_stack(r, p, &rec->sample);
	name_start(r);
	count_frames(r, r->frames + ARRAY_LEN(r->frames) - r->used, r->used);
	push_thread(r, rec->pid, rec->tid);
	frames = r->frames + ARRAY_LEN(r->frames) - r->used;
	node = stacks_add(r->stacks, frames, r->used, 1);
	if (r->samples)
		samples_add(r->samples, rec->time - r->begin, node,
			    reader_thread(r, rec->pid, rec->tid));
	r->quality->samples++;
	r->quality->between_safepoints +=
		rec->sample.cpumode == PERF_RECORD_MISC_USER &&
		symbolize_is_between(r->symbols, p, rec->sample.ip, r->time);
	if (p->code)
		count_thread(space_thread(r->space, rec->pid, rec->tid), r->has_java, r->at_root);
}
