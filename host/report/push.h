/* SPDX-License-Identifier: Apache-2.0 */
/* pprof to a server that takes what Pyroscope does: POST /ingest with format=pprof, name, from and
 * until (grafana.com/docs/pyroscope, "Server HTTP API"; grafana/pyroscope 1.x,
 * pkg/ingester/pyroscope/ingest_handler.go). */
#ifndef DFG_REPORT_PUSH_H
#define DFG_REPORT_PUSH_H

#include "common/err.h"
#include "common/str.h"
#include "session/session.h"

#define PUSH_FORMAT  "pprof"		/* that is pushed */
#define PUSH_HEADERS "DFG_PUSH_HEADERS" /* environment: file with lines to add to the request */

/* An address to push to, http or https, without a user, a query or a fragment. */
MUST_CHECK int push_check(const char *url, struct err *err);

/* The whole address for a session's profile, with its labels. */
void push_address(const char *url, const struct session *s, struct str *ret);

/* Sends the file `path`. In a child with nobody's rights, in at most 60 s, to this host only: a
 * redirection is an error. */
MUST_CHECK int push(const char *url, const struct session *s, const char *path, struct err *err);

#endif
