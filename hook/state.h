/* SPDX-License-Identifier: Apache-2.0 */
/* The hook's statuses, and containers/<id>/state.json: what the hook did for a container, read by
 * dfg-trigger and by the clean-up.
 *
 * One object, mode 0600. Keys: id, status and detail, how ("hook" or "join"), pid, start_time
 * (clock ticks since boot, /proc/PID/stat field 22), boot_id, mnt_ns (inode), root_uid and root_gid
 * (of the container's root, as the host sees them), bundle, root (path of the root file system in
 * the runtime's view), hostname, cgroups_path, annotations, payload (name below <root>/payload),
 * time (seconds since 1970), hook_us (from the hook's start to this file), ended. Whoever made the
 * container chose the text of hostname and annotations. */
#ifndef HOOK_STATE_H
#define HOOK_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "oci/config.h"
#include "oci/state.h"

/* NONE: nothing prevents going on. "skip": by intention, or this kind of container is left alone;
 * "err": should have worked. Names are stable: scripts and people read them. */
#define HOOK_STATUSES(X)                                                                           \
	X(NONE, "none")                                                                            \
	X(STARTING, "starting")	      /* in progress; stays if the time budget ran out */          \
	X(MOUNTED, "mounted")	      /* all three mounts exist */                                 \
	X(ALREADY, "already")	      /* they existed before */                                    \
	X(ENDED, "ended")	      /* poststop */                                               \
	X(SKIP_STATE, "skip-state")   /* stdin has no valid OCI state */                           \
	X(SKIP_ID, "skip-id")	      /* no id that is safe as a directory name */                 \
	X(SKIP_BUNDLE, "skip-bundle") /* config.json missing, foreign or broken */                 \
	X(SKIP_CONF, "skip-conf")     /* dfg.conf broken, or writable by others than root */       \
	X(SKIP_OPTOUT, "skip-optout") /* excluded by dfg.conf or annotation */                     \
	X(SKIP_ROOTLESS, "skip-rootless")                                                          \
	X(SKIP_GONE, "skip-gone")	  /* the container's process has ended */                  \
	X(SKIP_NOMNTNS, "skip-nomntns")	  /* it shares the caller's mount namespace */             \
	X(SKIP_UNMAPPED, "skip-unmapped") /* user namespace without a root */                      \
	X(SKIP_NODEV, "skip-nodev")	  /* no /dev that is a writable tmpfs */                   \
	X(SKIP_HOSTDEV, "skip-hostdev")	  /* its /dev is the host's */                             \
	X(SKIP_OCCUPIED, "skip-occupied") /* /dev/dfg, dfg-out or dfg-ctl exists already */        \
	X(SKIP_PAYLOAD, "skip-payload")	  /* payload image missing or unusable */                  \
	X(SKIP_KERNEL, "skip-kernel")	  /* older than Linux 5.14 */                              \
	X(ERR_PRIVILEGES, "err-privileges")                                                        \
	X(ERR_HOST, "err-host")	  /* host side of the mounts */                                    \
	X(ERR_ENTER, "err-enter") /* entering the container's mount namespace */                   \
	X(ERR_MOUNT, "err-mount") /* mounting in it; undone */                                     \
	X(ERR_TIMEOUT, "err-timeout")                                                              \
	X(ERR_CRASH, "err-crash")

enum hook_status {
#define HOOK_STATUS_ENUM(id, name) HOOK_##id,
	HOOK_STATUSES(HOOK_STATUS_ENUM)
#undef HOOK_STATUS_ENUM
};

const char *hook_status_name(enum hook_status status);

/* True for success: MOUNTED, ALREADY, ENDED. */
bool hook_status_is_done(enum hook_status status);

/* True for errors that the administrator can repair: `strict=yes` makes them fail the start. */
bool hook_status_is_conf(enum hook_status status);

/* Longer annotations (in all) are omitted. */
#define HOOK_ANNOTATIONS_MAX (64u << 10)

struct hook_state {
	enum hook_status status;
	const char *detail; /* "": none */
	bool join;
	uint64_t start_time;
	char boot_id[37];
	uint64_t mnt_ns;
	uid_t root_uid;
	gid_t root_gid;
	char payload[32];
	uint64_t started_us; /* CLOCK_MONOTONIC at the hook's start */
};

MUST_CHECK int hook_state_write(int dirfd, const struct hook_state *s,
				const struct oci_state *state, const struct oci_config *config,
				struct err *err);

/* The fields of an earlier call's file that the clean-up and repeated calls need. */
struct hook_past {
	bool mounted;
	bool ended;
	pid_t pid;
	uint64_t start_time;
	char boot_id[37];
	char payload[32];
};

/* Fails also when the file is missing. */
MUST_CHECK int hook_state_read(int dirfd, struct hook_past *ret, struct err *err);

/* Adds "ended": true. */
MUST_CHECK int hook_state_end(int dirfd, struct err *err);

/* False if the container of this state is known not to run any more: another boot, its process has
 * ended. */
bool hook_past_is_alive(const struct hook_past *past);

#endif
