// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/socket.h>

#include "bpf/made.h"
#include "bpf/recording_parts.h"
#include "common/clock.h"
#include "common/message.h"
#include "common/parallel.h"
#include "common/proc.h"
#include "common/str.h"
#include "common/turns.h"

#define WALKERS_MAX 64 /* of a container: each takes 40 ms to load */
#define ROOMS_MAX   16 /* requests of a builder */
#define WORDS_MAX   (ROOMS_MAX * (BUILDER_PROCESSES_MAX + 2))

static void hang_up(struct builder_link *b)
{
	cleanup_close_fd(&b->sock);
	b->ready = true;
}

/* Gives a builder a walker with tables as large as it needs, which has the files' rows of the one
 * before. What it fills no other one reads; each container has its share of the walkers that there
 * can be. */
static int give_room(struct recorded *r, struct builder_link *b, const struct flat_rooms *rooms)
{
	const size_t part = (FLAT_WALKERS - 1) / r->config->count;
	const size_t share = part < WALKERS_MAX ? part : WALKERS_MAX;
	struct family *f = &r->families[b->target];
	int maps[FLAT_TABLES + 1];
	struct err ignored;

	f->bytes += flat_rooms_bytes(rooms);
	if (f->bytes > KERNEL_TABLES_BYTES || f->walkers++ >= share ||
	    stack_recorder_add_walker(r->recorder, rooms, b->walker, &b->walker, &ignored) < 0)
		return -1;
	r->targets[b->walker] = b->target;
	walker_tables(stack_recorder_walker(r->recorder, b->walker), maps);
	maps[FLAT_TABLES] = stack_recorder_made(r->recorder, b->walker);
	return message_send(b->sock, "", 1, maps, FLAT_TABLES + 1, 0);
}

static bool runs(pid_t pid, uint64_t program)
{
	CLEANUP(close_fd) int procfd = proc_open(pid, NULL);
	struct err ignored;
	uint64_t now;

	return procfd >= 0 && proc_program(procfd, &now, &ignored) == 0 && now == program;
}

/* Has a JVM tell when virtual threads wait, if it can have any. */
static void probe_virtual(struct recorded *r, struct followed *p, const struct builder_probes *at)
{
	const unsigned wall = 1u << FLAT_EVENT_WALL;
	struct kernel_counts *c = &r->counts[p->target];
	struct err ignored;

	if (p->tables.objects.virtual.carrier == FLAT_NONE)
		return;
	if (!flat_has_event(&at->at, FLAT_EVENT_WALL))
		c->nameless[FLAT_EVENT_WALL] += !p->probed;
	else if (stack_recorder_follow_virtual(r->recorder, p->tables.walker, &ignored) < 0 ||
		 stack_recorder_probe(r->recorder, (uint32_t)p->pid, at->start, at->end, &at->at,
				      wall, &p->virtual, &ignored) < 0)
		c->refused_virtual += !p->probed;
}

/* Has the functions of a JVM send events, where that is wanted. */
static void probe(struct recorded *r, struct followed *p, const struct builder_probes *at)
{
	struct kernel_counts *c = &r->counts[p->target];
	unsigned events = r->config->events &
			  ~(1u << FLAT_EVENT_CPU | 1u << FLAT_EVENT_PERF | 1u << FLAT_EVENT_WALL);
	struct err ignored;

	if (!at->start)
		return;
	/* What is not listed is in the next snapshot. */
	if (!p->code && at->at.offset[FLAT_PROBE_CODE])
		(void)!stack_recorder_probe(r->recorder, (uint32_t)p->pid, at->start, at->end,
					    &at->at, 1u << FLAT_EVENT_CPU, &p->code, &ignored);
	if (r->config->events & 1u << FLAT_EVENT_WALL && !p->virtual)
		probe_virtual(r, p, at);
	if (p->probes)
		return;
	for (unsigned i = FLAT_EVENT_CPU + 1; i < FLAT_EVENT_PERF; i++) {
		if (!(events & 1u << i) || flat_has_event(&at->at, i))
			continue;
		c->nameless[i] += !p->probed;
		events &= ~(1u << i);
	}
	if (events && stack_recorder_probe(r->recorder, (uint32_t)p->pid, at->start, at->end,
					   &at->at, events, &p->probes, &ignored) < 0)
		c->refused += !p->probed;
	if (events & 1u << FLAT_EVENT_ALLOC && p->tables.objects.flags & FLAT_REFILLS)
		c->refills += !p->probed;
	if (events & 1u << FLAT_EVENT_SAFEPOINT && !p->operations) {
		p->operations = xmalloc(sizeof(*p->operations));
		*p->operations = at->operations;
	}
	p->probed = true;
}

/* A builder speaks for its own container, and for the program that it has looked at. */
static void take_process(struct recorded *r, const struct builder_link *b,
			 const struct builder_word *w)
{
	struct followed *p = recording_find(r, (pid_t)w->pid);
	struct flat_process tables = w->process;
	struct err ignored;

	tables.walker = b->walker;
	if (!p || p->target != b->target || p->changes || !runs(p->pid, w->program) ||
	    stack_recorder_add(r->recorder, w->pid, &tables, &ignored) < 0)
		return;
	p->tables = tables;
	p->known = clock_us() * 1000;
	probe(r, p, &w->probes);
}

void recording_hear_builder(struct recorded *r, struct builder_link *b)
{
	struct builder_word w;
	size_t n;

	if (b->words++ == WORDS_MAX ||
	    message_receive(b->sock, &w, sizeof(w), NULL, 0, &n) != sizeof(w) ||
	    (w.what == BUILDER_ROOM && give_room(r, b, &w.rooms) < 0)) {
		hang_up(b);
		return;
	}
	if (w.what == BUILDER_PROCESS)
		take_process(r, b, &w);
	b->ready |= w.what == BUILDER_READY;
}

void recording_take_builder(struct recorded *r, int sock, size_t target)
{
	r->builders = grow(r->builders, r->builder_count, &r->builder_cap, sizeof(*r->builders));
	r->builders[r->builder_count++] = (struct builder_link){.sock = sock, .target = target};
}

void recording_begin_builders(struct recorded *r)
{
	const size_t most = parallel_cpus() + 1; /* one of them waits for its walker */
	size_t at_work = 0;

	for (size_t i = 0; i < r->builder_count; i++)
		at_work += !r->builders[i].ready && deadline_ms_left(r->builders[i].turn) > 0;
	for (size_t i = 0; i < r->builder_count && at_work < most; i++) {
		struct builder_link *b = &r->builders[i];

		if (b->turn)
			continue;
		b->turn = deadline_after(TURN_HELD_MS);
		if (message_send(b->sock, "", 1, NULL, 0, 0) < 0)
			hang_up(b);
		at_work += !b->ready;
	}
}

/* Lists the builders that are waited for; returns how many they are. */
static size_t list_late(const struct recorded *r, struct pollfd *p)
{
	size_t late = 0;

	for (size_t i = 0; i < r->builder_count; i++) {
		const struct builder_link *b = &r->builders[i];

		p[i] = (struct pollfd){.fd = b->ready ? -1 : b->sock, .events = POLLIN};
		late += !b->ready;
	}
	return late;
}

void recording_wait_builders(struct recorded *r)
{
	CLEANUP(free) struct pollfd *p = xcalloc(r->builder_count + 1, sizeof(*p));
	int left;

	while (list_late(r, p) && (left = deadline_ms_left(r->config->deadline)) > 0) {
		recording_begin_builders(r);
		if (poll(p, r->builder_count, left < TURN_HELD_MS ? left : TURN_HELD_MS) <= 0)
			continue;
		for (size_t i = 0; i < r->builder_count; i++)
			if (p[i].revents)
				recording_hear_builder(r, &r->builders[i]);
	}
}

/* ---- codes and methods -------------------------------------------------------------------- */

/* The number by which the file has a code; it is explained where it is used first. 0: the file has
 * no more numbers. */
static uint32_t number_of(struct recorded *r, const struct walked_sample *s, uint32_t walker,
			  uint32_t code)
{
	const struct walker *w = stack_recorder_walker(r->recorder, walker);
	uint32_t **numbers = &r->numbers[walker];
	struct flat_code c;

	if (code >= walker_codes(w))
		return 0;
	if (!*numbers)
		*numbers = xcalloc(walker_codes(w), sizeof(**numbers));
	if ((*numbers)[code] || r->number_count + 1 == PERFWRITE_NUMBERS)
		return (*numbers)[code];
	c = walker_code(w, code);
	(*numbers)[code] = ++r->number_count;
	perf_writer_code(r->writer, s, r->number_count, c.start, c.compile_id);
	if (c.flags & FLAT_MADE && r->fresh_count < BUILDER_QUESTION_IDS)
		r->fresh[r->fresh_count++] = c.start | MADE_KEEP;
	return r->number_count;
}

bool recording_number(struct recorded *r, const struct walked_sample *s,
		      const struct flat_sample *f, const uint64_t *frames)
{
	r->fresh_count = 0;
	for (uint32_t i = 0; i < f->count; i++) {
		uint64_t value = PERFWRITE_VALUE(frames[i]);
		uint32_t number;

		r->frames[i] = frames[i];
		if (frames[i] >> 60 != FLAT_FRAME_CODE)
			continue;
		number = number_of(r, s, f->walker, (uint32_t)(value >> 32));
		if (!number)
			return false;
		r->frames[i] = FLAT_FRAME(FLAT_FRAME_CODE, FLAT_IN_CODE(number, value));
	}
	return true;
}

static struct builder_link *builder_of(const struct recorded *r, uint32_t walker)
{
	for (size_t i = 0; i < r->builder_count; i++)
		if (r->builders[i].walker == walker)
			return &r->builders[i];
	return NULL;
}

/* Notes that a sample asks for a method; false: one has lately. */
static bool mark_asked(struct followed *p, uint64_t id, uint64_t time)
{
	const unsigned at = flat_hash(id) % RECORDING_ASKED;

	if (p->asked[at].id == id && time < p->asked[at].time + BUILDER_QUESTION_MS * 1000000ull)
		return false;
	p->asked[at].id = id;
	p->asked[at].time = time;
	return true;
}

/* Never waits for the builder, which may be late, or have been taken over. */
void recording_ask(struct recorded *r, struct followed *p, const struct flat_sample *f,
		   const uint64_t *frames)
{
	struct builder_question q = {.time = f->time, .pid = f->tgid};
	const struct builder_link *b;
	const struct walker *w;

	if (f->walker == FLAT_NO_WALKER || p->tables.walker != f->walker)
		return;
	w = stack_recorder_walker(r->recorder, f->walker);
	for (; q.count < r->fresh_count; q.count++)
		q.id[q.count] = r->fresh[q.count];
	for (uint32_t i = 0; i < f->count && q.count < BUILDER_QUESTION_IDS; i++) {
		const uint64_t id = PERFWRITE_VALUE(frames[i]);

		if (frames[i] >> 60 == FLAT_FRAME_INTERPRETED && id &&
		    !walker_has_method(w, &p->tables, id) && mark_asked(p, id, f->time))
			q.id[q.count++] = id;
	}
	b = q.count ? builder_of(r, f->walker) : NULL;
	if (b && b->sock >= 0)
		(void)!message_send(b->sock, &q, sizeof(q), NULL, 0, MSG_DONTWAIT);
}
