/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a JVM, as a source for hotspot/, through /proc/PID/mem and process_vm_readv(2).
 *
 * No file of the container is opened: HotSpot's tables and the symbols of libjvm.so come from the
 * mapped memory, also when the library has been deleted or replaced on disk. A process can make
 * reads of its memory wait without limit (userfaultfd, FUSE): call these in a child that can be
 * killed. */
#ifndef DFG_DISCOVER_JVM_MEMORY_H
#define DFG_DISCOVER_JVM_MEMORY_H

#include <stddef.h>

#include "common/err.h"
#include "hotspot/hotspot.h"

struct jvm_memory;

/* Opens the memory without reading it. procfd: proc_open's, not needed afterwards. Needs ptrace
 * access to the process (PTRACE_MODE_ATTACH_FSCREDS). Reads go by pid: they were of this process
 * only if procfd shows afterwards that it has not ended. */
MUST_CHECK int jvm_memory_open(int procfd, struct jvm_memory **ret, struct err *err);

/* Puts the calling process into a jail (jail.h) in which it can read this memory and use the
 * descriptors of `keep`, -1 for none, with JVM_MEMORY_WRITES bytes in a file at most: before it
 * reads what the process controls. */
#define JVM_MEMORY_WRITES (256ull << 20)
MUST_CHECK int jvm_memory_confine(const struct jvm_memory *m, const int *keep, size_t n,
				  struct err *err);

/* Finds HotSpot's tables; fails with code 0 where there are none. */
MUST_CHECK int jvm_memory_find_tables(struct jvm_memory *m, struct err *err);

/* Borrowed, valid until jvm_memory_close. */
const struct hs_source *jvm_memory_source(const struct jvm_memory *m);

/* Has a function called from time to time (2 ms) while memory is read, but not within itself. NULL:
 * none. */
void jvm_memory_let_in(struct jvm_memory *m, void (*call)(void *arg), void *arg);

void jvm_memory_close(struct jvm_memory *m); /* NULL is fine */

static inline void cleanup_jvm_memory_close(struct jvm_memory **m)
{
	jvm_memory_close(*m);
}

#endif
