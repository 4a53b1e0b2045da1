// SPDX-License-Identifier: Apache-2.0
#include "hook/reason.h"

#include <stddef.h>

#include "dfg/compiler.h"

static const char *const names[] = {
#define HOOK_REASON_NAME(id, name) [HOOK_##id] = (name),
	HOOK_REASONS(HOOK_REASON_NAME)
#undef HOOK_REASON_NAME
};

const char *hook_reason_name(enum hook_reason reason)
{
	return (size_t)reason < ARRAY_LEN(names) ? names[reason] : "unknown";
}

bool hook_reason_done(enum hook_reason reason)
{
	return reason == HOOK_MOUNTED || reason == HOOK_ALREADY || reason == HOOK_ENDED;
}

bool hook_reason_is_conf(enum hook_reason reason)
{
	return reason == HOOK_SKIP_CONF || reason == HOOK_SKIP_PAYLOAD ||
	       reason == HOOK_SKIP_KERNEL;
}
