/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox: a child process in a jail (jail.h) that reads inputs, since containers wrote or
 * influenced them. A second child opens the files, one input at a time, so that the number of
 * inputs is not limited by that of open files. */
#ifndef DFG_REPORT_SANDBOX_H
#define DFG_REPORT_SANDBOX_H

#include "report/load.h"

struct reading;

struct reading_job {
	int (*fn)(struct reading *r, void *arg, void *reply, struct err *err);
	void *arg;
	const int *outputs; /* files that fn writes */
	size_t output_count;
	/* Makes a reply safe to use, which the sandbox may have forged: sanitises its texts
	 * (str_clean), keeps its numbers in range. NULL: it needs no check. */
	void (*check)(void *reply);
};

/* Runs the job in the sandbox, as child_call does (child.h). *reply is fn's, and checked. */
MUST_CHECK int reading_run(const struct inputs *in, const struct reading_job *job, void *reply,
			   size_t size, struct err *err);

/* For fn: the inputs; reading_files opens the next of them, to be closed with input_close also
 * after a failure; reading_next adds the next of them to the profile (input_read). Both fail after
 * the last. */
const struct inputs *reading_inputs(const struct reading *r);
size_t reading_at(const struct reading *r); /* index of the next one */
MUST_CHECK int reading_files(struct reading *r, struct open_input *ret, struct err *err);
MUST_CHECK int reading_next(struct reading *r, struct profile *profile, uint64_t *skipped,
			    struct err *err);

#endif
