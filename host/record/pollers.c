// SPDX-License-Identifier: Apache-2.0
#include "record/pollers.h"

#include <errno.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/proc.h"
#include "common/str.h"
#include "record/perf_map_copy.h"
#include "record/poller.h"

/* For all of the ways there are: waiting for another dfg, an agent that does not answer, a read. */
#define FIRST_MS 25000
#define END_MS	 10000

static struct session_jvm *entry_of(struct session *s, pid_t pid)
{
	for (size_t i = 0; i < s->jvm_count; i++)
		if (s->jvms[i].pid == pid)
			return &s->jvms[i];
	return NULL;
}

static void entry_add(struct session *s, const struct jvm *j)
{
	if (entry_of(s, j->pid))
		return;
	s->jvms = grow(s->jvms, s->jvm_count, &s->jvm_cap, sizeof(*s->jvms));
	s->jvms[s->jvm_count] =
		(struct session_jvm){.pid = j->pid, .nspid = j->nspid, .uid = j->uid};
	memcpy(s->jvms[s->jvm_count].version, j->version, sizeof(j->version));
	s->jvm_count++;
}

static bool is_watched(const struct target *t, pid_t pid)
{
	for (size_t i = 0; i < t->watch_count; i++)
		if (t->watches[i].jvm == pid)
			return true;
	return false;
}

/* Java without HotSpot: said, and not tried. */
static bool is_foreign(struct session *s, const struct jvm *j)
{
	const char *note = runtime_note(j->runtime);
	struct session_jvm *entry;

	if (!note)
		return false;
	entry_add(s, j);
	entry = entry_of(s, j->pid);
	if (!entry->source) {
		log_info("%d is %s", (int)j->pid, note);
		entry->source = JVM_SOURCE_NONE;
		snprintf(entry->note, sizeof(entry->note), "%s", note);
	}
	return true;
}

/* In pid namespaces inside the container's: a request, which is named after that pid, would reach
 * both agents, and each would write into the other's answer. */
static bool shares_pid(const struct target *t, const struct jvm *j)
{
	size_t same = 0;

	for (size_t i = 0; i < t->jvms.count; i++)
		same += t->jvms.list[i].nspid == j->nspid;
	return same > 1;
}

static int start_one(struct target *t, const struct jvm *j, const struct options *o,
		     struct err *err)
{
	CLEANUP(close_fd) int to = session_add_map(&t->session, j->pid, err);
	struct snapshot_options how = o->snapshot;
	struct watch w;

	if (to < 0)
		return -1;
	entry_add(&t->session, j);
	if (shares_pid(t, j))
		how.source = SOURCE_HOST;
	if (watch_start(&t->container, j, &how, to, &w, err) < 0) {
		session_drop_map(&t->session, j->pid);
		return -1;
	}
	(void)TAKE_FD(to);
	t->watches = grow(t->watches, t->watch_count, &t->watch_cap, sizeof(*t->watches));
	t->watches[t->watch_count++] = w;
	return 0;
}

/* Starts what is not watched yet. */
static int start_new(struct targets *t, const struct options *o, struct err *err)
{
	for (size_t i = 0; i < t->count; i++) {
		struct target *at = &t->list[i];

		for (size_t k = 0; k < at->jvms.count; k++) {
			const struct jvm *j = &at->jvms.list[k];
			const struct session_jvm *entry = entry_of(&at->session, j->pid);

			/* What kept its watch waiting once would do so again. */
			if (!is_watched(at, j->pid) && !(entry && entry->hangs) &&
			    !is_foreign(&at->session, j) && start_one(at, j, o, err) < 0)
				return -1;
		}
	}
	return 0;
}

static int wait_new(struct target *t, struct err *err)
{
	size_t kept = 0;
	int rc = 0;

	for (size_t i = 0; i < t->watch_count; i++) {
		struct watch w = t->watches[i];
		struct session_jvm *entry = entry_of(&t->session, w.jvm);
		bool told = entry->source; /* at the beginning of the recording */

		if (rc == 0 && entry->snapshots == 0 && watch_first(&w, FIRST_MS, entry, err) < 0) {
			session_drop_map(&t->session, w.jvm);
			entry->hangs = err->code == ETIMEDOUT;
			if (err->code == ENOSPC || err->code == EDQUOT)
				rc = -1;
			else if (!told)
				log_warn("no names for the Java code of %d: %s", (int)w.jvm,
					 err->msg);
			continue;
		}
		t->watches[kept++] = w;
	}
	t->watch_count = kept;
	return rc;
}

struct keep_threads {
	struct session *session;
	pid_t pid;
};

static void keep_thread(pid_t tid, pid_t nstid, void *arg)
{
	const struct keep_threads *k = arg;

	session_add_thread(k->session, k->pid, tid, nstid);
}

/* JVMs without a snapshot, but with a map of their own. */
static void note_maps(struct session *s)
{
	for (size_t i = 0; i < s->jvm_count; i++)
		for (size_t k = 0; k < s->map_count; k++)
			if (s->jvms[i].source == JVM_SOURCE_NONE &&
			    s->maps[k].pid == s->jvms[i].pid)
				s->jvms[i].source = JVM_SOURCE_MAP;
}

/* What else there is to know by now of the processes' code and threads. */
static void keep_others(struct target *t)
{
	/* By which the snapshots' names of threads find perf's. */
	for (size_t i = 0; i < t->jvms.count; i++) {
		const struct jvm *j = &t->jvms.list[i];
		struct keep_threads threads = {.session = &t->session, .pid = j->pid};

		proc_each_thread(j->procfd, keep_thread, &threads);
	}
	perfmaps_keep(&t->session, t->pids, t->pid_count);
	note_maps(&t->session);
}

int watches_start(struct targets *t, const struct options *o, struct err *err)
{
	if (start_new(t, o, err) < 0)
		return -1;
	for (size_t i = 0; i < t->count; i++) {
		struct target *at = &t->list[i];

		if (wait_new(at, err) < 0)
			return -1;
		keep_others(at);
	}
	return 0;
}

/* Asks all of them, or counts those that have not answered yet. */
static size_t ask(struct targets *t, bool first)
{
	size_t waiting = 0;

	for (size_t i = 0; i < t->count; i++)
		for (size_t k = 0; k < t->list[i].watch_count; k++) {
			struct watch *w = &t->list[i].watches[k];

			if (first)
				watch_ask(w);
			waiting += !watch_has_answered(w);
		}
	return waiting;
}

int watches_refresh(struct targets *t, const struct options *o, int ms, struct err *err)
{
	uint64_t deadline = clock_ms() + (uint64_t)ms;

	for (size_t waiting = ask(t, true); waiting && clock_ms() < deadline;
	     waiting = ask(t, false))
		sleep_ms(5);
	for (size_t i = 0; i < t->count; i++)
		target_refresh(&t->list[i]);
	return watches_start(t, o, err);
}

bool watches_any_ended(const struct targets *t)
{
	for (size_t i = 0; i < t->count; i++)
		for (size_t k = 0; k < t->list[i].watch_count; k++)
			if (watch_has_ended(&t->list[i].watches[k]))
				return true;
	return false;
}

uint64_t watches_bytes(const struct targets *t)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < t->count; i++)
		for (size_t k = 0; k < t->list[i].watch_count; k++)
			bytes += watch_bytes(&t->list[i].watches[k]);
	return bytes;
}

static void stop_all(struct targets *t)
{
	for (size_t i = 0; i < t->count; i++)
		for (size_t k = 0; k < t->list[i].watch_count; k++)
			watch_stop(&t->list[i].watches[k]);
}

int watches_end(struct targets *t, const struct options *o, struct err *err)
{
	/* At once: as close to the last sample as can be, and while files are copied here. */
	stop_all(t);
	for (size_t i = 0; i < t->count; i++)
		target_refresh(&t->list[i]);
	if (watches_start(t, o, err) < 0)
		return -1;
	stop_all(t);
	for (size_t i = 0; i < t->count; i++) {
		struct target *at = &t->list[i];

		for (size_t k = 0; k < at->watch_count; k++)
			watch_end(&at->watches[k], END_MS,
				  entry_of(&at->session, at->watches[k].jvm));
		at->watch_count = 0;
	}
	return 0;
}

void watches_abort(struct targets *t)
{
	struct session_jvm ignored;

	for (size_t i = 0; i < t->count; i++) {
		struct target *at = &t->list[i];

		for (size_t k = 0; k < at->watch_count; k++)
			watch_end(&at->watches[k], 0, &ignored);
		at->watch_count = 0;
	}
}
