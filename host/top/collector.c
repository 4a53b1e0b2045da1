// SPDX-License-Identifier: Apache-2.0
#include "top/collector.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/str.h"
#include "record/pollers.h"
#include "record/stretch.h"
#include "report/merge.h"
#include "report/render.h"
#include "top/feed.h"
#include "top/tree.h"

#define AGAIN_MS 500 /* from one look for a container that has ended to the next */

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static const struct format tree = {
	.name = "tree", .file = "tree", .details = true, .draw = tree_write};

/* The window of one container, read by a process without rights. 1, 0 when it was not taken, -1. */
static int send_part(const struct collector *c, const struct target *t, struct window *w,
		     struct err *err)
{
	static const struct format_set formats = {.list = {&tree}, .count = 1};
	CLEANUP(close_fd) int dirfd = open(t->outdir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(inputs_fini) struct inputs in = {0};
	CLEANUP(close_fd) int fd = -1;
	struct render_result result;
	int rc;

	inputs_add_session(&in, &t->session);
	if (render(&in, ROOT_THREAD, &formats, t->outdir, &result, err) < 0)
		return -1;
	fd = fs_open_regular(dirfd, tree.file, O_RDONLY, err);
	if (fd < 0)
		return -1;
	unlinkat(dirfd, tree.file, 0);
	snprintf(w->name, sizeof(w->name), "%s", t->container.label);
	snprintf(w->id, sizeof(w->id), "%s", t->container.id);
	w->quality = result.quality;
	w->cut = result.cut;
	rc = feed_send(c->feed[1], w, fd);
	if (rc < 0)
		stop = 1;
	return rc > 0;
}

/* Where the reader is behind, what does not fit is part of the next window's gap. */
static int send_window(const struct collector *c, const struct stretch *s, uint64_t *gap_us,
		       struct err *err)
{
	struct window w = {.parts = (uint32_t)s->targets.count, .us = s->us, .gap_us = *gap_us};

	for (; w.part < w.parts; w.part++) {
		int rc = send_part(c, &s->targets.list[w.part], &w, err);

		if (rc < 0)
			return -1;
		if (rc == 0) {
			*gap_us += s->us;
			return 0;
		}
	}
	*gap_us = 0;
	return 0;
}

struct recorder {
	const struct collector *collector;
	struct stretch stretch;
	unsigned stretches;
	bool failed; /* the last attempt at a new one */
	uint64_t gap_us;
};

static enum exit_status start_stretch(struct recorder *r, struct stretch *ret, struct err *err)
{
	CLEANUP(free) char *dir = xasprintf("%s/%u", r->collector->dir, r->stretches++);

	return stretch_start(r->collector->options, dir, ret, err);
}

/* Up to its end, or until it is old. 1 when there is more to come, 0 at the end, -1. */
static int run_stretch(struct recorder *r, struct err *err)
{
	do {
		int rc = stretch_next(&r->stretch, &stop, err);

		if (rc <= 0)
			return rc;
		if (send_window(r->collector, &r->stretch, &r->gap_us, err) < 0)
			return -1;
	} while (!stretch_is_old(&r->stretch));
	return 1;
}

/* What else runs there is shown all the same. */
static enum exit_status check_jvms(const struct stretch *s)
{
	enum exit_status status = EXIT_DONE;

	for (size_t i = 0; i < s->targets.count; i++) {
		if (s->targets.list[i].jvms.count)
			continue;
		status = EXIT_NO_JVM;
		log_warn("no JVM runs in %s", s->targets.list[i].container.label);
	}
	return status;
}

/* The next stretch begins before this one ends, so that nothing is missed: it takes its time on a
 * busy machine. What came meanwhile is the last window, unless it is too short to say much. Where
 * it fails, this one goes on, and tells whether its processes have ended. 1, 0 where nothing is
 * left to record, -1. */
static int follow(struct recorder *r, struct err *err)
{
	struct stretch next, *s = &r->stretch;
	enum exit_status status = start_stretch(r, &next, err);
	bool again = r->failed;
	int rc;

	r->failed = status != EXIT_DONE;
	if (r->failed)
		return status == EXIT_NO_CONTAINER ? 0 : again ? -1 : 1;
	rc = stretch_last(s, &stop, err);
	if (rc > 0 && s->us < r->collector->options->duration * 500000ull)
		r->gap_us += s->us;
	else if (rc > 0)
		rc = send_window(r->collector, s, &r->gap_us, err);
	stretch_end(s);
	*s = next;
	return rc < 0 ? -1 : 1;
}

/* A container that is started anew. False when that is waited for no longer. */
static bool wait_for_new(struct recorder *r)
{
	struct err err;

	if (stop || !r->collector->waits)
		return false;
	while (start_stretch(r, &r->stretch, &err) != EXIT_DONE) {
		sleep_ms(AGAIN_MS);
		if (stop)
			return false;
	}
	log_info("it runs again");
	return true;
}

static int record_all(struct recorder *r, struct err *err)
{
	int more;

	do {
		do
			more = run_stretch(r, err);
		while (more > 0 && (more = follow(r, err)) > 0);
		stretch_end(&r->stretch);
		if (more == 0 && !stop)
			log_info("its processes have ended%s",
				 r->collector->waits ? ": waiting for new ones" : "");
	} while (more == 0 && wait_for_new(r));
	return more;
}

static enum exit_status run(const struct collector *c)
{
	struct recorder r = {.collector = c};
	struct err err = {0};
	enum exit_status status = start_stretch(&r, &r.stretch, &err);

	if (status != EXIT_DONE) {
		log_error("%s", err.msg);
		return status;
	}
	status = check_jvms(&r.stretch);
	if (record_all(&r, &err) < 0) {
		log_error("%s", err.msg);
		return EXIT_FAILED;
	}
	return status;
}

static int child(void *arg)
{
	const struct collector *c = arg;
	struct sigaction act = {.sa_handler = on_signal};

	close(c->feed[0]);
	setpgid(0, 0);
	sigaction(SIGTERM, &act, NULL);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	if (c->log != STDERR_FILENO)
		dup2(c->log, STDERR_FILENO);
	return (int)run(c);
}

int collector_start(const struct collector *c, struct child *ret, struct err *err)
{
	struct collector copy = *c;

	return child_fork(child, &copy, ret, err);
}
