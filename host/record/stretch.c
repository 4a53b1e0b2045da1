// SPDX-License-Identifier: Apache-2.0
#include "record/stretch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/str.h"
#include "doctor/probe.h"
#include "record/elf_copy.h"
#include "record/pollers.h"

#define READY_MS    30000 /* until perf records: it opens an event for each thread and processor */
#define SWITCH_MS   15000 /* until it has begun a new file */
#define AGAIN_MS    500	  /* after that, it is asked again */
#define SNAPSHOT_MS 500	  /* for those at the end of a window */

/* In windows. */
#define WINDOWS_MOST  150
#define WINDOWS_LEAST 10

#define GROWTH_LEAST (4u << 20) /* of the snapshots, bytes */

/* ---- windows ---- */

static char *window_path(const struct stretch *s)
{
	return xasprintf("%s/perf.data", s->targets.list[0].session.dir);
}

/* Waits until perf goes on in a new file. 1, 0 when it has ended and there is no more, -1. */
static int switch_file(struct stretch *s, int ms, const volatile int *stop, struct err *err)
{
	CLEANUP(free) char *path = window_path(s);
	uint64_t now = clock_ms(), deadline = now + (uint64_t)ms, again = now;

	for (; now < deadline && !(stop && *stop); now = clock_ms()) {
		bool ended = s->recording.perf.pid <= 0 || record_wait(&s->recording, 0);
		int rc = record_take(&s->recording, path, err);

		if (rc != 0 || ended)
			return rc;
		if (now >= again) {
			record_switch(&s->recording);
			again = now + AGAIN_MS;
		}
		sleep_ms(10);
	}
	if (stop && *stop)
		return 0;
	return err_set(err, ETIMEDOUT, "perf does not record: waited %d s", ms / 1000);
}

/* The first file is of the time in which perf got ready. */
static int wait_until_ready(struct stretch *s, struct err *err)
{
	int rc = switch_file(s, READY_MS, NULL, err);

	if (rc == 0)
		rc = record_stop(&s->recording, err);
	if (rc < 0)
		probe_explain(s->options.snapshot.root, err);
	s->began_us = clock_us();
	return rc < 0 ? -1 : 0;
}

/* One file, several names. */
static int share_window(struct stretch *s, struct err *err)
{
	const struct session *first = &s->targets.list[0].session;

	for (size_t i = 0; i < s->targets.count; i++) {
		struct session *session = &s->targets.list[i].session;

		session->duration = (double)s->us / 1e6;
		session->whole_machine = s->recording.whole_machine || s->targets.count > 1;
		if (i == 0)
			continue;
		unlinkat(session->dirfd, "perf.data", 0);
		if (session_share(first, session, "perf.data", err) < 0)
			return -1;
	}
	return 0;
}

/* A recording of the whole machine goes on without them. */
static bool any_is_left(const struct stretch *s)
{
	for (size_t i = 0; i < s->targets.count; i++)
		for (size_t k = 0; k < s->targets.list[i].pid_count; k++)
			if (kill(s->targets.list[i].pids[k], 0) == 0)
				return true;
	return false;
}

int stretch_last(struct stretch *s, const volatile int *stop, struct err *err)
{
	int rc = any_is_left(s) ? switch_file(s, SWITCH_MS, stop, err) : 0;
	uint64_t now = clock_us();

	if (rc <= 0)
		return rc;
	s->us = now - s->began_us;
	s->began_us = now;
	s->windows++;
	if (share_window(s, err) < 0 ||
	    watches_refresh(&s->targets, &s->options, SNAPSHOT_MS, err) < 0)
		return -1;
	return 1;
}

int stretch_next(struct stretch *s, const volatile int *stop, struct err *err)
{
	uint64_t end = s->began_us + s->options.duration * 1000000ull;
	uint64_t now;

	while (!*stop && (now = clock_us()) < end && s->recording.perf.pid > 0 &&
	       !record_wait(&s->recording, (int)((end - now) / 1000) + 1))
		;
	return stretch_last(s, stop, err);
}

/* ---- how long ---- */

static bool has_pid(const struct stretch *s, pid_t pid)
{
	for (size_t i = 0; i < s->pid_count; i++)
		if (s->pids[i] == pid)
			return true;
	return false;
}

/* perf tells of all processes of the machine, where it records that. */
static bool has_new_process(const struct stretch *s)
{
	for (size_t i = 0; i < s->targets.count && !s->recording.whole_machine; i++)
		for (size_t k = 0; k < s->targets.list[i].pid_count; k++)
			if (!has_pid(s, s->targets.list[i].pids[k]))
				return true;
	return false;
}

bool stretch_is_old(const struct stretch *s)
{
	if (s->windows < WINDOWS_LEAST)
		return false;
	return s->windows >= WINDOWS_MOST || has_new_process(s) || watches_any_ended(&s->targets) ||
	       watches_bytes(&s->targets) > 2 * s->snapshots + GROWTH_LEAST;
}

/* ---- begin and end ---- */

static int record(struct stretch *s, struct err *err)
{
	CLEANUP(free) char *dir = xasprintf("%s/perf", s->dir);
	struct record_options ro = {.dir = dir,
				    .frequency = s->options.frequency,
				    .stack_bytes = targets_stack_bytes(&s->targets, &s->options),
				    .windows = true};

	if (mkdir(dir, 0700) < 0)
		return err_set(err, errno, "make %s", dir);
	targets_pids(&s->targets, &s->pids, &s->pid_count);
	ro.pids = s->pids;
	ro.count = s->pid_count;
	for (size_t i = 0; i < s->targets.count; i++)
		s->targets.list[i].session.stack_bytes = ro.stack_bytes;
	if (record_start(&ro, &s->recording, err) < 0)
		return -1;
	return targets_keep_files(&s->targets, err) < 0 || wait_until_ready(s, err) < 0 ? -1 : 0;
}

enum exit_status stretch_start(const struct options *o, const char *dir, struct stretch *ret,
			       struct err *err)
{
	struct stretch s = {.options = *o, .dir = xstrdup(dir)};
	enum exit_status status = EXIT_DONE;

	s.options.output = s.dir;
	if (mkdir(dir, 0700) < 0) {
		err_set(err, errno, "make %s", dir);
		status = EXIT_FAILED;
	}
	if (status == EXIT_DONE)
		status = targets_find(&s.options, &s.targets, err);
	if (status == EXIT_DONE &&
	    (targets_prepare(&s.targets, &s.options, err) < 0 ||
	     watches_start(&s.targets, &s.options, err) < 0 || record(&s, err) < 0))
		status = EXIT_FAILED;
	if (status != EXIT_DONE) {
		stretch_end(&s);
		return status;
	}
	s.snapshots = watches_bytes(&s.targets);
	*ret = s;
	return EXIT_DONE;
}

void stretch_end(struct stretch *s)
{
	record_abort(&s->recording);
	watches_abort(&s->targets);
	targets_fini(&s->targets);
	fs_remove_tree(AT_FDCWD, s->dir);
	free(s->pids);
	free(s->dir);
	*s = (struct stretch){0};
}
