// SPDX-License-Identifier: Apache-2.0
#include "record/agent_share.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/random.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/proc.h"
#include "common/str.h"
#include "dfg/paths.h"
#include "dfg/snapshot.h"

/* Holds a snapshot of about 30 000 methods; the agent extends the file for more. Allocated by the
 * host, so that the pages are charged to this process and not to a container that may be close to
 * its memory limit. */
#define DUMP_BYTES  (16u << 20)
#define DELTA_BYTES (1u << 20)

#define SWEEP_MS 2000 /* of one that was killed, until it has ended */

/* An agent closes the file once. Others who may open it wake the host, too, which reads all of it.
 */
#define WAKES_MAX 8

static int open_below(int dirfd, const char *name, struct err *err)
{
	return fs_openat2(dirfd, name, O_RDONLY | O_DIRECTORY, 0,
			  RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, err);
}

static int wait_for_lock(int lockfd, unsigned wait_ms, struct err *err)
{
	uint64_t deadline = clock_ms() + wait_ms;

	while (flock(lockfd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_set(err, errno, "lock the container's share");
		if (clock_ms() >= deadline)
			return err_set(
				err, 0,
				"another dfg has been using this container's share for %u ms",
				wait_ms);
		sleep_ms(5);
	}
	return 0;
}

/* The lock file holds the last sequence number, so that numbers rise for as long as an agent may
 * remember one. */
static uint32_t read_seq(int lockfd)
{
	char text[16] = "";
	uint64_t n;

	if (pread(lockfd, text, sizeof(text) - 1, 0) <= 0 || !parse_u64(text, &n) || n > UINT32_MAX)
		return 0;
	return (uint32_t)n;
}

/* Removes the files of a killed exchange. The lock is held: no other one runs. */
static void sweep(int dirfd, const char *prefix, const char *suffix)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	if (!dir)
		return;
	while ((e = readdir(dir)))
		if (has_prefix(e->d_name, prefix) && has_suffix(e->d_name, suffix))
			unlinkat(dirfd, e->d_name, 0);
	closedir(dir);
}

int agent_share_open(const char *root, const char *id, unsigned wait_ms, struct agent_share *ret,
		     struct err *err)
{
	CLEANUP(free) char *path = xasprintf("%s/" DFG_CONTAINERS, root);
	CLEANUP(close_fd) int all = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(close_fd) int dir = -1;
	CLEANUP(close_fd) int out = -1;
	CLEANUP(close_fd) int ctl = -1;
	CLEANUP(close_fd) int lock = -1;
	struct stat st, above;

	if (all < 0)
		return err_set(err, errno, "open %s", path);
	dir = open_below(all, id, err);
	out = dir < 0 ? -1 : open_below(dir, DFG_OUT_DIR, err);
	ctl = out < 0 ? -1 : open_below(dir, DFG_CTL_DIR, err);
	if (ctl < 0)
		return -1;
	/* Without its mount this is a directory of the host's disk that no container sees. */
	if (fstat(out, &st) < 0 || fstat(dir, &above) < 0 || st.st_dev == above.st_dev)
		return err_set(err, ENOENT, "the share of container %s is not mounted", id);
	lock = openat(dir, DFG_LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (lock < 0)
		return err_set(err, errno, "open the lock of container %s", id);
	if (wait_for_lock(lock, wait_ms, err) < 0)
		return -1;
	sweep(out, "perf-", ".snap");
	sweep(ctl, "request.", "");
	ret->seq = read_seq(lock);
	ret->outfd = TAKE_FD(out);
	ret->ctlfd = TAKE_FD(ctl);
	ret->lockfd = TAKE_FD(lock);
	return 0;
}

void agent_share_close(struct agent_share *s)
{
	cleanup_close_fd(&s->outfd);
	cleanup_close_fd(&s->ctlfd);
	cleanup_close_fd(&s->lockfd);
}

void agent_share_sweep(const char *root, const char *id)
{
	struct agent_share share;
	struct err ignored;

	if (agent_share_open(root, id, SWEEP_MS, &share, &ignored) == 0)
		agent_share_close(&share);
}

static int next_seq(struct agent_share *s, struct err *err)
{
	CLEANUP(free) char *text = NULL;

	s->seq = s->seq == UINT32_MAX ? 1 : s->seq + 1;
	text = xasprintf("%u", s->seq);
	if (pwrite(s->lockfd, text, strlen(text), 0) < 0 ||
	    ftruncate(s->lockfd, (off_t)strlen(text)) < 0)
		return err_set(err, errno, "number the request");
	return 0;
}

static int watch_file(int fd, struct err *err)
{
	CLEANUP(close_fd) int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (watch < 0 || inotify_add_watch(watch, path, IN_CLOSE_WRITE) < 0)
		return err_set(err, errno, "watch the output file");
	return TAKE_FD(watch);
}

int dump_create(struct agent_share *s, const struct jvm *j, const struct dump *wish,
		struct dump *ret, struct err *err)
{
	struct dump d = *wish;
	uint64_t nonce;

	if (next_seq(s, err) < 0)
		return -1;
	if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
		return err_set(err, errno, "random number");
	snprintf(d.name, sizeof(d.name), d.is_map ? "perf-%d.map" : "perf-%d.%016llx.snap",
		 (int)j->pid, (unsigned long long)nonce);
	if (d.is_map)
		unlinkat(s->outfd, d.name, 0); /* of an earlier request */
	d.clock_ahead = proc_clock_ahead(j->procfd);
	d.closed = -1;
	d.seq = s->seq;
	d.fd = fs_create(s->outfd, d.name, 0600, err);
	if (d.fd < 0)
		return err_wrap(err, "the container's share");
	if (fchown(d.fd, j->uid, j->gid) < 0)
		err_set(err, errno, "give the output file to uid %u", (unsigned)j->uid);
	else if (fallocate(d.fd, 0, 0, d.since ? DELTA_BYTES : DUMP_BYTES) < 0)
		err_set(err, errno, "room for the snapshot in the container's share");
	else if ((d.closed = watch_file(d.fd, err)) >= 0) {
		*ret = d;
		return 0;
	}
	unlinkat(s->outfd, d.name, 0);
	close(d.fd);
	return -1;
}

static char *request_name(pid_t nspid)
{
	return xasprintf("request.%d", (int)nspid);
}

int dump_request(struct agent_share *s, const struct dump *d, const struct jvm *j, struct err *err)
{
	CLEANUP(free) char *name = request_name(j->nspid);
	CLEANUP(str_fini) struct str line = {0};

	str_addf(&line, "dfg1 dump seq=%u host_pid=%d out=%s", d->seq, (int)j->pid, d->name);
	if (d->since)
		str_addf(&line, " since=%u", d->since);
	if (d->keep)
		str_addf(&line, " keep=%u", d->keep);
	if (d->named)
		str_adds(&line, " named=1");
	str_adds(&line, "\n");
	return fs_replace_file(s->ctlfd, name, 0444, line.buf, line.len, err);
}

void dump_remove(struct agent_share *s, struct dump *d, pid_t nspid)
{
	CLEANUP(free) char *name = request_name(nspid);

	unlinkat(s->ctlfd, name, 0);
	unlinkat(s->outfd, d->name, 0);
	cleanup_close_fd(&d->fd);
	cleanup_close_fd(&d->closed);
}

/* ---- the answer, parsed ---- */

/* Parses key and digits at *at and moves past them. */
static bool parse_field(const char **at, const char *end, const char *key, uint64_t max,
			uint64_t *ret)
{
	size_t len = strlen(key), n = 0;
	const char *p = *at;
	char digits[24] = "";

	if ((size_t)(end - p) < len || memcmp(p, key, len))
		return false;
	p += len;
	while (p < end && *p >= '0' && *p <= '9' && n < sizeof(digits) - 1)
		digits[n++] = *p++;
	*at = p;
	return parse_u64(digits, ret) && *ret <= max;
}

bool answer_parse(const char *line, size_t len, struct dump_answer *ret)
{
	static const struct {
		const char *key;
		uint64_t max;
	} fields[] = {
		{DFG_TRAILER_START "seq=", UINT32_MAX},
		{" status=", UINT32_MAX},
		{" entries=", UINT32_MAX},
		{" skipped=", UINT32_MAX},
		{" bytes=", UINT64_MAX},
		{" us=", UINT64_MAX},
		{" cpu=", UINT64_MAX},
	};
	const char *at = line, *end = line + len;
	uint64_t v[ARRAY_LEN(fields)];

	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (!parse_field(&at, end, fields[i].key, fields[i].max, &v[i]))
			return false;
	if (end - at != 1 || *at != '\n')
		return false;
	*ret = (struct dump_answer){.seq = (uint32_t)v[0],
				    .status = (uint32_t)v[1],
				    .entries = (uint32_t)v[2],
				    .skipped = (uint32_t)v[3],
				    .bytes = v[4],
				    .us = v[5],
				    .cpu_us = v[6]};
	return true;
}

bool answer_is_snapshot(const char *buf, size_t len)
{
	struct snap_record r = {0};

	for (size_t at = 0; at < len; at += r.size) {
		if (len - at < sizeof(r))
			return false;
		memcpy(&r, buf + at, sizeof(r));
		/* The head comes first and only once, nothing follows the end. */
		if (r.size < sizeof(r) || r.size % 8 || r.size > len - at ||
		    (r.type == SNAP_HEAD) != (at == 0) ||
		    (r.type == SNAP_END) != (r.size == len - at))
			return false;
	}
	return len > 0;
}

static void subtract(char *time, int64_t ahead)
{
	uint64_t t;

	memcpy(&t, time, sizeof(t));
	t -= (uint64_t)ahead;
	memcpy(time, &t, sizeof(t));
}

void answer_set_clock(char *buf, size_t len, int64_t ahead)
{
	struct snap_record r = {0};

	for (size_t at = 0; at < len; at += r.size) {
		memcpy(&r, buf + at, sizeof(r));
		if (r.type == SNAP_HEAD && r.size >= sizeof(struct snap_head))
			subtract(buf + at + offsetof(struct snap_head, time), ahead);
		else if (r.type == SNAP_END && r.size >= sizeof(struct snap_end))
			subtract(buf + at + offsetof(struct snap_end, time), ahead);
	}
}

const char *dump_status_text(uint32_t status)
{
	switch ((enum dfg_dump_status)status) {
	case DFG_DUMP_OK:
		return "whole";
	case DFG_DUMP_NO_TABLES:
		return "HotSpot's tables of this JVM are not of a known shape";
	case DFG_DUMP_NO_SPACE:
		return "the share is full";
	case DFG_DUMP_NO_MEMORY:
		return "the JVM's container has no memory left";
	case DFG_DUMP_READ:
		return "the JVM's own memory could not be read";
	case DFG_DUMP_PARTLY:
		return "HotSpot's tables of this JVM lack something, and its graph, too";
	}
	return "unknown to this version of dfg";
}

/* ---- waiting for the answer ---- */

/* Reads the file without the zeros at its end: room that was not used, a hole in a tmpfs. */
static int read_file(const struct dump *d, struct str *s, struct err *err)
{
	off_t hole = lseek(d->fd, 0, SEEK_HOLE);
	size_t end = hole < 0 || hole > (off_t)DFG_OUT_BYTES ? DFG_OUT_BYTES : (size_t)hole;
	char buf[65536];

	while (s->len < end) {
		ssize_t n = pread(d->fd, buf, sizeof(buf), (off_t)s->len);

		if (n < 0)
			return err_set(err, errno, "read the snapshot");
		if (n == 0)
			break;
		str_add(s, buf, (size_t)n);
	}
	while (s->len && s->buf[s->len - 1] == '\0')
		s->len--;
	return 0;
}

/* Parses the trailer at the end. False: none, or of another request. */
static bool find_answer(const struct str *s, uint32_t seq, struct dump_answer *ret)
{
	size_t from = s->len > DFG_REQUEST_MAX ? s->len - DFG_REQUEST_MAX : 0;
	const char *line = s->len ? memrchr(s->buf + from, '#', s->len - from) : NULL;

	return line && answer_parse(line, (size_t)(s->buf + s->len - line), ret) && ret->seq == seq;
}

/* A map that was cut shows in its status only. */
static bool is_whole(const struct dump *d, const struct str *text, const struct dump_answer *a)
{
	if (a->bytes > text->len)
		return false;
	return d->is_map ? a->bytes > 0 && a->status == DFG_DUMP_OK
			 : answer_is_snapshot(text->buf, (size_t)a->bytes);
}

int dump_wait(const struct dump *d, int pidfd, unsigned ms, int to, struct dump_answer *ret,
	      struct err *err)
{
	uint64_t deadline = deadline_after((int)ms);
	bool gone = false, late = false;

	for (int wakes = 0; !gone && !late; wakes++) {
		struct pollfd p[2] = {{.fd = d->closed, .events = POLLIN},
				      {.fd = pidfd, .events = POLLIN}};
		CLEANUP(str_fini) struct str text = {0};
		char events[1024];

		poll(p, 2, deadline_ms_left(deadline));
		(void)!read(d->closed, events, sizeof(events));
		gone = p[1].revents != 0;
		late = !deadline_ms_left(deadline);
		if (wakes == WAKES_MAX)
			return err_set(err, 0, "the agent's file was closed again and again");
		if (read_file(d, &text, err) < 0)
			return -1;
		if (!find_answer(&text, d->seq, ret))
			continue;
		if (!is_whole(d, &text, ret))
			return err_set(err, 0, "%s",
				       ret->status != DFG_DUMP_OK ? dump_status_text(ret->status)
				       : d->is_map		  ? "what the agent wrote is no map"
						   : "what the agent wrote is no snapshot");
		if (!d->is_map)
			answer_set_clock(text.buf, (size_t)ret->bytes, d->clock_ahead);
		return fs_write_all(to, text.buf, (size_t)ret->bytes, err);
	}
	return gone ? err_set(err, ESRCH, "the JVM ended before it answered")
		    : err_set(err, 0, "the agent did not answer within %u ms", ms);
}

int agent_share_signal(const struct agent_share *s, pid_t nspid)
{
	CLEANUP(free) char *name = xasprintf("agent.%d", (int)nspid);
	CLEANUP(close_fd) int fd = -1;
	char text[128] = "";
	struct err err;
	int sig = 0;

	fd = fs_open_regular(s->outfd, name, O_RDONLY, &err);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 ||
	    sscanf(text, "dfg1 agent signal=%2d", &sig) != 1)
		return 0;
	return sig > 0 && sig <= 64 ? sig : 0;
}
