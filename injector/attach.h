/* SPDX-License-Identifier: Apache-2.0 */
/* HotSpot's attach protocol, JDK 8 to 25: loading an agent into a running JVM.
 * Implemented in injector/; linked by dfg-inject and by the host's commands.
 *
 * Nothing of a container is executed or trusted: the JVM's /tmp is resolved inside its root, the
 * socket's peer must be the JVM itself (SO_PEERCRED), the reply is bounded and cleaned. SIGQUIT is
 * sent only to a process that catches it, is running, and is no tracee: it would kill any other. */
#ifndef DFG_INJECTOR_ATTACH_H
#define DFG_INJECTOR_ATTACH_H

#include <sys/types.h>

#include "common/err.h"

enum attach_result {
	ATTACH_OK = 0,
	ATTACH_GONE,	  /* no such process, or it ended meanwhile */
	ATTACH_NOT_READY, /* does not catch SIGQUIT: no JVM, -Xrs, or too young */
	ATTACH_STOPPED,	  /* stopped, traced or a zombie: nothing was sent */
	ATTACH_DISABLED,  /* no answer to the trigger: -XX:+DisableAttachMechanism or hung */
	ATTACH_NO_TMP, /* the JVM's /tmp is missing or not writable: it could not bind its socket */
	ATTACH_REFUSED, /* the JVM said no, or the socket is not the JVM's; err has its words */
	ATTACH_FAILED,	/* anything else */
};

struct attach_request {
	pid_t pid;	     /* as seen in this process's pid namespace */
	const char *path;    /* of the library, absolute, as the JVM sees it */
	const char *options; /* for Agent_OnAttach */
	unsigned timeout_ms; /* for everything together; 0: 5000 */
};

/* Whether attach_load would work, as far as looking tells: nothing is sent and no file is made. A
 * JVM that only just starts is given half a second. ATTACH_OK or why not, with err set. */
MUST_CHECK enum attach_result attach_check(pid_t pid, struct err *err);

/* Loads an agent ("load" command). Forks: the child takes the JVM's effective uid and gid (as root;
 * otherwise they must be the caller's already), so the caller's ids never change. *ret_code is what
 * the library's Agent_OnAttach returned: ATTACH_OK only means that it was called. err is set unless
 * ATTACH_OK; its code is EPERM or EACCES where the caller's rights do not suffice. */
MUST_CHECK enum attach_result attach_load(const struct attach_request *req, int *ret_code,
					  struct err *err);

#endif
