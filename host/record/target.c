// SPDX-License-Identifier: Apache-2.0
#include "record/target.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/utsname.h>
#include <time.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/str.h"
#include "dfg/paths.h"
#include "record/retention.h"
#include "record/session_files.h"

void target_init(struct target *ret, struct container *c)
{
	*ret = (struct target){.container = *c,
			       .tables = -1,
			       .shared = -1,
			       .turns = -1,
			       .session = {.dirfd = -1, .mapsfd = -1, .elffd = -1}};
	*c = (struct container){0};
}

void target_fini(struct target *t)
{
	session_copy_end(&t->copy, &t->session, 0);
	for (size_t i = 0; i < t->builder_count; i++)
		child_stop(&t->builders[i]);
	cleanup_close_fd(&t->tables);
	cleanup_close_fd(&t->shared);
	container_fini(&t->container);
	jvms_fini(&t->jvms);
	handles_fini(&t->processes);
	outdir_close(&t->outdir);
	free(t->pollers);
	if (t->has_session)
		session_fini(&t->session);
}

/* ---- processes and files ---- */

void target_look(struct target *t, uint64_t deadline)
{
	struct err ended;

	if (container_processes(&t->container, &t->processes, &ended) == 0)
		jvms_find(&t->processes, deadline, &t->jvms);
}

bool target_drop_ended(struct target *t)
{
	CLEANUP(free) pid_t *ended = NULL;
	size_t count;

	handles_remove_ended(&t->processes, &ended, &count);
	return count > 0;
}

void target_refresh(struct target *t, uint64_t deadline)
{
	struct handles now = {0};

	session_copy_end(&t->copy, &t->session, deadline);
	if (container_processes(&t->container, &now, NULL) < 0)
		return; /* it has ended */
	handles_fini(&t->processes);
	t->processes = now;
	jvms_find(&now, deadline, &t->jvms);
	session_copy_files(&t->session, &now, deadline);
}

int target_copy_files(struct target *t, uint64_t deadline, struct err *err)
{
	return session_copy_begin(&t->session, &t->processes, deadline, &t->copy, err);
}

bool target_keeps_fp(const struct target *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->session.jvm_count; i++)
		kept += t->session.jvms[i].keeps_fp;
	return t->jvms.count && kept == t->jvms.count;
}

/* ---- results ---- */

/* The time in UTC, ISO 8601: "20261121T095020Z" for names, else "2026-11-21T09:50:20Z". */
static char *timestamp(bool for_name)
{
	char text[64];
	time_t t = time(NULL);
	struct tm tm;

	gmtime_r(&t, &tm);
	if (for_name)
		strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &tm);
	else
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return xstrdup(text);
}

static void remove_old(const struct record_config *c, const struct outdir *newest, const char *id)
{
	const struct retention *k = &c->keep;
	size_t n = k->count || k->seconds || k->bytes
			   ? results_remove_old(c->root, id, strrchr(newest->path, '/') + 1, k)
			   : 0;

	if (n)
		log_info("removed old results: %zu, by --keep", n);
}

int target_new_graphs(const struct record_config *c, const char *id, struct outdir *ret,
		      struct err *err)
{
	CLEANUP(free)
	char *usual = xasprintf("%s/" DFG_CONTAINERS "/%s/" DFG_GRAPHS_DIR, c->root, id);
	CLEANUP(outdir_close) struct outdir parent = {0};
	CLEANUP(free) char *stamp = timestamp(true);
	int rc = -1;

	if (outdir_open(c->output ? c->output : usual, c->output ? 0755 : 0700, &parent, err) < 0)
		return -1;
	/* <time>, or <time>-2, -3 … when several runs begin in the same second. */
	for (int i = 1; i < 100; i++) {
		CLEANUP(free)
		char *name = i == 1 ? xstrdup(stamp) : xasprintf("%s-%d", stamp, i);

		rc = outdir_make(&parent, name, ret, err);
		if (rc == 0 || err->code != EEXIST)
			break;
	}
	if (rc == 0)
		outdir_give(&parent, ret->fd);
	if (rc == 0 && !c->output)
		remove_old(c, ret, id);
	return rc;
}

/* Links <root>/by-name/<name> to the container's directory, for people who use `ls`. */
static void link_name(const char *root, const struct container *c)
{
	CLEANUP(free) char *dir = xasprintf("%s/" DFG_NAMES_DIR, root);
	CLEANUP(free) char *to = xasprintf("../" DFG_CONTAINERS "/%s", c->id);
	CLEANUP(free) char *name = container_file_name(c);
	CLEANUP(close_fd) int dirfd = -1;
	struct err err;

	if (!strcmp(name, c->id))
		return;
	dirfd = fs_make_dirs(dir, 0700, &err);
	if (dirfd < 0)
		return;
	unlinkat(dirfd, name, 0);
	(void)!symlinkat(to, dirfd, name);
}

static void set_container(struct session *s, const struct container *c)
{
	const char *host = getenv("DFG_HOST");
	struct utsname here;

	if (!host || !*host)
		host = uname(&here) == 0 ? here.nodename : "";
	session_set_container(s, c->id, c->name, c->pod, *c->pod ? c->namespace : "", host);
}

/* Makes the session. One that is there stays, unless it is to be replaced and nobody records it. */
static int create_session(struct target *t, bool force, struct err *err)
{
	if (session_create(&t->outdir, SESSION_DIR, &t->session, err) == 0)
		return 0;
	if (err->code != EEXIST)
		return -1;
	if (!force)
		err_set(err, 0,
			"there is a session in %s already; give another --output, or --force to "
			"replace it",
			t->outdir.path);
	else if (session_remove(t->outdir.fd, SESSION_DIR, err) < 0)
		err_wrap(err, "%s", t->outdir.path);
	else
		return session_create(&t->outdir, SESSION_DIR, &t->session, err);
	err->code = EEXIST; /* what is there is not this run's, and stays */
	return -1;
}

int target_prepare(struct target *t, const struct record_config *c, struct err *err)
{
	if (create_session(t, c->force, err) < 0)
		return -1;
	t->has_session = true;
	set_container(&t->session, &t->container);
	t->session.events = record_events(c);
	if (c->perf_event)
		t->session.perf_event = xstrdup(c->perf_event);
	t->session.frequency = c->frequency;
	target_mark_start(t, clock_us());
	return session_copy_kernel(&t->session, t->shared, err);
}

void target_mark_start(struct target *t, uint64_t began_us)
{
	free(t->session.started);
	t->session.started = timestamp(false);
	t->session.began_us = began_us;
}

int target_make_results(const struct container *container, const struct record_config *c,
			bool below, struct outdir *ret, struct err *err)
{
	CLEANUP(free) char *name = container_file_name(container);
	CLEANUP(free) char *given = NULL;

	if (c->output) {
		given = xasprintf("%s%s%s", c->output, below ? "/" : "", below ? name : "");
		return outdir_open(given, 0755, ret, err);
	}
	if (target_new_graphs(c, container->id, ret, err) < 0)
		return -1;
	link_name(c->root, container);
	return 0;
}

void target_link_latest(const struct outdir *results)
{
	static const char new[] = ".latest";
	CLEANUP(close_fd)
	int above = openat(results->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	unlinkat(above, new, 0);
	if (symlinkat(strrchr(results->path, '/') + 1, above, new) == 0)
		(void)!renameat(above, new, above, "latest");
}

void target_discard_results(const struct outdir *outdir)
{
	CLEANUP(close_fd) int above = -1;

	fs_remove_tree(outdir->fd, SESSION_DIR);
	above = openat(outdir->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	unlinkat(above, strrchr(outdir->path, '/') + 1, AT_REMOVEDIR); /* where it is empty */
}

/* ---- events ------------------------------------------------------------------------------- */

/* Names what an event records, the function without which it cannot, and the session's budgets for
 * JVMs that lack it and for events that are lost. */
static const struct {
	const char *what, *function, *cut, *lost;
} event_texts[SESSION_EVENTS] = {
	[SESSION_ALLOC] = {"allocations", "AllocTracer::send_allocation_in_new_tlab", "events",
			   "lost events"},
	[SESSION_LOCK] = {"waits for locks", "ObjectMonitor::EnterI", "events of locks",
			  "lost events of locks"},
	[SESSION_SAFEPOINT] = {"safepoints", "SafepointSynchronize::begin", "events of safepoints",
			       "lost events of safepoints"},
	[SESSION_COMPILE] = {"compilations", "CompileBroker::invoke_compiler_on_method",
			     "events of compilations", "lost events of compilations"},
	[SESSION_WALL] = {"virtual threads", "FreezeBase::freeze_fast_copy", "virtual threads",
			  "lost times"},
	[SESSION_DEOPT] = {"uncommon traps", "Deoptimization::uncommon_trap", "uncommon traps",
			   "lost uncommon traps"},
};

#define REFUSED                                                                                    \
	"the kernel refuses the probe, for which stable ones before 6.10 want CAP_SYS_ADMIN "      \
	"since July 2025"

void target_say_events(struct target *t, const struct kernel_counts *c)
{
	struct session *s = &t->session;

	if (c->refused)
		session_set_cut(s, "probes", "%llu JVMs have no events: " REFUSED,
				(unsigned long long)c->refused);
	if (c->refused_virtual)
		session_set_cut(
			s, "virtual probes",
			"virtual threads of %llu JVMs are not recorded as a whole: " REFUSED,
			(unsigned long long)c->refused_virtual);
	if (c->refills)
		session_set_cut(
			s, "refills",
			"allocations of %llu JVMs in interpreted and C1's code are charged to "
			"other methods and classes: there JDK 8, unless with G1, refills a "
			"thread's buffer without a call that a probe could see; start them "
			"with -XX:-FastTLABRefill",
			(unsigned long long)c->refills);
	if (c->too_often)
		session_set_cut(s, "virtual threads",
				"virtual threads of %llu JVMs are not recorded as a whole: they "
				"wait so often that it would cost them too much",
				(unsigned long long)c->too_often);
	for (unsigned i = SESSION_CPU + 1; i < SESSION_EVENTS; i++) {
		if (!event_texts[i].what)
			continue;
		if (c->nameless[i])
			session_set_cut(s, event_texts[i].cut,
					"%s of %llu JVMs are not recorded: their libjvm has no "
					"symbol %s, nor is its debug file here; install that",
					event_texts[i].what, (unsigned long long)c->nameless[i],
					event_texts[i].function);
		if (c->lost[i])
			session_set_cut(s, event_texts[i].lost,
					"%llu events of %s are lost: there were too many",
					(unsigned long long)c->lost[i], event_texts[i].what);
	}
}
