/* SPDX-License-Identifier: Apache-2.0 */
/* A JVM's code as a map in perf's text (linux tools/perf/Documentation/jit-interface.txt). */
#ifndef DFG_JIT_CODELIST_H
#define DFG_JIT_CODELIST_H

#include "common/str.h"
#include "jit/snapfile.h"

/* Appends a line for each code, in the order of addresses. Such a map knows no time and nothing of
 * inlining: of codes that were in the same place one after the other the last counts, and a
 * compiled method is one line. To be called after snapfile_finish. */
void codelist_text(const struct snapfile *sf, struct str *ret);

#endif
