/* SPDX-License-Identifier: Apache-2.0 */
/* Maps that runtimes write of the code they generate: /tmp/perf-<pid>.map, in perf's text format
 * (linux tools/perf/Documentation/jit-interface.txt). node --perf-basic-prof, OpenJ9
 * -Xjit:perfTool, HotSpot's jcmd Compiler.perfmap, Python -X perf, .NET and others. */
#ifndef DFG_RECORD_PERF_MAP_COPY_H
#define DFG_RECORD_PERF_MAP_COPY_H

#include <sys/types.h>

#include "session/session.h"

/* Copies the maps of these processes into the session, but for the JVMs that it has a snapshot of.
 * A later copy replaces an earlier one. What is taken is what the process itself owns: a regular
 * file, by no link, below the root and with the pid that the process sees; of a long one the
 * beginning. In a child that is killed when it takes long, since the file system can be the
 * container's. Best effort. */
void perfmaps_keep(struct session *s, const pid_t *pids, size_t count);

#endif
