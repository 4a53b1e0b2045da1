// SPDX-License-Identifier: Apache-2.0
/* dfg-top: what runs in a container, now. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>

#include "common/log.h"
#include "record/agent_client.h"
#include "record/tempdir.h"
#include "top/collector.h"
#include "top/feed.h"
#include "top/history.h"
#include "top/live.h"
#include "top/plain.h"

#define END_MS 5000 /* for the collector, to end its children */

/* What the lines call all that is looked at. */
static char *name_of(const struct options *o)
{
	CLEANUP(str_fini) struct str out = {0};

	for (size_t i = 0; i < o->name_count; i++)
		str_addf(&out, "%s%s", i ? ", " : "", o->names[i]);
	return o->all ? xstrdup("all") : TAKE_PTR(out.buf);
}

/* Until the collector has ended, or there is nobody who wants to see more. */
static int show_plain(const struct options *o, const char *name, int feed, struct err *err)
{
	struct history h = {0};
	struct window w;
	struct stacks *stacks;
	int rc = 1;

	while (!command_interrupted && (!o->count || h.seen < o->count) &&
	       (rc = feed_receive(feed, &w, &stacks, err)) > 0) {
		struct moment m;

		if (!history_add(&h, &w, stacks))
			continue;
		history_sum(&h, 1, &m);
		rc = o->json ? plain_json(STDOUT_FILENO, name, &m, o->frequency, err)
			     : plain_text(STDOUT_FILENO, name, &m, o->frequency, err);
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
		return (enum exit_status)WEXITSTATUS(status);
	log_error("the recording process was killed by signal %d", WTERMSIG(status));
	return EXIT_FAILED;
}

static bool wants_screen(const struct options *o)
{
	return !o->plain && !o->json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

/* The collector's remarks come by a pipe where there is a screen, that they would spoil; there it
 * waits for a container to come again. */
static int show(const struct options *o, const char *name, struct collector *c, struct child *child,
		struct err *err)
{
	int log[2] = {-1, STDERR_FILENO}, rc;

	if (feed_open(c->feed, err) < 0)
		return -1;
	if (wants_screen(o) && pipe2(log, O_CLOEXEC) < 0)
		return err_set(err, errno, "pipe");
	c->log = log[1];
	c->waits = log[0] >= 0 && !o->by_pid;
	rc = collector_start(c, child, err);
	close(c->feed[1]);
	if (log[0] >= 0)
		close(log[1]);
	if (rc == 0)
		rc = log[0] >= 0 ? live_show(o, name, c->feed[0], log[0], &command_interrupted, err)
				 : show_plain(o, name, c->feed[0], err);
	close(c->feed[0]);
	cleanup_close_fd(&log[0]);
	return rc;
}

static enum exit_status run(const struct options *o, const struct scratch *scratch)
{
	struct collector c = {.options = o, .dir = scratch->dir};
	struct child child = {.pid = -1, .pidfd = -1};
	CLEANUP(free) char *name = name_of(o);
	struct err err = {0};
	int rc = show(o, name, &c, &child, &err);
	enum exit_status status = child.pid > 0 ? end_collector(&child) : EXIT_FAILED;

	return rc < 0 ? command_fail(EXIT_FAILED, &err) : status;
}

static enum exit_status top(const struct options *o)
{
	struct scratch scratch;
	enum exit_status status;
	struct err err;

	if (geteuid() != 0) {
		err_set(&err, 0, "recording other users' processes needs root: run it with sudo");
		return command_fail(EXIT_NOT_PERMITTED, &err);
	}
	command_catch_signals();
	agent_sweep(o->snapshot.root);
	if (scratch_make(o->snapshot.root, &scratch, &err) < 0)
		return command_fail(EXIT_FAILED, &err);
	status = run(o, &scratch);
	scratch_remove(&scratch);
	return status;
}

int main(int argc, char **argv)
{
	struct options o;
	struct err err;

	log_init("dfg-top");
	if (options_parse(PROGRAM_TOP, argc, argv, &o, &err) < 0)
		return (int)command_fail(EXIT_USAGE, &err);
	log_quiet(o.quiet);
	command_raise_file_limit();
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
