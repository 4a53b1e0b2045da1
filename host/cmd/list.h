/* SPDX-License-Identifier: Apache-2.0 */
/* dfg-trigger --list: the containers that run here, as they can be named. */
#ifndef DFG_CMD_LIST_H
#define DFG_CMD_LIST_H

#include "cmd/command.h"
#include "cmd/options.h"

/* Lines or, with --json, one object on stdout (docs/formats.md). Reports its own failure. */
enum exit_status list_containers(const struct options *o);

#endif
