/* SPDX-License-Identifier: Apache-2.0 */
/* The host's own reader of a JVM: its tables from /proc/PID/mem, with no help from inside. They are
 * read by a child that has the JVM's memory and the file to be written, and nothing else: no rights
 * (confine_reader_of), no other descriptor. A process can make reads of its memory wait for ever
 * (userfaultfd, FUSE): call these where waiting does no harm; the child ends with the caller. */
#ifndef DFG_RECORD_MEMORY_READER_H
#define DFG_RECORD_MEMORY_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "discover/jvm.h"
#include "hotspot/hotspot.h"

struct hostread;

/* Snapshots go to `to`, one behind the other. With `debug_info`, -XX:+DebugNonSafepoints is
 * switched on first, best effort: one byte of the JVM's data that only its compilers read
 * (opto/compile.cpp, c1_Compilation.cpp). Code compiled from then on knows which inlined method an
 * instruction belongs to, and not only which call comes next. `j` must stay. */
MUST_CHECK int hostread_open(const struct jvm *j, bool debug_info, int to, struct hostread **ret,
			     struct err *err);
void hostread_close(struct hostread *r); /* NULL is fine */

/* Writes a snapshot: the first is whole, each later one a delta, but whole again behind one that
 * failed; hs_dump_delta on `last`. *ret_cpu_us: what it cost, of a processor. Fails with ENOSPC
 * where `to` takes no more, and with code 0 where nothing could be read. */
MUST_CHECK int hostread_dump(struct hostread *r, bool last, struct hs_result *ret,
			     uint64_t *ret_cpu_us, struct err *err);

/* hs_missing of the last one, or of one that failed; "": nothing. */
const char *hostread_missing(const struct hostread *r);

#endif
