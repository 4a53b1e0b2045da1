// SPDX-License-Identifier: Apache-2.0
/* dfg-trigger: a container's name -> a flame graph. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>

#include "cmd/options.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/str.h"
#include "discover/container.h"
#include "discover/jvm.h"
#include "doctor/probe.h"
#include "record/agent_client.h"
#include "record/run.h"
#include "report/merge.h"
#include "report/push.h"
#include "report/render.h"
#include "report/summary.h"

/* ---- drawing ---- */

/* Runs after the graphs are written: they stay if it fails. */
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

/* Prints the JSON summaries as one object, or drops them. */
static void parts_end(json_t **parts, size_t count, bool print)
{
	if (print)
		summary_json_end(parts, count);
	for (size_t i = 0; i < count && !print; i++)
		json_decref(parts[i]);
	free(parts);
}

/* Draws all; what one container made cannot be drawn costs no other one its graph. */
static enum exit_status draw_targets(const struct targets *t, const struct options *o,
				     uint64_t ended)
{
	json_t **parts = xcalloc(t->count, sizeof(*parts));
	enum exit_status status = EXIT_DONE;
	size_t failed = 0;

	for (size_t i = 0; i < t->count; i++) {
		const struct target *at = &t->list[i];
		struct err err = {0};

		if (draw(&at->session, at->outdir, o, ended, &parts[i], &err) < 0) {
			failed++;
			log_error("%s; the recording is kept: dfg-trigger --replay %s", err.msg,
				  at->session.dir);
		} else if (at->jvms.count == 0 && !at->may_lack_jvm) {
			log_warn("no JVM runs in %s: the graph is of its other processes",
				 at->container.label);
			status = EXIT_NO_JVM;
		}
	}
	parts_end(parts, t->count, o->json && failed < t->count);
	return failed ? EXIT_FAILED : status;
}

static enum exit_status record_and_draw(const struct options *o)
{
	struct record_run run;
	struct err err = {0};
	uint64_t ended = 0;
	enum exit_status status = options_exit_status(record_start(&o->record, &run, &err));

	if (status != EXIT_DONE)
		return command_fail(status, &err);
	if (record_finish(&run, &ended, &err) < 0) {
		record_discard(&run);
		return command_fail(EXIT_FAILED, &err);
	}
	status = draw_targets(&run.targets, o, ended);
	record_fini(&run);
	return status;
}

static enum exit_status trigger(struct options *o)
{
	struct err err = {0};

	if (geteuid() != 0) {
		err_set(&err, 0, "recording other users' processes needs root: run it with sudo");
		return command_fail(EXIT_NOT_PERMITTED, &err);
	}
	command_catch_signals();
	o->record.stop = &command_interrupted;
	o->record.explain = probe_explain;
	agent_sweep(o->record.root);
	return record_and_draw(o);
}

/* ---- replay ---- */

/* By default next to the session, where its first graphs are. */
static char *replay_directory(const struct session *s, const struct options *o)
{
	return o->record.output ? xstrdup(o->record.output) : xasprintf("%s/..", s->dir);
}

static int replay_one(const char *dir, const struct options *o, json_t **part, struct err *err)
{
	CLEANUP(free) char *outdir = NULL;
	uint64_t began = clock_ms();
	struct session s;
	int rc;

	if (session_open(dir, &s, err) < 0)
		return -1;
	outdir = replay_directory(&s, o);
	rc = draw(&s, outdir, o, began, part, err);
	session_fini(&s);
	return rc;
}

static enum exit_status replay(const struct options *o)
{
	size_t count = o->record.name_count, failed = 0;
	json_t **parts = xcalloc(count, sizeof(*parts));

	for (size_t i = 0; i < count; i++) {
		struct err err = {0};

		if (replay_one(o->record.names[i], o, &parts[i], &err) < 0) {
			failed++;
			(void)command_fail(EXIT_FAILED, &err);
		}
	}
	parts_end(parts, count, o->json && failed < count);
	return failed ? EXIT_FAILED : EXIT_DONE;
}

/* ---- list ---- */

static size_t count_jvms(const struct container *c)
{
	CLEANUP(free) pid_t *pids = NULL;
	struct jvms jvms;
	struct err err;
	size_t count;

	if (container_pids(c, &pids, &count, &err) < 0)
		return 0;
	jvms_find(pids, count, &jvms);
	count = jvms.count;
	jvms_fini(&jvms);
	return count;
}

static json_t *container_json(const struct container *c)
{
	return json_pack("{ss ss ss ss ss si sI}", "id", c->id, "name", c->name, "pod", c->pod,
			 "namespace", c->namespace, "label", c->label, "pid", (int)c->pid, "jvms",
			 (json_int_t)count_jvms(c));
}

static int by_label(const void *a, const void *b)
{
	const struct container *x = a, *y = b;
	int order = strcmp(x->label, y->label);

	return order ? order : strcmp(x->id, y->id);
}

/* Prints lines or, with --json, one object (docs/formats.md). */
static enum exit_status list_containers(const struct options *o)
{
	CLEANUP(containers_fini) struct containers c = {0};
	json_t *list, *all;
	struct err err;

	if (geteuid() != 0) {
		err_set(&err, 0, "listing other users' processes needs root: run it with sudo");
		return command_fail(EXIT_NOT_PERMITTED, &err);
	}
	if (containers_list(o->record.root, &c, &err) < 0)
		return command_fail(EXIT_FAILED, &err);
	list = json_array();
	if (c.count)
		qsort(c.list, c.count, sizeof(*c.list), by_label);
	for (size_t i = 0; i < c.count; i++) {
		const struct container *at = &c.list[i];

		if (at->is_pause)
			continue;
		if (o->json)
			json_array_append_new(list, container_json(at));
		else
			printf("%-12.12s  %7d  %3zu JVM  %s\n", at->id, (int)at->pid,
			       count_jvms(at), at->label);
	}
	all = json_pack("{so}", "containers", list);
	if (o->json) {
		json_dumpf(all, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	json_decref(all);
	return EXIT_DONE;
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
