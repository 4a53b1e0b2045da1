// SPDX-License-Identifier: Apache-2.0
/* Polling a process that only looks like a JVM: each source fails, and the recording goes on. */
#include "record/jvm_poller.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fs.h"
#include "common/log.h"
#include "common/proc.h"
#include "common/str.h"
#include "lib/tap.h"
#include "record/jvm_snapshot.h"

static char top[] = "/tmp/dfg-poller.XXXXXX";
static const struct record_config config = {.root = "/nonexistent"};
static char id[] = "pid-1";

static struct jvm jvm_of(pid_t pid, enum runtime runtime)
{
	struct err err;

	return (struct jvm){.pid = pid,
			    .nspid = pid,
			    .procfd = proc_open(pid, &err),
			    .version = "25",
			    .runtime = runtime};
}

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
	CLEANUP(free) char *dir = xasprintf("%s/%s", top, name);
	struct jvm jvm = jvm_of(pid, runtime);
	struct target target = {.container = {.id = id, .label = id, .is_single = true},
				.pids = &pid,
				.pid_count = 1,
				.jvms = {.list = &jvm, .count = 1}};
	struct targets targets = {.list = &target, .count = 1};
	struct session *s = &target.session;
	struct err err;

	if (session_create(dir, s, &err) < 0)
		abort();
	is_int(pollers_start(&targets, &config, &err), 0, "%s: a JVM without names is no failure",
	       name);
	is_int(target.poller_count, 0, "%s: it is not polled any more", name);
	is_int(s->map_count, 0, "%s: the session has no snapshots of it", name);
	if (is_int(s->jvm_count, 1, "%s: the session has the JVM", name)) {
		is_int(s->jvms[0].source, JVM_SOURCE_NONE, "%s: without a source", name);
		ok(s->jvms[0].note[0] != '\0', "%s: with the reason: %s", name, s->jvms[0].note);
	}
	is_int(pollers_bytes(&targets), 0, "%s: nothing was written", name);
	ok(!pollers_any_ended(&targets), "%s: no poller has ended", name);
	pollers_abort(&targets);
	session_fini(s);
	close(jvm.procfd);
	free(target.pollers);
}

int main(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	if (!mkdtemp(top))
		abort();
	log_quiet(true);
	test_serve(pid);
	test_pollers(pid, RUNTIME_HOTSPOT, "hotspot");
	test_pollers(pid, RUNTIME_OPENJ9, "openj9");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	fs_remove_tree(AT_FDCWD, top);
	return tap_done();
}
