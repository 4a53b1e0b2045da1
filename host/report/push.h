/* SPDX-License-Identifier: Apache-2.0 */
/* Pushes pprof to a server with the interface of Pyroscope: POST /ingest with format=pprof, name,
 * from and until (grafana.com/docs/pyroscope, "Server HTTP API"; grafana/pyroscope 1.x,
 * pkg/ingester/pyroscope/ingest_handler.go). */
#ifndef DFG_REPORT_PUSH_H
#define DFG_REPORT_PUSH_H

#include "common/err.h"
#include "common/str.h"
#include "session/session.h"

#define PUSH_FORMAT  "pprof"		/* the format that is pushed */
#define PUSH_HEADERS "DFG_PUSH_HEADERS" /* environment: file with lines to add to the request */

/* Checks an address to push to: http or https, without a user, a query or a fragment. */
MUST_CHECK int push_check(const char *url, struct err *err);

/* Appends the whole address for a session's profile, with its labels. */
void push_address(const char *url, const struct session *s, struct str *ret);

/* Sends the file `name`, in an unprivileged worker, in at most 60 s. A redirection is an error. */
MUST_CHECK int push(const char *url, const struct session *s, int dirfd, const char *name,
		    struct err *err);

#endif
