/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc says of a process. Everything goes through the process's own directory descriptor,
 * which the kernel ties to the task: once it has exited, reads fail with ESRCH, also when the pid
 * is in use again. */
#ifndef DFG_COMMON_PROC_H
#define DFG_COMMON_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/str.h"

struct proc_status {
	char name[64]; /* comm, cleaned */
	char state;    /* R S D T t Z X (proc(5)) */
	pid_t ppid;    /* of its parent; 0: none in this pid namespace */
	pid_t nspid;   /* pid in the innermost pid namespace (last NStgid; Linux 4.1) */
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

MUST_CHECK int proc_open(pid_t pid, struct err *err); /* directory descriptor of /proc/<pid> */
MUST_CHECK int proc_read_status(int procfd, struct proc_status *ret, struct err *err);
MUST_CHECK int proc_start_time(int procfd, uint64_t *ret_ticks, struct err *err);

/* Its command line, each argument with its NUL; empty for a kernel thread. */
MUST_CHECK int proc_read_args(int procfd, struct str *ret, struct err *err);

/* The value of "NAME VALUE" or "NAME=VALUE" in such a command line, or NULL. */
const char *proc_arg(const struct str *args, const char *name);

/* The cgroup paths of the process, one line each, as in /proc/PID/cgroup. */
MUST_CHECK int proc_read_cgroup(int procfd, struct str *ret, struct err *err);

/* Whether the freezer of cgroup v2 holds it: it looks asleep then. In v1 its state is D. */
bool proc_is_frozen(int procfd);

/* Inode number of a namespace: `ns` is "mnt", "pid", "user" … */
MUST_CHECK int proc_ns_inode(int procfd, const char *ns, uint64_t *ret, struct err *err);

/* True if the process is known to be in the same namespace as this one. */
bool proc_shares_ns(int procfd, const char *ns);

/* O_PATH descriptor of the process's root directory: hand it to fs_open_in_root. */
MUST_CHECK int proc_open_root(int procfd, struct err *err);

/* Calls fn for every mapping until it returns other than 0, which is then returned; -1 with err
 * set when maps cannot be read. */
int proc_each_map(int procfd, int (*fn)(const struct proc_map *, void *), void *arg,
		  struct err *err);

/* Calls fn for every process of the host (numeric entries of /proc). Same return rule. */
int proc_each(int (*fn)(pid_t, void *), void *arg, struct err *err);

/* Calls fn for every thread of the process, with its id on the host and in the innermost pid
 * namespace. Threads that end meanwhile are passed over. */
void proc_each_thread(int procfd, void (*fn)(pid_t tid, pid_t nstid, void *), void *arg);

/* How far the process's CLOCK_MONOTONIC is ahead of the host's, ns: not 0 in a time namespace only
 * (time_namespaces(7); Linux 5.6). */
int64_t proc_clock_ahead(int procfd);

/* The kernel's random id of this boot, 36 characters. */
MUST_CHECK int proc_boot_id(char ret[static 37], struct err *err);

#endif
