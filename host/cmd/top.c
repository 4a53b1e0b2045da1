// SPDX-License-Identifier: Apache-2.0
/* dfg-top: shows what runs in a container while it runs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>

#include "cmd/options.h"
#include "common/jail.h"
#include "common/log.h"
#include "common/str.h"
#include "doctor/probe.h"
#include "record/agent_client.h"
#include "record/temp_dir.h"
#include "report/merge.h"
#include "top/history.h"
#include "top/plain.h"
#include "top/top.h"
#include "top/window.h"

#define END_MS 5000 /* for the collector, to end its children */

/* ---- showing ---- */

/* The title: the names as given. */
static char *name_of(const struct options *o)
{
	CLEANUP(str_fini) struct str out = {0};

	for (size_t i = 0; i < o->record.name_count; i++)
		str_addf(&out, "%s%s", i ? ", " : "", o->record.names[i]);
	return o->record.all ? xstrdup("all") : TAKE_PTR(out.buf);
}

/* Prints windows until the collector has ended or nobody reads the output. */
static int show_plain(const struct options *o, const char *name, int feed, struct err *err)
{
	struct history h = {.event = event_kind_of(record_event(&o->record)),
			    .pools = o->roots & ROOT_POOL,
			    .fold_start = !(o->roots & ROOT_FULL)};
	struct window w;
	const unsigned sampled = record_sampled(&o->record);
	struct stacks *stacks;
	int rc = 1;

	while (!command_interrupted && (!o->count || h.seen < o->count) &&
	       (rc = feed_receive(feed, &w, &stacks, err)) > 0) {
		struct moment m;

		if (!history_add(&h, &w, stacks))
			continue;
		history_sum(&h, 1, &m);
		rc = o->json ? plain_json(STDOUT_FILENO, name, &m, sampled, err)
			     : plain_text(STDOUT_FILENO, name, &m, sampled, err);
		moment_fini(&m);
		if (rc < 0)
			break;
	}
	history_fini(&h);
	return command_interrupted || (rc < 0 && err->code == EPIPE) ? 0 : rc < 0 ? -1 : 0;
}

static enum exit_status end_collector(struct child *c)
{
	int status = 0;

	child_signal(c, SIGTERM);
	if (!child_wait(c, END_MS, &status)) {
		child_stop(c);
		return EXIT_DONE;
	}
	if (WIFEXITED(status))
		return options_exit_status((enum record_result)WEXITSTATUS(status));
	log_error("the recording process was killed by signal %d", WTERMSIG(status));
	return EXIT_FAILED;
}

static bool wants_screen(const struct options *o)
{
	return !o->plain && !o->json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

/* With a screen, the collector's log comes by a pipe, and the collector waits for a container that
 * has ended to be started again. */
static int show(const struct options *o, const char *name, struct collector *c, struct child *child,
		struct err *err)
{
	const struct live_config live = {
		.record = &o->record, .formats = &o->formats, .roots = o->roots, .count = o->count};
	int log[2] = {-1, STDERR_FILENO}, rc;

	if (feed_open(c->feed, err) < 0)
		return -1;
	if (wants_screen(o) && pipe2(log, O_CLOEXEC) < 0)
		return err_set(err, errno, "pipe");
	c->log = log[1];
	c->waits = log[0] >= 0 && !o->record.by_pid;
	rc = collector_start(c, child, err);
	close(c->feed[1]);
	if (log[0] >= 0)
		close(log[1]);
	if (rc == 0)
		rc = log[0] >= 0
			     ? live_show(&live, name, c->feed[0], log[0], &command_interrupted, err)
			     : show_plain(o, name, c->feed[0], err);
	close(c->feed[0]);
	cleanup_close_fd(&log[0]);
	return rc;
}

/* ---- the command ---- */

static enum exit_status run(const struct options *o, const struct temp_dir *temp)
{
	struct collector c = {.config = &o->record, .dir = temp->dir};
	struct child child = {.pid = -1, .pidfd = -1};
	CLEANUP(free) char *name = name_of(o);
	struct err err = {0};
	int rc = show(o, name, &c, &child, &err);
	enum exit_status status = child.pid > 0 ? end_collector(&child) : EXIT_FAILED;

	return rc < 0 ? command_fail(EXIT_FAILED, &err) : status;
}

static enum exit_status top(const struct options *o)
{
	struct temp_dir temp = {.parentfd = -1, .lock = -1};
	enum exit_status status;
	struct err err;

	if (geteuid() != 0) {
		err_set(&err, 0, "recording other users' processes needs root: run it with sudo");
		return command_fail(EXIT_NOT_PERMITTED, &err);
	}
	command_catch_signals();
	agent_sweep(o->record.root);
	if (temp_dir_make(o->record.root, &temp, &err) < 0)
		return command_fail(EXIT_FAILED, &err);
	status = run(o, &temp);
	temp_dir_remove(&temp);
	return status;
}

int main(int argc, char **argv)
{
	CLEANUP(options_fini) struct options o = {0};
	struct err err;

	log_init("dfg-top");
	if (options_parse(PROGRAM_TOP, argc, argv, &o, &err) < 0)
		return (int)command_fail(EXIT_USAGE, &err);
	o.record.explain = probe_explain;
	log_quiet(o.quiet);
	command_raise_file_limit();
	jail_prepare();
	switch (o.action) {
	case ACTION_HELP:
		options_help(PROGRAM_TOP);
		return EXIT_DONE;
	case ACTION_VERSION:
		puts("dfg-top " DFG_VERSION);
		return EXIT_DONE;
	default:
		return (int)top(&o);
	}
}
