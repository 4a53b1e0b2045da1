/* SPDX-License-Identifier: Apache-2.0 */
/* The host's own reader of a JVM: its tables from /proc/PID/mem, with no help from inside. A
 * process can make reads of its memory wait for ever (userfaultfd, FUSE): call these in a child
 * that can be killed. */
#ifndef DFG_HOSTREAD_H
#define DFG_HOSTREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "dfg/err.h"
#include "dfg/hotspot.h"
#include "jvm.h"

struct hostread;

/* With `debug_info`, -XX:+DebugNonSafepoints is switched on first, best effort: one byte of the
 * JVM's data that only its compilers read (opto/compile.cpp, c1_Compilation.cpp). Code compiled
 * from then on knows which inlined method an instruction belongs to, and not only which call comes
 * next. */
MUST_CHECK int hostread_open(const struct jvm *j, bool debug_info, struct hostread **ret,
			     struct err *err);
void hostread_close(struct hostread *r); /* NULL is fine */

/* Writes a snapshot to `to`: the first is whole, each later one a delta, but whole again behind one
 * that failed; hs_dump_delta on `last`. Fails with ENOSPC where `to` takes no more, and with code 0
 * where nothing could be read. */
MUST_CHECK int hostread_dump(struct hostread *r, bool last, int to, struct hs_result *ret,
			     struct err *err);

/* hs_missing of it. */
bool hostread_missing(struct hostread *r, char ret[HS_MISSING_MAX]);

#endif
