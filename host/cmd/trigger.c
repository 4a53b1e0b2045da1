// SPDX-License-Identifier: Apache-2.0
/* dfg-trigger: a container's name -> a flame graph. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/mman.h>

#include "cmd/options.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/jail.h"
#include "common/log.h"
#include "common/str.h"
#include "discover/container.h"
#include "discover/jvm.h"
#include "doctor/probe.h"
#include "record/agent_client.h"
#include "record/run.h"
#include "report/filter.h"
#include "report/merge.h"
#include "report/push.h"
#include "report/render.h"
#include "report/summary.h"

#define PUSH_MS 85000 /* for drawing, and for push() */

/* ---- drawing ---- */

/* Summaries on stdout; those in JSON, of several recordings, as one object. */
struct summaries {
	bool is_list; /* in JSON */
	size_t printed;
};

static void summaries_next(struct summaries *s)
{
	if (s->is_list)
		fputs(s->printed ? "," : "{\"recordings\": [\n", stdout);
	s->printed++;
	fflush(stdout);
}

static void summaries_end(const struct summaries *s)
{
	if (s->is_list && s->printed)
		fputs("]}\n", stdout);
	fflush(stdout);
}

/* Sends the profiles of all events that there were. Runs after the graphs are written: they stay if
 * it fails. */
static int push_profiles(const struct summary *summary, const struct outdir *outdir,
			 const struct options *o, struct err *err)
{
	log_progress("pushing to %s", o->push);
	for (size_t i = 0; i < summary->event_count; i++) {
		const struct summary_event *e = &summary->events[i];
		CLEANUP(free) char *file = formats_file(&e->formats, formats_get(PUSH_FORMAT));

		if (e->result.quality.samples &&
		    push(o->push, summary->session, outdir->fd, file, err) < 0)
			return -1;
	}
	log_progress("%s", "");
	return 0;
}

/* True if only the profile is kept of what is recorded. */
static bool is_stripped(const struct options *o)
{
	return o->action == ACTION_RECORD && !o->keep_stacks;
}

static void strip(struct session *s)
{
	struct err err;

	if (session_strip(s, &err) < 0)
		log_warn("the recording of %s is kept, with copies of stack memory: %s", s->label,
			 err.msg);
}

/* The session keeps all samples, whatever is drawn. */
static int draw_tree_alone(const struct inputs *in, const struct format_set *with, struct err *err)
{
	const struct format_set tree = {.list = {&format_tree}, .count = 1, .tree = with->tree};
	struct inputs all = *in;
	struct render_result ignored;

	all.filter = NULL;
	return render(&all, ROOT_THREAD, &tree, with->tree_dir, &ignored, err);
}

/* Returns the formats of an event of the session. The first one's files have the usual names. */
static struct format_set formats_of(const struct session *s, enum session_event event,
				    const struct options *o)
{
	const bool is_first = !(s->events & ((1u << event) - 1));
	struct format_set ret = o->formats;

	if (is_first)
		return ret;
	ret.event = session_event_name(event);
	formats_remove_of_inputs(&ret);
	return ret;
}

static bool is_drawn(const struct session *s, enum session_event event, const struct options *o)
{
	if (event == SESSION_PERF && o->record.perf_event && s->perf_event &&
	    strcmp(s->perf_event, o->record.perf_event) != 0)
		return false;
	return s->events & o->record.events & 1u << event;
}

/* Lists the pages of the events that are drawn, for that of one of them. Files are owned. */
static size_t list_pages(const struct session *s, enum session_event of, const struct options *o,
			 struct page_link ret[SESSION_EVENTS])
{
	size_t n = 0;

	for (unsigned i = 0; i < SESSION_EVENTS; i++) {
		const struct format_set formats = formats_of(s, i, o);

		if (!is_drawn(s, i, o))
			continue;
		ret[n++] = (struct page_link){
			.name = session_event_of(s, i),
			.file = i == of ? NULL : formats_file(&formats, formats_get("html"))};
	}
	return n;
}

/* Draws one event of the session. */
static int draw_event(struct session *s, enum session_event event, const struct outdir *outdir,
		      const struct options *o, struct summary_event *ret, struct err *err)
{
	CLEANUP(inputs_fini) struct inputs in = {.event = event_kind_of(event)};
	const struct outdir own = {.fd = s->dirfd, .path = s->dir};
	struct page_link links[SESSION_EVENTS];
	struct format_set formats;
	int rc;

	inputs_add_session(&in, s);
	ret->event = in.event;
	ret->formats = formats = formats_of(s, event, o);
	formats.tree_dir = &own;
	formats.tree = session_tree(event);
	if (is_stripped(o) && filter_is_empty(o->filter))
		formats.list[formats.count++] = &format_tree;
	else if (is_stripped(o) && draw_tree_alone(&in, &formats, err) < 0)
		return -1;
	in.filter = o->filter;
	formats.links = links;
	formats.link_count = list_pages(s, event, o, links);
	rc = render(&in, o->roots, &formats, outdir, &ret->result, err);
	for (size_t i = 0; i < formats.link_count; i++)
		free(links[i].file);
	return rc;
}

/* Returns the path of the picture that --open shows. Owned. */
static char *path_to_open(const struct outdir *outdir, const struct format_set *formats)
{
	const char *name = formats_include(formats, "html") ? "html" : "svg";
	CLEANUP(free) char *file = formats_file(formats, formats_get(name));

	return xasprintf("%s/%s", outdir->path, file);
}

/* Says why there is nothing to see, or sends the profile. */
static int finish_drawing(const struct session *s, const struct summary *summary,
			  const struct outdir *outdir, const struct options *o, struct err *err)
{
	const struct summary_event *e = &summary->events[0];

	if (e->result.quality.samples == 0 && !filter_is_empty(o->filter))
		log_warn("no sample of %s passes --include, --exclude, --java-only, --from and "
			 "--to",
			 s->label);
	else if (e->result.quality.samples == 0 && e->event == EVENT_CPU)
		log_warn("no sample of %s: its processes used no CPU in this time", s->label);
	else if (e->result.quality.samples == 0)
		log_warn("no event of %s in this time", s->label);
	else if (o->push)
		return push_profiles(summary, outdir, o, err);
	return 0;
}

/* Draws the events of a session that are wanted. One that cannot be drawn, of which *ret_why says
 * why, costs the others nothing, unless it is the first. */
static int draw_events(struct session *s, const struct outdir *outdir, const struct options *o,
		       struct summary *ret, struct err *ret_why, struct err *err)
{
	for (unsigned i = 0; i < SESSION_EVENTS; i++) {
		struct summary_event *e = &ret->events[ret->event_count];

		if (!is_drawn(s, i, o))
			continue;
		if (draw_event(s, i, outdir, o, e, err) == 0) {
			ret->event_count++;
		} else if (ret->event_count == 0) {
			return -1;
		} else {
			*ret_why = *err;
			s->events &= ~(1u << i);
		}
	}
	return ret->event_count ? 0 : err_set(err, 0, "%s has none of these events", s->dir);
}

/* Draws one session, prints its summary, and sends its profile. Of one that was just recorded only
 * the profile is kept. *ret_drawn, owned by the caller, is the picture to open, also where the
 * profile cannot be sent, or an event not be drawn. */
static int draw(struct session *s, const struct outdir *outdir, const struct options *o,
		uint64_t ended, struct summaries *list, char **ret_drawn, struct err *err)
{
	CLEANUP(free) struct summary_event *events = xcalloc(SESSION_EVENTS, sizeof(*events));
	struct summary summary = {.session = s, .outdir = outdir->path, .events = events};
	struct err why = {0};

	if (draw_events(s, outdir, o, &summary, &why, err) < 0)
		return -1;
	log_progress("%s", "");
	if (summary.events[0].result.quality.samples == 0 && s->failure)
		return err_set(err, 0, "%s", s->failure);
	summary.post_ms = clock_ms() - ended;
	summaries_next(list);
	if (o->json)
		summary_json(&summary);
	else
		summary_print(&summary);
	*ret_drawn = path_to_open(outdir, &summary.events[0].formats);
	if (is_stripped(o))
		strip(s);
	if (finish_drawing(s, &summary, outdir, o, err) < 0)
		return -1;
	if (!why.msg[0])
		return 0;
	*err = why;
	return -1;
}

static void show_on_screen(const char *path)
{
	struct err err;

	if (open_picture(path, &err) < 0)
		log_warn("%s", err.msg);
}

/* ---- recording ---- */

static bool is_free(const struct outdir *dir, const struct format_set *formats)
{
	for (size_t i = 0; i < formats->count; i++) {
		CLEANUP(free) char *file = formats_file(formats, formats->list[i]);

		if (faccessat(dir->fd, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return false;
	}
	return true;
}

/* Draws beside the results, or under sudo, unless there is --output, into the working directory:
 * the user who called sudo cannot enter the other one. The names have container and time, then. */
static int draw_recorded(struct target *t, const struct options *o, struct summaries *list,
			 char **ret_drawn, struct err *err)
{
	CLEANUP(free) char *name = container_file_name(&t->container);
	CLEANUP(outdir_close) struct outdir here = {.fd = -1};
	CLEANUP(free) char *stem = xasprintf("%.100s-%s", name, strrchr(t->outdir.path, '/') + 1);
	struct options named = *o;

	if (o->record.output || !outdir_open_here(&here))
		return draw(&t->session, &t->outdir, o, t->ended, list, ret_drawn, err);
	named.formats.stem = stem;
	/* Of two containers with the same name the second gets "_". */
	while (!is_free(&here, &named.formats)) {
		char *next = xasprintf("%s_", stem);

		free(stem);
		named.formats.stem = stem = next;
	}
	return draw(&t->session, &here, &named, t->ended, list, ret_drawn, err);
}

/* The worker's task; `arg` are the options. Its product is the summary, if there is one. */
static int draw_task(struct target *t, void *arg, struct worker_product *ret, struct err *err)
{
	const struct options *o = arg;
	struct summaries one = {0};
	CLEANUP(free) char *drawn = NULL;
	int rc;

	ret->fd = memfd_create("summary", MFD_CLOEXEC);
	if (ret->fd < 0 || dup2(ret->fd, STDOUT_FILENO) < 0)
		return err_set(err, errno, "memory for a summary");
	rc = draw_recorded(t, o, &one, &drawn, err);
	if (drawn && !o->record.output)
		target_link_latest(&t->outdir);
	outdir_give_tree(&t->outdir, t->session.dirfd);
	snprintf((char *)ret->data, sizeof(ret->data), "%s", drawn ? drawn : "");
	return rc;
}

/* True if no container that its name stands for has a JVM: one in a pod is enough. */
static bool lacks_jvm(const struct record_run *r, const struct worker *w)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->workers[i].name == w->name && r->workers[i].jvms)
			return false;
	return true;
}

static int print_summary(int fd, struct err *err)
{
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_set(err, errno, "read the summary");
	return fs_copy(fd, STDOUT_FILENO, INT64_MAX, err) < 0 ? -1 : 0;
}

/* Prints a worker's summary, and its failure unless that is settled: said, and nothing is kept. */
static enum exit_status show(const struct record_run *r, const struct worker *w,
			     struct summaries *s)
{
	const struct worker_product *p = &w->product;
	const bool drawn = p->fd >= 0 && p->data[0];
	struct err err;

	if (drawn) {
		summaries_next(s);
		if (print_summary(p->fd, &err) < 0)
			return command_fail(EXIT_FAILED, &err);
	}
	if (worker_has_failed(w)) {
		if (drawn)
			log_error("%s", w->failed.msg);
		else if (!w->settled)
			log_error("%s; the recording is kept: dfg-trigger --replay %s/session",
				  w->failed.msg, w->outdir.path);
		return EXIT_FAILED;
	}
	if (!lacks_jvm(r, w))
		return EXIT_DONE;
	log_warn("no JVM runs in %s: the graph is of its other processes", w->container.label);
	return EXIT_NO_JVM;
}

/* Has all workers draw; what one container made cannot be drawn costs no other one its graph. */
static enum exit_status draw_all(struct record_run *r, struct options *o)
{
	struct summaries s = {.is_list = o->json && r->count > 1};
	enum exit_status status = EXIT_DONE, one;

	log_progress("drawing");
	record_each(r, draw_task, o, o->push ? PUSH_MS : 0);
	log_progress("%s", "");
	for (size_t i = 0; i < r->count; i++) {
		one = show(r, &r->workers[i], &s);
		if (one == EXIT_FAILED || status == EXIT_DONE)
			status = one;
	}
	summaries_end(&s);
	if (o->open && r->count && r->workers[0].product.fd >= 0 && r->workers[0].product.data[0] &&
	    !r->workers[0].product.data[WORKER_DATA - 1])
		show_on_screen((const char *)r->workers[0].product.data);
	return status;
}

static enum exit_status record_and_draw(struct options *o)
{
	struct record_run run;
	struct err err = {0};
	enum exit_status status = options_exit_status(record_start(&o->record, &run, &err));

	if (status != EXIT_DONE)
		return command_fail(status, &err);
	if (record_finish(&run, &err) < 0) {
		record_discard(&run);
		return command_fail(EXIT_FAILED, &err);
	}
	status = draw_all(&run, o);
	record_fini(&run);
	return status;
}

static void say_place(const struct options *o)
{
	CLEANUP(outdir_close) struct outdir here = {.fd = -1};

	if (!o->record.output && outdir_has_caller() && !outdir_open_here(&here))
		log_info("the current directory is not yours: only root will be able to open the "
			 "pictures; call it elsewhere, or give --output");
}

static enum exit_status trigger(struct options *o)
{
	struct err err = {0};

	if (geteuid() != 0) {
		err_set(&err, 0, "recording other users' processes needs root: run it with sudo");
		return command_fail(EXIT_NOT_PERMITTED, &err);
	}
	say_place(o);
	command_catch_signals();
	o->record.stop = &command_interrupted;
	o->record.explain = probe_explain;
	agent_sweep(o->record.root);
	return record_and_draw(o);
}

/* ---- replay ---- */

/* By default next to the session, where its first graphs are. */
static int open_replayed(const struct session *s, const struct options *o, struct outdir *ret,
			 struct err *err)
{
	CLEANUP(free) char *above = xasprintf("%s/..", s->dir);

	return outdir_open(o->record.output ? o->record.output : above, 0755, ret, err);
}

static int replay_one(const char *dir, const struct options *o, struct summaries *list,
		      struct err *err)
{
	CLEANUP(outdir_close) struct outdir outdir = {0};
	uint64_t began = clock_ms();
	CLEANUP(free) char *drawn = NULL;
	struct session s;
	int rc;

	if (session_open(dir, &s, err) < 0)
		return -1;
	rc = open_replayed(&s, o, &outdir, err);
	log_progress("drawing");
	if (rc == 0)
		rc = draw(&s, &outdir, o, began, list, &drawn, err);
	if (drawn && o->open && list->printed == 1)
		show_on_screen(drawn);
	session_fini(&s);
	return rc;
}

static enum exit_status replay(const struct options *o)
{
	size_t count = o->record.name_count, failed = 0;
	struct summaries s = {.is_list = o->json && count > 1};

	for (size_t i = 0; i < count; i++) {
		struct err err = {0};

		if (replay_one(o->record.names[i], o, &s, &err) < 0) {
			failed++;
			(void)command_fail(EXIT_FAILED, &err);
		}
	}
	summaries_end(&s);
	return failed ? EXIT_FAILED : EXIT_DONE;
}

int main(int argc, char **argv)
{
	CLEANUP(options_fini) struct options o = {0};
	struct err err;

	log_init("dfg-trigger");
	if (options_parse(PROGRAM_TRIGGER, argc, argv, &o, &err) < 0)
		return (int)command_fail(EXIT_USAGE, &err);
	log_quiet(o.quiet);
	command_raise_file_limit();
	jail_prepare();
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
		return (int)containers_print(&o);
	case ACTION_LIST_RECORDINGS:
		return (int)recordings_print(&o);
	case ACTION_RECORD:
		break;
	}
	return (int)trigger(&o);
}
