/* SPDX-License-Identifier: Apache-2.0 */
/* Drops privileges (libcap, libseccomp). The callers' tables say which phase keeps which
 * capability, and why. */
#ifndef DFG_COMMON_CONFINE_H
#define DFG_COMMON_CONFINE_H

#include <stddef.h>
#include <sys/types.h>

#include "common/err.h"

/* Sets the permitted and effective capabilities to exactly `caps` (CAP_* numbers). Others cannot be
 * regained: the first call with CAP_SETPCAP empties the bounding and ambient sets. Fails if one of
 * `caps` is not held. */
MUST_CHECK int confine_caps(const int *caps, size_t n, struct err *err);

/* Prevents new privileges through execve, and ptrace and core dumps by others of the same uid. */
MUST_CHECK int confine_no_new_privs(struct err *err);

/* Sets all three user and group ids, and drops supplementary groups. */
MUST_CHECK int confine_ids(uid_t uid, gid_t gid, struct err *err);

/* Changes them to ids that no other process has: 3000000000 and the pid, so that no process can
 * signal or trace this one by being the same user. No container has such a user by configuration:
 * runc and Docker (moby/sys, user/user.go) and Kubernetes (validation.IsValidUserID) refuse ids
 * above 2^31 - 1. systemd calls the range unused (docs/UIDS-GIDS.md). In a user namespace without
 * these: nobody. */
MUST_CHECK int confine_user(struct err *err);

/* Allows only the named system calls; others fail with EPERM. Names unknown to this architecture
 * are skipped. */
MUST_CHECK int confine_syscalls(const char *const *names, size_t n, struct err *err);

/* Closes all descriptors except these. Best effort, Linux 5.9. */
void confine_files(const int *keep, size_t n);

#endif
