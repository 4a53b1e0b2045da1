/* SPDX-License-Identifier: Apache-2.0 */
/* Giving up power. One row per phase: who keeps which capability, and why, is in the caller's
 * table; this file only carries it out (libcap, libseccomp). */
#ifndef DFG_COMMON_CONFINE_H
#define DFG_COMMON_CONFINE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

/* Permitted and effective capabilities become exactly `caps` (CAP_* numbers); what is not there
 * cannot come back: bounding and ambient sets are emptied on the first call that may. Fails when
 * one of `caps` is not held. */
MUST_CHECK int confine_caps(const int *caps, size_t n, struct err *err);

/* No privilege through execve, no ptrace and no core by others of the same uid. */
MUST_CHECK int confine_no_new_privs(struct err *err);

/* All three user and group ids, and no supplementary groups. */
MUST_CHECK int confine_ids(uid_t uid, gid_t gid, struct err *err);

/* Only the named system calls remain; others fail with EPERM (with the environment DFG_SECCOMP=kill
 * at build of the tests: kill the process). Names unknown to this architecture are passed over. */
MUST_CHECK int confine_syscalls(const char *const *names, size_t n, struct err *err);

/* The child that reads what containers wrote: nobody's ids, no capability, no new file, no network,
 * no process, no exec: only reading and writing descriptors it holds or is handed, threads of its
 * own, and getting memory, up to `memory` bytes (RLIMIT_AS; 0, or under ASan: no limit) and
 * `cpu_seconds` (RLIMIT_CPU; 0: none). It ends with its parent. Without root, what can be given up
 * is given up. */
MUST_CHECK int confine_reader(uint64_t memory, unsigned cpu_seconds, struct err *err);

/* The same for a child that reads the memory of a process: process_vm_readv(2) of this pid remains,
 * and CAP_SYS_PTRACE, which is what that call asks for and which serves no other that remains; it
 * has no threads. */
MUST_CHECK int confine_reader_of(pid_t pid, uint64_t memory, struct err *err);

/* Closes all descriptors but these. Best effort, Linux 5.9. */
void confine_files(const int *keep, size_t n);

#endif
