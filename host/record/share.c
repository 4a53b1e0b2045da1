// SPDX-License-Identifier: Apache-2.0
#include "record/share.h"

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

/* Room for the snapshot of about 30 000 methods; the agent lets the file grow where that is too
 * little. Allocated here, so that the pages are charged to this process and not to a container that
 * may be close to its memory limit. */
#define DUMP_BYTES  (16u << 20)
#define DELTA_BYTES (1u << 20)

static int open_below(int dirfd, const char *name, struct err *err)
{
	return fs_openat2(dirfd, name, O_RDONLY | O_DIRECTORY, 0,
			  RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, err);
}

static int take_lock(int lockfd, unsigned wait_ms, struct err *err)
{
	uint64_t deadline = clock_ms() + wait_ms;

	while (flock(lockfd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_set(err, errno, "lock the container's share");
		if (clock_ms() >= deadline)
			return err_set(err, 0,
				       "another dfg has been talking to this container for %u ms",
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

/* What an exchange has left that was killed: with the lock held there is no other. */
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

int share_open(const char *root, const char *id, unsigned wait_ms, struct share *ret,
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
	/* Without its mount this would be a directory on the host's disk that no container sees. */
	if (fstat(out, &st) < 0 || fstat(dir, &above) < 0 || st.st_dev == above.st_dev)
		return err_set(err, ENOENT, "the share of container %s is not mounted", id);
	lock = openat(dir, DFG_LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (lock < 0)
		return err_set(err, errno, "open the lock of container %s", id);
	if (take_lock(lock, wait_ms, err) < 0)
		return -1;
	sweep(out, "perf-", ".snap");
	sweep(ctl, "request.", "");
	ret->seq = read_seq(lock);
	ret->outfd = TAKE_FD(out);
	ret->ctlfd = TAKE_FD(ctl);
	ret->lockfd = TAKE_FD(lock);
	return 0;
}

void share_close(struct share *s)
{
	cleanup_close_fd(&s->outfd);
	cleanup_close_fd(&s->ctlfd);
	cleanup_close_fd(&s->lockfd);
}

static int next_seq(struct share *s, struct err *err)
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

int dump_make(struct share *s, const struct jvm *j, const struct dump_wish *wish, struct dump *ret,
	      struct err *err)
{
	struct dump d = {
		.fd = -1, .watch = -1, .wish = *wish, .clock_ahead = proc_clock_ahead(j->procfd)};
	uint64_t nonce;

	if (next_seq(s, err) < 0)
		return -1;
	if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
		return err_set(err, errno, "random number");
	snprintf(d.name, sizeof(d.name), "perf-%d.%016llx.snap", (int)j->pid,
		 (unsigned long long)nonce);
	d.seq = s->seq;
	d.fd = fs_create(s->outfd, d.name, 0600, err);
	if (d.fd < 0)
		return err_wrap(err, "the container's share");
	if (fchown(d.fd, j->uid, j->gid) < 0)
		err_set(err, errno, "give the output file to uid %u", (unsigned)j->uid);
	else if (fallocate(d.fd, 0, 0, wish->since ? DELTA_BYTES : DUMP_BYTES) < 0)
		err_set(err, errno, "room for the snapshot in the container's share");
	else if ((d.watch = watch_file(d.fd, err)) >= 0) {
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

int dump_request(struct share *s, const struct dump *d, const struct jvm *j, struct err *err)
{
	CLEANUP(free) char *name = request_name(j->nspid);
	CLEANUP(str_fini) struct str line = {0};

	str_addf(&line, "dfg1 dump seq=%u host_pid=%d out=%s", d->seq, (int)j->pid, d->name);
	if (d->wish.since)
		str_addf(&line, " since=%u", d->wish.since);
	if (d->wish.keep)
		str_addf(&line, " keep=%u", d->wish.keep);
	str_adds(&line, "\n");
	return fs_replace_file(s->ctlfd, name, 0444, line.buf, line.len, err);
}

void dump_done(struct share *s, struct dump *d, pid_t nspid)
{
	CLEANUP(free) char *name = request_name(nspid);

	unlinkat(s->ctlfd, name, 0);
	unlinkat(s->outfd, d->name, 0);
	cleanup_close_fd(&d->fd);
	cleanup_close_fd(&d->watch);
}

/* ---- the answer ---- */

/* The file without the zeros at its end. Most of its room is mostly not used: for a tmpfs, that
 * is a hole. */
static int read_answer(const struct dump *d, struct str *s, struct err *err)
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

/* Whether it ends in a trailer with our number. */
static bool find_answer(const struct str *s, uint32_t seq, struct dump_answer *ret)
{
	size_t from = s->len > DFG_REQUEST_MAX ? s->len - DFG_REQUEST_MAX : 0;
	const char *line = s->len ? memrchr(s->buf + from, '#', s->len - from) : NULL;

	return line && answer_parse(line, (size_t)(s->buf + s->len - line), ret) && ret->seq == seq;
}

int dump_wait(const struct dump *d, int pidfd, unsigned ms, int to, struct dump_answer *ret,
	      struct err *err)
{
	uint64_t deadline = clock_ms() + ms;
	bool gone = false, late = false;

	while (!gone && !late) {
		struct pollfd p[2] = {{.fd = d->watch, .events = POLLIN},
				      {.fd = pidfd, .events = POLLIN}};
		CLEANUP(str_fini) struct str text = {0};
		uint64_t now = clock_ms();
		char events[1024];

		poll(p, 2, now < deadline ? (int)(deadline - now) : 0);
		(void)!read(d->watch, events, sizeof(events));
		gone = p[1].revents != 0;
		late = clock_ms() >= deadline;
		if (read_answer(d, &text, err) < 0)
			return -1;
		if (!find_answer(&text, d->seq, ret))
			continue;
		if (ret->bytes > text.len || !answer_is_snapshot(text.buf, (size_t)ret->bytes))
			return err_set(err, 0, "%s",
				       ret->status == DFG_DUMP_OK
					       ? "what the agent wrote is no snapshot"
					       : answer_status_text(ret->status));
		answer_set_clock(text.buf, (size_t)ret->bytes, d->clock_ahead);
		return fs_write_all(to, text.buf, (size_t)ret->bytes, err);
	}
	return gone ? err_set(err, ESRCH, "the JVM ended before it answered")
		    : err_set(err, 0, "the agent did not answer within %u ms", ms);
}

int share_agent_signal(const struct share *s, pid_t nspid)
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
