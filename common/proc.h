/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/PID. All reads use the process's directory descriptor, which the kernel binds to the
 * task: after its exit they fail with ESRCH, even if the pid is in use again. */
#ifndef DFG_COMMON_PROC_H
#define DFG_COMMON_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/str.h"

struct proc_status {
	char name[64]; /* comm, sanitised */
	char state;    /* R S D T t Z X (proc(5)) */
	pid_t ppid;    /* of its parent; 0: none in this pid namespace */
	pid_t nspid;   /* pid in the innermost pid namespace (last NStgid; Linux 4.1) */
	bool nested;   /* in a pid namespace below this one */
	uid_t euid;    /* as the host sees them */
	gid_t egid;
	uint64_t sigcgt; /* bit n-1 is signal n */
	uint64_t sigign;
	uint32_t threads;
};

/* One line of /proc/PID/maps. path is borrowed, valid during the callback. */
struct proc_map {
	uint64_t start, end;
	uint64_t offset;
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	bool exec;
	const char *path; /* "" for anonymous memory; may be "[vdso]" and the like */
};

/* False for a zombie: it has exited, and only its parent has not looked yet. True also of a process
 * that may not be sent a signal. */
bool proc_is_running(pid_t pid);

MUST_CHECK int proc_open(pid_t pid, struct err *err); /* directory descriptor of /proc/<pid> */
MUST_CHECK int proc_read_status(int procfd, struct proc_status *ret, struct err *err);
MUST_CHECK int proc_start_time(int procfd, uint64_t *ret_ticks, struct err *err);

/* Tells the program that the process runs from those before an exec: where its main stack begins,
 * which the kernel chooses at random. 0: the kernel hides it from who may not trace the process. */
MUST_CHECK int proc_program(int procfd, uint64_t *ret, struct err *err);

/* Reads its command line, each argument with its NUL; empty for a kernel thread. */
MUST_CHECK int proc_read_args(int procfd, struct str *ret, struct err *err);

/* The value of "NAME VALUE" or "NAME=VALUE" in such a command line, or NULL. */
const char *proc_arg(const struct str *args, const char *name);

/* Reads /proc/PID/cgroup: one line per hierarchy. */
MUST_CHECK int proc_read_cgroup(int procfd, struct str *ret, struct err *err);

/* True if the freezer of cgroup v2 stopped it, whose state is S then. In v1 the state is D. */
bool proc_is_frozen(int procfd);

/* Reads the inode number of a namespace: `ns` is "mnt", "pid", "user" … */
MUST_CHECK int proc_ns_inode(int procfd, const char *ns, uint64_t *ret, struct err *err);

/* True if the process is known to be in the same namespace as this one. */
bool proc_shares_ns(int procfd, const char *ns);

/* True if the process is of this host and as trusted as this one: it has this process's effective
 * user, pid namespace and user namespace, and only that user and root can have written the file it
 * runs. A container's process is not, unless it is root in both of the host's namespaces. What the
 * kernel hides from a process without CAP_SYS_PTRACE, the last two, is not checked there. */
bool proc_is_trusted(int procfd, const struct proc_status *st);

/* Opens the process's root directory (O_PATH), for fs_open_in_root. */
MUST_CHECK int proc_open_root(int procfd, struct err *err);

/* Calls fn for every mapping until it returns other than 0, and returns that; -1 with err set if
 * maps cannot be read. */
int proc_each_map(int procfd, int (*fn)(const struct proc_map *, void *), void *arg,
		  struct err *err);

/* The same from an open "maps" of the directory, which needs no right: for a jail (jail.h). */
int proc_each_map_in(int fd, int (*fn)(const struct proc_map *, void *), void *arg,
		     struct err *err);

/* Time that a process's first thread has waited for a processor while it could have run, in ms; 0
 * where the kernel does not count it (/proc/PID/schedstat, Documentation/scheduler/sched-stats.rst:
 * CONFIG_SCHED_INFO). */
uint64_t proc_waited_ms(pid_t pid);

/* Calls fn for every process of the host (numeric entries of /proc). Same return rule. */
int proc_each(int (*fn)(pid_t, void *), void *arg, struct err *err);

/* Calls fn for every thread of the process, with its id on the host and in the innermost pid
 * namespace. Threads that end meanwhile are skipped. */
void proc_each_thread(int procfd, void (*fn)(pid_t tid, pid_t nstid, void *), void *arg);

/* Offset of the process's CLOCK_MONOTONIC from the host's in ns: other than 0 only in a time
 * namespace (time_namespaces(7); Linux 5.6). */
int64_t proc_clock_ahead(int procfd);

/* The kernel's random id of this boot, 36 characters. */
MUST_CHECK int proc_boot_id(char ret[static 37], struct err *err);

#endif
