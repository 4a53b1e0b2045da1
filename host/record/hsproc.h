/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a running JVM as a source for hotspot/: /proc/PID/mem, and the symbols of the
 * libjvm.so that is mapped there, read from that same memory.
 *
 * No file of the container is opened: what is in use is read, also when it has been deleted or
 * replaced on disk, and a hostile ELF file meets bounded reads only. Reading is not bounded in
 * time: a process can back its memory by userfaultfd or FUSE and make a read wait, so a caller with
 * something to lose does it in a child it can kill. */
#ifndef DFG_RECORD_HSPROC_H
#define DFG_RECORD_HSPROC_H

#include "common/err.h"
#include "hotspot/hotspot.h"

struct hs_proc;

/* Opens its memory, and reads nothing of it. procfd: proc_open's, not needed behind this. Needs
 * ptrace access to the process (PTRACE_MODE_ATTACH_FSCREDS). Reads go by its number: what was read
 * is its own only if procfd says behind it that it has not ended. */
MUST_CHECK int hs_proc_open(int procfd, struct hs_proc **ret, struct err *err);

/* The descriptor of its memory: what confine_files must leave. */
int hs_proc_file(const struct hs_proc *proc);

/* Finds the tables; fails with code 0 where there is no HotSpot. From here on it is the process
 * that says what is read: give up what is not needed for it before (confine_reader_of). */
MUST_CHECK int hs_proc_find(struct hs_proc *proc, struct err *err);

/* Borrowed, valid until hs_proc_close. */
const struct hs_source *hs_proc_source(const struct hs_proc *proc);

void hs_proc_close(struct hs_proc *proc); /* NULL is fine */

static inline void cleanup_hs_proc_close(struct hs_proc **proc)
{
	hs_proc_close(*proc);
}

#endif
