// SPDX-License-Identifier: Apache-2.0
#include "record/memory_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/confine.h"
#include "common/fs.h"
#include "common/str.h"
#include "dfg/request.h"
#include "record/hsproc.h"
#include "record/share.h"

#define MEMORY (1ull << 30) /* address space: what was there when it began counts */

/* A child without rights reads, and is asked through a socket: a byte for a snapshot (1: the last
 * one). The JVM may have taken it over: an answer is no more than shown. */
struct hostread {
	const struct jvm *jvm;
	struct child child;
	int socket;
	char missing[HS_MISSING_MAX];
};

struct answer {
	int rc;
	struct err err;
	struct hs_result result;
	uint64_t cpu_us;
	char missing[HS_MISSING_MAX];
};

struct reader {
	const struct jvm *jvm;
	struct hs_proc *proc;
	void *work, *state;
	int socket, to;
	int writable; /* memory of the JVM; -1: its flags stay as they are */
};

/* ---- in the child ---- */

struct sink {
	int fd;
	struct str buf;
	bool failed;
};

static bool sink_flush(struct sink *k)
{
	struct err err;

	k->failed |= k->buf.len > 0 && fs_write_all(k->fd, k->buf.buf, k->buf.len, &err) < 0;
	str_clear(&k->buf);
	return !k->failed;
}

static bool sink_write(void *arg, const char *text, size_t len)
{
	struct sink *k = arg;

	str_add(&k->buf, text, len);
	return k->buf.len < 1 << 16 ? !k->failed : sink_flush(k);
}

static void switch_debug_info(struct reader *r)
{
	const uint8_t on = 1;
	uint64_t addr;
	uint8_t value;

	if (r->writable >= 0 &&
	    hs_find_flag(hs_proc_source(r->proc), r->work, "DebugNonSafepoints", &addr, &value) &&
	    value == 0)
		(void)!pwrite(r->writable, &on, sizeof(on), (off_t)addr);
	cleanup_close_fd(&r->writable);
}

/* Gives up everything that is not needed before it reads the first byte. */
static int begin(struct reader *r, struct err *err)
{
	int keep[] = {r->socket, r->to, r->writable, hs_proc_file(r->proc)};

	confine_files(keep, ARRAY_LEN(keep));
	if (confine_reader_of(r->jvm->pid, MEMORY, err) < 0 || hs_proc_find(r->proc, err) < 0)
		return -1;
	switch_debug_info(r);
	return 0;
}

static void dump(struct reader *r, bool last, struct answer *ret)
{
	struct sink sink = {.fd = r->to};
	struct hs_sink out = {.write = sink_write, .arg = &sink};
	uint64_t cpu = clock_cpu_us();

	hs_dump_delta(hs_proc_source(r->proc), &out, r->work, r->state, last, &ret->result);
	sink_flush(&sink);
	str_fini(&sink.buf);
	if (sink.failed)
		ret->rc = err_set(&ret->err, ENOSPC, "write the snapshot");
	else if (ret->result.status != DFG_DUMP_OK && (last || ret->result.bytes == 0))
		(void)hs_missing(hs_proc_source(r->proc), r->work, ret->missing);
	ret->cpu_us = clock_cpu_us() - cpu;
}

static int serve(void *arg)
{
	struct reader *r = arg;
	struct answer a = {0};
	bool last, whole = true;

	r->work = mmap(NULL, HS_WORK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	r->state = xcalloc(1, HS_STATE_BYTES);
	a.rc = r->work == MAP_FAILED ? err_set(&a.err, errno, "memory to read by")
				     : begin(r, &a.err);
	while (write(r->socket, &a, sizeof(a)) == sizeof(a) && a.rc == 0 &&
	       read(r->socket, &last, sizeof(last)) == sizeof(last)) {
		a = (struct answer){0};
		dump(r, last, &a);
		/* The first has touched much more of it than deltas will. */
		if (whole)
			(void)madvise(r->work, HS_WORK_BYTES, MADV_DONTNEED);
		whole = false;
	}
	return 0;
}

/* ---- outside ---- */

static int receive(struct hostread *h, struct answer *ret, struct err *err)
{
	ssize_t n;

	do
		n = recv(h->socket, ret, sizeof(*ret), 0);
	while (n < 0 && errno == EINTR);
	if (n != sizeof(*ret))
		return err_set(err, 0, "the reader crashed");
	ret->err.msg[sizeof(ret->err.msg) - 1] = '\0';
	ret->missing[sizeof(ret->missing) - 1] = '\0';
	if (ret->rc < 0)
		*err = ret->err;
	return ret->rc < 0 ? -1 : 0;
}

static int start(struct hostread *h, struct reader *r, bool debug_info, struct err *err)
{
	int pair[2], rc;
	struct answer ready;

	if (hs_proc_open(h->jvm->procfd, &r->proc, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, errno, "socket pair");
	h->socket = pair[0];
	r->socket = pair[1];
	if (debug_info)
		r->writable = openat(h->jvm->procfd, "mem", O_WRONLY | O_CLOEXEC);
	rc = child_fork(serve, r, &h->child, err);
	close(r->socket);
	return rc < 0 ? -1 : receive(h, &ready, err);
}

int hostread_open(const struct jvm *j, bool debug_info, int to, struct hostread **ret,
		  struct err *err)
{
	struct hostread *h = xcalloc(1, sizeof(*h));
	struct reader r = {.jvm = j, .to = to, .writable = -1};
	int rc;

	h->jvm = j;
	h->socket = -1;
	rc = start(h, &r, debug_info, err);
	hs_proc_close(r.proc);
	cleanup_close_fd(&r.writable);
	if (rc < 0) {
		hostread_close(h);
		return err_wrap(err, "read process %d", (int)j->pid);
	}
	*ret = h;
	return 0;
}

void hostread_close(struct hostread *h)
{
	if (!h)
		return;
	cleanup_close_fd(&h->socket);
	if (h->child.pid > 0)
		child_stop(&h->child);
	free(h);
}

const char *hostread_missing(const struct hostread *h)
{
	return h->missing;
}

int hostread_dump(struct hostread *h, bool last, struct hs_result *ret, uint64_t *ret_cpu_us,
		  struct err *err)
{
	struct answer a;

	if (send(h->socket, &last, sizeof(last), MSG_NOSIGNAL) < 0)
		return err_set(err, 0, "the reader crashed");
	if (receive(h, &a, err) < 0)
		return -1;
	memcpy(h->missing, a.missing, sizeof(h->missing));
	*ret = a.result;
	*ret_cpu_us = a.cpu_us;
	/* Reads go by the pid: whose memory it was is known now. */
	if (faccessat(h->jvm->procfd, "stat", F_OK, 0) < 0)
		return err_set(err, ESRCH, "the JVM ended meanwhile");
	if (ret->bytes == 0 && h->missing[0])
		return err_set(err, 0, "HotSpot's tables of this JVM lack %s", h->missing);
	if (ret->bytes == 0)
		return err_set(err, 0, "%s", answer_status_text((uint32_t)ret->status));
	return 0;
}
