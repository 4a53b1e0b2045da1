// SPDX-License-Identifier: Apache-2.0
#include "top/top.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/str.h"
#include "record/run.h"
#include "report/render.h"
#include "top/window.h"

#define AGAIN_MS 500 /* between two searches for a container that has ended */

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

struct recorder {
	const struct collector *collector;
	struct record_run run;
	unsigned runs;
	bool failed; /* the last attempt to start a new run */
	uint64_t gap_us;
};

/* Sends the window of one container, read in the sandbox. 1, 0 when the reader is not ready, -1. */
static int send_part(const struct recorder *r, const struct target *t, struct window *w,
		     struct err *err)
{
	CLEANUP(close_fd) int fd = memfd_create("tree", MFD_CLOEXEC);
	CLEANUP(inputs_fini) struct inputs in = {0};
	struct render_result result;
	int rc;

	if (fd < 0)
		return err_set(err, errno, "memory for a call tree");
	inputs_add_session(&in, &t->session);
	if (render_tree(&in, tree_write, fd, &result, err) < 0)
		return -1;
	snprintf(w->name, sizeof(w->name), "%s", t->container.label);
	snprintf(w->id, sizeof(w->id), "%s", t->container.id);
	w->quality = result.quality;
	w->cut = result.cut;
	rc = feed_send(r->collector->feed[1], w, fd);
	if (rc < 0)
		stop = 1;
	return rc > 0;
}

/* Sends a window. What does not fit into the feed becomes part of the next window's gap. */
static int send_window(struct recorder *r, struct err *err)
{
	const struct targets *t = &r->run.targets;
	struct window w = {.parts = (uint32_t)t->count, .us = r->run.us, .gap_us = r->gap_us};

	for (; w.part < w.parts; w.part++) {
		int rc = send_part(r, &t->list[w.part], &w, err);

		if (rc < 0)
			return -1;
		if (rc == 0) {
			r->gap_us += r->run.us;
			return 0;
		}
	}
	r->gap_us = 0;
	return 0;
}

static enum record_result start_run(struct recorder *r, struct record_run *ret, struct err *err)
{
	CLEANUP(free) char *dir = xasprintf("%s/%u", r->collector->dir, r->runs++);
	struct record_config config = *r->collector->config;

	config.window_dir = dir;
	config.stop = &stop;
	return record_start(&config, ret, err);
}

/* Sends windows until the run ends, or is old. 1 in the latter case, 0 at the end, -1. */
static int send_windows(struct recorder *r, struct err *err)
{
	do {
		int rc = record_window(&r->run, err);

		if (rc <= 0)
			return rc;
		if (send_window(r, err) < 0)
			return -1;
	} while (!record_is_old(&r->run));
	return 1;
}

/* Other processes of such a container are shown all the same. */
static enum record_result check_jvms(const struct targets *t)
{
	enum record_result result = RECORD_OK;

	for (size_t i = 0; i < t->count; i++) {
		if (t->list[i].jvms.count)
			continue;
		result = RECORD_NO_JVM;
		log_warn("no JVM runs in %s", t->list[i].container.label);
	}
	return result;
}

/* Starts the next run before it ends this one, so that nothing is missed: that takes time on a busy
 * machine. The time until then is this run's last window, unless it is too short. Where the start
 * fails, this run goes on, and finds out itself when its processes have ended. 1, 0 where nothing
 * is left to record, -1. */
static int replace_run(struct recorder *r, struct err *err)
{
	struct record_run next;
	enum record_result result = start_run(r, &next, err);
	bool again = r->failed;
	int rc;

	r->failed = result != RECORD_OK;
	if (r->failed)
		return result == RECORD_NO_CONTAINER ? 0 : again ? -1 : 1;
	rc = record_last_window(&r->run, err);
	if (rc > 0 && r->run.us < r->collector->config->duration * 500000ull)
		r->gap_us += r->run.us;
	else if (rc > 0)
		rc = send_window(r, err);
	record_discard(&r->run);
	r->run = next;
	return rc < 0 ? -1 : 1;
}

/* Waits until a container is started anew. False if it should not wait any longer. */
static bool wait_for_new(struct recorder *r)
{
	struct err err;

	if (stop || !r->collector->waits)
		return false;
	while (start_run(r, &r->run, &err) != RECORD_OK) {
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
			more = send_windows(r, err);
		while (more > 0 && (more = replace_run(r, err)) > 0);
		record_discard(&r->run);
		if (more == 0 && !stop)
			log_info("its processes have ended%s",
				 r->collector->waits ? ": waiting for new ones" : "");
	} while (more == 0 && wait_for_new(r));
	return more;
}

static enum record_result collect(const struct collector *c)
{
	struct recorder r = {.collector = c};
	struct err err = {0};
	enum record_result result = start_run(&r, &r.run, &err);

	if (result != RECORD_OK) {
		if (!stop)
			log_error("%s", err.msg);
		return stop ? RECORD_OK : result;
	}
	result = check_jvms(&r.run.targets);
	if (record_all(&r, &err) < 0) {
		log_error("%s", err.msg);
		return RECORD_FAILED;
	}
	return result;
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
	return (int)collect(c);
}

int collector_start(const struct collector *c, struct child *ret, struct err *err)
{
	struct collector copy = *c;

	return child_fork(child, &copy, ret, err);
}
