// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/stat.h>

#include "bpf/builder_parts.h"
#include "common/clock.h"
#include "common/message.h"
#include "common/str.h"

#define LOOK_MS	   25	 /* between two looks at the snapshots' sizes */
#define SHARE	   12	 /* pause per cost of an update: 8 % of a processor */
#define MADE_SHARE 5	 /* pause per processor time spent on new code, here and in the reader */
#define MADE_AHEAD 10000 /* us of such pauses that may be owed before new code has to wait */
#define MADE_MS	   2	 /* between two looks at what is owed */
#define MADE_ROUND 1024	 /* codes taken at once: a hostile JVM may add them as fast */

/* ---- snapshots ---------------------------------------------------------------------------- */

/* Reads the snapshots that have come since the last call. NULL: none, or they cannot be read. After
 * a failed snapshot, which is taken away again, the next one has all code. */
struct snapfile *builder_read(struct built *p)
{
	CLEANUP(snapfile_free) struct snapfile *sf = NULL;
	struct err ignored;
	struct stat st;

	if (p->snapshots < 0 || fstat(p->snapshots, &st) < 0 || (uint64_t)st.st_size == p->read)
		return NULL;
	if ((uint64_t)st.st_size < p->read)
		p->read = 0;
	sf = snapfile_new();
	if (snapfile_read_ended(sf, p->snapshots, &p->read, &ignored) < 0)
		return NULL;
	snapfile_finish(sf);
	p->time = snapfile_head(sf)->time;
	return TAKE_PTR(sf);
}

/* Takes over the snapshots that have come, and asks again for code that was asked for while the
 * last one was taken. */
static void update_process(struct builder *b, struct built *p)
{
	CLEANUP(snapfile_free) struct snapfile *sf = p->is_jvm ? builder_read(p) : NULL;
	struct err ignored;

	if (sf)
		(void)!flat_update_process(b->tables, sf, false, &p->flat, &ignored);
	if (sf)
		made_reader_want_since(&p->reader, p->time);
}

/* Follows the code of the JVMs. */
static void update(struct builder *b)
{
	for (size_t i = 0; i < b->count; i++)
		update_process(b, &b->processes[i]);
}

/* ---- code that has just been made --------------------------------------------------------- */

static struct built *find_process(struct builder *b, uint32_t pid)
{
	for (size_t i = 0; i < b->count; i++)
		if ((uint32_t)b->processes[i].pid == pid)
			return &b->processes[i];
	return NULL;
}

static bool may_ask(const struct builder *b)
{
	return b->spent < clock_us() + MADE_AHEAD;
}

static void spend(struct builder *b, uint64_t us)
{
	const uint64_t now = clock_us();

	b->spent = (b->spent < now ? now : b->spent) + us * MADE_SHARE;
}

/* Asks what the code is that the JVMs have made. */
static void ask(struct builder *b)
{
	const uint64_t began = clock_cpu_us();
	struct flat_made code;

	for (unsigned i = 0; i < MADE_ROUND && made_list_next(&b->made, &code); i++) {
		struct built *p = find_process(b, code.tgid);

		if (p)
			made_reader_want(&p->reader, code.start);
	}
	for (size_t i = 0; i < b->count; i++)
		made_reader_ask(&b->processes[i].reader);
	spend(b, clock_cpu_us() - began);
}

/* Adds a question of the recording to the next one to the reader. Methods are dropped if that may
 * not be asked now: by then their memory may hold other methods. False: nobody has the tables any
 * more. */
static bool take_question(struct builder *b, bool may)
{
	struct builder_question q;
	size_t n;
	const ssize_t got = message_receive(b->sock, &q, sizeof(q), NULL, 0, &n);
	struct built *p = got == sizeof(q) ? find_process(b, q.pid) : NULL;
	const bool now = may && p && clock_us() < q.time / 1000 + BUILDER_QUESTION_MS * 1000;

	for (uint32_t i = 0; p && i < q.count && i < BUILDER_QUESTION_IDS; i++)
		if (now || q.id[i] & MADE_KEEP)
			made_reader_want(&p->reader, q.id[i]);
	return got > 0;
}

/* Takes over code that a reader has answered, unless a snapshot that it has taken since has more.
 */
static void take_answer(struct builder *b, struct built *p)
{
	static _Alignas(8) uint8_t buf[sizeof(struct made_answer) + MADE_ANSWER];
	const uint64_t began = clock_cpu_us();
	const size_t n = made_reader_answer(&p->reader, buf);
	CLEANUP(snapfile_free) struct snapfile *sf = NULL;
	const struct made_answer *head = (const void *)buf;
	struct err ignored;

	if (!n)
		return;
	update_process(b, p);
	sf = snapfile_new();
	if (p->is_jvm && n > sizeof(*head) &&
	    snapfile_add(sf, head + 1, n - sizeof(*head), &ignored) == 0 &&
	    !snapfile_is_whole(sf) && snapfile_head(sf)->time >= p->time) {
		snapfile_finish(sf);
		(void)!flat_update_process(b->tables, sf, true, &p->flat, &ignored);
	}
	spend(b, clock_cpu_us() - began + (head->cpu_us < UINT32_MAX ? head->cpu_us : UINT32_MAX));
}

/* ---- the series --------------------------------------------------------------------------- */

/* Waits until a time, and follows meanwhile what code is made. False: nobody has the tables any
 * more. */
static bool wait_until(struct builder *b, uint64_t time)
{
	const bool may = may_ask(b);
	const int left = deadline_ms_left(time);
	struct pollfd p[BUILDER_PROCESSES_MAX + 2];

	for (size_t i = 0; i < b->count; i++) {
		const struct made_reader *r = &b->processes[i].reader;

		/* One that answers without a question may have been taken over. */
		p[i] = (struct pollfd){.fd = r->waiting ? r->sock : -1, .events = POLLIN};
	}
	p[b->count] = (struct pollfd){.fd = may ? b->made.fd : -1, .events = POLLIN};
	p[b->count + 1] = (struct pollfd){.fd = b->sock, .events = POLLIN};
	if (poll(p, b->count + 2, may || left < MADE_MS ? left : MADE_MS) <= 0)
		return true;
	for (size_t i = 0; i < b->count; i++)
		if (p[i].revents)
			take_answer(b, &b->processes[i]);
	if (p[b->count + 1].revents && !take_question(b, may))
		return false;
	if (may)
		ask(b);
	return true;
}

/* Pauses after each update, so that it takes its share of a processor at most. */
static uint64_t follow_snapshots(struct builder *b)
{
	const uint64_t began = clock_cpu_us();
	uint64_t pause;

	update(b);
	pause = (clock_cpu_us() - began) * SHARE / 1000;
	return clock_ms() + (pause < LOOK_MS	       ? LOOK_MS
			     : pause < BUILDER_OPEN_MS ? pause
						       : BUILDER_OPEN_MS);
}

void builder_follow(struct builder *b)
{
	uint64_t snapshots = clock_ms() + LOOK_MS;

	while (b->tables->shared || builder_share(b) == 0) {
		if (clock_ms() >= snapshots)
			snapshots = follow_snapshots(b);
		if (b->tables->shared && !wait_until(b, snapshots))
			return;
	}
}
