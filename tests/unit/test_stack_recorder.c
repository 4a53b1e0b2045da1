// SPDX-License-Identifier: Apache-2.0
/* The BPF program on a process without a JVM, whose stack is walked by call frame information.
 * Needs the right to load programs. */
#include "bpf/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bpf/builder.h"
#include "bpf/recording_parts.h"
#include "common/clock.h"
#include "common/message.h"
#include "common/str.h"
#include "lib/stackmappings.h"
#include "lib/stackrecorder.h"
#include "lib/tap.h"

#define SECONDS_MAX  60
#define ENOUGH	     20u /* samples */
#define KERNEL_LEAST 0xffff000000000000u

static struct seen {
	unsigned walked, whole, frames, copied, others;
	unsigned entered, strange; /* samples in the kernel; frames there that are not of it */
	uint64_t walked_sum, copied_sum; /* of the addresses there */
	pid_t pid;
} seen;

/* Adds up addresses in the kernel; marks between them (PERF_CONTEXT_KERNEL) do not count. */
static uint64_t sum_kernel(const uint64_t *at, uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += at[i] < PERF_CONTEXT_MAX ? at[i] : 0;
	return sum;
}

static void take_walked(void *arg, const struct flat_sample *s, const uint64_t *frames)
{
	(void)arg;
	seen.walked++;
	seen.whole += s->end == FLAT_ROOT;
	seen.frames = s->count > seen.frames ? s->count : seen.frames;
	seen.others += s->tgid != (uint32_t)seen.pid || frames[0] >> 60 != FLAT_FRAME_NATIVE;
	seen.entered += s->kernel > 1;
	for (unsigned i = 0; i < s->kernel; i++)
		seen.strange += frames[s->count + i] < KERNEL_LEAST;
	seen.walked_sum += sum_kernel(frames + s->count, s->kernel);
}

static void take_record(void *arg, const struct perf_event_header *h)
{
	const uint64_t *chain = (const uint64_t *)(h + 1) + 4; /* after id, ip, tid, time */
	struct copied_sample s;

	(void)arg;
	if (h->type != PERF_RECORD_SAMPLE)
		return;
	seen.copied++;
	seen.others +=
		!copied_sample_of(h, &s) || s.pid != (uint32_t)seen.pid || !s.regs || !s.stack_len;
	seen.copied_sum += sum_kernel(chain + 1, chain[0]);
}

static unsigned burn(unsigned depth);
static uint64_t burn_until;
static unsigned (*volatile again)(unsigned) = burn; /* not turned into a loop */

/* Works in the kernel. */
static void enter(void)
{
	static char zeros[1 << 18];
	CLEANUP(close_fd) int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	for (unsigned i = 0; i < 64; i++)
		if (read(fd, zeros, sizeof(zeros)) != sizeof(zeros))
			abort();
}

/* Calls itself `depth` times, and then works until the time is over. */
static unsigned burn(unsigned depth)
{
	volatile unsigned sum = 0;

	if (depth)
		return again(depth - 1) + 1;
	while (clock_ms() < burn_until) {
		for (unsigned i = 0; i < 1000000; i++)
			sum = sum + 1;
		enter();
	}
	return sum;
}

static pid_t start_burning(void)
{
	pid_t pid;

	burn_until = clock_ms() + 5 * SECONDS_MAX * 1000;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit((int)burn(10));
	}
	return pid;
}

/* Records until there are enough samples of either kind. */
static void record(struct flat_tables *t, const struct flat_process *p, bool both, bool second,
		   struct stack_counts *ret)
{
	struct filled_recorder f = {0};
	struct stack_recorder_config config = {
		.frequency = 499, .stack_bytes = 16384, .both = both};
	struct stack_handler handler = {.walked = take_walked, .record = take_record};
	uint64_t end = clock_ms() + SECONDS_MAX * 1000;
	struct err err;

	seen = (struct seen){.pid = seen.pid};
	if (filled_recorder_open(&config, t, second, &f, &err) < 0 ||
	    filled_recorder_add(&f, (uint32_t)seen.pid, p, &err) < 0 ||
	    stack_recorder_enable(f.recorder, true, &err) < 0) {
		printf("1..0 # SKIP %s\n", err.msg);
		kill(seen.pid, SIGKILL);
		exit(0);
	}
	while (seen.walked < ENOUGH && seen.copied < ENOUGH && clock_ms() < end) {
		usleep(20000);
		if (stack_recorder_read(f.recorder, &handler, &err) < 0)
			printf("# %s\n", err.msg);
	}
	if (stack_recorder_enable(f.recorder, false, &err) < 0 ||
	    stack_recorder_read(f.recorder, &handler, &err) < 0)
		printf("# %s\n", err.msg);
	stack_recorder_count(f.recorder, ret);
	filled_recorder_close(&f);
}

static void test_walked(struct flat_tables *t, const struct flat_process *p)
{
	struct stack_counts counts;
	uint64_t walks = 0;

	record(t, p, false, false, &counts);
	ok(seen.walked >= ENOUGH, "a process's samples are walked");
	ok(seen.whole == seen.walked, "what comes is whole");
	ok(seen.frames >= 12, "it has all of its calls");
	ok(seen.others == 0, "no other process is looked at");
	ok(seen.entered > 0 && seen.strange == 0,
	   "samples in the kernel have its part of the stack");
	ok(seen.copied + seen.walked == counts.of[FLAT_ROOT] + seen.copied &&
		   counts.of[FLAT_ROOT] == seen.walked,
	   "a sample is walked or copied, not both");
	for (unsigned i = 0; i < 32; i++)
		walks += counts.of[FLAT_COUNT_NS + i];
	ok(walks == seen.walked + seen.copied, "the time of each walk is counted");
	ok(counts.of[FLAT_COUNT_LOST] == 0 && counts.copies_lost == 0, "none is lost");
	record(t, p, false, true, &counts);
	ok(seen.walked >= ENOUGH && seen.whole == seen.walked && seen.frames >= 12,
	   "also where another container has spoilt its tables");
	record(t, p, true, false, &counts);
	ok(seen.walked >= ENOUGH && seen.copied == seen.walked, "or both, where that is asked for");
	ok(seen.entered > 0 && seen.walked_sum == seen.copied_sum,
	   "the part in the kernel is the kernel's own");
}

static void test_copied(void)
{
	CLEANUP(flat_tables_free) struct flat_tables *none = flat_tables_new();
	struct flat_process p = {0};
	struct stack_counts counts;

	record(none, &p, false, false, &counts);
	ok(seen.copied >= ENOUGH && seen.walked == 0,
	   "without tables the kernel copies the stacks instead");
	ok(counts.of[FLAT_UNMAPPED] == seen.copied, "why is counted");
	ok(seen.others == 0, "no other process is copied");
}

/* ---- other events -------------------------------------------------------------------------- */

#define PAGES 5000u

static struct {
	uint64_t amount;
	unsigned samples, wrong;
} counted;

static void take_event(void *arg, const struct flat_sample *s, const uint64_t *frames,
		       const struct stack_event *e)
{
	(void)arg;
	(void)frames;
	counted.amount += e->amount;
	counted.samples++;
	counted.wrong += s->event != FLAT_EVENT_PERF || s->tgid != (uint32_t)getpid() ||
			 e->amount == 0 || e->name_len != 0 || (!e->stack && s->count == 0);
}

/* Writes to pages that are not there yet. */
static void touch_pages(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	if (p == MAP_FAILED)
		abort();
	(void)madvise(p, PAGES * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PAGES; i++)
		((volatile char *)p)[i * page] = 1;
	munmap(p, PAGES * page);
}

/* All programs together; an event that the kernel counts, of this process. */
static void test_counted(struct flat_tables *t, const struct flat_process *p)
{
	const struct stack_handler handler = {
		.walked = take_walked, .event = take_event, .record = take_record};
	struct filled_recorder f = {0};
	struct stack_recorder_config config = {.frequency = 1,
					       .stack_bytes = 8192,
					       .probes = true,
					       .locks = true,
					       .safepoints = true,
					       .counted = true,
					       .no_samples = true};
	struct err err = {0};

	ok(counted_event_find("page-faults", &config.event) &&
		   !counted_event_find("sched:sched_switch", &config.event),
	   "page faults are an event that the kernel counts");
	ok(filled_recorder_open(&config, t, false, &f, &err) == 0 &&
		   filled_recorder_add(&f, (uint32_t)getpid(), p, &err) == 0 &&
		   stack_recorder_enable(f.recorder, true, &err) == 0,
	   "it is recorded, beside all others %s", err.msg);
	touch_pages();
	if (stack_recorder_enable(f.recorder, false, &err) < 0 ||
	    stack_recorder_read(f.recorder, &handler, &err) < 0)
		printf("# %s\n", err.msg);
	printf("# %u samples of %llu page faults\n", counted.samples,
	       (unsigned long long)counted.amount);
	ok(counted.amount > PAGES * 9 / 10 && counted.amount < 2 * PAGES,
	   "with the sum of all, but for an interval of each processor");
	ok(counted.samples > 50 && counted.samples < PAGES / 2, "by few samples");
	is_int(counted.wrong, 0, "of this process, with a stack");
	is_int((int64_t)stack_recorder_events_lost(f.recorder, FLAT_EVENT_PERF, f.walker), 0,
	       "none is lost");
	filled_recorder_close(&f);
}

/* ---- the wall clock ------------------------------------------------------------------------ */

#define TURNS 10u
#define TURN                                                                                       \
	(struct timespec)                                                                          \
	{                                                                                          \
		.tv_nsec = 20000000                                                                \
	}

/* Sums up what is heard of this process's threads. */
static struct clocked {
	pid_t tid;
	uint64_t ns[FLAT_CAUSES];
	unsigned stacks, copies, woken; /* by the main thread */
	unsigned in_kernel;		/* stacks that have a part there */
} clocked[5];

enum { MAIN, ASLEEP, READER, SLEEPER, FAULTER };
#define THREADS (ARRAY_LEN(clocked) - 1) /* beside the main one */

static struct clocked *clocked_of(uint32_t tid)
{
	for (unsigned i = 0; i < ARRAY_LEN(clocked); i++)
		if (clocked[i].tid == (pid_t)tid)
			return &clocked[i];
	return NULL;
}

static void take_stack(void *arg, const struct flat_sample *s, const uint64_t *frames,
		       const struct stack_event *e)
{
	struct clocked *c = clocked_of(e->holder_tid ? e->holder_tid : s->tid);

	(void)arg;
	(void)frames;
	if (!c || s->event != FLAT_EVENT_WALL)
		return;
	c->copies += e->stack != NULL;
	c->stacks += !e->holder_tid && s->count > 0;
	c->in_kernel += s->kernel > 1;
	c->woken += e->holder_tid && s->tid == (uint32_t)clocked[MAIN].tid;
}

static void take_times(void *arg, const struct flat_thread *t)
{
	struct clocked *c = clocked_of(t->tid);

	(void)arg;
	for (unsigned i = 0; c && i < FLAT_CAUSES; i++)
		c->ns[i] += t->ns[i];
	for (unsigned i = 0; c && i < FLAT_PLACES; i++)
		c->ns[t->places[i].cause % FLAT_CAUSES] += t->places[i].ns;
}

static int plan_pipe[2], plan_over[2];

/* Waits for the end of the test, from before the clock begins until after it. */
static void *sleep_on(void *arg)
{
	char c;

	clocked[ASLEEP].tid = gettid();
	(void)!read(plan_over[0], &c, 1);
	return arg;
}

static void *read_on(void *arg)
{
	char c;

	clocked[READER].tid = gettid();
	while (read(plan_pipe[0], &c, 1) == 1)
		;
	return arg;
}

static void *nap(void *arg)
{
	clocked[SLEEPER].tid = gettid();
	for (unsigned i = 0; i < TURNS; i++)
		nanosleep(&TURN, NULL);
	(void)!read(plan_over[0], &(char){0}, 1);
	return arg;
}

static int plan_faults; /* userfaultfd(2) of the pages that the faulter waits for */
static volatile char *plan_pages;
#define PLAN_PAGES 2 /* the first one from before the clock begins */

static void *fault(void *arg)
{
	clocked[FAULTER].tid = gettid();
	for (int i = 0; i < PLAN_PAGES; i++)
		plan_pages[i * getpagesize()] = 1;
	(void)!read(plan_over[0], &(char){0}, 1);
	return arg;
}

/* Has whoever touches a page wait until it is filled. */
static void open_pages(void)
{
	const size_t len = PLAN_PAGES * (size_t)getpagesize();
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register pages = {.range.len = len, .mode = UFFDIO_REGISTER_MODE_MISSING};

	plan_faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	plan_pages = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pages.range.start = (uintptr_t)plan_pages;
	if (plan_faults < 0) /* a kernel without it: Debian's of some machines */
		return;
	if (plan_pages == MAP_FAILED || ioctl(plan_faults, UFFDIO_API, &api) < 0 ||
	    ioctl(plan_faults, UFFDIO_REGISTER, &pages) < 0)
		abort();
}

static void fill_page(int i)
{
	struct uffdio_zeropage page = {
		.range = {.start = (uintptr_t)plan_pages + (unsigned)(i * getpagesize()),
			  .len = (unsigned)getpagesize()}};

	if (plan_faults >= 0 && ioctl(plan_faults, UFFDIO_ZEROPAGE, &page) < 0)
		abort();
}

static uint64_t sum_of(const struct clocked *c)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < FLAT_CAUSES; i++)
		sum += c->ns[i];
	return sum;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void start_threads(pthread_t list[static THREADS])
{
	void *(*const run[THREADS])(void *) = {sleep_on, read_on, nap, fault};

	if (pipe(plan_pipe) < 0 || pipe(plan_over) < 0)
		abort();
	open_pages();
	clocked[MAIN].tid = gettid();
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&list[i], NULL, run[i], NULL) != 0)
			abort();
	nanosleep(&TURN, NULL);
}

/* Waits until a thread is asleep, which a busy machine may have no time for. */
static void wait_asleep(const volatile pid_t *tid)
{
	char path[64], text[512], *state;

	do {
		int fd;
		ssize_t n;

		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)*tid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
		close(fd);
		text[n > 0 ? n : 0] = '\0';
		state = strrchr(text, ')'); /* of "(NAME) S" */
	} while (!state || state[1] != ' ' || state[2] != 'S');
}

/* True if threads that are asleep when the clock begins are known: since Linux 5.18. */
static bool kernel_looks(void)
{
	struct utsname u;
	unsigned major = 0, minor = 0;

	if (uname(&u) < 0 || sscanf(u.release, "%u.%u", &major, &minor) != 2)
		abort();
	return major > 5 || (major == 5 && minor >= 18);
}

/* All that the threads of this process do has a cause. */
static void test_wall(struct flat_tables *t, const struct flat_process *p)
{
	const struct stack_handler handler = {.walked = take_walked,
					      .event = take_stack,
					      .times = take_times,
					      .record = take_record};
	const struct stack_recorder_config config = {.frequency = 1,
						     .stack_bytes = 8192,
						     .probes = true,
						     .wall = true,
						     .no_samples = true};
	const bool looks = kernel_looks();
	struct filled_recorder f = {0};
	struct err err = {0};
	uint64_t begin, end;
	pthread_t threads[THREADS];
	unsigned wrong = 0;

	ok(filled_recorder_open(&config, t, false, &f, &err) == 0 &&
		   filled_recorder_add(&f, (uint32_t)getpid(), p, &err) == 0,
	   "the wall clock is loaded %s", err.msg);
	start_threads(threads);
	begin = now_ns();
	stack_recorder_begin_wall(f.recorder, begin);
	for (unsigned i = 0; i < TURNS; i++) {
		wait_asleep(&clocked[READER].tid);
		nanosleep(&TURN, NULL);
		if (write(plan_pipe[1], "", 1) != 1)
			abort();
		if (i == TURNS / 4)
			fill_page(0);
		if (i == TURNS / 2)
			fill_page(1);
	}
	stack_recorder_stop_wall(f.recorder); /* what comes until then is in the ring */
	end = now_ns();
	if (stack_recorder_read(f.recorder, &handler, &err) < 0)
		printf("# %s\n", err.msg);
	stack_recorder_end_wall(f.recorder, end, &handler);
	for (unsigned i = 0; i < ARRAY_LEN(clocked); i++) {
		const struct clocked *c = &clocked[i];

		printf("# %u: %lu of %lu ns, sleep %lu, pipe %lu; %u stacks, %u copies, woken %u "
		       "times\n",
		       i, (unsigned long)sum_of(c), (unsigned long)(end - begin),
		       (unsigned long)c->ns[FLAT_SLEEP], (unsigned long)c->ns[FLAT_EPOLL],
		       c->stacks, c->copies, c->woken);
		wrong += sum_of(c) > end - begin || (looks && sum_of(c) < (end - begin) * 99 / 100);
	}
	is_int(wrong, 0, "all the time of each thread has a cause");
	ok(looks ? clocked[ASLEEP].ns[FLAT_EPOLL] == end - begin && clocked[ASLEEP].copies == 1
		 : sum_of(&clocked[ASLEEP]) == 0,
	   "of one that is asleep all the time, too, with a copy of its stack");
	ok(clocked[SLEEPER].ns[FLAT_SLEEP] > 0 && clocked[SLEEPER].stacks > 0 &&
		   clocked[SLEEPER].woken == 0 && clocked[READER].ns[FLAT_EPOLL] > 0,
	   "causes are those of the system calls");
	ok(plan_faults < 0 || (clocked[FAULTER].ns[FLAT_FAULT] >
				       TURNS / (looks ? 2 : 4) * (uint64_t)TURN.tv_nsec &&
			       clocked[FAULTER].ns[FLAT_EPOLL] > 0),
	   "a page of memory is one, too");
	ok(clocked[SLEEPER].in_kernel == 0 && (plan_faults < 0 || clocked[FAULTER].in_kernel > 0),
	   "with its stack in the kernel, which others do not have");
	ok(clocked[READER].woken > TURNS / 2, "who ended a wait is known");
	close(plan_pipe[1]);
	close(plan_over[1]);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	close(plan_pipe[0]);
	close(plan_over[0]);
	filled_recorder_close(&f);
}

/* Code that the program has no room for. */
static void test_room(void)
{
	CLEANUP(flat_tables_free) struct flat_tables *t = flat_tables_new();
	struct filled_recorder f = {0};
	struct stack_recorder_config config = {.frequency = 1, .stack_bytes = 8192};
	struct flat_process p = {0};
	struct err err;

	ok(filled_recorder_open(&config, t, false, &f, &err) == 0, "tables may be empty");
	for (unsigned i = 0; i < 1000; i++)
		flat_add_mapping(t, &p, 0x1000 * (i + 1), 0x1000 * (i + 2), 0, NULL);
	ok(!t->shared && t->count[FLAT_MAPPINGS] == 1000 && t->mappings[999].end == 0x1000 * 1001,
	   "tables that have outgrown their room leave the kernel");
	ok(filled_recorder_fill(&f, t, &err) == 0 && t->shared &&
		   t->mappings[999].end == 0x1000 * 1001,
	   "and have room again in others");
	filled_recorder_close(&f);
}

/* Has a builder ask for tables until it is not heard any more. Returns how many it got. */
static unsigned ask_for_all(struct recorded *r, size_t target, const struct flat_rooms *rooms)
{
	struct builder_word w = {.what = BUILDER_ROOM, .rooms = *rooms};
	struct builder_link b = {.target = target};
	unsigned got = 0;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	b.sock = pair[0];
	while (b.sock >= 0 && message_send(pair[1], &w, sizeof(w), NULL, 0, 0) == 0) {
		int maps[FLAT_TABLES + 1];
		char answer;
		size_t n;

		recording_hear_builder(r, &b);
		if (b.sock < 0 || message_receive(pair[1], &answer, sizeof(answer), maps,
						  ARRAY_LEN(maps), &n) != sizeof(answer))
			break;
		for (size_t i = 0; i < n; i++)
			close(maps[i]);
		got += n == ARRAY_LEN(maps);
	}
	cleanup_close_fd(&b.sock);
	close(pair[1]);
	return got;
}

/* Builders that were taken over, of three of many containers. */
static void test_greedy(void)
{
	enum { CONTAINERS = 300, SHARE = (FLAT_WALKERS - 1) / CONTAINERS };
	CLEANUP(flat_tables_free) struct flat_tables *none = flat_tables_new();
	struct kernel_recording_config config = {.count = CONTAINERS,
						 .events = 1u << FLAT_EVENT_CPU};
	struct stack_recorder_config recorder = {.frequency = 1, .stack_bytes = 8192};
	struct family families[CONTAINERS] = {0};
	struct recorded r = {.config = &config, .families = families};
	struct flat_rooms rooms, large;
	struct err err;

	flat_rooms_for(none, &rooms);
	large = rooms;
	for (unsigned i = 0; i < FLAT_TABLES; i++)
		large.of[i] = UINT32_MAX;
	if (stack_recorder_open(&recorder, &r.recorder, &err) < 0)
		abort();
	is_int(ask_for_all(&r, 0, &rooms), SHARE, "a builder has its container's share of walkers");
	is_int(ask_for_all(&r, 0, &rooms), 0, "another one of that container has none");
	is_int(ask_for_all(&r, 1, &large), 0, "nor one that asks for more memory than there is");
	is_int(ask_for_all(&r, 2, &rooms), SHARE, "the next container's has its own");
	stack_recorder_close(r.recorder);
}

int main(void)
{
	CLEANUP(flat_tables_free) struct flat_tables *t = flat_tables_new();
	struct flat_process p = {0};

	seen.pid = start_burning();
	add_mappings(t, seen.pid, &p);
	test_walked(t, &p);
	test_copied();
	test_counted(t, &p);
	test_wall(t, &p);
	test_room();
	test_greedy();
	kill(seen.pid, SIGKILL);
	return tap_done();
}
