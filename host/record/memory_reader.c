// SPDX-License-Identifier: Apache-2.0
#include "record/memory_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/jail.h"
#include "common/proc.h"
#include "common/str.h"
#include "common/turns.h"
#include "dfg/request.h"
#include "record/agent_share.h"

#define GATHER_MAX 1024		/* UIO_MAXIOV */
#define MEMORY	   (1ull << 30) /* address space, beyond what the child begins with */
#define CPU_MAX	   3600 /* seconds: a recording of a day, of which reading may take a 25th */
#define WATCH_MS   20
#define REPLY_MS   10000 /* a Tomcat of 140 threads at a load of 40 on two processors: 2 s */

/* ---- the memory of a process ---- */

struct jvm_memory {
	int fd, maps;
	pid_t pid;	 /* 0: reads go through mem only */
	uint64_t *bases; /* where a libjvm.so is mapped from its beginning */
	size_t base_count, base_cap;
	struct hs_elf elf;
	struct hs_source source;
};

static int64_t mem_read(void *arg, uint64_t addr, void *buf, size_t len)
{
	struct jvm_memory *m = arg;
	struct iovec to = {buf, len}, from = {(void *)(uintptr_t)addr, len};
	ssize_t n;

	if (addr > INT64_MAX)
		return -1;
	/* Takes half the time of the file, which copies twice and looks up each page by itself. */
	n = m->pid ? process_vm_readv(m->pid, &to, 1, &from, 1, 0) : 0;
	if (n == (ssize_t)len)
		return n;
	if (n < 0 && (errno == EPERM || errno == ENOSYS))
		m->pid = 0;
	return pread(m->fd, buf, len, (off_t)addr);
}

static size_t mem_gather(void *arg, const uint64_t *addr, size_t n, void *buf, size_t len)
{
	struct iovec from[GATHER_MAX], to;
	struct jvm_memory *m = arg;
	ssize_t got;

	n = m->pid == 0 ? 0 : n < GATHER_MAX ? n : GATHER_MAX;
	for (size_t i = 0; i < n; i++)
		from[i] = (struct iovec){(void *)(uintptr_t)addr[i], len};
	to = (struct iovec){buf, n * len};
	got = n ? process_vm_readv(m->pid, &to, 1, from, n, 0) : 0;
	return got > 0 ? (size_t)got / len : 0;
}

static int add_base(const struct proc_map *map, void *arg)
{
	struct jvm_memory *m = arg;

	if (map->offset != 0 || !jvm_is_library(map->path))
		return 0;
	m->bases = grow(m->bases, m->base_count, &m->base_cap, sizeof(*m->bases));
	m->bases[m->base_count++] = map->start;
	return 0;
}

/* The process's pid in our pid namespace, or 0. */
static pid_t pid_of(int procfd)
{
	CLEANUP(close_fd) int fd = openat(procfd, "stat", O_RDONLY | O_CLOEXEC);
	char text[32] = "";
	int pid;

	return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && sscanf(text, "%d ", &pid) == 1
		       ? pid
		       : 0;
}

int jvm_memory_open(int procfd, struct jvm_memory **ret, struct err *err)
{
	CLEANUP(jvm_memory_close) struct jvm_memory *m = xcalloc(1, sizeof(*m));

	m->maps = -1;
	m->pid = pid_of(procfd);
	m->fd = openat(procfd, "mem", O_RDONLY | O_CLOEXEC);
	if (m->fd < 0)
		return err_set(err, errno, "open the memory of the process");
	m->maps = openat(procfd, "maps", O_RDONLY | O_CLOEXEC);
	if (m->maps < 0)
		return err_set(err, errno, "open the memory map of the process");
	m->source = (struct hs_source){.read = mem_read,
				       .gather = mem_gather,
				       .arg = m,
				       .symbol = hs_elf_symbol,
				       .symbol_arg = &m->elf};
	*ret = TAKE_PTR(m);
	return 0;
}

int jvm_memory_confine(const struct jvm_memory *m, const int *keep, size_t n, struct err *err)
{
	CLEANUP(free) int *all = xcalloc(n + 2, sizeof(*all));
	const struct jail jail = {.role = JAIL_MEMORY,
				  .of = m->pid,
				  .memory = MEMORY,
				  .file_bytes = MEMORY_READER_BYTES,
				  .cpu_seconds = CPU_MAX,
				  .keep = all,
				  .keep_count = n + 2};

	all[0] = m->fd;
	all[1] = m->maps;
	for (size_t i = 0; i < n; i++)
		all[2 + i] = keep[i];
	return jail_enter(&jail, err);
}

/* A process may map several libjvm.so, to read them; the one in use has the tables. */
int jvm_memory_find_tables(struct jvm_memory *m, struct err *err)
{
	if (proc_each_map_in(m->maps, add_base, m, err) < 0)
		return -1;
	cleanup_close_fd(&m->maps);
	for (size_t i = 0; i < m->base_count; i++)
		if (hs_elf_open_jvm(&m->elf, &m->source, m->bases[i]))
			return 0;
	return err_set(err, 0, "no libjvm.so with HotSpot's tables is mapped");
}

const struct hs_source *jvm_memory_source(const struct jvm_memory *m)
{
	return &m->source;
}

void jvm_memory_close(struct jvm_memory *m)
{
	if (!m)
		return;
	cleanup_close_fd(&m->fd);
	cleanup_close_fd(&m->maps);
	free(m->bases);
	free(m);
}

/* ---- snapshots by a confined child ---- */

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
	int socket, to;
	int writable; /* memory of the JVM; -1: its flags stay as they are */
	bool spare, switched;
	struct hs_watch watch;
	uint64_t watched; /* what hs_watch_read found last; 0: nothing can be watched */
};

/* ---- in the child ---- */

struct file_sink {
	int fd;
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
	return k->buf.len < 1 << 16 ? !k->failed : sink_flush(k);
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

/* Gives back the work memory that has been touched: who only watches needs none of it, and deltas
 * need much less than the first snapshot. */
static void release_work(const struct reader_job *r)
{
	(void)madvise(r->work, HS_WORK_BYTES, MADV_DONTNEED);
	(void)madvise(r->work, HS_WORK_BYTES, MADV_NOHUGEPAGE);
}

/* Gives up everything that is not needed before it reads the first byte. */
static int begin(struct reader_job *r, struct err *err)
{
	const int keep[] = {r->socket, r->to, r->writable};

	if (jvm_memory_confine(r->memory, keep, ARRAY_LEN(keep), err) < 0 ||
	    jvm_memory_find_tables(r->memory, err) < 0)
		return -1;
	switch_debug_info(r);
	if (hs_watch_find(jvm_memory_source(r->memory), r->work, &r->watch))
		r->watched = hs_watch_read(jvm_memory_source(r->memory), &r->watch);
	release_work(r);
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

static bool reply_dump(struct reader_job *r, const struct reader_order *order)
{
	struct reader_reply a = {0};

	/* Faults of some thousand new pages would take a third of the snapshot's time. */
	if (order->turn)
		(void)madvise(r->work, HS_WORK_BYTES, MADV_HUGEPAGE);
	dump(r, order, &a);
	if (order->turn || r->spare)
		release_work(r);
	return reply(r, &a);
}

/* Looks until something has changed, or the next command is there. */
static bool reply_watch(struct reader_job *r)
{
	const struct reader_reply noticed = {.noticed = true};
	struct pollfd fd = {.fd = r->socket, .events = POLLIN};
	uint64_t before = r->watched;

	while (r->watched == before && poll(&fd, 1, before ? WATCH_MS : -1) == 0)
		r->watched = hs_watch_read(jvm_memory_source(r->memory), &r->watch);
	return !r->watched || r->watched == before || reply(r, &noticed);
}

static int serve(void *arg)
{
	struct reader_job *r = arg;
	struct reader_reply a = {0};
	struct reader_order order;
	bool more;

	r->work = mmap(NULL, HS_WORK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	r->state = xcalloc(1, HS_STATE_BYTES);
	a.rc = r->work == MAP_FAILED ? err_set(&a.err, errno, "memory to read by")
				     : begin(r, &a.err);
	a.switched = r->switched;
	more = reply(r, &a);
	while (more && read(r->socket, &order, sizeof(order)) == sizeof(order))
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
	struct reader_job r = {.jvm = j, .to = o->to, .spare = o->spare, .writable = -1};
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
