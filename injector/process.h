/* SPDX-License-Identifier: Apache-2.0 */
/* The JVM as a process: identifies it, tells if it may be signalled, and talks to its socket. */
#ifndef INJECTOR_PROCESS_H
#define INJECTOR_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/proc.h"
#include "injector/attach.h"

#define ATTACH_DISABLED_TEXT "it was started with -XX:+DisableAttachMechanism"
#define ATTACH_NO_TMP_TEXT   "cannot create a file in its /tmp, where its socket must be"

struct jvm_process {
	pid_t pid;
	int procfd; /* this and pidfd mean the one process, even if its pid is reused */
	int pidfd;
	int rootfd; /* its root directory, O_PATH */
	int cwdfd;  /* its working directory, O_PATH; -1 if it cannot be opened */
	int tmpfd;  /* its /tmp, O_PATH */
	struct proc_status st;
	bool attach_disabled; /* by its options */
};

#define JVM_PROCESS_EMPTY                                                                          \
	{                                                                                          \
		.procfd = -1, .pidfd = -1, .rootfd = -1, .cwdfd = -1, .tmpfd = -1                  \
	}

/* Opens procfd and pidfd and reads the status. */
MUST_CHECK enum attach_result process_open(struct jvm_process *p, pid_t pid, struct err *err);

/* Reads what only its own user and root may: that it is a HotSpot JVM, its options, root and
 * working directory. Waits for a JVM that is just starting, until `deadline` (clock.h) or half a
 * second. err->code is EACCES or EPERM if the caller lacks the rights; it may retry with other ids.
 */
MUST_CHECK enum attach_result process_inspect(struct jvm_process *p, uint64_t deadline,
					      struct err *err);

/* Opens its /tmp, inside its root. */
MUST_CHECK enum attach_result process_open_tmp(struct jvm_process *p, struct err *err);

/* ATTACH_OK if SIGQUIT is safe now: it is caught, the process runs, is not traced and not frozen,
 * and can start the threads that follow. Refreshes p->st. */
MUST_CHECK enum attach_result process_check(struct jvm_process *p, struct err *err);

MUST_CHECK enum attach_result process_signal(const struct jvm_process *p, int sig, struct err *err);

/* True if it started within the last ten seconds, or if that is unknown. */
bool process_is_young(const struct jvm_process *p);
bool process_is_alive(const struct jvm_process *p);
void process_close(struct jvm_process *p);

/* Returns 1 if a HotSpot JVM's library is mapped, 0, or -1 with err. If maps may not be read, a
 * process named "java" counts as one. */
int process_is_jvm(int procfd, struct err *err);

/* True if /proc/PID/cmdline and /proc/PID/environ (NUL-separated; either may be empty) enable
 * DisableAttachMechanism: JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS, the options before the main class,
 * _JAVA_OPTIONS; the last one wins. Ignores the application's own arguments, argument files and
 * .hotspotrc. */
bool jvm_args_disable_attach(const char *cmdline, size_t cmdline_len, const char *env,
			     size_t env_len);

/* In socket.c: connects to the JVM, asking it to listen first if it does not (an .attach_pid file,
 * removed afterwards, and a SIGQUIT; two if it just started); sends one request and appends the
 * reply. To be called with the JVM's ids: it must own the file, and only they tell if it can write
 * /tmp. ATTACH_REFUSED: the socket is not the JVM's. */
MUST_CHECK enum attach_result process_exchange(struct jvm_process *p, const struct str *request,
					       uint64_t deadline, struct str *reply,
					       struct err *err);

static inline void cleanup_process_close(struct jvm_process *p)
{
	process_close(p);
}

#endif
