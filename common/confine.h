/* SPDX-License-Identifier: Apache-2.0 */
/* Drops privileges (libcap, libseccomp). The callers' tables say which phase keeps which
 * capability, and why. */
#ifndef DFG_COMMON_CONFINE_H
#define DFG_COMMON_CONFINE_H

#include <stddef.h>
#include <stdint.h>
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

/* Allows only the named system calls; others fail with EPERM. Names unknown to this architecture
 * are skipped. */
MUST_CHECK int confine_syscalls(const char *const *names, size_t n, struct err *err);

/* Confines a child that reads data of containers: ids of nobody, no capability, no new file,
 * network, process or exec. It may read, write and poll descriptors that it holds or receives,
 * start threads, and allocate up to `memory` bytes (RLIMIT_AS; 0, or under ASan: no limit) within
 * `cpu_seconds` (RLIMIT_CPU; 0: no limit). It ends with its parent. Without root, it drops what it
 * can. */
MUST_CHECK int confine_reader(uint64_t memory, unsigned cpu_seconds, struct err *err);

/* The same for a child that reads the memory of a process: it keeps process_vm_readv(2) of this pid
 * and CAP_SYS_PTRACE, which only that call needs; it has no threads. */
MUST_CHECK int confine_reader_of(pid_t pid, uint64_t memory, struct err *err);

/* Closes all descriptors except these. Best effort, Linux 5.9. */
void confine_files(const int *keep, size_t n);

#endif
