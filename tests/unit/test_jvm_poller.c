// SPDX-License-Identifier: Apache-2.0
/* Polling a process that only looks like a JVM, where each source fails and the recording goes on,
 * and one that has a HotSpot in its memory. */
#include "record/budget.h"
#include "record/jvm_poller.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/proc.h"
#include "common/str.h"
#include "dfg/snapshot.h"
#include "lib/actor.h"
#include "lib/fakejvm.h"
#include "lib/scratch.h"
#include "lib/sessionmake.h"
#include "lib/tap.h"
#include "record/jvm_snapshot.h"

#define LONG_MS 60000 /* for what takes some ms on a quiet machine */

static const struct record_config config = {.root = "/nonexistent"};
static char id[] = "pid-1";
static char *library;
static struct snap_image image;

static struct jvm jvm_of(pid_t pid, enum runtime runtime)
{
	struct err err;

	return (struct jvm){.pid = pid,
			    .nspid = pid,
			    .procfd = proc_open(pid, &err),
			    .version = "25",
			    .runtime = runtime};
}

static int topfd;

/* The child's function, called in this process. */
static void test_serve(pid_t pid)
{
	struct container container = {.id = id, .label = id, .is_single = true};
	struct jvm jvm = jvm_of(pid, RUNTIME_HOTSPOT);
	struct snapshot_report report = {0};
	CLEANUP(close_fd) int to = memfd_create("snapshots", MFD_CLOEXEC);
	int first[2], commands[2];
	struct snapshot_job job = {.container = &container,
				   .jvm = &jvm,
				   .config = &config,
				   .to = to,
				   .maps = topfd,
				   .report = &report};
	char byte;

	if (pipe2(first, O_CLOEXEC) < 0 || pipe2(commands, O_CLOEXEC) < 0)
		abort();
	job.first = first[1];
	job.commands = commands[0];
	is_int(snapshots_serve(&job), 0, "the child ends when the first snapshot fails");
	is_int(read(first[0], &byte, 1), 1, "it tells that it has tried");
	is_int(read(first[0], &byte, 1), 0, "and that it tries no more");
	is_int(report.taken, 0, "no snapshot is taken");
	ok(report.err.msg[0] != '\0', "the report has the error: %s", report.err.msg);
	ok(report.note[0] != '\0', "and the reason of the first source: %s", report.note);
	is_int(lseek(to, 0, SEEK_END), 0, "nothing is left in the file");
	close(first[0]);
	close(commands[0]);
	close(commands[1]);
	close(jvm.procfd);
}

static void test_pollers(pid_t pid, enum runtime runtime, const char *name)
{
	CLEANUP(free) char *dir = path_of(name);
	struct jvm jvm = jvm_of(pid, runtime);
	struct target target = {.container = {.id = id, .label = id, .is_single = true},
				.jvms = {.list = &jvm, .count = 1}};
	struct session *s = &target.session;
	struct err err;

	if (sessionmake(dir, s, &err) < 0)
		abort();
	is_int(pollers_start(&target, &config, deadline_after(LONG_MS), &err), 0,
	       "%s: a JVM without names is no failure", name);
	is_int(target.poller_count, 0, "%s: it is not polled any more", name);
	is_int(s->map_count, 0, "%s: the session has no snapshots of it", name);
	if (is_int(s->jvm_count, 1, "%s: the session has the JVM", name)) {
		is_int(s->jvms[0].source, JVM_SOURCE_NONE, "%s: without a source", name);
		ok(s->jvms[0].note[0] != '\0', "%s: with the reason: %s", name, s->jvms[0].note);
	}
	is_int(pollers_bytes(&target), 0, "%s: nothing was written", name);
	ok(!pollers_any_ended(&target), "%s: no poller has ended", name);
	pollers_abort(&target, "/nonexistent");
	session_fini(s);
	close(jvm.procfd);
	free(target.pollers);
}

/* ---- a JVM that can be read ---- */

/* Serves commands that are in the pipe before the first snapshot. */
static struct snapshot_report serve(struct jvm *jvm, const struct record_config *c,
				    const char *orders, int to)
{
	struct container container = {.id = id, .label = id, .is_single = true};
	struct snapshot_report report = {0};
	int first[2], commands[2];
	struct snapshot_job job = {.container = &container,
				   .jvm = jvm,
				   .config = c,
				   .to = to,
				   .maps = topfd,
				   .report = &report};
	char bytes[4];

	if (pipe2(first, O_CLOEXEC) < 0 || pipe2(commands, O_CLOEXEC) < 0 ||
	    write(commands[1], orders, strlen(orders)) != (ssize_t)strlen(orders))
		abort();
	job.first = first[1];
	job.commands = commands[0];
	if (!*orders)
		close(commands[1]);
	is_int(snapshots_serve(&job), 0, "the child ends by itself");
	is_int(read(first[0], bytes, sizeof(bytes)), 1, "it tells once that the first was tried");
	is_int(read(first[0], bytes, sizeof(bytes)), 0, "and that it tries no more");
	close(first[0]);
	close(commands[0]);
	if (*orders)
		close(commands[1]);
	return report;
}

/* Sums up the snapshots of a file: a letter for each, w whole, d delta. */
static const char *kinds_of(int fd, uint32_t *ret_codes)
{
	static char kinds[64];
	CLEANUP(str_fini) struct str text = {0};
	struct snap_record r;
	size_t n = 0;
	struct err err;

	*ret_codes = 0;
	if (lseek(fd, 0, SEEK_SET) < 0 || fs_read_all(fd, 1 << 24, &text, &err) < 0)
		abort();
	for (size_t at = 0; at + sizeof(r) <= text.len; at += r.size) {
		struct snap_head head;

		memcpy(&r, text.buf + at, sizeof(r));
		if (r.size < sizeof(r))
			break;
		*ret_codes += r.type == SNAP_CODE;
		if (r.type != SNAP_HEAD || n == sizeof(kinds) - 1)
			continue;
		memcpy(&head, text.buf + at, sizeof(head));
		kinds[n++] = head.flags & SNAP_DELTA ? 'd' : 'w';
	}
	kinds[n] = '\0';
	return kinds;
}

static void test_series(void)
{
	static const struct record_config host = {.root = "/nonexistent", .source = SOURCE_HOST};
	static const struct {
		const char *orders;
		unsigned served;
		const char *check;
	} rows[] = {
		{"l", 1, "a command for the last one is served"},
		{"nl", 2, "commands that come together are served by one snapshot"},
		{"", 0, "the end of the commands is one for the last snapshot"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(close_fd) int to = memfd_create("to", MFD_CLOEXEC);
		struct jvm jvm = fakejvm_start(library);
		struct snapshot_report r = serve(&jvm, &host, rows[i].orders, to);
		uint32_t codes;

		is_int(r.served, rows[i].served, "%s", rows[i].check);
		is_int(r.taken, 2, "two snapshots are taken");
		is_str(kinds_of(to, &codes), "wd", "a whole one, then a delta");
		is_int(r.entries, codes, "the report counts the pieces of code in the file");
		ok(codes > 0, "there are some");
		ok(!r.by_agent, "the host has read them");
		ok(r.first_us < 60000000 && r.cost_us < 60000000, "the report has their costs");
		is_str(r.note, "", "there is nothing to say");
		fakejvm_end(&jvm);
	}
}

/* Nothing of what the limit cuts is kept, and the other source is not tried. */
static void test_room(void)
{
	static const struct record_config c = {.root = "/nonexistent"};
	static const char *const names[] = {"no room is left", "there is too little room"};
	CLEANUP(close_fd) int to = fs_create(topfd, "jvm.snap", 0600, &(struct err){0});
	struct jvm jvm = fakejvm_start(library);
	uint64_t used = 0;
	uint32_t codes;

	for (size_t i = 0; i < 2; i++) {
		struct snapshot_report r;

		/* The directory has other files, too. */
		used = (512ull << 20) - budget_room(BUDGET_CODE_BYTES, topfd);
		budget_set(BUDGET_CODE_BYTES, used + (i ? 1000 : 0));
		r = serve(&jvm, &c, "l", to);
		is_int(r.taken, 0, "%s: nothing is taken", names[i]);
		is_str(r.err.msg, "more code than is kept of a container: File too large",
		       "%s: the report says so", names[i]);
		is_str(kinds_of(to, &codes), "", "%s: nothing is left", names[i]);
		is_str(r.note, r.err.msg, "%s: no agent is asked", names[i]);
		budget_set(BUDGET_CODE_BYTES, 512 << 20);
	}
	unlinkat(topfd, "jvm.snap", 0);
	fakejvm_end(&jvm);
}

static void test_sources(void)
{
	struct record_config c = {.root = "/nonexistent", .source = SOURCE_AUTO};
	CLEANUP(close_fd) int to = memfd_create("to", MFD_CLOEXEC);
	CLEANUP(close_fd) int full = open("/dev/full", O_RDWR | O_CLOEXEC);
	struct jvm jvm = fakejvm_start(library);
	CLEANUP(free) char *none = xasprintf("process %d is in no container", (int)jvm.pid);
	struct snapshot_report r = serve(&jvm, &c, "l", to);
	uint32_t codes;

	is_int(r.taken, 2, "without an agent the host reads the JVM");
	is_str(r.note, "no agent is resident in the JVM", "the note tells why");
	c.trigger = TRIGGER_FILE;
	if (ftruncate(to, 0) < 0)
		abort();
	lseek(to, 0, SEEK_SET);
	r = serve(&jvm, &c, "l", to);
	is_int(r.taken, 2, "where a trigger was asked for and the agent fails, the host reads");
	is_str(r.note, none, "the note tells why the agent failed");
	is_str(kinds_of(to, &codes), "wd", "nothing of the failure is in the file");
	c.source = SOURCE_AGENT;
	r = serve(&jvm, &c, "l", to);
	is_int(r.taken, 0, "by the agent alone nothing is taken");
	is_str(r.err.msg, none, "the report has the error");
	is_int(r.served, 0, "no command is served");
	is_str(kinds_of(to, &codes), "wd", "what the file had before is kept");
	c = (struct record_config){.root = "/nonexistent", .source = SOURCE_HOST};
	r = serve(&jvm, &c, "l", full);
	is_int(r.taken, 0, "on a full disk nothing is taken");
	ok(r.err.msg[0] != '\0', "the report has the error: %s", r.err.msg);
	fakejvm_end(&jvm);
}

/* A file gets no further snapshot that would make it larger than 256 MiB. */
static void test_most(void)
{
	static const struct record_config host = {.root = "/nonexistent", .source = SOURCE_HOST};
	CLEANUP(close_fd) int to = memfd_create("to", MFD_CLOEXEC);
	struct jvm jvm = fakejvm_start(library);
	struct snapshot_report r = serve(&jvm, &host, "", to);
	struct snap_head head;
	off_t delta, all = lseek(to, 0, SEEK_END), first;

	/* The second one is a delta without news. */
	delta = (off_t)(sizeof(struct snap_head) + sizeof(struct snap_end));
	first = all - delta;
	ok(r.taken == 2 && pread(to, &head, sizeof(head), first) == sizeof(head) &&
		   head.magic == SNAP_MAGIC,
	   "a snapshot without news is a head and an end");
	for (int more = 0; more < 2; more++) {
		if (ftruncate(to, 0) < 0 || ftruncate(to, (256 << 20) - all + more) < 0)
			abort();
		r = serve(&jvm, &host, "l", to);
		is_int(r.taken, more ? 1 : 2, "a file with room for two%s gets %s",
		       more ? " but for a byte" : "", more ? "one" : "both");
		is_str(r.note, more ? "more code than is kept of a container: File too large" : "",
		       "which is %s", more ? "noted" : "nothing to note");
	}
	fakejvm_end(&jvm);
}

/* The whole way: pollers of a target with such a JVM, through start, refresh and end. */
static void test_whole_run(void)
{
	CLEANUP(free) char *dir = path_of("whole");
	static const struct record_config host = {.root = "/nonexistent", .source = SOURCE_HOST};
	struct jvm jvms[2] = {fakejvm_start(library), fakejvm_start(NULL)};
	pid_t pids[2] = {jvms[0].pid, jvms[1].pid};
	struct target target = {.container = {.id = id,
					      .label = id,
					      .is_single = true,
					      .namespace = id,
					      .pid = pids[0]},
				.jvms = {.list = xcalloc(2, sizeof(*jvms)), .count = 2, .cap = 2}};
	struct session *s = &target.session;
	CLEANUP(close_fd) int fd = -1;
	uint64_t bytes;
	uint32_t codes, before;
	struct err err;

	for (size_t i = 0; i < 2; i++) {
		struct handle h;

		if (handle_open(pids[i], &h, &err) < 0)
			abort();
		(void)handles_add(&target.processes, &h);
	}
	memcpy(target.jvms.list, jvms, sizeof(jvms));
	if (sessionmake(dir, s, &err) < 0)
		abort();
	budget_set(BUDGET_JVMS, 0);
	is_int(pollers_start(&target, &host, deadline_after(LONG_MS), &err), 0,
	       "pollers start, but there may be none");
	is_int(target.poller_count, 0, "so there is none");
	is_str(s->cuts[0].text, "2 JVMs are not read: the limit is 0", "the session says so");
	budget_set(BUDGET_JVMS, 64);
	is_int(pollers_start(&target, &host, deadline_after(LONG_MS), &err), 0,
	       "pollers of two JVMs start");
	is_int(target.poller_count, 1, "the one that can be read has a poller");
	is_int(s->jvm_count, 2, "both are in the session");
	is_int(s->jvms[0].source, JVM_SOURCE_HOST, "the first is read by the host");
	is_int(s->jvms[0].snapshots > 0, 1, "its first snapshot is taken");
	ok(s->jvms[0].methods > 0, "with its methods");
	ok(s->jvms[0].keeps_fp, "that it keeps frame pointers is known");
	is_str(s->jvms[0].version, "17", "its version is known");
	is_int(s->jvms[1].source, JVM_SOURCE_NONE, "the second has no source");
	ok(strstr(s->jvms[1].note, "no libjvm.so with HotSpot's tables is mapped") != NULL,
	   "its note tells why: %s", s->jvms[1].note);
	ok(!s->jvms[1].hangs, "it did not hang");
	is_int(s->map_count, 1, "one map is registered");
	is_int(s->maps[0].pid, pids[0], "that of the first");
	ok(s->thread_count >= 2, "the threads of both are known");
	bytes = pollers_bytes(&target);
	ok(bytes > 0, "snapshots take %llu bytes", (unsigned long long)bytes);
	ok(!pollers_any_ended(&target), "the poller runs");
	target.jvms.count = 1;
	before = s->jvms[0].snapshots;
	is_int(pollers_refresh(&target, &host, deadline_after(LONG_MS), &err), 0,
	       "a snapshot is asked for");
	ok(pollers_bytes(&target) > bytes, "it is taken");
	is_int(target.poller_count, 1, "there is still one poller");
	is_int(pollers_end(&target, &host, deadline_after(LONG_MS), &err), 0, "pollers are ended");
	is_int(target.poller_count, 0, "none is left");
	ok(s->jvms[0].snapshots >= before + 2, "the last snapshot is counted: %u",
	   s->jvms[0].snapshots);
	is_int(s->jvms[0].source, JVM_SOURCE_HOST, "the source is as it was");
	fd = openat(s->mapsfd, s->maps[0].name, O_RDONLY | O_CLOEXEC);
	ok(strlen(kinds_of(fd, &codes)) == s->jvms[0].snapshots || s->jvms[0].snapshots > 63,
	   "all of them are in the file");
	is_int(codes, s->jvms[0].methods, "as many pieces of code as are counted");
	is_int(pollers_bytes(&target), 0, "ended pollers have no bytes");
	session_fini(s);
	handles_fini(&target.processes);
	free(target.jvms.list);
	free(target.pollers);
	fakejvm_end(&jvms[0]);
	fakejvm_end(&jvms[1]);
}

/* The JVM ends while it is polled: the poller ends, what it has is kept. */
static void test_end_of_jvm(void)
{
	CLEANUP(free) char *dir = path_of("end");
	static const struct record_config host = {
		.root = "/nonexistent", .source = SOURCE_HOST, .perf_map = true};
	struct jvm jvm = fakejvm_start(library);
	struct target target = {.container = {.id = id,
					      .label = id,
					      .is_single = true,
					      .namespace = id,
					      .pid = jvm.pid},
				.jvms = {.list = &jvm, .count = 1}};
	CLEANUP(free) char *map = xasprintf(AGENT_MAP "%d.map", (int)jvm.pid);
	struct err err;

	if (sessionmake(dir, &target.session, &err) < 0)
		abort();
	is_int(pollers_start(&target, &host, deadline_after(LONG_MS), &err), 0, "a poller starts");
	kill(jvm.pid, SIGKILL);
	waitpid(jvm.pid, NULL, 0);
	while (!pollers_any_ended(&target))
		poll(NULL, 0, 5);
	ok(true, "the poller of a JVM that has ended ends");
	close(openat(target.session.mapsfd, map, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	is_int(pollers_end(&target, &host, deadline_after(LONG_MS), &err), 0,
	       "which is no failure");
	is_int(target.session.jvms[0].source, JVM_SOURCE_HOST, "its snapshots are kept");
	if (is_int(target.session.map_count, 2, "and registered, with the agent's own map"))
		is_str(target.session.maps[1].name, map, "which is the last");
	pollers_abort(&target, "/nonexistent");
	session_fini(&target.session);
	free(target.pollers);
	close(jvm.procfd);
}

/* The pid of this process's last child. */
static pid_t last_child(void)
{
	CLEANUP(str_fini) struct str list = {0};
	struct err err;
	int pid = -1;

	if (fs_read_file(AT_FDCWD, "/proc/thread-self/children", 4096, &list, &err) < 0)
		return -1;
	for (char *save = NULL, *at = strtok_r(list.buf, " ", &save); at;
	     at = strtok_r(NULL, " ", &save))
		pid = atoi(at);
	return pid;
}

static volatile sig_atomic_t stop;

static void on_alarm(int sig)
{
	(void)sig;
	stop++;
}

/* Ends a poller that goes on no more, at its deadline or, where there is none, by a signal. */
static void check_hung(bool by_signal)
{
	const char *why = by_signal ? "interrupted" : "it took too long";
	CLEANUP(free) char *dir = path_of(why), *note = NULL;
	struct record_config host = {.root = "/nonexistent", .source = SOURCE_HOST, .stop = &stop};
	struct jvm jvm = fakejvm_start(library);
	struct target target = {.container = {.id = id, .label = id, .is_single = true},
				.jvms = {.list = &jvm, .count = 1}};
	struct session *s = &target.session;
	struct err err;
	pid_t poller;

	if (sessionmake(dir, s, &err) < 0)
		abort();
	is_int(pollers_start(&target, &host, clock_ms(), &err), 0,
	       "where there is no time for the first snapshot it is no failure");
	is_int(target.poller_count, 1, "the JVM is read on");
	is_int(s->map_count, 1, "into the session");
	poller = last_child();
	kill(poller, SIGSTOP);
	if (by_signal)
		alarm(1);
	is_int(pollers_end(&target, &host, by_signal ? deadline_after(-1) : deadline_after(100),
			   &err),
	       0, "a poller that hangs is no failure");
	note = xasprintf("the JVM could not be read at the end: %s", why);
	is_str(s->jvms[0].note, note, "its note says so");
	ok(kill(poller, 0) < 0, "it was killed");
	is_int(target.poller_count, 0, "none is left");
	is_int(s->jvms[0].source, s->jvms[0].snapshots ? JVM_SOURCE_HOST : JVM_SOURCE_NONE,
	       "the source is that of its snapshots, if there are any");
	is_int(s->map_count, s->jvms[0].snapshots > 0, "which are kept");
	session_fini(s);
	free(target.pollers);
	fakejvm_end(&jvm);
}

static void test_hung(void)
{
	const struct sigaction act = {.sa_handler = on_alarm};

	if (access("/proc/thread-self/children", F_OK) < 0) {
		ok(true, "pollers that hang # SKIP the kernel does not list children");
		return;
	}
	sigaction(SIGALRM, &act, NULL);
	check_hung(false);
	check_hung(true);
}

/* A first snapshot that is late is noted at the end. */
static void test_late(void)
{
	CLEANUP(free) char *dir = path_of("late");
	static const struct record_config host = {.root = "/nonexistent", .source = SOURCE_HOST};
	struct jvm jvm = fakejvm_start(library);
	struct target target = {.container = {.id = id, .label = id, .is_single = true},
				.jvms = {.list = &jvm, .count = 1}};
	struct session *s = &target.session;
	struct err err;

	if (sessionmake(dir, s, &err) < 0)
		abort();
	is_int(pollers_start(&target, &host, clock_ms(), &err), 0, "a late one is not waited for");
	is_int(pollers_end(&target, &host, deadline_after(LONG_MS), &err), 0, "it is at the end");
	is_int(s->jvms[0].source, JVM_SOURCE_HOST, "then the JVM has a source");
	ok(s->jvms[0].snapshots >= 2, "and a first and a last snapshot");
	is_str(s->jvms[0].note, "", "there is nothing to say");
	is_int(s->map_count, 1, "they are in the session");
	session_fini(s);
	free(target.pollers);
	fakejvm_end(&jvm);
}

static void test_same_pid(void)
{
	CLEANUP(free) char *dir = path_of("same");
	struct record_config agent = {.root = "/nonexistent", .source = SOURCE_AGENT};
	struct jvm jvms[2] = {fakejvm_start(library), fakejvm_start(library)};
	struct target target = {.container = {.id = id, .label = id, .is_single = true},
				.jvms = {.list = jvms, .count = 2}};
	struct session *s = &target.session;
	struct err err;

	jvms[1].nspid = jvms[0].nspid;
	if (sessionmake(dir, s, &err) < 0)
		abort();
	is_int(pollers_start(&target, &agent, deadline_after(LONG_MS), &err), 0,
	       "pollers of two nested containers start");
	is_int(s->jvm_count, 2, "both JVMs are in the session");
	is_int(s->jvms[0].source, JVM_SOURCE_HOST, "JVMs with the same pid are read by the host");
	is_int(s->jvms[1].source, JVM_SOURCE_HOST, "both of them");
	pollers_abort(&target, "/nonexistent");
	is_int(target.poller_count, 0, "after an abort there is no poller");
	session_fini(s);
	free(target.pollers);
	fakejvm_end(&jvms[0]);
	fakejvm_end(&jvms[1]);
}

int main(void)
{
	pid_t pid = actor_idle();

	scratch_make();
	topfd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	log_quiet(true);
	signal(SIGPIPE, SIG_IGN); /* as in each command */
	test_serve(pid);
	test_pollers(pid, RUNTIME_HOTSPOT, "hotspot");
	test_pollers(pid, RUNTIME_OPENJ9, "openj9");
	library = path_of("libjvm.so");
	snap_image_build(&image, IMAGE_17);
	fakejvm_library(&image.im, library);
	test_series();
	test_room();
	test_sources();
	test_most();
	test_whole_run();
	test_end_of_jvm();
	test_same_pid();
	test_late();
	test_hung();
	free(library);
	actor_end(pid);
	scratch_remove();
	return tap_done();
}
