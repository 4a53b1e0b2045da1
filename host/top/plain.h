/* SPDX-License-Identifier: Apache-2.0 */
/* Output of dfg-top without a screen: a block of text, or a line of JSON, for each window. */
#ifndef DFG_TOP_PLAIN_H
#define DFG_TOP_PLAIN_H

#include "common/err.h"
#include "top/history.h"

/* Limits of the tables. */
#define PLAIN_METHODS 20
#define PLAIN_THREADS 10
#define JSON_METHODS  100

MUST_CHECK int plain_text(int fd, const char *name, const struct moment *m, unsigned frequency,
			  struct err *err);

/* Members: docs/formats.md. */
MUST_CHECK int plain_json(int fd, const char *name, const struct moment *m, unsigned frequency,
			  struct err *err);

#endif
