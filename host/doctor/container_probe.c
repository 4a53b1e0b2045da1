// SPDX-License-Identifier: Apache-2.0
/* Probes a container as a whole. */
#include <fcntl.h>
#include <jansson.h>
#include <sys/capability.h>

#include "common/fs.h"
#include "common/proc.h"
#include "dfg/paths.h"
#include "doctor/probe.h"
#include "record/perf.h"

#define STATUS_MAX (64u << 10)
#define MOUNTS_MAX (16u << 20)
#define STATE_MAX  (2u << 20)
#define OUTSIDE	   "JVMs are read from outside"
#define JOINED	   "dfg-trigger sets it up on demand"

static void check_processes(const struct probe *p, const struct container *c,
			    const struct handles *processes)
{
	CLEANUP(free) pid_t *pids = handles_pids(processes);
	const size_t count = processes->count;
	CLEANUP(free) char *advice = NULL;
	struct perf_events e;

	perf_count_events(pids, count, &e);
	if (e.files <= e.limit) {
		finding_add(p->f, FINDING_OK, "processes", "",
			    "%zu with %zu thread%s; the first is %d", count, e.threads,
			    e.threads == 1 ? "" : "s", (int)c->pid);
		return;
	}
	advice =
		xasprintf("the whole machine is recorded, and cut down; or ulimit -n %zu", e.files);
	finding_add(p->f, FINDING_NOTE, "processes", advice,
		    "%zu with %zu threads: perf needs %zu descriptors, RLIMIT_NOFILE is %zu", count,
		    e.threads, e.files, e.limit);
}

/* The status that the hook or dfg-trigger's join recorded: "status: detail"; NULL: none. */
static char *hook_status(const struct probe *p, const struct container *c)
{
	CLEANUP(free)
	char *path = xasprintf("%s/" DFG_CONTAINERS "/%s/" DFG_STATE_FILE, p->root, c->id);
	CLEANUP(str_fini) struct str text = {0};
	const char *status, *detail;
	char *words = NULL;
	json_t *state;
	struct err err;

	if (fs_read_file(AT_FDCWD, path, STATE_MAX, &text, &err) < 0 || !text.buf)
		return NULL;
	state = json_loadb(text.buf, text.len, 0, NULL);
	status = json_string_value(json_object_get(state, "status"));
	detail = json_string_value(json_object_get(state, "detail"));
	if (status)
		words = xasprintf("%s%s%s", status, detail && *detail ? ": " : "",
				  detail ? detail : "");
	json_decref(state);
	return words;
}

/* All three of include/dfg/paths.h are in the text of mountinfo (proc(5)): a mount point is
 * enclosed in blanks. */
bool probe_has_mounts(int procfd)
{
	CLEANUP(str_fini) struct str mounts = {0};
	struct err err;

	return fs_read_file(procfd, "mountinfo", MOUNTS_MAX, &mounts, &err) == 0 && mounts.buf &&
	       strstr(mounts.buf, " /" DFG_DEV_PARENT "/" DFG_PAYLOAD_MNT " ") &&
	       strstr(mounts.buf, " " DFG_OUT_PATH " ") && strstr(mounts.buf, " " DFG_CTL_PATH " ");
}

/* True if dfg-hook --join can work here. */
static bool can_join(const struct probe *p)
{
	CLEANUP(free) char *missing = probe_missing_file();

	return !missing && probe_capable(p, CAP_SYS_ADMIN) && probe_kernel_is(p, 5, 14);
}

/* Returns true if the agent is there, or can be brought. */
static bool check_mounts(const struct probe *p, const struct container *c, int procfd)
{
	CLEANUP(free) char *words = NULL;
	bool can;

	if (c->is_single) {
		finding_add(p->f, FINDING_NOTE, "mounts", OUTSIDE,
			    "none: the process is in no container");
		return false;
	}
	if (probe_has_mounts(procfd)) {
		finding_add(p->f, FINDING_OK, "mounts", "",
			    DFG_AGENT_PATH " and the share are there");
		return true;
	}
	words = c->hooked ? hook_status(p, c) : NULL;
	can = !(words && has_prefix(words, "skip-")) && can_join(p);
	if (!words || has_prefix(words, "mounted")) {
		free(words);
		words = xstrdup("it was started before the hook, or has lost them");
	}
	finding_add(p->f, FINDING_NOTE, "mounts", can ? JOINED : OUTSIDE, "none: %s", words);
	return can;
}

/* Isolation that stops other profilers is no obstacle for dfg: reported as such. */
static void check_isolation(const struct probe *p, int procfd)
{
	CLEANUP(str_fini) struct str status = {0};
	CLEANUP(close_fd) int self = -1;
	uint64_t theirs = 0, ours = 0;
	const char *seccomp;
	struct proc_status st;
	struct err err;

	self = openat(p->rootfd, "proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (self < 0 || proc_ns_inode(procfd, "user", &theirs, &err) < 0 ||
	    proc_ns_inode(self, "user", &ours, &err) < 0 ||
	    proc_read_status(procfd, &st, &err) < 0 ||
	    fs_read_file(procfd, "status", STATUS_MAX, &status, &err) < 0 || !status.buf)
		return;
	seccomp = strstr(status.buf, "\nSeccomp:\t");
	finding_add(p->f, FINDING_OK, "isolation", "",
		    "uid %u, %s, %s seccomp filter: no obstacle from outside", (unsigned)st.euid,
		    theirs != ours ? "its own user namespace" : "the host's user namespace",
		    seccomp && seccomp[strlen("\nSeccomp:\t")] == '2' ? "a" : "no");
}

void probe_container(const struct probe *p, const struct container *c,
		     const struct handles *processes, bool *ret_reachable)
{
	CLEANUP(close_fd) int procfd = -1;
	struct err err;

	*ret_reachable = false;
	procfd = proc_open(c->pid, &err);
	if (procfd < 0) {
		finding_add(p->f, FINDING_NO, "processes", "start it again", "%s", err.msg);
		return;
	}
	check_processes(p, c, processes);
	*ret_reachable = check_mounts(p, c, procfd);
	check_isolation(p, procfd);
}
