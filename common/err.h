/* SPDX-License-Identifier: Apache-2.0 */
/* The error value: fixed size, on the caller's stack, nothing to release.
 *
 * Fallible functions take `struct err *err` last and return 0 or -1 (or NULL, or a negative fd).
 * Outputs are untouched on failure. Callers that do not need the reason pass NULL. The message is
 * one line, outermost context first:
 * "load the agent into 4711: connect to /tmp/.java_pid1: Connection refused". */
#ifndef DFG_COMMON_ERR_H
#define DFG_COMMON_ERR_H

#include "dfg/compiler.h"

struct err {
	int code; /* errno value, or 0 when none applies */
	char msg[508];
};

/* Sets the message; a code other than 0 appends ": " and strerror(code). Returns -1. */
int err_set(struct err *err, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Prefixes the message with context and ": ". Returns -1. */
int err_wrap(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
