/* SPDX-License-Identifier: Apache-2.0 */
/* HotSpot's attach protocol, JDK 8 to 25: loads an agent into a running JVM. Linked by dfg-inject
 * and by the host's commands.
 *
 * Nothing of a container is executed or trusted: the JVM's /tmp is resolved inside its root, the
 * socket's peer must be the JVM itself (SO_PEERCRED), the reply is bounded and sanitised. SIGQUIT
 * is sent only to a process that catches it, runs, and is not traced: it would kill any other. */
#ifndef DFG_INJECTOR_ATTACH_H
#define DFG_INJECTOR_ATTACH_H

#include <sys/types.h>

#include "common/err.h"

enum attach_result {
	ATTACH_OK = 0,
	ATTACH_GONE,	  /* no such process, or it ended meanwhile */
	ATTACH_NOT_READY, /* does not catch SIGQUIT: no JVM, -Xrs, or just starting */
	ATTACH_STOPPED,	  /* stopped, traced or a zombie: nothing was sent */
	ATTACH_DISABLED,  /* no reaction to SIGQUIT: -XX:+DisableAttachMechanism or hung */
	ATTACH_NO_TMP,	  /* the JVM's /tmp is missing or not writable: no place for its socket */
	ATTACH_REFUSED,	  /* the JVM refused (err has its reason), or the socket is not the JVM's */
	ATTACH_FAILED,	  /* any other error */
};

struct attach_request {
	pid_t pid;	     /* as seen in this process's pid namespace */
	const char *path;    /* of the library, absolute, as the JVM sees it */
	const char *options; /* for Agent_OnAttach */
	unsigned timeout_ms; /* for the whole operation; 0: 5000 */
};

/* Predicts attach_load, without sending anything or creating a file. Waits half a second for a JVM
 * that is just starting. Returns ATTACH_OK, or the reason with err set. */
MUST_CHECK enum attach_result attach_check(pid_t pid, struct err *err);

/* Loads an agent ("load" command). Forks: the child changes to the JVM's effective uid and gid (as
 * root; otherwise they must be the caller's already), the caller's ids never change. ATTACH_OK
 * means that the library's Agent_OnAttach was called; *ret_code is what it returned. Otherwise sets
 * err; its code is EPERM or EACCES if the caller lacks the rights. */
MUST_CHECK enum attach_result attach_load(const struct attach_request *req, int *ret_code,
					  struct err *err);

#endif
