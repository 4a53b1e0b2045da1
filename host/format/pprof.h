/* SPDX-License-Identifier: Apache-2.0 */
/* pprof's format: a gzipped protocol buffer (google/pprof, proto/profile.proto). What of it is
 * written, and how what pprof does not know is kept, is in docs/formats.md. draw_pprof writes it.
 */
#ifndef DFG_FORMAT_PPROF_H
#define DFG_FORMAT_PPROF_H

#include "calltree/samples.h"
#include "common/err.h"

/* Field numbers of proto/profile.proto. */
enum {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE = 2,
	PPROF_MAPPING = 3,
	PPROF_LOCATION = 4,
	PPROF_FUNCTION = 5,
	PPROF_STRING = 6,
	PPROF_TIME_NANOS = 9,
	PPROF_DURATION_NANOS = 10,
	PPROF_PERIOD_TYPE = 11,
	PPROF_PERIOD = 12,
	PPROF_COMMENT = 13,
	PPROF_DEFAULT_TYPE = 14,

	PPROF_VALUE_TYPE = 1, /* of a ValueType */
	PPROF_VALUE_UNIT = 2,

	PPROF_SAMPLE_LOCATION = 1, /* the innermost first */
	PPROF_SAMPLE_VALUE = 2,
	PPROF_SAMPLE_LABEL = 3,

	PPROF_LABEL_KEY = 1,
	PPROF_LABEL_TEXT = 2,
	PPROF_LABEL_NUMBER = 3,

	PPROF_ID = 1, /* of a Mapping, Location or Function; not 0 */

	PPROF_MAPPING_FILE = 5,
	PPROF_MAPPING_HAS_FUNCTIONS = 7,
	PPROF_MAPPING_HAS_FILENAMES = 8,
	PPROF_MAPPING_HAS_LINES = 9,
	PPROF_MAPPING_HAS_INLINED = 10,

	PPROF_LOCATION_MAPPING = 2,
	PPROF_LOCATION_LINE = 4, /* the innermost inlined function first */

	PPROF_LINE_FUNCTION = 1,
	PPROF_LINE_NUMBER = 2,

	PPROF_FUNCTION_NAME = 2,
	PPROF_FUNCTION_SYSTEM_NAME = 3,
};

/* What a function's system name ends with: the suffix of folded text, where the kind has one. */
const char *pprof_suffix(enum frame_kind kind);

/* Whether the data may be pprof's, by how it begins. */
bool pprof_is(const void *data, size_t len);

/* Adds a profile, gzipped or not, by whatever tool: its number of samples or, where it counts
 * none, what it counts by default (of time, as many samples as its period says). Without a thread's
 * name the main program is a stack's first frame. Where samples are kept, each is one, at time 0:
 * pprof has no times; quality.samples grows by their number. */
MUST_CHECK int pprof_read(struct profile *p, const void *data, size_t len, struct err *err);

#endif
