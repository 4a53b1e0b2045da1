// SPDX-License-Identifier: Apache-2.0
#include "discover/handle.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/proc.h"
#include "lib/tap.h"

/* A child that waits, with this pid if it is not 0. -1: the kernel gives no pid of choice. */
static pid_t spawn(pid_t wanted)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = wanted ? (uint64_t)(uintptr_t)&wanted : 0,
		.set_tid_size = wanted != 0,
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	if (pid < 0 && !wanted)
		abort();
	return pid;
}

static void end(pid_t pid)
{
	if (pid <= 1) /* kill(2) would reach other processes */
		abort();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_one(void)
{
	CLEANUP(handle_close) struct handle h = {.procfd = -1};
	struct err err = {0};
	pid_t pid = spawn(0);
	siginfo_t info;

	is_int(handle_open(pid, &h, &err), 0, "a handle of a running process is opened");
	is_int(h.pid, pid, "it has the pid");
	ok(h.start > 0, "it has the time when the process began");
	ok(handle_is_alive(&h), "the process is alive");
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	ok(handle_is_alive(&h), "a zombie still has its pid");
	waitpid(pid, NULL, 0);
	ok(!handle_is_alive(&h), "a process that was reaped has none");
	handle_close(&h);
	is_int(h.procfd, -1, "a closed handle holds no descriptor");
	is_int(handle_open(pid, &h, &err), -1, "a process that has ended is not opened");
	is_int(err.code, ESRCH, "the error says that there is none");
}

/* Cases 49 and 86: the pid of a process that has ended belongs to another one. */
static void test_reused(void)
{
	CLEANUP(handle_close) struct handle h = {.procfd = -1};
	CLEANUP(handle_close) struct handle later = {.procfd = -1};
	CLEANUP(str_fini) struct str cgroup = {0};
	struct err err = {0};
	pid_t pid = spawn(0);

	if (handle_open(pid, &h, &err) < 0)
		abort();
	end(pid);
	if (spawn(pid) != pid) {
		ok(true, "a reused pid, case 86 # SKIP the kernel gives no pid of choice here");
		return;
	}
	ok(!handle_is_alive(&h), "a later process of the same pid is not alive for it: case 86");
	is_int(proc_read_cgroup(h.procfd, &cgroup, &err), -1, "nothing of it is read");
	is_int(handle_open(pid, &later, &err), 0, "the later process has a handle of its own");
	ok(handle_is_alive(&later), "by which it is alive");
	end(pid);
}

static void test_list(void)
{
	CLEANUP(handles_fini) struct handles list = {0};
	CLEANUP(free) pid_t *pids = NULL;
	CLEANUP(free) pid_t *ended = NULL;
	pid_t children[3];
	size_t count = 9;

	for (size_t i = 0; i < 3; i++) {
		struct handle h = {.procfd = -1};

		children[i] = spawn(0);
		if (handle_open(children[i], &h, NULL) < 0)
			abort();
		ok(handles_add(&list, &h), "a handle is added to the list");
		is_int(h.procfd, -1, "which owns it now");
	}
	pids = handles_pids(&list);
	ok(pids[0] == children[0] && pids[1] == children[1] && pids[2] == children[2],
	   "the list has the pids");
	end(children[1]);
	handles_remove_ended(&list, &ended, &count);
	is_int(count, 1, "one process has ended");
	is_int(ended[0], children[1], "it is the one that was killed");
	is_int(list.count, 2, "the others stay");
	ok(list.list[0].pid == children[0] && list.list[1].pid == children[2],
	   "in the order in which they were added");
	ok(handle_is_alive(&list.list[0]) && handle_is_alive(&list.list[1]), "with open handles");
	end(children[0]);
	end(children[2]);
}

static void test_bound(void)
{
	CLEANUP(handles_fini) struct handles list = {0};
	struct rlimit few = {.rlim_cur = 32, .rlim_max = 32};
	struct handle h = {.procfd = -1};
	size_t added = 0;

	if (setrlimit(RLIMIT_NOFILE, &few) < 0)
		abort();
	while (added < 100 && handle_open(getpid(), &h, NULL) == 0 && handles_add(&list, &h))
		added++;
	is_int(added, 16, "handles take half of the descriptors that are allowed");
	ok(list.is_cut, "the list knows that there are more");
	is_int(h.procfd, -1, "the handle that was refused is closed");
}

int main(void)
{
	test_one();
	test_reused();
	test_list();
	test_bound();
	return tap_done();
}
