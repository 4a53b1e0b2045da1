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

#define AGAIN_MS 500   /* between two searches for a container that has ended */
#define TREE_MS	 10000 /* for a container's call tree */

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

/* The data of a worker's product; its file is the call tree. */
struct tree_note {
	struct quality quality;
	uint64_t cut;
};

_Static_assert(sizeof(struct tree_note) <= WORKER_DATA, "a product holds it");

/* The worker's task: its window's call tree, read in the sandbox. `arg`: the configuration, which
 * is older than the workers. */
static int read_tree(struct target *t, void *arg, struct worker_product *ret, struct err *err)
{
	const struct record_config *config = arg;
	CLEANUP(inputs_fini)
	struct inputs in = {.event = event_kind_of(record_event(config))};
	struct render_result result;
	struct tree_note note;

	ret->fd = memfd_create("tree", MFD_CLOEXEC);
	if (ret->fd < 0)
		return err_set(err, errno, "memory for a call tree");
	inputs_add_session(&in, &t->session);
	if (render_tree(&in, tree_write, ret->fd, &result, err) < 0)
		return -1;
	note = (struct tree_note){.quality = result.quality, .cut = result.cut};
	memcpy(ret->data, &note, sizeof(note));
	return 0;
}

/* Sends the window of one container. False when the feed's reader is not ready. */
static bool send_part(const struct recorder *r, const struct worker *from, struct window *w)
{
	struct tree_note note;
	int rc;

	memcpy(&note, from->product.data, sizeof(note));
	snprintf(w->name, sizeof(w->name), "%s", from->container.label);
	snprintf(w->id, sizeof(w->id), "%s", from->container.id);
	w->quality = note.quality;
	w->cut = note.cut;
	rc = feed_send(r->collector->feed[1], w, from->product.fd);
	if (rc < 0)
		stop = 1;
	return rc > 0;
}

/* Sends a window: of those whose worker has not failed. What does not fit into the feed becomes
 * part of the next window's gap. */
static void send_window(struct recorder *r)
{
	struct window w = {.us = r->run.us, .gap_us = r->gap_us};

	record_each(&r->run, read_tree, (void *)r->collector->config, TREE_MS);
	for (size_t i = 0; i < r->run.count; i++)
		w.parts += !worker_has_failed(&r->run.workers[i]);
	for (size_t i = 0; i < r->run.count; i++) {
		if (worker_has_failed(&r->run.workers[i]))
			continue;
		if (!send_part(r, &r->run.workers[i], &w)) {
			r->gap_us += r->run.us;
			return;
		}
		w.part++;
	}
	r->gap_us = 0;
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
		send_window(r);
	} while (!record_is_old(&r->run));
	return 1;
}

/* Other processes of such a container are shown all the same. */
static enum record_result check_jvms(const struct record_run *run)
{
	enum record_result result = RECORD_OK;

	for (size_t i = 0; i < run->count; i++) {
		if (run->workers[i].jvms)
			continue;
		result = RECORD_NO_JVM;
		log_warn("no JVM runs in %s", run->workers[i].container.label);
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
		send_window(r);
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
	result = check_jvms(&r.run);
	if (record_all(&r, &err) < 0 && !stop) {
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
