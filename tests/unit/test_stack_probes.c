// SPDX-License-Identifier: Apache-2.0
/* Events of a process that allocates as a JVM does (lib/allocator.h), and what may follow a
 * sample's frames. Needs the right to load programs. */
#include <fcntl.h>
#include <linux/bpf_perf_event.h>
#include <stdio.h>

#include "bpf/made.h"
#include "bpf/probe_events.h"
#include "bpf/recorder.h"
#include "common/clock.h"
#include "common/str.h"
#include "lib/allocator.h"
#include "lib/ownprobes.h"
#include "lib/stackmappings.h"
#include "lib/tap.h"
#include "unwind/unwind_regs.h"

#define INTERVAL   (128u << 10) /* of bytes, the least: one sample for each */
#define ROWS	   4096u
#define NATIVE(at) ((uint64_t)FLAT_FRAME_NATIVE << 60 | (at))

/* An event, with what is there while it is handed over. */
struct row {
	uint32_t tid, flags, end, count;
	uint64_t amount, innermost, pc, caller;
	bool copied;
	size_t name_len;
	char name[FLAT_NAME_MAX];
};

static struct seen {
	struct row rows[ROWS];
	size_t count;
	unsigned all, copied, samples, others;
} seen;

static struct err err;
static struct allocator child;
static struct own_probes own;

/* ---- what a recorder gives ----------------------------------------------------------------- */

static void take_event(void *arg, const struct flat_sample *s, const uint64_t *frames,
		       const struct stack_event *e)
{
	struct row *r = &seen.rows[seen.count < ROWS ? seen.count++ : ROWS - 1];

	(void)arg;
	seen.all++;
	*r = (struct row){.tid = s->tid,
			  .flags = e->flags,
			  .end = s->end,
			  .count = s->count,
			  .amount = e->amount,
			  .copied = e->stack != NULL,
			  .name_len = e->name_len};
	memcpy(r->name, e->name, e->name_len < FLAT_NAME_MAX ? e->name_len : 0);
	seen.others += s->tgid != (uint32_t)child.pid || s->event != FLAT_EVENT_ALLOC;
	seen.copied += r->copied;
	r->innermost = s->count ? frames[0] : 0;
	if (!r->copied)
		return;
#ifdef __x86_64__
	r->pc = e->regs[8]; /* PERF_REG_X86_IP */
	if (e->stack_len >= sizeof(r->caller))
		memcpy(&r->caller, e->stack, sizeof(r->caller));
#else
	r->pc = e->regs[UNWIND_PC];
	r->caller = e->regs[30];
#endif
}

/* Reads what has come since the last call. */
static void take(const struct watched *w)
{
	memset(&seen, 0, sizeof(seen));
	seen.samples = watched_read(w, take_event);
}

static void order(const struct watched *w, enum allocator_order what)
{
	allocator_do(&child, what);
	take(w);
}

static const struct stack_recorder_config config = {
	.frequency = 1, .stack_bytes = 8192, .probes = true, .no_samples = true};

static void watch(struct watched *w, struct flat_tables *t, const struct flat_process *p)
{
	watched_open(w, &config, t, child.pid, p, &own, FLAT_EVENT_ALLOC);
}

static uint64_t lost_events(const struct watched *w)
{
	return stack_recorder_events_lost(w->f.recorder, FLAT_EVENT_ALLOC, w->f.walker);
}

/* ---- checks -------------------------------------------------------------------------------- */

/* True if the amounts of a thread's events are what it allocated, but for the last interval. */
static bool is_sum(unsigned n, uint64_t interval)
{
	uint64_t sum = 0, want = child.shared->bytes[n];

	for (size_t i = 0; i < seen.count; i++)
		sum += seen.rows[i].tid == child.shared->tid[n] ? seen.rows[i].amount : 0;
	if (sum < want + interval && want < sum + interval)
		return true;
	printf("# thread %u: %llu of %llu\n", n, (unsigned long long)sum, (unsigned long long)want);
	return false;
}

/* Counts the events of a thread that have not this name. */
static unsigned count_misnamed(unsigned n, const char *name, size_t len)
{
	unsigned ret = 0;

	for (size_t i = 0; i < seen.count; i++) {
		const struct row *r = &seen.rows[i];

		ret += r->tid == child.shared->tid[n] &&
		       (r->name_len != len || memcmp(r->name, name, len) != 0);
	}
	return ret;
}

static void check_events(const char *what)
{
	char longest[FLAT_NAME_MAX];
	unsigned odd = 0, few = 0;

	memset(longest, 'n', sizeof(longest));
	for (size_t i = 0; i < seen.count; i++)
		odd += seen.rows[i].amount < INTERVAL;
	for (unsigned n = 0; n < ALLOCATOR_THREADS; n++)
		few += child.shared->bytes[n] < 8 * INTERVAL;
	ok(seen.count > 20 && seen.count < ROWS && few == 0, "%s: events come", what);
	ok(seen.others == 0 && seen.samples == 0, "%s: of the process, and nothing else", what);
	ok(is_sum(0, INTERVAL), "%s: their sum is what was allocated outside of buffers", what);
	ok(is_sum(1, INTERVAL) && is_sum(2, INTERVAL), "%s: and with buffers, by thread", what);
	is_int(odd, 0, "%s: each stands for an interval or more", what);
	ok(count_misnamed(0, "java/lang/String", 16) == 0 && count_misnamed(1, "[B", 2) == 0,
	   "%s: they have the name of the class", what);
	ok(count_misnamed(2, longest, FLAT_NAME_MAX - 1) == 0, "%s: a long one is cut", what);
}

static uint8_t byte_at(uint64_t addr)
{
	CLEANUP(free) char *path = xasprintf("/proc/%d/mem", (int)child.pid);
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t byte = 0;

	if (pread(fd, &byte, 1, (off_t)addr) != 1)
		abort();
	return byte;
}

static void test_walked(struct flat_tables *t, const struct flat_process *p)
{
	const uint64_t tlab = (uint64_t)(uintptr_t)allocator_tlab + ALLOCATOR_SKIPPED;
	const uint64_t outside = (uint64_t)(uintptr_t)allocator_outside + ALLOCATOR_SKIPPED;
	const uint8_t before[] = {byte_at(tlab), byte_at(outside)};
	unsigned strange = 0, flags = 0, buffers = 0;
	struct watched w;

	watch(&w, t, p);
	ok(byte_at(tlab) != before[0] && byte_at(outside) != before[1], "the functions are probed");
	order(&w, ALLOCATOR_ALL);
	check_events("walked");
	ok(seen.copied == 0, "all stacks are walked");
	for (size_t i = 0; i < seen.count; i++) {
		const struct row *r = &seen.rows[i];
		const bool is_tlab = r->innermost == NATIVE(tlab);

		strange += r->count < 3 || r->end != FLAT_ROOT ||
			   (!is_tlab && r->innermost != NATIVE(outside));
		flags += r->flags != (is_tlab ? 0 : FLAT_OUTSIDE);
		buffers += is_tlab;
	}
	is_int(strange, 0, "up to the thread's first function, from the one that was called");
	ok(flags == 0 && buffers > 0 && buffers < seen.count,
	   "those outside of buffers are marked, %u of %zu are not", buffers, seen.count);
	stack_probes_close(w.probes);
	w.probes = NULL;
	order(&w, ALLOCATOR_ALL);
	ok(seen.count == 0 && child.shared->bytes[0] > 0, "without probes no event comes");
	ok(byte_at(tlab) == before[0] && byte_at(outside) == before[1], "the text is as before");
	watched_close(&w);
}

static void test_regions(struct flat_tables *t, const struct flat_process *p)
{
	unsigned wrong = 0;
	struct watched w;

	watch(&w, t, p);
	order(&w, ALLOCATOR_REGIONS);
	is_int((int64_t)seen.count, 8, "each large object is an event");
	ok(is_sum(0, INTERVAL), "its amount is its size, but for the last interval");
	for (size_t i = 0; i < seen.count; i++)
		wrong += seen.rows[i].flags !=
				 (i % 2 ? FLAT_OUTSIDE | FLAT_HUMONGOUS : FLAT_OUTSIDE) ||
			 strcmp(seen.rows[i].name, i % 2 ? "[B" : "java/lang/String") != 0;
	is_int(wrong, 0, "those with regions of their own are marked");
	watched_close(&w);
}

static void test_many(struct flat_tables *t, const struct flat_process *p)
{
	uint64_t most = 0, lost;
	struct watched w;

	watch(&w, t, p);
	order(&w, ALLOCATOR_MANY);
	is_int((int64_t)lost_events(&w), 0, "none is lost");
	for (size_t i = 0; i < seen.count; i++)
		most = seen.rows[i].amount > most ? seen.rows[i].amount : most;
	ok(seen.count >= 100 && seen.count < ROWS && most > INTERVAL,
	   "of very many events few are sent: %zu of 20000, up to %llu bytes each", seen.count,
	   (unsigned long long)most);
	ok(is_sum(0, 2 * most), "they stand for all");
	order(&w, ALLOCATOR_HUGE);
	lost = lost_events(&w);
	ok(lost > 0 && seen.all > 0 && seen.all + lost == ALLOCATOR_OBJECTS,
	   "of more than can be few are sent, too: %u; the others are lost, which is counted: %llu",
	   seen.all, (unsigned long long)lost);
	watched_close(&w);
}

/* Counts the events whose copy is not of the functions' callers, and those that have neither a copy
 * nor a walk that has ended early. */
static unsigned count_bad_copies(void)
{
	const uint64_t tlab = (uint64_t)(uintptr_t)allocator_tlab + ALLOCATOR_SKIPPED;
	const uint64_t outside = (uint64_t)(uintptr_t)allocator_outside + ALLOCATOR_SKIPPED;
	unsigned ret = 0;

	for (size_t i = 0; i < seen.count; i++) {
		const struct row *r = &seen.rows[i];

		if (r->copied)
			ret += r->count != 0 || r->caller < own.start || r->caller >= own.end ||
			       (r->pc != tlab && r->pc != outside);
		else
			ret += r->end == FLAT_ROOT || r->end == FLAT_FULL;
	}
	return ret;
}

static void test_copied(const struct flat_process *p)
{
	CLEANUP(flat_tables_free) struct flat_tables *none = flat_tables_new();
	const struct flat_process unknown = {.layout = p->layout};
	struct watched w;

	watch(&w, none, &unknown);
	order(&w, ALLOCATOR_REGIONS);
	ok(seen.count == 8 && seen.copied == 8, "without tables all are copies: %u of %zu",
	   seen.copied, seen.count);
	is_int(count_bad_copies(), 0, "with the registers, and the stack from its pointer on");
	order(&w, ALLOCATOR_ALL);
	check_events("copied");
	ok(seen.copied > 0, "where there are more, some are copies");
	is_int(count_bad_copies(), 0, "the others have the frames that were found, and no root");
	watched_close(&w);
}

/* ---- processes that lie, and others -------------------------------------------------------- */

static void test_forged(struct flat_tables *t, const struct flat_process *p)
{
	struct flat_process blind = *p;
	unsigned named = 0;
	struct watched w;

	watch(&w, t, p);
	order(&w, ALLOCATOR_REGIONS); /* whose names are not the next objects' */
	order(&w, ALLOCATOR_FORGED);
	for (size_t i = 0; i < seen.count; i++)
		named += seen.rows[i].name_len != 0;
	ok(seen.count == 5 && named == 0, "a class that is nowhere has no name: %u of %zu", named,
	   seen.count);
	memset(&blind.layout, 0xff, sizeof(blind.layout));
	if (filled_recorder_add(&w.f, (uint32_t)child.pid, &blind, &err) < 0)
		abort();
	order(&w, ALLOCATOR_REGIONS);
	for (size_t i = 0; i < seen.count; i++)
		named += seen.rows[i].name_len != 0;
	ok(seen.count == 8 && named == 0 && is_sum(0, INTERVAL),
	   "where no place is known, objects have a size and no name");
	watched_close(&w);
}

static void test_unknown(struct flat_tables *t, const struct flat_process *p)
{
	struct allocator first = child, other;
	struct watched w;

	watch(&w, t, NULL);
	order(&w, ALLOCATOR_ALL);
	ok(seen.count == 0 && child.shared->bytes[0] > 0,
	   "of a process that was not added nothing is sent");
	if (filled_recorder_add(&w.f, (uint32_t)child.pid, p, &err) < 0)
		abort();
	order(&w, ALLOCATOR_ALL);
	ok(seen.count > 0, "once it is added, its events come");
	order(&w, ALLOCATOR_FORK);
	ok(seen.count == 0 && child.shared->bytes[0] > 0,
	   "a process that it forks runs on, and has no probes");
	stack_recorder_remove(w.f.recorder, (uint32_t)child.pid);
	order(&w, ALLOCATOR_ALL);
	ok(seen.count == 0, "until it is removed");
	other = allocator_start();
	if (filled_recorder_add(&w.f, (uint32_t)other.pid, p, &err) < 0)
		abort();
	child = other;
	order(&w, ALLOCATOR_ALL);
	ok(seen.count == 0 && child.shared->bytes[0] > 0, "another process has no probes");
	allocator_end(&other);
	child = first;
	watched_close(&w);
}

static void test_refused(void)
{
	struct stack_recorder *r;
	struct stack_probes *probes;

	if (stack_recorder_open(&config, &r, &err) < 0)
		abort();
	ok(stack_recorder_probe(r, (uint32_t)child.pid, own.start + 1, own.end, &own.at,
				1u << FLAT_EVENT_ALLOC, &probes, &err) < 0,
	   "what is mapped nowhere has no probes: %s", err.msg);
	stack_recorder_close(r);
}

/* ---- details ------------------------------------------------------------------------------- */

#define HEAD offsetof(struct flat_detail, name)

/* A detail with a copy of two pieces. */
static struct {
	struct flat_detail d;
	bpf_user_pt_regs_t regs;
	uint8_t stack[2 * FLAT_PIECE];
} made;

static bool reads(uint32_t name_len, uint32_t copied, uint64_t sp, size_t left,
		  struct stack_event *ret)
{
	const struct flat_sample s = {.sp = sp};

	made.d = (struct flat_detail){
		.amount = 5, .flags = 1, .copied = copied, .name_len = name_len, .name = "name"};
	return stack_event_of(&s, &made, left, ret);
}

static void test_details(void)
{
	const size_t whole = sizeof(made.d) + sizeof(made.regs);
	struct stack_event e;

	ok(reads(4, 0, 0, HEAD + 8, &e) && e.amount == 5 && e.flags == 1 && e.name_len == 4 &&
		   !memcmp(e.name, "name", 4) && !e.stack,
	   "a detail is read");
	ok(reads(0, 0, 0, HEAD, &e) && e.name_len == 0, "one without a name");
	ok(reads(FLAT_NAME_MAX, 0, 0, sizeof(made.d), &e), "the longest");
	ok(!reads(0, 0, 0, HEAD - 1, &e), "one that is cut is refused");
	ok(!reads(9, 0, 0, HEAD + 8, &e), "so is a name that is longer than the rest");
	ok(!reads(FLAT_NAME_MAX + 1, 0, 0, sizeof(made), &e), "or than its field");
	ok(!reads(UINT32_MAX, 0, 0, sizeof(made), &e), "or than all there is");
	ok(reads(4, FLAT_PIECE, 0x10040, whole + FLAT_PIECE, &e) && e.stack == made.stack + 0x40 &&
		   e.stack_len == FLAT_PIECE - 0x40,
	   "a copy begins at the stack pointer");
	ok(reads(4, 2 * FLAT_PIECE, 0x10000, whole + 2 * FLAT_PIECE, &e) && e.stack == made.stack &&
		   e.stack_len == 2 * FLAT_PIECE,
	   "or at a whole piece");
	ok(!reads(4, FLAT_PIECE, 0, whole + FLAT_PIECE - 8, &e), "one that is cut is refused");
	ok(!reads(4, FLAT_PIECE, 0, whole + FLAT_PIECE + 8, &e), "and one with more than it says");
	ok(!reads(4, 64, 0x10040, whole + 64, &e), "and one that ends below the stack pointer");
	ok(!reads(4, UINT32_MAX, 0, sizeof(made), &e), "and one that is larger than all there is");
}

/* ---- code that has just been made ------------------------------------------------------------ */

#ifdef __x86_64__
#define FIRST_ARGUMENT FLAT_ARGUMENT(14u, false, 0) /* %rdi */
#else
#define FIRST_ARGUMENT FLAT_ARGUMENT(0u, false, 0)
#endif

/* Functions that get a class stand for the place where a JVM has made code. */
static void test_code(struct flat_tables *t, const struct flat_process *p, const char *what,
		      bool known)
{
	struct own_probes code = own;
	struct made_list list = MADE_LIST_NONE;
	unsigned n = 0, strange = 0;
	struct flat_made one;
	struct watched w;

	code.at = (struct flat_probes){.code = FIRST_ARGUMENT};
	code.at.offset[FLAT_PROBE_CODE] = own.at.offset[FLAT_PROBE_OUTSIDE];
	watched_open(&w, &config, t, child.pid, known ? p : NULL, &code, FLAT_EVENT_CPU);
	made_list_map(&list, stack_recorder_made(w.f.recorder, w.f.walker));
	ok(list.fd >= 0, "%s: there is a list", what);
	ok(!made_list_next(&list, &one), "nothing is in it");
	order(&w, ALLOCATOR_ALL);
	for (; made_list_next(&list, &one); n++)
		strange += one.tgid != (uint32_t)child.pid ||
			   one.start - (uintptr_t)allocator_classes >= sizeof(allocator_classes);
	ok(known ? n > 0 : n == 0, "%u codes are listed", n);
	is_int(strange, 0, "of the process, by what the function was called with");
	is_int(seen.all, 0, "no event is sent");
	made_list_unmap(&list);
	watched_close(&w);
}

/* The same of classes that are unloaded: those that follow each other at once are one time. */
static void test_unload(struct flat_tables *t, const struct flat_process *p)
{
	struct own_probes unload = own;
	struct made_list list = MADE_LIST_NONE;
	const uint64_t before = clock_us() * 1000;
	unsigned n = 0, strange = 0;
	struct flat_made one;
	struct watched w;

	unload.at = (struct flat_probes){0};
	unload.at.offset[FLAT_PROBE_UNLOAD] = own.at.offset[FLAT_PROBE_OUTSIDE];
	watched_open(&w, &config, t, child.pid, p, &unload, FLAT_EVENT_CPU);
	made_list_map(&list, stack_recorder_made(w.f.recorder, w.f.walker));
	order(&w, ALLOCATOR_ALL);
	for (; made_list_next(&list, &one); n++) {
		const uint64_t time = one.start & ~FLAT_UNLOADS;

		strange += one.tgid != (uint32_t)child.pid || !(one.start & FLAT_UNLOADS) ||
			   time < before || time > clock_us() * 1000 + 1000;
	}
	ok(n > 0 && n < 36, "unloading begins %u times, with 72 classes", n);
	is_int(strange, 0, "of the process, when it does");
	made_list_unmap(&list);
	watched_close(&w);
}

static void find_text(void)
{
	own_probes_find((uint64_t)(uintptr_t)allocator_tlab, &own);
	ok(own.at.offset[FLAT_PROBE_TLAB] && own.at.offset[FLAT_PROBE_OUTSIDE] &&
		   own.at.offset[FLAT_PROBE_HUMONGOUS],
	   "the functions are found in the file");
}

int main(void)
{
	CLEANUP(flat_tables_free) struct flat_tables *t = flat_tables_new();
	struct flat_process p = {.layout = allocator_layout};

	own_probes_require(&config);
	child = allocator_start();
	find_text();
	add_mappings(t, child.pid, &p);
	test_walked(t, &p);
	test_regions(t, &p);
	test_many(t, &p);
	test_copied(&p);
	test_forged(t, &p);
	test_unknown(t, &p);
	test_refused();
	test_details();
	test_code(t, &p, "code", true);
	test_code(t, &p, "of a process that is not known", false);
	test_unload(t, &p);
	allocator_end(&child);
	return tap_done();
}
