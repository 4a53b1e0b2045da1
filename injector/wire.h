/* SPDX-License-Identifier: Apache-2.0 */
/* Builds and parses the messages of HotSpot's attach protocol.
 *
 * One connection carries one request and one reply. Version 1 (every JDK) has a name and exactly
 * three arguments of at most 1024 bytes; version 2 (JDK 24) lifts both limits. */
#ifndef INJECTOR_WIRE_H
#define INJECTOR_WIRE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/str.h"
#include "injector/attach.h"

#define WIRE_ARG_MAX	 1024	      /* of a version 1 argument: AttachOperation::arg_length_max */
#define WIRE_V2_MAX	 (256u << 10) /* of a version 2 body: MAX_REQUEST_LEN, JDK 24 */
#define WIRE_REPLY_MAX	 (64u << 10)
#define WIRE_BAD_VERSION 101 /* ATTACH_ERROR_BADVERSION */

/* Sets err as err_set does, and returns the result. */
enum attach_result attach_fail(enum attach_result result, struct err *err, int code,
			       const char *fmt, ...) PRINTF_LIKE(4, 5);

/* Appends a request to `out`. False: an argument is too long. */
MUST_CHECK bool attach_build_v1(struct str *out, const char *command, const char *const args[3]);
MUST_CHECK bool attach_build_v2(struct str *out, const char *command, const char *const args[3]);

/* Parses the reply to "load". ATTACH_OK: Agent_OnAttach returned *ret_code; ATTACH_REFUSED: err has
 * the JVM's message, sanitised; ATTACH_FAILED: not this protocol. */
MUST_CHECK enum attach_result attach_parse_reply(const char *p, size_t len, int *ret_code,
						 struct err *err);

/* True if the reply to "getversion" offers version 2. JVMs before JDK 24 refuse the command. */
bool attach_offers_v2(const char *p, size_t len);

#endif
