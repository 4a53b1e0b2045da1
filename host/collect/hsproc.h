/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a running JVM as a source for hotspot/: /proc/PID/mem, and the symbols of the
 * libjvm.so that is mapped there, read from that same memory.
 *
 * No file of the container is opened: what is in use is read, also when it has been deleted or
 * replaced on disk, and a hostile ELF file meets bounded reads only. Reading is not bounded in
 * time: a process can back its memory by userfaultfd or FUSE and make a read wait, so a caller with
 * something to lose does it in a child it can kill. */
#ifndef DFG_HSPROC_H
#define DFG_HSPROC_H

#include "dfg/err.h"
#include "dfg/hotspot.h"

struct hs_proc;

/* procfd: proc_open's. Needs ptrace access to the process (PTRACE_MODE_ATTACH_FSCREDS). Fails with
 * code 0 where there is no HotSpot. The descriptor stays the caller's, and open until
 * hs_proc_close. */
MUST_CHECK int hs_proc_open(int procfd, struct hs_proc **ret, struct err *err);

/* Borrowed, valid until hs_proc_close. */
const struct hs_source *hs_proc_source(const struct hs_proc *proc);

/* Whether the process has not ended: reads go by its number, so what was read before this says so
 * is its own. */
bool hs_proc_is_there(const struct hs_proc *proc);

void hs_proc_close(struct hs_proc *proc); /* NULL is fine */

static inline void cleanup_hs_proc_close(struct hs_proc **proc)
{
	hs_proc_close(*proc);
}

#endif
