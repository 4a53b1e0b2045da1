/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line of an OCI runtime (runc, crun), as far as dfg-runtime needs it. */
#ifndef HOOK_RUNTIME_ARGS_H
#define HOOK_RUNTIME_ARGS_H

/* Returns the bundle's directory if this command creates a container ("create" or "run"), borrowed
 * from argv ("." if not given); NULL for other commands and unknown options: then nothing may be
 * changed. */
const char *runtime_args_bundle(int argc, char **argv);

#endif
