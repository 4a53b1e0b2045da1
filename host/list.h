/* SPDX-License-Identifier: Apache-2.0 */
/* dfg-trigger --list: the containers that run here, as they can be named. */
#ifndef DFG_LIST_H
#define DFG_LIST_H

#include "command.h"
#include "options.h"

/* Lines or, with --json, one object on stdout (docs/formats.md). Reports its own failure. */
enum exit_status list_containers(const struct options *o);

#endif
