/* SPDX-License-Identifier: Apache-2.0 */
/* Making a JVM open its attach socket. */
#ifndef INJECTOR_TRIGGER_H
#define INJECTOR_TRIGGER_H

#include "injector/process.h"

/* Connects to the JVM, asking it to listen first if it does not: an .attach_pid file and a
 * SIGQUIT (two when it has only just been started). The file is gone afterwards. To be called with
 * the JVM's ids, since it must own the file, and only those tell whether /tmp can be written by it.
 */
MUST_CHECK enum attach_result trigger_connect(struct target *t, uint64_t deadline, int *ret_sock,
					      struct err *err);

#endif
