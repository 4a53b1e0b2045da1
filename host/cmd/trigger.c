// SPDX-License-Identifier: Apache-2.0
/* dfg-trigger: a container's name -> a flame graph. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>

#include "cmd/list.h"
#include "cmd/options.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/str.h"
#include "doctor/probe.h"
#include "record/agent_client.h"
#include "record/perf.h"
#include "record/pollers.h"
#include "record/targets.h"
#include "report/merge.h"
#include "report/push.h"
#include "report/render.h"
#include "report/summary.h"

/* ---- recording ---- */

#define BEGIN_MS      5000
#define BEGIN_STEP_MS 2

/* The time it begins at: what is before is not recorded. */
static uint64_t wait_for_begin(struct recording *r)
{
	uint64_t latest = clock_ms() + BEGIN_MS;

	while (!record_has_begun(r) && !record_wait(r, BEGIN_STEP_MS) && clock_ms() < latest &&
	       !command_interrupted)
		;
	return clock_ms();
}

static void wait_for_end(struct recording *r, const struct targets *t, const struct options *o,
			 uint64_t began)
{
	uint64_t end = began + o->duration * 1000ull;
	uint64_t now;

	while ((now = clock_ms()) < end && !command_interrupted) {
		uint64_t left = end - now;

		log_progress("recording %s: %llu of %u s (^C ends it and draws)",
			     t->count == 1 ? t->list[0].container.label : "all",
			     (unsigned long long)((now - began) / 1000), o->duration);
		if (record_wait(r, left < 500 ? (int)left : 500)) {
			log_progress("%s", "");
			if (record_is_full(r))
				log_warn("the recording ended after %llu s: the disk of %s is full",
					 (unsigned long long)(clock_ms() - began) / 1000,
					 t->list[0].session.dir);
			else
				log_info("the recording ended early: no process is left, or perf "
					 "failed");
			return;
		}
	}
	log_progress("%s", "");
}

/* The recording of all is every session's: one file, several names. */
static int share_recording(struct targets *t, struct err *err)
{
	for (size_t i = 1; i < t->count; i++)
		if (session_share(&t->list[0].session, &t->list[i].session, "perf.data", err) < 0)
			return -1;
	return 0;
}

/* Takes the last snapshots while perf writes what it has. */
static int end_recording(struct targets *t, const struct options *o, struct recording *r,
			 struct err *err)
{
	int rc;

	record_end(r);
	rc = watches_end(t, o, err);
	if (rc < 0)
		record_abort(r);
	else if ((rc = record_stop(r, err)) < 0)
		probe_explain(o->snapshot.root, err);
	return rc;
}

static int record(struct targets *t, const struct options *o, uint64_t *ret_end, struct err *err)
{
	struct record_options ro = {.dir = t->list[0].session.dir, .frequency = o->frequency};
	CLEANUP(free) pid_t *pids = NULL;
	struct recording r;
	uint64_t began;

	ro.stack_bytes = targets_stack_bytes(t, o);
	targets_pids(t, &pids, &ro.count);
	ro.pids = pids;
	if (record_start(&ro, &r, err) < 0)
		return -1;
	began = wait_for_begin(&r);
	if (targets_keep_files(t, err) < 0) {
		record_abort(&r);
		return -1;
	}
	wait_for_end(&r, t, o, began);
	*ret_end = clock_ms();
	if (end_recording(t, o, &r, err) < 0)
		return -1;
	for (size_t i = 0; i < t->count; i++) {
		struct target *at = &t->list[i];

		at->session.duration = (double)(*ret_end - began) / 1000;
		at->session.stack_bytes = ro.stack_bytes;
		at->session.whole_machine = r.whole_machine || t->count > 1;
		if (session_write(&at->session, err) < 0)
			return -1;
	}
	return share_recording(t, err);
}

/* ---- drawing ---- */

/* The pictures are there, whatever becomes of this. */
static int push_profile(const struct session *s, const char *outdir, const struct options *o,
			struct err *err)
{
	CLEANUP(free) char *path = xasprintf("%s/%s", outdir, formats_file(PUSH_FORMAT));

	log_progress("pushing to %s", o->push);
	if (push(o->push, s, path, err) < 0)
		return -1;
	log_progress("%s", "");
	return 0;
}

/* Draws one session and adds its part to the JSON summary. */
static int draw(const struct session *s, const char *outdir, const struct options *o,
		uint64_t ended, json_t **part, struct err *err)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	struct render_result result;
	struct summary summary = {
		.session = s, .formats = &o->formats, .outdir = outdir, .result = &result};

	log_progress("drawing");
	inputs_add_session(&in, s);
	if (render(&in, ROOT_THREAD, &o->formats, outdir, &result, err) < 0)
		return -1;
	log_progress("%s", "");
	summary.post_ms = clock_ms() - ended;
	if (o->json)
		*part = summary_json(&summary);
	else
		summary_print(&summary);
	if (result.quality.samples == 0)
		log_warn("no sample of %s: its processes used no CPU in this time", s->label);
	else if (o->push)
		return push_profile(s, outdir, o, err);
	return 0;
}

static enum exit_status draw_targets(const struct targets *t, const struct options *o,
				     uint64_t ended)
{
	json_t **parts = xcalloc(t->count, sizeof(*parts));
	enum exit_status status = EXIT_DONE;
	struct err err = {0};

	for (size_t i = 0; i < t->count; i++) {
		const struct target *at = &t->list[i];

		if (draw(&at->session, at->outdir, o, ended, &parts[i], &err) < 0) {
			free(parts);
			log_error("%s; the recording is kept: dfg-trigger --replay %s", err.msg,
				  at->session.dir);
			return EXIT_FAILED;
		}
		if (at->jvms.count == 0 && !at->may_lack_jvm) {
			log_warn("no JVM runs in %s: the graph is of its other processes",
				 at->container.label);
			status = EXIT_NO_JVM;
		}
	}
	if (o->json)
		summary_json_end(parts, t->count);
	free(parts);
	return status;
}

/* Up to here nothing is worth keeping: what was made is taken back. */
static enum exit_status give_up(struct targets *t, const struct err *err)
{
	watches_abort(t);
	for (size_t i = 0; i < t->count; i++)
		target_discard(&t->list[i]);
	return command_fail(EXIT_FAILED, err);
}

static enum exit_status trigger_targets(struct targets *t, const struct options *o)
{
	uint64_t ended = 0;
	struct err err = {0};

	if (targets_prepare(t, o, &err) < 0 || watches_start(t, o, &err) < 0 ||
	    record(t, o, &ended, &err) < 0)
		return give_up(t, &err);
	return draw_targets(t, o, ended);
}

static enum exit_status trigger(const struct options *o)
{
	struct targets targets;
	enum exit_status status;
	struct err err = {0};

	if (geteuid() != 0) {
		err_set(&err, 0, "recording other users' processes needs root: run it with sudo");
		return command_fail(EXIT_NOT_PERMITTED, &err);
	}
	command_catch_signals();
	agent_sweep(o->snapshot.root);
	status = targets_find(o, &targets, &err);
	if (status != EXIT_DONE)
		command_fail(status, &err);
	else
		status = trigger_targets(&targets, o);
	targets_fini(&targets);
	return status;
}

/* ---- replay ---- */

/* Beside the session, where the first pictures are, unless told otherwise. */
static char *replay_directory(const struct session *s, const struct options *o)
{
	return o->output ? xstrdup(o->output) : xasprintf("%s/..", s->dir);
}

static enum exit_status replay(const struct options *o)
{
	json_t **parts = xcalloc(o->name_count, sizeof(*parts));
	enum exit_status status = EXIT_DONE;
	struct err err = {0};

	for (size_t i = 0; i < o->name_count && status == EXIT_DONE; i++) {
		CLEANUP(free) char *outdir = NULL;
		uint64_t began = clock_ms();
		struct session s;

		if (session_open(o->names[i], &s, &err) < 0) {
			status = command_fail(EXIT_FAILED, &err);
			break;
		}
		outdir = replay_directory(&s, o);
		if (draw(&s, outdir, o, began, &parts[i], &err) < 0)
			status = command_fail(EXIT_FAILED, &err);
		session_fini(&s);
	}
	if (o->json && status == EXIT_DONE)
		summary_json_end(parts, o->name_count);
	free(parts);
	return status;
}

int main(int argc, char **argv)
{
	struct options o;
	struct err err;

	log_init("dfg-trigger");
	if (options_parse(PROGRAM_TRIGGER, argc, argv, &o, &err) < 0)
		return (int)command_fail(EXIT_USAGE, &err);
	log_quiet(o.quiet);
	command_raise_file_limit();
	switch (o.action) {
	case ACTION_HELP:
		options_help(PROGRAM_TRIGGER);
		return EXIT_DONE;
	case ACTION_VERSION:
		puts("dfg-trigger " DFG_VERSION);
		return EXIT_DONE;
	case ACTION_REPLAY:
		return (int)replay(&o);
	case ACTION_LIST:
		return (int)list_containers(&o);
	case ACTION_RECORD:
		break;
	}
	return (int)trigger(&o);
}
