/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of an OCI runtime (runc, crun), as far as dfg-runtime must understand it. Pure.
 */
#ifndef HOOK_RUNTIME_ARGS_H
#define HOOK_RUNTIME_ARGS_H

/* The bundle's directory when this command creates a container ("create" or "run"), borrowed from
 * argv ("." when not given); NULL for every other command and for anything that is not understood:
 * then nothing is to be changed. */
const char *runtime_args_bundle(int argc, char **argv);

#endif
