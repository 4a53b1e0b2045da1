// SPDX-License-Identifier: Apache-2.0
/* A container's threads, snapshot and library together, as a recording has them: registers and
 * stacks are unwound by the snapshot and by the call frame information of the library, and named.
 *
 * The input is parts with MARK between them: threads, snapshots of a first file, an ELF file,
 * snapshots of a second file. A thread is
 *
 *	u8 flags (enum thread_flags)	u16 time	words
 *
 * Its first UNWIND_REGS words are its registers by DWARF's numbers, the rest are its stack, up to a
 * word of the kind WORD_NEXT or the end. A word is u8 kind (enum word_kind), u16 value. So a seed
 * is short, and a mutation leads to an address that means something. */
#include <time.h>

#include "fuzz/filemap.h"
#include "lib/drawn.h"
#include "lib/perffile.h"
#include "profile/read.h"
#include "unwind/unwind_regs.h"

/* Fewer, so that an input fills the cache. */
#define ANSWERS_MAX 64
#include "unwind/return_cache.c"

#define MARK  "~DFG"
#define PARTS 4
#define STACK 0x700000u
#define LIB   0x200000u /* where the library is mapped */
#define PAGES 0x20000u	/* bytes of it */
#define MOST  4u	/* threads */
#define APART 100u	/* tid of the first of threads with a sample each */
#define WORDS 512u	/* of a stack */

enum thread_flags {
	THREAD_CUT = 1,	     /* the stack goes on above its copy */
	THREAD_SHORT = 2,    /* the copy ends within its last word */
	THREAD_CHAIN = 4,    /* it has a chain of addresses, too: the last words */
	THREAD_OTHER = 8,    /* of a process that is no JVM */
	THREAD_KERNEL = 16,  /* it was in the kernel */
	THREAD_TID = 3 << 5, /* its number */
	THREAD_BARE = 128,   /* without registers: it has its chain only */
};

enum word_kind {
	WORD_SMALL,	/* value */
	WORD_STACK,	/* STACK + value */
	WORD_LIB,	/* LIB + value */
	WORD_HEAD,	/* an address in the snapshot's head, by number, and the rest is added */
	WORD_NEGATIVE,	/* -value */
	WORD_RAW,	/* the value is ignored; u64 follows */
	WORD_CODE = 8,	/* (kind << 16) + value, up to WORD_NEXT */
	WORD_NEXT = 15, /* the end of a thread */
	WORD_KINDS = 16,
};

const char *__asan_default_options(void);

/* As in fuzz_cfi.c: in place of the memory limit under which libdw runs. */
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:max_allocation_size_mb=256";
}

static struct snap_head head; /* of the first snapshot */

static uint64_t read_word(struct bytes *b, unsigned *ret_kind)
{
	const uint64_t heads[] = {head.call_stub_return, head.cont_return, head.code_low,
				  head.code_high};
	unsigned kind = bytes_u8(b) % WORD_KINDS;
	uint16_t value = bytes_u16(b);

	*ret_kind = b->bad ? WORD_NEXT : kind;
	switch (kind) {
	case WORD_SMALL:
		return value;
	case WORD_STACK:
		return STACK + value;
	case WORD_LIB:
		return LIB + value;
	case WORD_HEAD:
		return heads[value % ARRAY_LEN(heads)] + value / ARRAY_LEN(heads);
	case WORD_NEGATIVE:
		return -(uint64_t)value;
	case WORD_RAW:
		return bytes_u64(b);
	default:
		return ((uint64_t)kind << 16) + value;
	}
}

struct thread {
	uint8_t flags;
	uint64_t time;
	uint64_t regs[UNWIND_REGS], stack[WORDS];
	size_t words;
};

static void read_thread(struct bytes *b, struct thread *ret)
{
	unsigned kind;
	size_t n = 0;

	memset(ret->regs, 0, sizeof(ret->regs));
	ret->flags = bytes_u8(b);
	ret->time = head.time + bytes_u16(b);
	for (; n < UNWIND_REGS + WORDS; n++) {
		uint64_t word = read_word(b, &kind);

		if (kind == WORD_NEXT)
			break;
		*(n < UNWIND_REGS ? &ret->regs[n] : &ret->stack[n - UNWIND_REGS]) = word;
	}
	ret->words = n < UNWIND_REGS ? 0 : n - UNWIND_REGS;
}

/* ---- as a recording ---- */

static const signed char order[] = UNWIND_PERF_ORDER;

static void start(struct perffile *f)
{
	struct perf_event_attr a = {.size = sizeof(a),
				    .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
						   PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN |
						   PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
				    .sample_max_stack = 127,
				    .sample_stack_user = 8 * WORDS,
				    .use_clockid = 1,
				    .clockid = CLOCK_MONOTONIC};

	for (unsigned i = 0; i < ARRAY_LEN(order); i++)
		if (order[i] >= 0)
			a.sample_regs_user |= 1ull << i;
	pf_start(f, &a, 1);
	for (uint32_t pid = 7; pid <= 8; pid++) {
		pf_comm(f, pid, pid, "main", 0, 0);
		for (uint32_t i = 0; i < MOST; i++)
			pf_comm(f, pid, APART + i, "main", 0, 0);
		pf_mmap2(f, pid, LIB, PAGES, 0, PROT_EXEC, "/lib/libx.so", 0);
		pf_mmap2(f, pid, WORD_CODE << 16, 0x70000, 0, PROT_EXEC, "//anon", 0);
		if (head.code_high > head.code_low)
			pf_mmap2(f, pid, head.code_low, head.code_high - head.code_low, 0,
				 PROT_EXEC, "//anon", 0);
	}
}

/* tid: 0 if it is the sample's choice. */
static void add(struct perffile *f, const struct thread *t, uint32_t tid)
{
	uint32_t pid = t->flags & THREAD_OTHER ? 8 : 7;
	size_t chain = t->flags & THREAD_CHAIN ? t->words / 2 : 0;
	bool kernel = t->flags & THREAD_KERNEL;

	pf_begin(f, PERF_RECORD_SAMPLE, kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);
	pf_u64(f, kernel ? 0xffffffff81000000 : t->regs[UNWIND_PC]);
	pf_u32(f, pid);
	pf_u32(f, tid ? tid : pid + (t->flags >> 5 & 3));
	pf_u64(f, t->time);
	pf_u64(f, chain + 1);
	pf_u64(f, (uint64_t)PERF_CONTEXT_USER);
	for (size_t i = 0; i < chain; i++)
		pf_u64(f, t->stack[t->words - 1 - i]);
	pf_u64(f, t->flags & THREAD_BARE ? PERF_SAMPLE_REGS_ABI_NONE : UNWIND_PERFABI);
	for (unsigned i = 0; !(t->flags & THREAD_BARE) && i < ARRAY_LEN(order); i++)
		if (order[i] >= 0)
			pf_u64(f, t->regs[order[i]]);
	pf_u64(f, 8 * t->words);
	str_add(&f->s, t->stack, 8 * t->words);
	if (t->words)
		pf_u64(f, 8 * t->words - (t->flags & THREAD_SHORT ? 4 : 0) -
				  (t->flags & THREAD_CUT ? 0 : 8));
	pf_end(f);
}

static void read_recording(struct perffile *f, struct recording *in, struct profile *p)
{
	struct err err;

	pf_done(f);
	in->perf_fd = input_file(0, f->s.buf, f->s.len);
	require(profile_read(in, p, &err) == 0);
}

static void check(const struct profile *p, size_t samples)
{
	CLEANUP(free) uint64_t *totals = stacks_totals(p->stacks);
	const struct quality *q = &p->quality;

	require(totals[0] == samples && q->samples == samples);
	require(q->java_complete <= q->java_samples && q->java_samples <= samples);
	require(q->truncated <= samples && q->frames >= samples);
	require(q->frames_unknown + q->frames_nameless <= q->frames);
	require(q->java_frames <= q->frames && q->stale <= q->java_frames);
}

static char *text_of(const struct profile *p)
{
	struct stacks *s = stacks_plain(p->stacks, NULL);
	int fd = input_file(0, "", 0);
	struct err err;

	stacks_sort(s);
	require(draw_folded(s, fd, &err) == 0);
	stacks_free(s);
	return drawn_text(fd);
}

/* All samples in one recording; with a first tid, each of a thread of its own. */
static char *at_once(const struct thread *t, size_t n, struct recording *in, uint32_t tid)
{
	struct perffile f;
	struct profile p;
	char *text;

	profile_init(&p, false);
	start(&f);
	for (size_t i = 0; i < n; i++)
		add(&f, &t[i], tid ? tid + (uint32_t)i : 0);
	read_recording(&f, in, &p);
	str_fini(&f.s);
	check(&p, n);
	text = text_of(&p);
	profile_fini(&p);
	return text;
}

/* A recording for each sample. */
static char *one_by_one(const struct thread *t, size_t n, struct recording *in)
{
	struct perffile f;
	struct profile p;
	char *text;

	profile_init(&p, false);
	for (size_t i = 0; i < n; i++) {
		start(&f);
		add(&f, &t[i], 0);
		read_recording(&f, in, &p);
		str_fini(&f.s);
	}
	text = text_of(&p);
	profile_fini(&p);
	return text;
}

/* What is remembered of samples changes nothing; but what libdw finds in a damaged .eh_frame
 * depends on what it was asked for before: then it differs without a thread's previous stack, too.
 */
static void compare(struct thread *t, size_t n, struct recording *in, bool library)
{
	CLEANUP(free) char *all = at_once(t, n, in, 0);
	CLEANUP(free) char *each = NULL;
	CLEANUP(free) char *apart = NULL;

	if (n < 2)
		return;
	each = one_by_one(t, n, in);
	if (strcmp(all, each) == 0)
		return;
	apart = library ? at_once(t, n, in, APART) : NULL;
	if (apart && strcmp(apart, each) != 0)
		return;
	fprintf(stderr, "at once:\n%sone by one:\n%s", all, each);
	require(false);
}

/* Divides the input; a missing part is empty. */
static void divide(const uint8_t *data, size_t size, struct bytes ret[PARTS])
{
	for (size_t i = 0; i < PARTS; i++) {
		const uint8_t *mark = memmem(data, size, MARK, strlen(MARK));
		size_t len = mark && i + 1 < PARTS ? (size_t)(mark - data) : size;

		ret[i] = bytes_of(data, len);
		len += len < size ? strlen(MARK) : 0;
		data += len;
		size -= len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct thread threads[MOST];
	struct session_process process[] = {{.pid = 7, .root = 1}, {.pid = 8, .root = 1}};
	struct session_elf elf = {.root = 1, .path = "/lib/libx.so", .debug_fd = -1};
	struct session_map maps[2] = {{.pid = 7}, {.pid = 7, .order = 1}};
	struct recording in = {.kallsyms_fd = -1,
			       .maps = maps,
			       .elfs = &elf,
			       .elf_count = 1,
			       .processes = process,
			       .process_count = 2,
			       .parts = 1};
	struct bytes part[PARTS];
	size_t n = 0;

	divide(data, size, part);
	memset(&head, 0, sizeof(head));
	memcpy(&head, part[1].p, part[1].len < sizeof(head) ? part[1].len : sizeof(head));
	while (n < MOST && part[0].len)
		read_thread(&part[0], &threads[n++]);
	maps[0].fd = input_file(1, part[1].p, part[1].len);
	elf.fd = input_file(2, part[2].p, part[2].len);
	maps[1].fd = input_file(3, part[3].p, part[3].len);
	in.map_count = part[3].len ? 2 : part[1].len != 0;
	if (n)
		compare(threads, n, &in, part[2].len != 0);
	return 0;
}
