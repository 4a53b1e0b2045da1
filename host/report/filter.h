/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses samples of the inputs, and frames of their stacks. */
#ifndef DFG_REPORT_FILTER_H
#define DFG_REPORT_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "calltree/samples.h"
#include "common/err.h"

struct filter;

struct filter *filter_new(void);
void filter_free(struct filter *f);

static inline void cleanup_filter_free(struct filter **f)
{
	filter_free(*f);
}

/* Extended regular expressions (regex(7)). Of a sample, a frame or its thread must match all that
 * are included, and none may match one that is excluded. Case counts if the expression has a
 * capital letter; "/" stands for ".". */
MUST_CHECK int filter_include(struct filter *f, const char *regex, struct err *err);
MUST_CHECK int filter_exclude(struct filter *f, const char *regex, struct err *err);

/* Only Java methods and threads are left of each stack; samples without a Java method do not count.
 */
void filter_java_only(struct filter *f);

/* Seconds since the beginning of a recording ("10", "10s", "2m", "1h"), a time of day, in UTC
 * ("14:05", "14:05:30", also with Z), which comes once in a day after it has begun, or a whole time
 * ("2026-11-21T14:05:30Z"). Samples from the one up to the other count. */
MUST_CHECK int filter_from(struct filter *f, const char *time, struct err *err);
MUST_CHECK int filter_to(struct filter *f, const char *time, struct err *err);

/* The same as options of a command line, by these values of getopt_long; FILTER_OPTIONS: their
 * rows. */
enum {
	FILTER_INCLUDE = 1000,
	FILTER_EXCLUDE,
	FILTER_JAVA_ONLY,
	FILTER_FROM,
	FILTER_TO,
};

#define FILTER_OPTIONS                                                                             \
	{"include", required_argument, NULL, FILTER_INCLUDE},                                      \
		{"exclude", required_argument, NULL, FILTER_EXCLUDE},                              \
		{"java-only", no_argument, NULL, FILTER_JAVA_ONLY},                                \
		{"from", required_argument, NULL, FILTER_FROM},                                    \
	{                                                                                          \
		"to", required_argument, NULL, FILTER_TO                                           \
	}

MUST_CHECK int filter_option(struct filter *f, int opt, const char *value, struct err *err);

/* Fails where the end is not after the beginning. */
MUST_CHECK int filter_check(const struct filter *f, struct err *err);

/* True if it lets all pass. NULL: it does. */
bool filter_is_empty(const struct filter *f);

/* True if it needs the times of the samples. NULL: it does not. */
bool filter_has_times(const struct filter *f);

/* "only Foo, not Bar, Java only, 10s to 2m"; owned by the caller, sanitised. */
char *filter_text(const struct filter *f);

/* Adds to a profile what passes. `started`: of the recording, ISO 8601; NULL: `from` is no
 * recording. The shares of its quality are those of the whole. */
MUST_CHECK int filter_apply(const struct filter *f, const struct profile *from, const char *started,
			    struct profile *to, struct err *err);

#endif
