// SPDX-License-Identifier: Apache-2.0
#include "bpf/recording_parts.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/jail.h"
#include "common/message.h"
#include "common/str.h"

#define START_MS 12000 /* beside the wait for the builders */
#define END_MS	 2000
#define CLOSE_MS 2000 /* for the kernel to take probes away: some 60 ms each */

/* Receives a word up to the deadline. False: none comes. */
static bool hear(struct kernel_recording *r, uint64_t deadline, struct word *ret)
{
	struct pollfd p = {.fd = r->control, .events = POLLIN};
	size_t n;

	if (r->control < 0 || poll(&p, 1, deadline_ms_left(deadline)) <= 0)
		return false;
	if (message_receive(r->control, ret, sizeof(*ret), NULL, 0, &n) != sizeof(*ret)) {
		cleanup_close_fd(&r->control);
		return false;
	}
	if (ret->said == SAID_DISABLED)
		r->end = ret->end;
	if (ret->said == SAID_ENDED) {
		r->ended = true;
		r->full = ret->full;
		r->failed = ret->err;
	}
	return true;
}

int kernel_recording_check(struct err *err)
{
	CLEANUP(stack_recorder_close) struct stack_recorder *r = NULL;
	const struct stack_recorder_config c = {.frequency = 1, .stack_bytes = 8};

	return stack_recorder_open(&c, &r, err);
}

/* Closes the files of the caller that are not its own: the sockets of workers, above all. */
static void close_others(const struct recording_job *j)
{
	CLEANUP(free) int *keep = xcalloc(5 + j->config->count, sizeof(*keep));
	size_t n = 0;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		keep[n++] = fd;
	keep[n++] = j->control;
	keep[n++] = j->config->fd;
	for (size_t i = 0; i < j->config->count; i++)
		keep[n++] = j->config->targets[i].builder;
	jail_close_files(keep, n);
}

static int serve(void *arg)
{
	close_others(arg);
	return recording_serve(arg);
}

/* Starts the process. */
static int start(const struct kernel_recording_config *c, struct kernel_recording *k,
		 struct err *err)
{
	struct recording_job job = {.config = c};
	int pair[2], rc;

	k->count = c->count;
	k->probes = c->events & ~(1u << FLAT_EVENT_CPU);
	k->counts = mmap(NULL, (k->count + 1) * sizeof(*k->counts), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (k->counts == MAP_FAILED) {
		k->counts = NULL;
		return err_set(err, errno, "memory for the numbers of samples");
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, errno, "socket");
	k->control = pair[0];
	job.control = pair[1];
	job.counts = k->counts;
	rc = child_fork(serve, &job, &k->child, err);
	close(pair[1]);
	return rc;
}

int kernel_recording_start(const struct kernel_recording_config *c, struct kernel_recording *ret,
			   struct err *err)
{
	struct kernel_recording k = {.child = {-1, -1}, .control = -1};
	struct word w = {0};
	int rc = start(c, &k, err);

	for (size_t i = 0; i < c->count; i++)
		if (c->targets[i].builder >= 0)
			close(c->targets[i].builder);
	if (rc == 0 && !hear(&k, deadline_after(START_MS + deadline_ms_left(c->deadline)), &w))
		rc = err_set(err, 0, "the recorder in the kernel does not start");
	if (rc == 0 && w.said != SAID_RECORDS) {
		*err = w.err;
		rc = -1;
	}
	k.began = w.began;
	if (rc < 0)
		kernel_recording_abort(&k);
	else
		*ret = k;
	return rc;
}

int kernel_recording_wait(struct kernel_recording *r, int ms)
{
	struct word w;

	if (!r->ended && r->control >= 0)
		(void)hear(r, deadline_after(ms), &w);
	return r->ended || r->control < 0;
}

int kernel_recording_switch(struct kernel_recording *r, int fd, uint64_t deadline, struct err *err)
{
	const struct recording_wish wish = {.wanted = WANTED_SWITCH};
	struct word w = {.said = SAID_RECORDS};

	if (r->ended || r->control < 0)
		return 0;
	(void)!message_send(r->control, &wish, sizeof(wish), &fd, 1, 0);
	while (w.said != SAID_SWITCHED && !r->ended && hear(r, deadline, &w))
		;
	if (w.said == SAID_SWITCHED)
		return 1;
	return r->ended ? 0 : err_set(err, ETIMEDOUT, "the recorder in the kernel does not answer");
}

void kernel_recording_add(struct kernel_recording *r, size_t target, const pid_t *pids,
			  size_t count, int builder)
{
	struct recording_wish wish = {.wanted = WANTED_MORE, .target = target};

	wish.count = count < KERNEL_RECORDING_MORE ? count : KERNEL_RECORDING_MORE;
	memcpy(wish.pids, pids, wish.count * sizeof(*pids));
	if (!r->ended && r->control >= 0)
		(void)!message_send(r->control, &wish, sizeof(wish), &builder, builder >= 0, 0);
	if (builder >= 0)
		close(builder);
}

void kernel_recording_end(struct kernel_recording *r)
{
	uint64_t deadline = deadline_after(END_MS);
	const struct recording_wish wish = {.wanted = WANTED_END};
	struct word w = {.said = SAID_RECORDS};

	if (r->ended || r->told || r->control < 0)
		return;
	r->told = true;
	if (message_send(r->control, &wish, sizeof(wish), NULL, 0, 0) < 0)
		child_stop(&r->child); /* what it has written counts */
	while (w.said == SAID_RECORDS && hear(r, deadline, &w))
		;
}

int kernel_recording_stop(struct kernel_recording *r, uint64_t deadline, struct err *err)
{
	struct word w;

	kernel_recording_end(r);
	while (!r->ended && hear(r, deadline, &w))
		;
	if (r->ended) {
		if (!r->probes)
			child_detach(&r->child);
		cleanup_close_fd(&r->control);
		return 0;
	}
	err_set(err, 0, "the recorder in the kernel %s",
		r->control < 0 ? "was ended" : "did not end in time");
	kernel_recording_abort(r);
	return -1;
}

void kernel_recording_abort(struct kernel_recording *r)
{
	int ignored;

	if (r->child.pid > 0 && r->ended)
		(void)child_wait(&r->child, CLOSE_MS, &ignored);
	if (r->child.pid > 0)
		child_stop(&r->child);
	cleanup_close_fd(&r->control);
	if (r->counts)
		munmap(r->counts, (r->count + 1) * sizeof(*r->counts));
	r->counts = NULL;
}
