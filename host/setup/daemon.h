/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a running daemon by the configuration file it reads. */
#ifndef DFG_SETUP_DAEMON_H
#define DFG_SETUP_DAEMON_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/str.h"

/* Command line of a daemon that names its file. */
struct daemon_kind {
	const char *program;	/* its process's name */
	const char *options[2]; /* followed by the name of the file */
	const char *usual;	/* without such an option; below the root */
};

struct daemon {
	pid_t pid;
	int procfd;	 /* proc_open's, or -1 */
	struct str args; /* its command line, for proc_arg */
};
#define DAEMON_NONE ((struct daemon){.procfd = -1})

/* The daemon of this host (proc_is_trusted) that reads this file (below the root). Freed with
 * daemon_fini. */
bool daemon_find(const struct daemon_kind *kind, const char *file, struct daemon *ret);
void daemon_fini(struct daemon *d);

static inline void cleanup_daemon_fini(struct daemon *d)
{
	daemon_fini(d);
}

/* Signals the daemon that was found, and no other process; fails with ESRCH where it has ended. */
MUST_CHECK int daemon_signal(const struct daemon *d, int sig, struct err *err);

/* True if the file (below the root) was changed after the daemon was started. */
bool daemon_is_older(const struct daemon *d, int rootfd, const char *file);

#endif
