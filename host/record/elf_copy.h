/* SPDX-License-Identifier: Apache-2.0 */
/* Copies what is needed later to name addresses: the mapped executables and libraries of the
 * processes, the symbols of their separate debug files, the vdso and the kernel's symbols. Nothing
 * of a container's is parsed in this process. */
#ifndef DFG_RECORD_ELF_COPY_H
#define DFG_RECORD_ELF_COPY_H

#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/proc.h"
#include "session/session.h"

/* Adds the processes and the files they have mapped executable. May be called again for processes
 * and files that came later; a file is copied once. A file that cannot be had (gone, too large) is
 * passed over: its frames will have no names, and are counted. */
void files_keep(struct session *s, const pid_t *pids, size_t count);

/* Opens the very file that is mapped, whatever its path leads to by now: map_files (proc(5);
 * reading its links needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE). Regular files of bounded size
 * only: a device is never opened. Returns a descriptor, or -1. */
MUST_CHECK int files_open_mapped(int procfd, const struct proc_map *m, struct stat *st);

/* /proc/kallsyms, and this kernel's vdso. other: a session of the same run that has them, or NULL.
 */
MUST_CHECK int files_keep_kernel(struct session *s, const struct session *other, struct err *err);

#endif
