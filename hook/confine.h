/* SPDX-License-Identifier: Apache-2.0 */
/* What the worker keeps of root's power, from before it reads its first byte. Three phases:
 *
 *   dfg-hook itself    no capability once the worker is started (hook_self.c)
 *   its worker         this file: six capabilities, the system calls of its work
 *   the worker's child hook_enter.c: four capabilities and twenty system calls, in the container
 */
#ifndef HOOK_CONFINE_H
#define HOOK_CONFINE_H

#include "common/err.h"
#include "hook/reason.h"

/* NONE; SKIP_ROOTLESS when the caller is not root of the host, ERR_PRIVILEGES when a capability
 * that is needed is not held. */
enum hook_reason hook_confine_worker(struct err *err);

#endif
