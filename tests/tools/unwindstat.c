// SPDX-License-Identifier: Apache-2.0
/* unwindstat [-v N | -f | -t | -s N] PERF_DATA PID SNAPSHOT...: how well the stacks of a process
 * unwind.
 *
 * Where its samples also have the kernel's walk along the frame pointers (perfrec of a JVM with
 * -XX:+PreserveFramePointer), the frames of Java are held against that walk (fpcompare.h) unless
 * the stack copy was too short. Files are opened by the paths of the recording. -v shows the first
 * N stacks that are lost or differ, -s sample N; -f prints all as known.py reads them, in place of
 * threads with numbers for -s, and -t with the time and the thread before each. Of stacks that were
 * walked in the kernel, only the last two. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "common/str.h"
#include "lib/fpcompare.h"
#include "perf/perfdata.h"
#include "perf/perfwrite.h"
#include "profile/resolve.h"
#include "symbols/symbolize.h"
#include "unwind/unwind.h"

#define CLASSES 64

struct counter {
	char name[160];
	uint64_t count;
};

struct stat_run {
	struct symbolizer *symbols;
	struct space *space;
	struct stacks *stacks;
	const struct snapfile *snapshot;
	struct returns *returns;
	struct userstack *walked;
	struct process *process;
	uint64_t time; /* of the sample current */
	struct counter lost[CLASSES], cut[CLASSES], differ[CLASSES];
	uint64_t samples, frames, java, ends[3], java_ends[3], outside, compared, equal;
	long verbose, show;
	bool folded, times;
	pid_t tid;
	double seconds;
};

static struct unwind_frame unwound[UNWIND_FRAMES_MAX];

static void count(struct counter *c, const char *name)
{
	for (size_t i = 0; i < CLASSES; i++) {
		if (c[i].count && strncmp(c[i].name, name, sizeof(c[i].name) - 1) != 0 &&
		    i + 1 < CLASSES)
			continue;
		snprintf(c[i].name, sizeof(c[i].name), "%s", name);
		c[i].count++;
		return;
	}
}

static int by_count(const void *a, const void *b)
{
	const struct counter *x = a, *y = b;

	return x->count < y->count ? 1 : x->count > y->count ? -1 : 0;
}

static void print_counters(struct counter *c, const char *title)
{
	qsort(c, CLASSES, sizeof(*c), by_count);
	for (size_t i = 0; i < CLASSES && c[i].count; i++)
		printf("%s %8" PRIu64 "  %s\n", title, c[i].count, c[i].name);
}

/* One of the codes that may be there. */
static const char *name_of(struct stat_run *r, uint64_t addr)
{
	const uint32_t *frames;

	symbolize_frames(r->symbols, r->process, addr, r->time, &frames);
	return stacks_frame(r->stacks, frames[0])->name;
}

static void show(struct stat_run *r, const char *what, const uint64_t *addrs, size_t n)
{
	printf("  %s:\n", what);
	for (size_t i = 0; i < n && i < 12; i++) {
		const struct snapfile_code *c = fp_code(r->snapshot, r->time, addrs[i]);

		printf("    %" PRIx64 " +%" PRIx64 " %s\n", addrs[i], c ? addrs[i] - c->start : 0,
		       name_of(r, addrs[i]));
	}
}

static void compare(struct stat_run *r, const struct perf_sample *s, const struct unwind_regs *regs,
		    struct stack_copy *stack, size_t n)
{
	struct fp_sample at = {
		.snapshot = r->snapshot, .time = r->time, .regs = regs, .stack = stack};
	uint64_t addrs[UNWIND_FRAMES_MAX];
	struct fp_part ours, theirs;
	const char *what;

	for (size_t i = 0; i < n; i++)
		addrs[i] = unwound[i].addr;
	fp_java_part(&at, addrs, n, &ours);
	fp_chain_part(&at, s, &theirs);
	if (!ours.count && !theirs.count)
		return;
	if (unwound[0].kind == UNWOUND_NATIVE && !theirs.whole) {
		r->outside++;
		return;
	}
	r->compared++;
	what = fp_difference(&at, &ours, &theirs);
	if (!what) {
		r->equal++;
		return;
	}
	count(r->differ, what);
	if (r->verbose > 0 && strncmp(what, "proved", 6)) {
		r->verbose--;
		printf("%s, sample %" PRIu64 "\n", what, r->samples);
		show(r, "unwound", addrs, n);
		show(r, "frame pointers", theirs.addr, theirs.count);
	}
}

static bool find_native(void *arg, uint64_t addr, struct cfi **ret_cfi, uint64_t *ret_offset)
{
	const struct stat_run *r = arg;

	return symbolizer_native(r->symbols, r->process, addr, ret_cfi, ret_offset);
}

static void show_sample(struct stat_run *r, const struct unwind_regs *regs,
			struct stack_copy *stack, size_t n)
{
	uint64_t addrs[UNWIND_FRAMES_MAX];

	for (size_t i = 0; i < n; i++)
		addrs[i] = unwound[i].addr;
	show(r, "unwound", addrs, n);
	for (unsigned i = 0; i < UNWIND_REGS; i++)
		printf(" %u=%" PRIx64, i, regs->reg[i]);
	printf("\n");
	for (uint64_t at = stack->base, word; at < stack->base + 1024; at += 8)
		if (stack_read(stack, at, &word))
			printf("    [%" PRIx64 "] %" PRIx64 " %s\n", at, word,
			       fp_code(r->snapshot, r->time, word - 1) ? name_of(r, word - 1) : "");
}

static void add_lost(struct stat_run *r, const struct unwind_regs *regs, struct stack_copy *stack,
		     size_t n)
{
	static const char *const kinds[] = {"native", "code", "interpreted", "frozen", "stale"};
	const struct unwind_frame *f = &unwound[n - 1];
	CLEANUP(free)
	char *full = xasprintf("%s, %s %s", n == 1 ? "innermost" : "caller", kinds[f->kind],
			       name_of(r, f->addr));

	count(r->lost, full);
	if (r->verbose <= 0)
		return;
	r->verbose--;
	printf("LOST %s, %zu bytes of stack\n", full, stack->len);
	if (n > 12)
		printf("  outermost %s\n", name_of(r, unwound[n - 1].addr));
	show_sample(r, regs, stack, n);
}

/* The frames of one of the unwinder's, innermost first. */
static size_t frames_of(struct stat_run *r, const struct unwind_frame *f, const uint32_t **ret)
{
	static uint32_t one;

	*ret = &one;
	switch (f->kind) {
	case UNWOUND_STALE:
		one = symbolizer_stale(r->symbols);
		return 1;
	case UNWOUND_INTERPRETED:
		one = symbolize_method(r->symbols, r->process, f->method,
				       snapfile_around(r->snapshot, r->time));
		return 1;
	case UNWOUND_CODE:
		return symbolize_code(r->symbols, r->process, f->code, f->addr, &(uint32_t){0},
				      ret);
	default:
		one = symbolize_native(r->symbols, r->process, f->addr);
		return 1;
	}
}

static void print_head(const struct stat_run *r)
{
	if (r->times)
		printf("%" PRIu64 " %s ", r->time,
		       space_thread(r->space, r->process->pid, r->tid)->comm);
	else
		printf("%" PRIu64, r->samples);
}

static void print_frame(const struct stat_run *r, uint32_t frame)
{
	const struct frame *one = stacks_frame(r->stacks, frame);

	printf(";%s%s", one->name, frame_suffix(one->kind));
}

static void print_folded(struct stat_run *r, size_t n)
{
	print_head(r);
	for (size_t i = n; i-- > 0;) {
		const uint32_t *frames;
		size_t count = frames_of(r, &unwound[i], &frames);

		while (count-- > 0)
			print_frame(r, frames[count]);
	}
	printf(" 1\n");
}

/* A stack that was walked in the kernel is only printed. */
static void add_walked(struct stat_run *r, const struct perf_sample *s)
{
	enum unwind_end end;
	struct userframes f = userstack_walked(r->walked, r->process, r->tid, s, r->time, &end);

	r->samples++;
	if (!r->folded)
		return;
	print_head(r);
	for (size_t i = 0; i < f.count; i++)
		print_frame(r, f.list[i]);
	printf(" 1\n");
}

static void add_sample(struct stat_run *r, const struct perf_sample *s)
{
	struct unwind_source src = {.code = r->snapshot,
				    .span = snapfile_around(r->snapshot, r->time),
				    .returns = r->returns,
				    .native = find_native,
				    .arg = r};
	struct stack_copy stack = {.p = s->stack, .len = (size_t)s->stack_dyn};
	struct unwind_regs regs;
	struct timespec a, b;
	enum unwind_end end;
	bool java = false;
	size_t n;

	if (!unwind_from_perf(&regs, s->user_regs_abi, s->user_regs_mask, s->user_regs))
		return;
	stack.base = unwind_sp(&regs);
	returns_at(r->returns, src.span);
	clock_gettime(CLOCK_MONOTONIC, &a);
	end = unwind(&src, &regs, &stack, s->stack_dyn >= s->stack_len, unwound, &n);
	clock_gettime(CLOCK_MONOTONIC, &b);
	r->seconds += (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
	for (size_t i = 0; i < n; i++)
		java = java || unwound[i].kind != UNWOUND_NATIVE;
	r->samples++;
	if (r->folded)
		print_folded(r, n);
	if ((uint64_t)r->show == r->samples)
		show_sample(r, &regs, &stack, n);
	r->frames += n;
	r->ends[end]++;
	r->java += java;
	r->java_ends[end] += java;
	if (r->verbose > 0 && end == STACK_TRUNCATED && java) {
		r->verbose--;
		printf("TRUNCATED, %zu bytes of stack\n", stack.len);
		show_sample(r, &regs, &stack, n);
	}
	if (end == STACK_TRUNCATED)
		count(r->cut, name_of(r, unwound[n - 1].addr));
	if (end == STACK_LOST)
		add_lost(r, &regs, &stack, n);
	if (s->chain_len && end != STACK_TRUNCATED)
		compare(r, s, &regs, &stack, n);
}

/* Files by the paths of the recording. */
static size_t open_files(struct perfdata *pd, pid_t pid, struct session_elf **ret)
{
	struct perf_record rec;
	size_t n = 0, cap = 0;

	while (perfdata_next(pd, &rec)) {
		int fd;

		if (rec.type != PERF_RECORD_MMAP || rec.pid != pid || !rec.mmap.exec)
			continue;
		fd = open(rec.mmap.path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		*ret = grow(*ret, n, &cap, sizeof(**ret));
		(*ret)[n++] = (struct session_elf){.path = rec.mmap.path, .fd = fd, .debug_fd = -1};
	}
	perfdata_rewind(pd);
	return n;
}

static void print(struct stat_run *r)
{
	double all = (double)(r->samples ? r->samples : 1), java = (double)(r->java ? r->java : 1);

	printf("samples %" PRIu64 ", %.1f frames each, %.0f samples/s\n", r->samples,
	       (double)r->frames / all, all / (r->seconds > 0 ? r->seconds : 1));
	printf("root %.3f %%, truncated %" PRIu64 ", lost %" PRIu64 "\n",
	       100 * (double)r->ends[0] / all, r->ends[1], r->ends[2]);
	printf("with Java %" PRIu64 ": root %.3f %%, truncated %" PRIu64 ", lost %" PRIu64 "\n",
	       r->java, 100 * (double)r->java_ends[0] / java, r->java_ends[1], r->java_ends[2]);
	print_counters(r->lost, "lost");
	print_counters(r->cut, "truncated");
	if (!r->compared)
		return;
	printf("in native code without frame pointers %" PRIu64 "\n", r->outside);
	printf("compared %" PRIu64 ": equal %.3f %%\n", r->compared,
	       100 * (double)r->equal / (double)r->compared);
	print_counters(r->differ, "differ");
}

static void read_all(struct stat_run *r, struct perfdata *pd, pid_t pid)
{
	CLEANUP(returns_free) struct returns *returns = returns_new();
	CLEANUP(userstack_free) struct userstack *walked = userstack_new(r->symbols, r->stacks);
	struct perf_record rec;

	r->returns = returns;
	r->walked = walked;
	while (perfdata_next(pd, &rec)) {
		r->process = space_process(r->space, pid);
		r->process->code = symbolizer_code(r->symbols, pid);
		r->snapshot = symbolizer_snapshot(r->symbols, r->process);
		if (!r->snapshot)
			return;
		if (rec.type == PERF_RECORD_MMAP)
			space_map(r->space, rec.pid, rec.mmap.start, rec.mmap.len, rec.mmap.pgoff,
				  rec.mmap.exec, rec.mmap.path);
		else if (rec.type == PERF_RECORD_COMM && rec.pid == pid)
			space_comm(r->space, pid, rec.tid, rec.comm.name);
		else if (rec.type == PERF_RECORD_SAMPLE && rec.pid == pid) {
			r->time = rec.time;
			r->tid = rec.tid;
			if (userstack_is_walked(&rec.sample))
				add_walked(r, &rec.sample);
			else
				add_sample(r, &rec.sample);
		} else if (rec.type == PERFWRITE_CODE)
			userstack_define(r->walked, &rec.code);
	}
}

int main(int argc, char **argv)
{
	struct recording in = {.kallsyms_fd = -1};
	struct session_map maps[16];
	struct session_elf *elfs = NULL;
	struct stat_run *r = xcalloc(1, sizeof(*r));
	struct perfdata *pd;
	struct err err;
	int pid, at = 1;

	if (argc > 2 && (!strcmp(argv[1], "-v") || !strcmp(argv[1], "-s"))) {
		*(argv[1][1] == 'v' ? &r->verbose : &r->show) = strtol(argv[2], NULL, 10);
		at = 3;
	} else if (argc > 1 && (!strcmp(argv[1], "-f") || !strcmp(argv[1], "-t"))) {
		r->folded = true;
		r->times = argv[1][1] == 't';
		at = 2;
	}
	if (argc - at < 3 || argc - at > 18 || !parse_pid(argv[at + 1], &pid)) {
		fprintf(stderr,
			"usage: unwindstat [-v N | -f | -t | -s N] PERF_DATA PID SNAPSHOT...\n");
		return 2;
	}
	in.perf_fd = open(argv[at], O_RDONLY | O_CLOEXEC);
	pd = perfdata_open(in.perf_fd, &err);
	if (!pd) {
		fprintf(stderr, "unwindstat: %s\n", err.msg);
		return 1;
	}
	for (int i = at + 2; i < argc; i++) {
		maps[in.map_count] = (struct session_map){
			.pid = pid, .fd = open(argv[i], O_RDONLY | O_CLOEXEC), .order = i};
		in.map_count++;
	}
	in.maps = maps;
	in.elf_count = open_files(pd, pid, &elfs);
	in.elfs = elfs;
	r->space = space_new();
	r->stacks = stacks_new();
	r->symbols = symbolizer_new(sources_new(&in), pd, r->space, r->stacks);
	read_all(r, pd, pid);
	if (!r->folded)
		print(r);
	return r->samples ? 0 : 1;
}
