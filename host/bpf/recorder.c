// SPDX-License-Identifier: Apache-2.0
#include "bpf/recorder_parts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bpf/copy_ring.h"
#include "common/str.h"
#include "unwind/unwind_regs.h"

/* Bytes of a processor's buffer, a power of 2: for all samples of 0.25 s, if all are copied. */
#define RING_LEAST	  (256u << 10)
#define RING_MOST	  (8u << 20)
#define RINGS_A_SECOND	  4
#define RECORD_BYTES	  2048u	 /* of a copied sample, beside the stack */
#define WALKED_BYTES	  32768u /* of a walked sample of 4 000 frames: few are so deep */
#define WALKED_LEAST	  (4u << 20)
#define WALKED_MOST	  (32u << 20)
#define THREADS		  65536u      /* whose allocations are followed at once */
#define INITIAL_NAMESPACE 0xeffffffcu /* linux/proc_ns.h: PROC_PID_INIT_INO */
#define SAMPLE_TYPE                                                                                \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

/* ---- the program -------------------------------------------------------------------------- */

static int print_none(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

/* The inode of our pid namespace; 0: the initial one. */
static uint32_t pid_namespace(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) < 0 || st.st_ino == INITIAL_NAMESPACE)
		return 0;
	return (uint32_t)st.st_ino;
}

static int load_walker(const struct stack_recorder *r, const struct flat_rooms *rooms,
		       const struct walker *before, struct walker **ret, struct err *err)
{
	const struct walker_config c = {.scratches = bpf_map__fd(r->bpf->maps.scratches),
					.threads = bpf_map__fd(r->bpf->maps.threads),
					.counts = bpf_map__fd(r->bpf->maps.counts),
					.rates = bpf_map__fd(r->bpf->maps.rates),
					.samples = bpf_map__fd(r->bpf->maps.samples),
					.processors = r->cpus,
					.both = r->config.both,
					.probes = r->config.probes,
					.joined = r->joined,
					.wall = r->config.wall};

	return walker_load(&c, rooms, before, ret, err);
}

/* Fails where the kernel refuses walkers. */
static int check_walkers(const struct stack_recorder *r, struct err *err)
{
	CLEANUP(walker_free) struct walker *w = NULL;
	struct flat_rooms rooms;

	for (unsigned i = 0; i < FLAT_TABLES; i++)
		rooms.of[i] = 1;
	return load_walker(r, &rooms, NULL, &w, err);
}

/* Bytes of the ring of walked samples, a power of 2: for deep ones of all processors in 0.25 s. */
static uint32_t walked_bytes(const struct stack_recorder *r)
{
	const uint64_t want = r->attr.sample_freq * r->cpus * WALKED_BYTES / RINGS_A_SECOND;
	uint32_t bytes = WALKED_LEAST;

	while (bytes < want && bytes < WALKED_MOST)
		bytes *= 2;
	return bytes;
}

/* Sets which programs there are, and how large the maps. */
static void choose(const struct stack_recorder *r, bool looks)
{
	const struct stack_recorder_config *c = &r->config;
	const uint32_t states = r->cpus * (c->probes ? 1 + FLAT_PROBING : 1);

	r->bpf->rodata->namespace = pid_namespace();
	r->bpf->rodata->processors = r->cpus;
	r->bpf->rodata->safepoints = c->safepoints;
	r->bpf->rodata->wall = c->wall;
	r->bpf->rodata->last_scratch = states;
	bpf_program__set_autoload(r->bpf->progs.probed, c->probes);
	bpf_program__set_autoload(r->bpf->progs.counted, c->counted);
	if (r->joined) {
		stack_probes_join(r->bpf->progs.probed);
		stack_probes_join(r->bpf->progs.makes_code);
	}
	recorder_choose_wall(r, looks);
	bpf_map__set_max_entries(r->bpf->maps.scratches, states + c->wall);
	if (c->probes) {
		bpf_map__set_max_entries(r->bpf->maps.allocations, THREADS);
		bpf_map__set_max_entries(r->bpf->maps.humongous, THREADS / 16);
		bpf_map__set_max_entries(r->bpf->maps.pauses, THREADS / 16);
		bpf_map__set_max_entries(r->bpf->maps.tasks, THREADS / 16);
		bpf_map__set_max_entries(r->bpf->maps.rates, FLAT_RATES * FLAT_WALKERS);
	}
	bpf_map__set_max_entries(r->bpf->maps.samples, walked_bytes(r));
}

/* The rings of code that is made have a page, which each machine has its own size of. */
static uint32_t made_bytes(void)
{
	return (uint32_t)sysconf(_SC_PAGESIZE);
}

static int load_node(struct stack_recorder *r, bool looks, struct err *err)
{
	CLEANUP(close_fd)
	int like = bpf_map_create(BPF_MAP_TYPE_RINGBUF, NULL, 0, 0, made_bytes(), NULL);

	r->bpf = like < 0 ? NULL : node_bpf__open();
	if (!r->bpf)
		return err_set(err, errno, "open the BPF program");
	choose(r, looks);
	if (bpf_map__set_inner_map_fd(r->bpf->maps.made, like) == 0 && node_bpf__load(r->bpf) == 0)
		return 0;
	err_set(err, errno, "load the BPF program");
	node_bpf__destroy(r->bpf);
	r->bpf = NULL;
	return -1;
}

/* Stacks of threads that are asleep need Linux 5.18, all else 5.17. */
static int load(struct stack_recorder *r, struct err *err)
{
	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL) == 0)
		return err_set(err, 0, "it needs Linux 5.17");
	r->joined = stack_probes_can_join();
	if ((!r->config.wall || load_node(r, true, err) < 0) && load_node(r, false, err) < 0)
		return -1;
	r->exec = bpf_program__attach(r->bpf->progs.executed);
	if (!r->exec)
		return err_set(err, errno, "attach to sched_process_exec");
	r->fork = bpf_program__attach(r->bpf->progs.forked);
	if (!r->fork)
		return err_set(err, errno, "attach to sched_process_fork");
	if (recorder_attach_wall(r, err) < 0)
		return -1;
	return check_walkers(r, err);
}

/* ---- events ------------------------------------------------------------------------------- */

/* Without samples the events have the other records only. */
static struct perf_event_attr make_attr(const struct stack_recorder_config *c)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = c->no_samples ? PERF_COUNT_SW_DUMMY : PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = c->frequency,
		.sample_type = SAMPLE_TYPE,
		.sample_id_all = 1,
		.exclude_callchain_user = 1,
		.sample_regs_user = UNWIND_PERFMASK,
		.sample_stack_user = c->stack_bytes,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.disabled = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
	};
}

static size_t ring_bytes(const struct stack_recorder_config *c)
{
	uint64_t want = c->frequency * (c->stack_bytes + RECORD_BYTES) / RINGS_A_SECOND;
	size_t bytes = RING_LEAST;

	while (bytes < want && bytes < RING_MOST)
		bytes *= 2;
	return bytes;
}

/* Has the program called for each event of software, and for so many of hardware that there are as
 * many samples as of the processors' time. */
static struct perf_event_attr counted_attr(const struct stack_recorder_config *c)
{
	const bool often = c->event.type == PERF_TYPE_HARDWARE;

	return (struct perf_event_attr){.size = sizeof(struct perf_event_attr),
					.type = c->event.type,
					.config = c->event.config,
					.freq = often,
					.sample_period = often ? c->frequency : 1,
					.disabled = 1};
}

static int open_ring(struct stack_recorder *r, unsigned cpu, struct err *err)
{
	const struct perf_event_attr counted = counted_attr(&r->config);
	struct copy_ring *ring = &r->rings[cpu];

	if (copy_ring_open(ring, cpu, &r->attr, r->ring_bytes,
			   r->config.no_samples ? NULL : r->bpf->progs.sampled, err) < 0)
		return -1;
	return r->config.counted ? copy_ring_count(ring, cpu, &counted, r->bpf->progs.counted, err)
				 : 0;
}

/* ---- walked samples ----------------------------------------------------------------------- */

static int take_walked(void *arg, void *data, size_t len)
{
	struct stack_recorder *r = arg;
	const struct flat_sample *s = data;
	const uint64_t *frames = (const uint64_t *)(s + 1);
	struct stack_event event;
	size_t bytes, names;

	if (len < sizeof(*s))
		return 0;
	if (s->event == FLAT_EVENT_WALL && s->end == FLAT_TIMES) {
		if (len == sizeof(struct flat_times))
			r->handler->times(r->handler->arg,
					  &((const struct flat_times *)data)->thread);
		return 0;
	}
	bytes = ((size_t)s->count + s->kernel) * sizeof(uint64_t);
	names = ((size_t)s->receiver + s->thread_len + 7) / 8 * sizeof(uint64_t);
	if (s->event == FLAT_EVENT_CPU && len == sizeof(*s) + bytes + names)
		r->handler->walked(r->handler->arg, s, frames);
	else if (s->event != FLAT_EVENT_CPU && len > sizeof(*s) + bytes &&
		 stack_event_of(s, frames + s->count + s->kernel, len - sizeof(*s) - bytes, &event))
		r->handler->event(r->handler->arg, s, frames, &event);
	return 0;
}

/* ---- interface ---------------------------------------------------------------------------- */

int stack_recorder_open(const struct stack_recorder_config *c, struct stack_recorder **ret,
			struct err *err)
{
	CLEANUP(stack_recorder_close) struct stack_recorder *r = xcalloc(1, sizeof(*r));
	int cpus;

	r->attr = make_attr(c);
	r->ring_bytes = ring_bytes(c);
	r->config = *c;
	r->walker_count = FLAT_NO_WALKER + 1;
	memset(r->walker_maps, 0xff, sizeof(r->walker_maps));
	libbpf_set_print(print_none);
	cpus = libbpf_num_possible_cpus();
	if (cpus < 1)
		return err_set(err, -cpus, "count the processors");
	r->cpus = (unsigned)cpus;
	r->record = xmalloc(1u << 16);
	r->rings = xcalloc(r->cpus, sizeof(*r->rings));
	for (unsigned i = 0; i < r->cpus; i++)
		r->rings[i] = COPY_RING_NONE;
	if (load(r, err) < 0)
		return -1;
	r->walked = ring_buffer__new(bpf_map__fd(r->bpf->maps.samples), take_walked, r, NULL);
	if (!r->walked)
		return err_set(err, errno, "map the ring of samples");
	for (unsigned i = 0; i < r->cpus; i++)
		if (open_ring(r, i, err) < 0)
			return -1;
	*ret = TAKE_PTR(r);
	return 0;
}

void stack_recorder_close(struct stack_recorder *r)
{
	if (!r)
		return;
	for (unsigned i = 0; r->rings && i < r->cpus; i++)
		copy_ring_close(&r->rings[i]);
	for (uint32_t i = 0; i < r->walker_count; i++) {
		walker_free(r->walkers[i]);
		for (size_t k = 0; k < WALKER_MAPS; k++)
			cleanup_close_fd(&r->walker_maps[i][k]);
	}
	bpf_link__destroy(r->exec);
	bpf_link__destroy(r->fork);
	recorder_detach_wall(r);
	ring_buffer__free(r->walked);
	node_bpf__destroy(r->bpf);
	free(r->rings);
	free(r->record);
	free(r);
}

int recorder_add_map(struct stack_recorder *r, uint32_t number, uint32_t before,
		     enum walker_map kind, struct err *err)
{
	const struct {
		struct bpf_map *outer;
		struct stack_probes_map like;
	} maps[WALKER_MAPS] = {
		[WALKER_MADE] = {r->bpf->maps.made, {0, 0, made_bytes()}},
		[WALKER_WAITS] = {r->bpf->maps.waits, {4, sizeof(struct flat_wait), FLAT_WAITS}},
		[WALKER_WAIT_TIDS] = {r->bpf->maps.wait_tids, {8, sizeof(uint32_t), FLAT_WAITS}},
		[WALKER_LOCKS] = {r->bpf->maps.locks, {8, sizeof(struct flat_lock), FLAT_WAITS}},
		[WALKER_ASKED] = {r->bpf->maps.asked, {8, sizeof(struct flat_asked), FLAT_WAITS}},
		[WALKER_FROZEN] = {r->bpf->maps.frozen, {8, sizeof(uint64_t), FLAT_FROZEN_MOST}},
	};
	int *map = &r->walker_maps[number][kind];

	*map = stack_probes_share(maps[kind].outer, number, r->walker_maps[before][kind],
				  &maps[kind].like, err);
	return *map < 0 ? -1 : 0;
}

/* Makes the maps that probes keep for each container. */
static int add_maps(struct stack_recorder *r, uint32_t number, uint32_t before, struct err *err)
{
	const bool locks = r->config.locks;
	const bool wanted[WALKER_MAPS] = {
		[WALKER_MADE] = true,
		[WALKER_WAITS] = locks,
		[WALKER_WAIT_TIDS] = locks,
		[WALKER_LOCKS] = locks,
		[WALKER_ASKED] = r->config.safepoints,
		[WALKER_FROZEN] = recorder_has_frozen(r, before),
	};

	for (unsigned i = 0; i < WALKER_MAPS; i++)
		if (wanted[i] && recorder_add_map(r, number, before, i, err) < 0)
			return -1;
	return 0;
}

int stack_recorder_add_walker(struct stack_recorder *r, const struct flat_rooms *rooms,
			      uint32_t before, uint32_t *ret, struct err *err)
{
	const uint32_t number = r->walker_count;
	struct walker *w;

	if (number == FLAT_WALKERS)
		return err_set(err, ENOSPC, "more than %u walkers", FLAT_WALKERS - 1);
	if (load_walker(r, rooms, r->walkers[before], &w, err) < 0)
		return -1;
	r->walkers[r->walker_count++] = w;
	if (stack_probes_set(r->bpf->maps.walkers, number, walker_program(w), err) < 0 ||
	    (r->config.probes && stack_probes_set(r->bpf->maps.probe_walkers, number,
						  walker_probe_program(w), err) < 0) ||
	    (r->config.wall && stack_probes_set(r->bpf->maps.wait_walkers, number,
						walker_wait_program(w), err) < 0) ||
	    add_maps(r, number, before, err) < 0)
		return -1;
	*ret = number;
	return 0;
}

int stack_recorder_made(const struct stack_recorder *r, uint32_t walker)
{
	return r->walker_maps[walker][WALKER_MADE];
}

const struct walker *stack_recorder_walker(const struct stack_recorder *r, uint32_t number)
{
	return r->walkers[number];
}

int stack_recorder_add(struct stack_recorder *r, uint32_t pid, const struct flat_process *p,
		       struct err *err)
{
	if (bpf_map__update_elem(r->bpf->maps.processes, &pid, sizeof(pid), p, sizeof(*p),
				 BPF_ANY) != 0)
		return err_set(err, errno, "add process %u", pid);
	return 0;
}

void stack_recorder_remove(struct stack_recorder *r, uint32_t pid)
{
	(void)bpf_map__delete_elem(r->bpf->maps.processes, &pid, sizeof(pid), 0);
}

int stack_recorder_probe(struct stack_recorder *r, uint32_t pid, uint64_t start, uint64_t end,
			 const struct flat_probes *at, unsigned events, struct stack_probes **ret,
			 struct err *err)
{
	const bool code = events == 1u << FLAT_EVENT_CPU;

	return stack_probes_open(code ? r->bpf->progs.makes_code : r->bpf->progs.probed, pid, start,
				 end, at, events, ret, err);
}

/* ---- samples ------------------------------------------------------------------------------ */

struct perf_event_attr stack_recorder_attr(const struct stack_recorder *r)
{
	return r->attr;
}

uint64_t *stack_recorder_ids(const struct stack_recorder *r, size_t *ret_count)
{
	uint64_t *ids = xcalloc(r->cpus, sizeof(*ids));

	*ret_count = 0;
	for (unsigned i = 0; i < r->cpus; i++)
		if (r->rings[i].fd >= 0 &&
		    ioctl(r->rings[i].fd, PERF_EVENT_IOC_ID, &ids[*ret_count]) == 0)
			++*ret_count;
	return ids;
}

int stack_recorder_enable(struct stack_recorder *r, bool on, struct err *err)
{
	for (unsigned i = 0; i < r->cpus; i++)
		if (copy_ring_enable(&r->rings[i], on) < 0)
			return err_set(err, errno, "switch the event of processor %u", i);
	return 0;
}

int stack_recorder_read(struct stack_recorder *r, const struct stack_handler *h, struct err *err)
{
	int n;

	r->handler = h;
	for (unsigned i = 0; i < r->cpus; i++)
		r->copies_lost += copy_ring_read(&r->rings[i], r->record, h->record, h->arg);
	n = ring_buffer__consume(r->walked);
	return n < 0 ? err_set(err, -n, "read the ring of samples") : 0;
}

void stack_recorder_count(const struct stack_recorder *r, struct stack_counts *ret)
{
	CLEANUP(free) uint64_t *each = xcalloc(r->cpus, sizeof(*each));
	int fd = bpf_map__fd(r->bpf->maps.counts);

	*ret = (struct stack_counts){.copies_lost = r->copies_lost};
	for (uint32_t i = 0; i < FLAT_COUNTS; i++) {
		if (bpf_map_lookup_elem(fd, &i, each) != 0)
			continue;
		for (unsigned cpu = 0; cpu < r->cpus; cpu++)
			ret->of[i] += each[cpu];
	}
}

/* Sums of a rate over all processors; no rate is adapted where there are no probes. */
static struct flat_rate rate_of(const struct stack_recorder *r, uint32_t event, uint32_t walker)
{
	const uint32_t at = flat_rate_at(event, walker);
	CLEANUP(free) struct flat_rate *each = xcalloc(r->cpus, sizeof(*each));
	struct flat_rate ret = {0};

	if (!r->config.probes ||
	    bpf_map_lookup_elem(bpf_map__fd(r->bpf->maps.rates), &at, each) != 0)
		return ret;
	for (unsigned cpu = 0; cpu < r->cpus; cpu++) {
		ret.lost += each[cpu].lost;
		ret.seen += each[cpu].seen;
	}
	return ret;
}

uint64_t stack_recorder_events_lost(const struct stack_recorder *r, uint32_t event, uint32_t walker)
{
	return rate_of(r, event, walker).lost +
	       (event == FLAT_EVENT_WALL ? rate_of(r, FLAT_RATE_VIRTUAL, walker).lost : 0);
}

uint64_t stack_recorder_frozen_count(const struct stack_recorder *r, uint32_t walker)
{
	return rate_of(r, FLAT_RATE_VIRTUAL, walker).seen / r->cpus;
}
