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

/* Changes them to ids that no other process has: 2100000000 and the pid, so that none can signal or
 * trace this one as the same user; 65534 is the user of many a container. The range is above those
 * of subordinate ids (login.defs, up to 600100000) and of OpenShift (up to 1999999999), of no
 * purpose to systemd (docs/UIDS-GIDS.md), and below 2^31, from where on programs have trouble. In a
 * user namespace that lacks these ids: nobody. */
MUST_CHECK int confine_user(struct err *err);

/* Allows only the named system calls; others fail with EPERM. Names unknown to this architecture
 * are skipped. */
MUST_CHECK int confine_syscalls(const char *const *names, size_t n, struct err *err);

/* Closes all descriptors except these. Best effort, Linux 5.9. */
void confine_files(const int *keep, size_t n);

#endif
