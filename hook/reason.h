/* SPDX-License-Identifier: Apache-2.0 */
/* What became of one call of the hook: the status of state.json, of the log and of --join. */
#ifndef HOOK_REASON_H
#define HOOK_REASON_H

#include <stdbool.h>

/* NONE: nothing stands against going on. "skip": by intention or because the container is of a kind
 * that is left alone; "err": should have worked. Names are stable: scripts and people read them. */
#define HOOK_REASONS(X)                                                                            \
	X(NONE, "none")                                                                            \
	X(STARTING, "starting")	      /* being worked on; stays when the budget ran out */         \
	X(MOUNTED, "mounted")	      /* all three mounts are there */                             \
	X(ALREADY, "already")	      /* they were there before */                                 \
	X(ENDED, "ended")	      /* poststop */                                               \
	X(SKIP_STATE, "skip-state")   /* the state on stdin is no OCI state */                     \
	X(SKIP_ID, "skip-id")	      /* no id that is safe as a directory name */                 \
	X(SKIP_BUNDLE, "skip-bundle") /* config.json missing, foreign or broken */                 \
	X(SKIP_CONF, "skip-conf")     /* dfg.conf broken, or writable by others than root */       \
	X(SKIP_OPTOUT, "skip-optout") /* dfg.conf or annotation says no */                         \
	X(SKIP_ROOTLESS, "skip-rootless")                                                          \
	X(SKIP_GONE, "skip-gone")	  /* the container's process has ended */                  \
	X(SKIP_NOMNTNS, "skip-nomntns")	  /* it shares the caller's mount namespace */             \
	X(SKIP_UNMAPPED, "skip-unmapped") /* user namespace without a root */                      \
	X(SKIP_NODEV, "skip-nodev")	  /* no /dev that is a writable tmpfs */                   \
	X(SKIP_HOSTDEV, "skip-hostdev")	  /* its /dev is the host's */                             \
	X(SKIP_OCCUPIED, "skip-occupied") /* something else is at /dev/dfg, dfg-out or dfg-ctl */  \
	X(SKIP_PAYLOAD, "skip-payload")	  /* payload image missing or unusable */                  \
	X(SKIP_KERNEL, "skip-kernel")	  /* older than Linux 5.14 */                              \
	X(ERR_PRIVILEGES, "err-privileges")                                                        \
	X(ERR_HOST, "err-host")	  /* host side of the mounts */                                    \
	X(ERR_ENTER, "err-enter") /* entering the container's mount namespace */                   \
	X(ERR_MOUNT, "err-mount") /* mounting there; undone */                                     \
	X(ERR_TIMEOUT, "err-timeout")                                                              \
	X(ERR_CRASH, "err-crash")

enum hook_reason {
#define HOOK_REASON_ENUM(id, name) HOOK_##id,
	HOOK_REASONS(HOOK_REASON_ENUM)
#undef HOOK_REASON_ENUM
};

const char *hook_reason_name(enum hook_reason reason);

/* MOUNTED, ALREADY, ENDED: what was asked for is so. */
bool hook_reason_done(enum hook_reason reason);

/* The administrator's to repair: what `strict=yes` turns into a failed start. */
bool hook_reason_is_conf(enum hook_reason reason);

#endif
