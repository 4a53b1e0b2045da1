/* SPDX-License-Identifier: Apache-2.0 */
/* containers/<id>/state.json: what the hook saw and did, for dfg-trigger and for cleaning up.
 *
 * One object, mode 0600. Keys: id, status and detail (hook_reason.h), how ("hook" or "join"), pid,
 * start_time (clock ticks since boot, /proc/PID/stat field 22), boot_id, mnt_ns (inode), root_uid
 * and root_gid (of the container's root, as the host sees them), bundle, root (path of the root
 * file system in the runtime's view), hostname, cgroups_path, annotations, payload (name below
 * <root>/payload), time (seconds since 1970), hook_us (from the hook's start to this file), ended.
 * hostname and annotations are text of whoever made the container. */
#ifndef HOOK_RECORD_H
#define HOOK_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "hook/reason.h"
#include "oci/config.h"
#include "oci/state.h"

/* Annotations of more than this in all are left out. */
#define HOOK_ANNOTATIONS_MAX (64u << 10)

struct hook_record {
	enum hook_reason reason;
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

MUST_CHECK int hook_record_write(int dirfd, const struct hook_record *r,
				 const struct oci_state *state, const struct oci_config *config,
				 struct err *err);

/* What cleaning up and idempotence need of an earlier call's file. */
struct hook_past {
	bool mounted;
	bool ended;
	pid_t pid;
	uint64_t start_time;
	char boot_id[37];
	char payload[32];
};

/* -1 when there is none, or none that can be read. */
MUST_CHECK int hook_record_read(int dirfd, struct hook_past *ret, struct err *err);

/* Adds "ended": true. */
MUST_CHECK int hook_record_end(int dirfd, struct err *err);

#endif
