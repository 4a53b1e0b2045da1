// SPDX-License-Identifier: Apache-2.0
#include "record/jvm_snapshot.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/parallel.h"
#include "common/str.h"
#include "dfg/paths.h"
#include "dfg/snapshot.h"
#include "record/agent_client.h"
#include "record/budget.h"
#include "record/memory_reader.h"
#include "session/session.h"

#define LOCK_MS	  10000
#define ANSWER_MS 15000 /* the first dump of a Tomcat at a load of 40 on two processors: 8 s */
#define KEEP	  30	/* seconds: more than the longest time between two snapshots */

/* A snapshot without news consists of these. */
#define QUIET_BYTES (sizeof(struct snap_head) + sizeof(struct snap_end))

#define PAUSE_MIN_MS 25
#define PAUSE_MAX_MS 1000
#define SHARE	     25 /* pause per cost of a snapshot */
#define SHARE_BUSY   12 /* the same after */
#define BUSY	     12 /* new pieces of code */
#define CROWD_MAX    60
#define FAILURES_MAX 3

struct snapshots {
	const struct container *container;
	const struct jvm *jvm;
	const struct record_config *config;
	struct snapshot_report *report;
	int to, maps, turns, asks;
	int crowd;     /* factor of all pauses, above 1 where the run has many JVMs */
	uint64_t room; /* bytes for the next one */
	/* The source that worked last. */
	bool by_agent;
	struct memory_reader *host;    /* NULL: not by the host */
	struct memory_reader *watcher; /* sees when the agent is to be asked; NULL: nobody does */
	uint32_t seq;		       /* the agent's last answer; 0: none */
};

/* One of them. */
struct snapshot_result {
	uint32_t entries, skipped; /* pieces of code written; not understood */
	uint32_t us;		   /* elapsed */
	uint64_t cpu_us;	   /* of a processor, in the JVM or the reader */
	bool news;		   /* something has changed since the one before */
};

static void set_note(struct snapshots *s, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void set_note(struct snapshots *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->report->note, sizeof(s->report->note), fmt, ap);
	va_end(ap);
}

static void note_status(struct snapshots *s, const char *who, uint32_t status)
{
	if (status != DFG_DUMP_OK)
		set_note(s, "%s: %s", who, dump_status_text(status));
}

/* ---- by the agent ---- */

/* Has the agent see the request. `known`: it has answered before. */
static int wake(struct agent_share *share, const struct jvm *j, const struct dump *d, int pidfd,
		const struct record_config *c, bool known, struct err *err)
{
	bool resident = known || agent_is_resident(j);

	if (c->trigger == TRIGGER_LOAD || (c->trigger == TRIGGER_AUTO && !resident))
		return agent_load(j, d, !c->keep_flags, err);
	if (!resident && agent_load(j, NULL, !c->keep_flags, err) < 0)
		return -1;
	if (dump_request(share, d, j, err) < 0)
		return -1;
	if (c->trigger == TRIGGER_SIGNAL)
		return agent_signal(j, pidfd, agent_share_signal(share, j->nspid), err);
	return 0;
}

static int exchange(struct snapshots *s, struct agent_share *share, const struct dump *wish, int to,
		    struct dump_answer *ret, struct err *err)
{
	const struct jvm *j = s->jvm;
	CLEANUP(close_fd) int pidfd = (int)syscall(SYS_pidfd_open, j->pid, 0);
	struct dump d = {.fd = -1, .closed = -1};
	int rc;

	if (pidfd < 0)
		return err_set(err, errno, "process %d", (int)j->pid);
	rc = dump_create(share, j, wish, &d, err);
	if (rc == 0)
		rc = wake(share, j, &d, pidfd, s->config, s->by_agent, err);
	/* Up to here, ENOSPC is of the container's share and not of the snapshots' file. */
	if (rc < 0)
		err->code = 0;
	else
		rc = dump_wait(&d, pidfd, ANSWER_MS, to, ret, err);
	dump_remove(share, &d, j->nspid);
	return rc;
}

/* Has the agent make a dump, and copies it to `to`. */
static int dump(struct snapshots *s, const struct dump *wish, int to, struct dump_answer *ret,
		struct err *err)
{
	const struct container *c = s->container;
	const char *root = s->config->root;
	struct agent_share share = {-1, -1, -1, 0};
	int rc;

	if (c->is_single)
		return err_set(err, 0, "process %d is in no container", (int)s->jvm->pid);
	if (agent_can_answer(s->jvm, err) < 0)
		return -1;
	if (((!s->by_agent && !agent_is_visible(s->jvm)) ||
	     agent_share_open(root, c->id, LOCK_MS, &share, err) < 0) &&
	    (agent_join(root, c, err) < 0 ||
	     agent_share_open(root, c->id, LOCK_MS, &share, err) < 0))
		return -1;
	rc = exchange(s, &share, wish, to, ret, err);
	agent_share_close(&share);
	s->by_agent = rc == 0;
	return rc;
}

static int take_by_agent(struct snapshots *s, enum snapshot_command what,
			 struct snapshot_result *ret, struct err *err)
{
	const struct dump wish = {.fd = -1,
				  .since = s->seq,
				  .keep = what == SNAPSHOT_LAST ? 0 : KEEP,
				  .named = what == SNAPSHOT_NEXT};
	struct dump_answer answer;

	if (dump(s, &wish, s->to, &answer, err) < 0)
		return -1;
	note_status(s, "agent", answer.status);
	s->seq = answer.seq;
	*ret = (struct snapshot_result){
		.entries = answer.entries,
		.skipped = answer.skipped,
		.us = answer.us > UINT32_MAX ? UINT32_MAX : (uint32_t)answer.us,
		.cpu_us = answer.cpu_us,
		.news = answer.bytes > QUIET_BYTES,
	};
	return 0;
}

/* Has the agent, where there is one, dump its own map. Without it the host makes one. */
static void take_map(struct snapshots *s)
{
	CLEANUP(free) char *name = xasprintf(AGENT_MAP "%d.map", (int)s->jvm->pid);
	const struct dump wish = {.fd = -1, .is_map = true};
	CLEANUP(close_fd) int to = -1;
	struct dump_answer ignored;
	struct err err;

	if (!s->config->perf_map || s->config->source == SOURCE_HOST ||
	    !(s->by_agent || agent_is_resident(s->jvm)))
		return;
	to = fs_create(s->maps, name, 0600, &err);
	if (budget_room(BUDGET_CODE_BYTES, s->maps) < DFG_OUT_BYTES)
		err_set(&err, EFBIG, "there is no room for it");
	else if (to >= 0 && dump(s, &wish, to, &ignored, &err) == 0)
		return;
	unlinkat(s->maps, name, 0);
	log_warn("the perf map of %d is made by the host, not by the agent: %s", (int)s->jvm->pid,
		 err.msg);
}

/* ---- by the host ---- */

static int take_by_host(struct snapshots *s, enum snapshot_command what,
			struct snapshot_result *ret, struct err *err)
{
	const struct memory_reader_options options = {.to = s->to,
						      .asks = s->asks,
						      .debug_info = !s->config->keep_flags,
						      .turns = s->turns,
						      .spare = s->crowd > 1};
	uint64_t began = clock_us();
	struct hs_result result;
	uint64_t cpu;

	if (!s->host && memory_reader_open(s->jvm, &options, &s->host, err) < 0)
		return -1;
	s->report->switched |= memory_reader_switched(s->host);
	if (memory_reader_dump(s->host, what != SNAPSHOT_CHANGES, s->room, &result, &cpu, err) <
	    0) {
		if (err->code == ETIMEDOUT) {
			memory_reader_close(s->host);
			s->host = NULL;
		}
		return err_wrap(err, "read process %d", (int)s->jvm->pid);
	}
	note_status(s, "host", (uint32_t)result.status);
	if (what == SNAPSHOT_LAST && *memory_reader_missing(s->host))
		set_note(s, "host: HotSpot's tables of this JVM lack %s",
			 memory_reader_missing(s->host));
	*ret = (struct snapshot_result){
		.entries = result.entries,
		.skipped = result.skipped,
		.us = (uint32_t)(clock_us() - began),
		.cpu_us = cpu,
		.news = result.bytes > QUIET_BYTES,
	};
	s->by_agent = false;
	return 0;
}

/* ---- by the source that works ---- */

typedef int take_fn(struct snapshots *s, enum snapshot_command what, struct snapshot_result *ret,
		    struct err *err);

/* Bytes that the next snapshot may have. */
static uint64_t room_after(const struct snapshots *s, off_t size)
{
	uint64_t share = budget_share(BUDGET_CODE_BYTES, s->maps);
	uint64_t left =
		(uint64_t)size < MEMORY_READER_BYTES ? MEMORY_READER_BYTES - (uint64_t)size : 0;

	return share < left ? share : left;
}

/* Fails with EFBIG if the file has grown by more than there was room for. */
static int check_room(const struct snapshots *s, off_t before, struct err *err)
{
	off_t now = lseek(s->to, 0, SEEK_END);

	return now - before > (off_t)s->room ? err_set(err, EFBIG, "write the snapshot") : 0;
}

/* Removes what a failed snapshot has left. */
static int take_whole(struct snapshots *s, take_fn *take, enum snapshot_command what,
		      struct snapshot_result *ret, struct err *err)
{
	off_t before = lseek(s->to, 0, SEEK_END);
	struct err ignored;

	if (before < 0)
		return err_set(err, errno, "write the snapshot");
	s->room = room_after(s, before);
	if (s->room > 0 && take(s, what, ret, err) == 0 && check_room(s, before, err) == 0)
		return 0;
	if (s->room == 0 || err->code == EFBIG)
		err_set(err, EFBIG, "more code than is kept of a container");
	s->seq = 0;
	if (ftruncate(s->to, before) < 0 || lseek(s->to, before, SEEK_SET) < 0)
		err_set(&ignored, errno, "remove a failed snapshot");
	return -1;
}

/* Tries the other source where the first one fails, but for a process whose memory hangs: so would
 * its agent. The note says why the first one failed. */
static int take_first(struct snapshots *s, take_fn *one, take_fn *other, enum snapshot_command what,
		      struct snapshot_result *ret, struct err *err)
{
	struct err why;
	int rc = take_whole(s, one, what, ret, err);

	if (rc == 0)
		return 0;
	why = *err;
	if (err->code != ENOSPC && err->code != EFBIG &&
	    !(one == take_by_host && err->code == ETIMEDOUT))
		rc = take_whole(s, other, what, ret, err);
	set_note(s, "%s", why.msg);
	return rc;
}

/* Takes the next one; nothing is left of one that failed. The last goes through all classes, and
 * the agent caches nothing after it. Fails with ENOSPC where the file system is full. */
static int snapshots_take(struct snapshots *s, enum snapshot_command what,
			  struct snapshot_result *ret, struct err *err)
{
	const struct record_config *c = s->config;

	if (c->source == SOURCE_AGENT)
		return take_whole(s, take_by_agent, what, ret, err);
	if (c->source == SOURCE_HOST || (s->host && !s->by_agent))
		return take_whole(s, take_by_host, what, ret, err);
	if (s->by_agent || c->trigger != TRIGGER_AUTO || agent_is_resident(s->jvm) ||
	    (s->crowd == 1 && !s->container->is_single && agent_loads_silently(s->jvm)))
		return take_first(s, take_by_agent, take_by_host, what, ret, err);
	set_note(s, JVM_NOTE_NO_AGENT);
	return take_first(s, take_by_host, take_by_agent, what, ret, err);
}

/* ---- the series ---- */

static void report(struct snapshots *s, const struct snapshot_result *one, uint64_t cost)
{
	struct snapshot_report *r = s->report;

	if (r->taken == 0)
		r->first_us = one->us;
	else
		r->cost_us += cost;
	r->entries += one->entries;
	r->skipped += one->skipped;
	r->by_agent = s->by_agent;
	r->taken++;
}

/* Takes one and measures its cost in microseconds. */
static int take_measured(struct snapshots *s, enum snapshot_command what,
			 struct snapshot_result *one, uint64_t *ret_cost)
{
	uint64_t cpu = clock_cpu_us(), wall = clock_us();
	int rc = snapshots_take(s, what, one, &s->report->err);

	/* Attaching costs time in other processes. */
	if (s->config->trigger == TRIGGER_LOAD)
		*ret_cost = clock_us() - wall;
	else
		*ret_cost = clock_cpu_us() - cpu + (rc == 0 ? one->cpu_us : 0);
	if (rc == 0)
		report(s, one, *ret_cost);
	return rc;
}

static int longer(int a, int b)
{
	return a > b ? a : b;
}

/* When the next snapshot is taken: after `most`, but after `least` where code was made or freed. */
struct pace {
	int least, most; /* milliseconds */
};

static int crowd_of(size_t all_jvms)
{
	const size_t few = SNAPSHOT_JVMS * parallel_cpus();
	const size_t times = (all_jvms + few - 1) / few;

	return times < 1 ? 1 : times < CROWD_MAX ? (int)times : CROWD_MAX;
}

/* The shortest pauses, and below the longest. */
static struct pace first_pace(const struct snapshots *s)
{
	return (struct pace){PAUSE_MIN_MS * s->crowd, PAUSE_MIN_MS * s->crowd};
}

static struct pace last_pace(const struct snapshots *s)
{
	return (struct pace){PAUSE_MAX_MS * s->crowd, PAUSE_MAX_MS * s->crowd};
}

static struct pace next_pace(const struct snapshots *s, const struct pace *before,
			     const struct snapshot_result *one, uint64_t cost_us)
{
	const unsigned share = (unsigned)s->crowd * (one->entries < BUSY ? SHARE : SHARE_BUSY);
	const uint64_t cost = cost_us * share / 1000;
	int least = longer(first_pace(s).least, cost < INT32_MAX ? (int)cost : INT32_MAX);
	int most = before->most * 2 < last_pace(s).most ? before->most * 2 : last_pace(s).most;

	return (struct pace){least, one->news ? least : longer(least, most)};
}

/* Waits of a series, and how the last one ended. */
struct series_wait {
	int commands, pidfd;
	uint32_t count; /* commands that came */
	bool gone;	/* the JVM has ended */
	bool noticed;	/* code was made or freed */
	bool blind;	/* the watcher has ended */
};

/* Waits for a command. Returns SNAPSHOT_CHANGES after the time is over, where `watcher` has found
 * something, and when a signal interrupted it. */
static enum snapshot_command wait_for_command(struct series_wait *w, int ms,
					      struct memory_reader *watcher)
{
	struct pollfd p[3] = {{.fd = w->commands, .events = POLLIN},
			      {.fd = w->pidfd, .events = POLLIN},
			      {.fd = -1, .events = POLLIN}};
	char buf[64];
	ssize_t n;

	if (watcher && !w->blind) {
		memory_reader_watch(watcher);
		p[2].fd = memory_reader_fd(watcher);
	}
	w->gone = poll(p, 3, ms) > 0 && p[1].revents != 0;
	w->noticed = p[2].revents && memory_reader_noticed(watcher);
	w->blind |= p[2].revents && !w->noticed;
	w->count = 0;
	if (!p[0].revents)
		return SNAPSHOT_CHANGES;
	n = read(w->commands, buf, sizeof(buf));
	w->count = n > 0 ? (uint32_t)n : 0;
	return n <= 0 || memchr(buf, SNAPSHOT_LAST, (size_t)n) ? SNAPSHOT_LAST : SNAPSHOT_NEXT;
}

/* Waits for the next snapshot's time. */
static enum snapshot_command wait_for_next(struct snapshots *s, struct series_wait *w,
					   struct pace *pace)
{
	enum snapshot_command what = wait_for_command(w, pace->least, NULL);

	if (what != SNAPSHOT_CHANGES || w->gone || pace->most <= pace->least)
		return what;
	what = wait_for_command(w, pace->most - pace->least, s->host ? s->host : s->watcher);
	if (w->noticed) /* code may not be installed yet */
		pace->most = first_pace(s).most;
	return what;
}

static bool is_final(int code)
{
	return code == ENOSPC || code == ETIMEDOUT || code == EFBIG;
}

/* Takes deltas until the last one, the end of the JVM, or too many failures. */
static void take_deltas(struct snapshots *s, int commands, int pidfd)
{
	struct series_wait wait = {.commands = commands, .pidfd = pidfd};
	struct pace pace = first_pace(s);
	enum snapshot_command what = SNAPSHOT_CHANGES;
	uint64_t cost, before = UINT64_MAX;
	struct snapshot_result one;
	int rc, failures = 0;

	while (what != SNAPSHOT_LAST && failures < FAILURES_MAX) {
		what = wait_for_next(s, &wait, &pace);
		if (wait.gone)
			return;
		rc = take_measured(s, what, &one, &cost);
		s->report->served += wait.count;
		if (rc == 0) {
			failures = 0;
			pace = next_pace(s, &pace, &one, cost < before ? cost : before);
			before = cost;
			continue;
		}
		failures = is_final(s->report->err.code) ? FAILURES_MAX : failures + 1;
		pace = last_pace(s);
	}
	if (failures > 0)
		set_note(s, "%.500s", s->report->err.msg);
}

/* Each request costs the JVM and the host more than a look at its memory from outside. */
static void watch_for_agent(struct snapshots *s)
{
	const struct memory_reader_options watch = {.to = -1, .asks = s->asks, .turns = -1};
	struct err ignored;

	if (s->by_agent && memory_reader_open(s->jvm, &watch, &s->watcher, &ignored) < 0)
		s->watcher = NULL;
}

int snapshots_serve(void *arg)
{
	const struct snapshot_job *job = arg;
	struct snapshots s = {.container = job->container,
			      .jvm = job->jvm,
			      .config = job->config,
			      .report = job->report,
			      .to = job->to,
			      .maps = job->maps,
			      .turns = job->turns,
			      .asks = job->asks,
			      .crowd = crowd_of(job->all_jvms)};
	int pidfd = (int)syscall(SYS_pidfd_open, s.jvm->pid, 0);
	struct snapshot_result one;
	uint64_t cost;
	int rc = take_measured(&s, SNAPSHOT_CHANGES, &one, &cost);

	(void)!write(job->first, "", 1);
	if (rc == 0 && pidfd >= 0) {
		watch_for_agent(&s);
		take_deltas(&s, job->commands, pidfd);
	}
	take_map(&s);
	close(job->first); /* nobody needs to wait until the memory reader has ended, too */
	memory_reader_close(s.host);
	memory_reader_close(s.watcher);
	return 0;
}
