/* SPDX-License-Identifier: Apache-2.0 */
/* The list of past recordings: dfg-trigger --list-recordings. */
#ifndef DFG_CMD_RECORDINGS_H
#define DFG_CMD_RECORDINGS_H

#include "cmd/options.h"

/* Prints a line for each recording below dfg's directory, the newest first, or with --json one
 * object (docs/formats.md). With names, only the recordings of these containers: ids, beginnings of
 * ids, or names as --list prints them. */
enum exit_status recordings_list(const struct options *o);

#endif
