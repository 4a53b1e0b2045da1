// SPDX-License-Identifier: Apache-2.0
#include "report/sandbox.h"

#include <errno.h>
#include <malloc.h>
#include <sys/socket.h>

#include "common/child.h"
#include "common/fs.h"
#include "common/jail.h"
#include "common/message.h"
#include "common/str.h"
#include "report/filter.h"

/* Limits of the sandbox: ample for real recordings, and a forged one cannot exhaust the machine.
 * Memory is address space, since each thread maps the recording. */
#define MEMORY_BASE  (4ull << 30)
#define MEMORY_TIMES 8	  /* the recording's size */
#define CPU_SECONDS  600u /* for each input */
#define FILE_BYTES   (1ull << 30)

#define HEAP_STEP (16 << 20) /* bytes by which the heap grows */

struct reading {
	const struct inputs *in;
	int sock[2]; /* ends of the opener and the reader */
	size_t next;
	const struct reading_job *job;
};

/* ---- fds over a socket ----------------------------------------------------------- */

/* Sent before the fds of an input. */
struct opened {
	int rc;
	struct err err;
};

static size_t batch_size(const struct open_input *files, size_t at)
{
	size_t left = files->fd_count - at;

	return left < MESSAGE_FILES ? left : MESSAGE_FILES;
}

/* Sends which of some files are open, with their fds. */
static int send_batch(int sock, int *const *files, size_t n)
{
	bool there[MESSAGE_FILES];
	int fds[MESSAGE_FILES];
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		there[i] = *files[i] >= 0;
		if (there[i])
			fds[count++] = *files[i];
	}
	return message_send(sock, there, n, fds, count, 0);
}

/* Fails at the limit of open files: names would silently be missing. */
static int receive_batch(int sock, int **files, size_t n, struct err *err)
{
	bool there[MESSAGE_FILES];
	int fds[MESSAGE_FILES];
	size_t count, used = 0;

	if (message_receive(sock, there, n, fds, n, &count) != (ssize_t)n)
		return err_set(err, errno, "receive files");
	for (size_t i = 0; i < n; i++)
		if (there[i] && used < count)
			*files[i] = fds[used++];
	return 0;
}

/* ---- the opener -------------------------------------------------------------------------- */

static int hand_over(const struct input *in, int sock)
{
	CLEANUP(input_close) struct open_input files = {0};
	struct opened o = {0};

	input_prepare(in, &files);
	o.rc = input_open(in, &files, &o.err);
	if (send(sock, &o, sizeof(o), MSG_NOSIGNAL) != (ssize_t)sizeof(o))
		return -1;
	for (size_t at = 0; at < files.fd_count; at += MESSAGE_FILES)
		if (send_batch(sock, files.fds + at, batch_size(&files, at)) < 0)
			return -1;
	return o.rc;
}

/* Opens an input when the reader asks for it, so that only one is open at a time. */
static int serve(void *arg)
{
	struct reading *r = arg;
	char wanted;

	close(r->sock[1]);
	for (size_t i = 0; i < r->in->count; i++)
		if (read(r->sock[0], &wanted, 1) != 1 || hand_over(&r->in->list[i], r->sock[0]) < 0)
			return 1;
	return 0;
}

/* ---- the reader -------------------------------------------------------------------------- */

const struct inputs *reading_inputs(const struct reading *r)
{
	return r->in;
}

size_t reading_at(const struct reading *r)
{
	return r->next;
}

static int receive(int sock, struct open_input *files, struct err *err)
{
	struct opened o = {0};

	if (write(sock, "", 1) != 1 || recv(sock, &o, sizeof(o), 0) != (ssize_t)sizeof(o))
		return err_set(err, errno, "wait for files");
	if (o.rc < 0) {
		*err = o.err;
		return -1;
	}
	for (size_t at = 0; at < files->fd_count; at += MESSAGE_FILES)
		if (receive_batch(sock, files->fds + at, batch_size(files, at), err) < 0)
			return -1;
	return 0;
}

int reading_files(struct reading *r, struct open_input *ret, struct err *err)
{
	const struct input *in;

	*ret = (struct open_input){0};
	if (r->next >= r->in->count)
		return err_set(err, 0, "no input is left");
	in = &r->in->list[r->next++];
	input_prepare(in, ret);
	return receive(r->sock[1], ret, err) < 0 ? err_wrap(err, "%s", in->path) : 0;
}

/* Reads the input apart, and adds what passes the filter. */
static int read_filtered(struct reading *r, struct open_input *files, struct profile *profile,
			 uint64_t *skipped, struct err *err)
{
	const struct input *in = &r->in->list[r->next - 1];
	const struct session *s = input_session(in);
	const struct filter *f = r->in->filter;
	struct profile all;
	int rc;

	profile_init(&all, profile->samples || filter_has_times(f));
	rc = input_read(in, files, &all, skipped, err);
	if (rc == 0 && filter_apply(f, &all, s ? s->started : NULL, profile, err) < 0)
		rc = err_wrap(err, "%s", in->path);
	profile_fini(&all);
	return rc < 0 ? rc : input_check_count(in, profile, err);
}

int reading_next(struct reading *r, struct profile *profile, uint64_t *skipped, struct err *err)
{
	CLEANUP(input_close) struct open_input files = {0};

	if (reading_files(r, &files, err) < 0)
		return -1;
	if (!filter_is_empty(r->in->filter))
		return read_filtered(r, &files, profile, skipped, err);
	return input_read(&r->in->list[r->next - 1], &files, profile, skipped, err);
}

/* Runs in the sandbox: only open files can be reached. */
static int confined(void *arg, void *reply, struct err *err)
{
	struct reading *r = arg;
	const struct reading_job *job = r->job;
	CLEANUP(free) int *keep = xcalloc(1 + job->output_count, sizeof(*keep));
	struct jail jail = {.role = JAIL_DRAW,
			    .memory = MEMORY_BASE,
			    .file_bytes = FILE_BYTES,
			    .cpu_seconds = CPU_SECONDS * (unsigned)r->in->count,
			    .keep = keep,
			    .keep_count = 1 + job->output_count};

	for (size_t i = 0; i < r->in->count; i++)
		jail.memory += MEMORY_TIMES * r->in->list[i].size;
	keep[0] = r->sock[1];
	for (size_t i = 0; i < job->output_count; i++)
		keep[1 + i] = job->outputs[i];
	mallopt(M_TOP_PAD, HEAP_STEP);
	if (jail_enter(&jail, err) < 0)
		return -1;
	return job->fn(r, job->arg, reply, err);
}

int reading_run(const struct inputs *in, const struct reading_job *job, void *reply, size_t size,
		struct err *err)
{
	struct reading r = {.in = in, .job = job};
	struct child opener;
	int rc;

	/* SOCK_SEQPACKET keeps the boundaries of messages. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, r.sock) < 0)
		return err_set(err, errno, "socket");
	rc = child_fork(serve, &r, &opener, err);
	close(r.sock[0]);
	if (rc == 0) {
		rc = child_call(confined, &r, reply, size, -1, err);
		child_stop(&opener);
	}
	close(r.sock[1]);
	if (rc == 0 && job->check)
		job->check(reply);
	return rc;
}
