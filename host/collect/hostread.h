/* SPDX-License-Identifier: Apache-2.0 */
/* The host's own reader of a JVM: its tables from /proc/PID/mem, with no help from inside. */
#ifndef DFG_HOSTREAD_H
#define DFG_HOSTREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "dfg/err.h"
#include "jvm.h"

struct hostread_result {
	int status; /* enum dfg_dump_status */
	uint32_t entries, skipped;
	uint32_t us;
};

/* Writes a snapshot of the JVM to `to`. In a child that is killed after `ms`: a process can make
 * reads of its memory wait for ever (userfaultfd, FUSE). Fails when nothing could be read.
 *
 * With `debug_info`, -XX:+DebugNonSafepoints is switched on first, best effort: one byte of the
 * JVM's data that only its compilers read (opto/compile.cpp, c1_Compilation.cpp). Code compiled
 * from then on knows which inlined method an instruction belongs to, and not only which call comes
 * next. */
MUST_CHECK int hostread_snapshot(const struct jvm *j, bool debug_info, int to, int ms,
				 struct hostread_result *ret, struct err *err);

#endif
