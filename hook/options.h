/* SPDX-License-Identifier: Apache-2.0 */
/* The hook's own command line: made by the administrator or by dfg-trigger, never by a container.
 */
#ifndef HOOK_OPTIONS_H
#define HOOK_OPTIONS_H

#include <stdbool.h>

#include "common/err.h"

enum hook_mode {
	HOOK_MODE_HOOK,	     /* OCI state on stdin; the runtime waits */
	HOOK_MODE_JOIN,	     /* the same for a container that runs already; prints a line */
	HOOK_MODE_PRECREATE, /* hook_precreate.h */
	HOOK_MODE_GC,
	HOOK_MODE_RELEASE,
	HOOK_MODE_HELP,
	HOOK_MODE_VERSION,
};

struct hook_options {
	enum hook_mode mode;
	bool asked; /* somebody wants it for this container (hook_select.h) */
	const char *root, *payload, *conf; /* borrowed from argv; NULL: not given */
};

/* Names of stages (such as "prestart") are accepted and mean nothing: the stage is in the state.
 * On failure ret->mode is still the mode that was asked for. */
MUST_CHECK int hook_options_parse(int argc, char **argv, struct hook_options *ret, struct err *err);

#endif
