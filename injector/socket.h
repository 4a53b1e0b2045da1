/* SPDX-License-Identifier: Apache-2.0 */
/* The JVM's socket: connecting to it and to nothing else, one request and one reply. */
#ifndef INJECTOR_EXCHANGE_H
#define INJECTOR_EXCHANGE_H

#include "common/str.h"
#include "injector/process.h"

/* Connects to /tmp/.java_pid<nspid>. ATTACH_OK with *ret_sock -1: nobody listens there yet.
 * ATTACH_REFUSED: what is there is not the JVM's. `deadline` is a time of clock_ms, here and below.
 */
MUST_CHECK enum attach_result exchange_connect(const struct target *t, uint64_t deadline,
					       int *ret_sock, struct err *err);

/* Sends the request and collects the reply up to its end. */
MUST_CHECK enum attach_result exchange_run(const struct target *t, int sock,
					   const struct str *request, uint64_t deadline,
					   struct str *reply, struct err *err);

#endif
