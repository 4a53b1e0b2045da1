/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs are read in a child process that has given up everything but the descriptors it holds: all
 * it reads was written or influenced by containers. Another one opens them for it, one input at a
 * time, so that as many as wanted can be read. */
#ifndef DFG_REPORT_SANDBOX_H
#define DFG_REPORT_SANDBOX_H

#include "report/load.h"

struct reading;

/* Runs fn in the child, as child_call does (run.h). The inputs stay with the caller. */
MUST_CHECK int reading_run(const struct inputs *in,
			   int (*fn)(struct reading *r, void *arg, void *reply, struct err *err),
			   void *arg, void *reply, size_t size, struct err *err);

/* In fn: the inputs, and the next of them: its files, to be released with input_close also after a
 * failure; or it is read into the profile (input_read). Fails when there is none left. */
const struct inputs *reading_inputs(const struct reading *r);
size_t reading_at(const struct reading *r); /* number of the next one */
MUST_CHECK int reading_files(struct reading *r, struct input_files *ret, struct err *err);
MUST_CHECK int reading_next(struct reading *r, struct profile *profile, uint64_t *skipped,
			    struct err *err);

#endif
