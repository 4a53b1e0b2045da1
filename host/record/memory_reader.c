// SPDX-License-Identifier: Apache-2.0
#include "record/memory_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "bpf/made.h"
#include "common/child.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/proc.h"
#include "common/str.h"
#include "common/turns.h"
#include "dfg/request.h"
#include "record/agent_share.h"

#define WATCH_MS 20
#define REPLY_MS 10000 /* a Tomcat of 140 threads at a load of 40 on two processors: 2 s */

/* Commands to the child, through a socket. A hostile JVM may have taken it over: its
 * replies are only displayed. */
enum reader_command {
	READER_DELTA,
	READER_NAMED, /* the same, with methods of older classes */
	READER_WATCH,
};

struct reader_order {
	enum reader_command command;
	bool turn;     /* this reader has one */
	uint64_t room; /* bytes of the snapshot at most */
};

struct memory_reader {
	const struct jvm *jvm;
	struct child child;
	int socket, turns;
	bool dumped; /* the last snapshot did not fail: the next one is a delta */
	bool switched;
	char missing[HS_MISSING_MAX];
};

struct reader_reply {
	int rc;
	bool noticed; /* by the watch; the rest is empty */
	bool switched;
	struct err err;
	struct hs_result result;
	uint64_t cpu_us;
	char missing[HS_MISSING_MAX];
};

struct reader_job {
	const struct jvm *jvm;
	struct jvm_memory *memory;
	void *work, *state;
	void *between; /* work memory of answers while there is another one at work; NULL: not yet
			*/
	int socket, to, asks;
	int writable; /* memory of the JVM; -1: its flags stay as they are */
	bool spare, switched;
	struct hs_watch watch;
	uint64_t watched; /* what hs_watch_read found last; 0: nothing can be watched */
};

/* ---- in the child ---- */

struct file_sink {
	int fd; /* -1: all stays in the buffer */
	struct str buf;
	uint64_t room;
	bool failed, over; /* over: there was no room */
};

static bool sink_flush(struct file_sink *k)
{
	struct err err;

	k->failed |= k->buf.len > 0 && fs_write_all(k->fd, k->buf.buf, k->buf.len, &err) < 0;
	str_clear(&k->buf);
	return !k->failed;
}

static bool sink_write(void *arg, const char *text, size_t len)
{
	struct file_sink *k = arg;

	k->over |= len > k->room;
	if (k->over)
		return false;
	k->room -= len;
	str_add(&k->buf, text, len);
	return k->fd < 0 || k->buf.len < 1 << 16 ? !k->failed : sink_flush(k);
}

static void switch_debug_info(struct reader_job *r)
{
	const uint8_t on = 1;
	uint64_t addr;
	uint8_t value;

	if (r->writable >= 0 &&
	    hs_find_flag(jvm_memory_source(r->memory), r->work, "DebugNonSafepoints", &addr,
			 &value) &&
	    value == 0)
		r->switched = pwrite(r->writable, &on, sizeof(on), (off_t)addr) == sizeof(on);
	cleanup_close_fd(&r->writable);
}

static void *work_new(void)
{
	void *p = mmap(NULL, HS_WORK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	return p == MAP_FAILED ? NULL : p;
}

/* Gives back the work memory that has been touched: who only watches needs none of it, and deltas
 * need much less than the first snapshot. */
static void release_work(void *work)
{
	(void)madvise(work, HS_WORK_BYTES, MADV_DONTNEED);
	(void)madvise(work, HS_WORK_BYTES, MADV_NOHUGEPAGE);
}

/* Gives up everything that is not needed before it reads the first byte. */
static int begin(struct reader_job *r, struct err *err)
{
	const int keep[] = {r->socket, r->to, r->writable, r->asks};

	if (jvm_memory_confine(r->memory, keep, ARRAY_LEN(keep), err) < 0 ||
	    jvm_memory_find_tables(r->memory, err) < 0)
		return -1;
	switch_debug_info(r);
	if (hs_watch_find(jvm_memory_source(r->memory), r->work, &r->watch))
		r->watched = hs_watch_read(jvm_memory_source(r->memory), &r->watch);
	release_work(r->work);
	return 0;
}

static void dump(struct reader_job *r, const struct reader_order *order, struct reader_reply *ret)
{
	bool named = order->command == READER_NAMED;
	struct file_sink sink = {.fd = r->to, .room = order->room};
	struct hs_sink out = {.write = sink_write, .arg = &sink};
	uint64_t cpu = clock_cpu_us();

	hs_dump_delta(jvm_memory_source(r->memory), &out, r->work, r->state, named, &ret->result);
	sink_flush(&sink);
	str_fini(&sink.buf);
	if (sink.failed)
		ret->rc = err_set(&ret->err, ENOSPC, "write the snapshot");
	else if (sink.over)
		ret->rc = err_set(&ret->err, EFBIG, "write the snapshot");
	else if (ret->result.status != DFG_DUMP_OK && (named || ret->result.bytes == 0))
		(void)hs_missing(jvm_memory_source(r->memory), r->work, ret->missing);
	ret->cpu_us = clock_cpu_us() - cpu;
}

static bool reply(const struct reader_job *r, const struct reader_reply *a)
{
	return write(r->socket, a, sizeof(*a)) == sizeof(*a) && a->rc == 0;
}

/* A question, by what is done with its words. */
struct asked {
	uint64_t at[MADE_ASKED]; /* what is to be answered */
	size_t count;
	uint64_t kept[MADE_ASKED]; /* codes that are kept for the next snapshot */
	size_t kept_count;
};

/* Sorts the words of a question, and keeps its times for the next snapshot. */
static void sort_asked(struct reader_job *r, const uint64_t *words, size_t n, struct asked *ret)
{
	ret->count = ret->kept_count = 0;
	for (size_t i = 0; i < n; i++)
		if (words[i] & FLAT_UNLOADS)
			hs_unloaded(r->state, words[i] & ~FLAT_UNLOADS);
		else if (words[i] & MADE_KEEP)
			ret->kept[ret->kept_count++] = words[i] & ~MADE_KEEP;
		else
			ret->at[ret->count++] = words[i];
}

/* Answers a question for codes; then, as who asks waits, keeps codes for the next snapshot. False:
 * nobody asks any more. */
static bool answer_codes(struct reader_job *r, void *work)
{
	const uint64_t cpu = clock_cpu_us();
	uint64_t words[MADE_ASKED];
	const ssize_t n = read(r->asks, words, sizeof(words));
	struct made_answer head = {0};
	struct file_sink sink = {.fd = -1, .room = MADE_ANSWER};
	struct hs_sink out = {.write = sink_write, .arg = &sink};
	struct hs_result result;
	struct asked asked;

	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	sort_asked(r, words, (size_t)n / sizeof(*words), &asked);
	str_add(&sink.buf, (const char *)&head, sizeof(head));
	hs_dump_codes(jvm_memory_source(r->memory), &out, work, r->state, false, asked.at,
		      asked.count, &result);
	head.cpu_us = clock_cpu_us() - cpu;
	memcpy(sink.buf.buf, &head, sizeof(head));
	(void)!write(r->asks, sink.buf.buf,
		     result.status == DFG_DUMP_OK && !sink.failed ? sink.buf.len : sizeof(head));
	str_fini(&sink.buf);
	if (asked.kept_count)
		hs_keep_codes(jvm_memory_source(r->memory), work, r->state, asked.kept,
			      asked.kept_count);
	if (r->spare)
		release_work(work);
	return true;
}

/* Answers while a snapshot is taken: one of very much code takes 60 ms. */
static void answer_between(void *arg)
{
	struct reader_job *r = arg;
	struct pollfd p = {.fd = r->asks, .events = POLLIN};

	if (poll(&p, 1, 0) <= 0)
		return;
	if (!r->between)
		r->between = work_new();
	if (r->between && !answer_codes(r, r->between))
		cleanup_close_fd(&r->asks);
}

static bool reply_dump(struct reader_job *r, const struct reader_order *order)
{
	struct reader_reply a = {0};

	jvm_memory_let_in(r->memory, answer_between, r);
	/* Faults of some thousand new pages would take a third of the snapshot's time. */
	if (order->turn)
		(void)madvise(r->work, HS_WORK_BYTES, MADV_HUGEPAGE);
	dump(r, order, &a);
	jvm_memory_let_in(r->memory, NULL, NULL);
	if (order->turn || r->spare)
		release_work(r->work);
	return reply(r, &a);
}

/* Waits for so many ms, -1: without an end, for a command, and answers who asks meanwhile. Returns
 * whether one is there; false also after an answer. */
static bool wait_for_order(struct reader_job *r, int ms)
{
	struct pollfd p[] = {{.fd = r->socket, .events = POLLIN},
			     {.fd = r->asks, .events = POLLIN}};

	if (poll(p, ARRAY_LEN(p), ms) <= 0)
		return false;
	if (p[1].revents && !p[0].revents && !answer_codes(r, r->work))
		cleanup_close_fd(&r->asks);
	return p[0].revents;
}

/* Looks until something has changed, or the next command is there. */
static bool reply_watch(struct reader_job *r)
{
	const struct reader_reply noticed = {.noticed = true};
	uint64_t before = r->watched;

	while (r->watched == before && !wait_for_order(r, before ? WATCH_MS : -1))
		r->watched = hs_watch_read(jvm_memory_source(r->memory), &r->watch);
	return !r->watched || r->watched == before || reply(r, &noticed);
}

static bool next_order(struct reader_job *r, struct reader_order *ret)
{
	while (!wait_for_order(r, -1))
		;
	return read(r->socket, ret, sizeof(*ret)) == sizeof(*ret);
}

static int serve(void *arg)
{
	struct reader_job *r = arg;
	struct reader_reply a = {0};
	struct reader_order order;
	bool more;

	r->work = work_new();
	r->state = xcalloc(1, HS_STATE_BYTES);
	a.rc = r->work ? begin(r, &a.err) : err_set(&a.err, errno, "memory to read by");
	a.switched = r->switched;
	more = reply(r, &a);
	while (more && next_order(r, &order))
		more = order.command == READER_WATCH ? reply_watch(r) : reply_dump(r, &order);
	return 0;
}

/* ---- in the parent ---- */

/* Waits: the child reads memory whose pages a file system of the container may have to supply. Time
 * in which it waits for a processor does not count: on a loaded host that may be most of it. */
static int receive(struct memory_reader *h, struct reader_reply *ret, struct err *err)
{
	struct pollfd fd = {.fd = h->socket, .events = POLLIN};
	uint64_t deadline = deadline_after(REPLY_MS), waited = proc_waited_ms(h->child.pid);

	do {
		if (!deadline_ms_left(deadline)) {
			const uint64_t now = proc_waited_ms(h->child.pid);

			if (now <= waited)
				return err_set(err, ETIMEDOUT, "stopped after %d ms", REPLY_MS);
			deadline += now - waited;
			waited = now;
		}
		ret->noticed = true;
		if (poll(&fd, 1, deadline_ms_left(deadline)) > 0 &&
		    recv(h->socket, ret, sizeof(*ret), MSG_DONTWAIT) != sizeof(*ret))
			return err_set(err, 0, "the reader crashed");
		bool_clean(&ret->noticed);
	} while (ret->noticed); /* nothing yet, or by a watch that this command has ended */
	str_clean(ret->err.msg, sizeof(ret->err.msg));
	str_clean(ret->missing, sizeof(ret->missing));
	if (ret->rc < 0)
		*err = ret->err;
	return ret->rc < 0 ? -1 : 0;
}

static int start(struct memory_reader *h, struct reader_job *r, bool debug_info, struct err *err)
{
	int pair[2], rc;
	struct reader_reply ready;

	if (jvm_memory_open(h->jvm->procfd, &r->memory, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, errno, "socket pair");
	h->socket = pair[0];
	r->socket = pair[1];
	if (debug_info)
		r->writable = openat(h->jvm->procfd, "mem", O_WRONLY | O_CLOEXEC);
	rc = child_fork(serve, r, &h->child, err);
	close(r->socket);
	if (rc < 0 || receive(h, &ready, err) < 0)
		return -1;
	bool_clean(&ready.switched);
	h->switched = ready.switched;
	return 0;
}

bool memory_reader_switched(const struct memory_reader *h)
{
	return h->switched;
}

int memory_reader_open(const struct jvm *j, const struct memory_reader_options *o,
		       struct memory_reader **ret, struct err *err)
{
	struct memory_reader *h = xcalloc(1, sizeof(*h));
	struct reader_job r = {
		.jvm = j, .to = o->to, .asks = o->asks, .spare = o->spare, .writable = -1};
	int rc;

	h->jvm = j;
	h->socket = -1;
	h->turns = o->turns;
	rc = start(h, &r, o->debug_info, err);
	jvm_memory_close(r.memory);
	cleanup_close_fd(&r.writable);
	if (rc < 0) {
		memory_reader_close(h);
		return err_wrap(err, "read process %d", (int)j->pid);
	}
	*ret = h;
	return 0;
}

void memory_reader_close(struct memory_reader *h)
{
	if (!h)
		return;
	cleanup_close_fd(&h->socket);
	if (h->child.pid > 0)
		child_stop(&h->child);
	free(h);
}

const char *memory_reader_missing(const struct memory_reader *h)
{
	return h->missing;
}

static bool give_order(const struct memory_reader *h, const struct reader_order *o)
{
	return send(h->socket, o, sizeof(*o), MSG_NOSIGNAL) >= 0;
}

void memory_reader_watch(struct memory_reader *h)
{
	(void)give_order(h, &(struct reader_order){.command = READER_WATCH});
}

int memory_reader_fd(const struct memory_reader *h)
{
	return h->socket;
}

bool memory_reader_noticed(struct memory_reader *h)
{
	struct reader_reply a = {0};
	bool whole = recv(h->socket, &a, sizeof(a), MSG_DONTWAIT) == sizeof(a);

	bool_clean(&a.noticed);
	return whole && a.noticed;
}

/* Has the child take a snapshot, in a turn where it has much to do. */
static int exchange(struct memory_reader *h, bool named, uint64_t room, struct reader_reply *ret,
		    struct err *err)
{
	struct reader_order o = {.command = named ? READER_NAMED : READER_DELTA, .room = room};
	struct pollfd answer = {.fd = h->socket, .events = POLLIN};
	int rc = 0;

	o.turn = (named || !h->dumped) && turn_take(h->turns, named ? TURN_MS : TURN_FIRST_MS);
	if (!give_order(h, &o))
		rc = err_set(err, 0, "the reader crashed");
	if (o.turn) {
		(void)poll(&answer, 1, TURN_HELD_MS);
		turn_give_back(h->turns);
	}
	return rc < 0 ? rc : receive(h, ret, err);
}

int memory_reader_dump(struct memory_reader *h, bool named, uint64_t room, struct hs_result *ret,
		       uint64_t *ret_cpu_us, struct err *err)
{
	struct reader_reply a;
	const int rc = exchange(h, named, room, &a, err);

	h->dumped = rc == 0;
	if (rc < 0)
		return -1;
	memcpy(h->missing, a.missing, sizeof(h->missing));
	*ret = a.result;
	*ret_cpu_us = a.cpu_us;
	/* Reads go by pid: this shows that they were of this process. */
	if (faccessat(h->jvm->procfd, "stat", F_OK, 0) < 0)
		return err_set(err, ESRCH, "the JVM ended meanwhile");
	if (ret->bytes == 0 && h->missing[0])
		return err_set(err, 0, "HotSpot's tables of this JVM lack %s", h->missing);
	if (ret->bytes == 0)
		return err_set(err, 0, "%s", dump_status_text((uint32_t)ret->status));
	return 0;
}
