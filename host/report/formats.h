/* SPDX-License-Identifier: Apache-2.0 */
/* The formats a profile, or the difference of two, can be drawn in: one row each. */
#ifndef DFG_REPORT_FORMATS_H
#define DFG_REPORT_FORMATS_H

#include <stdbool.h>
#include <stddef.h>

#include "calltree/difference.h"
#include "common/err.h"
#include "format/format.h"
#include "report/load.h"
#include "report/outputs.h"

#define FORMATS_MAX OUTPUTS_MAX

struct format {
	const char *name; /* as -f takes it */
	const char *file; /* as it is written */
	bool details;	  /* takes picture.details */
	int (*draw)(const struct stacks *s, const struct picture *p, int fd, struct err *err);
	/* Instead, where there are recordings: made of their inputs, not of the profile. */
	int (*draw_inputs)(const struct inputs *in, int fd, struct err *err);
	/* The same of a difference; NULL: not in this format. */
	const char *difference_file;
	int (*draw_difference)(const struct difference *d, const struct difference_picture *p,
			       int fd, struct err *err);
};

struct format_set {
	const struct format *list[FORMATS_MAX];
	size_t count;
};

/* Of a format that there is: its file; it is added to the set, if it is not in there. */
const char *formats_file(const char *name);
void formats_add(const char *name, struct format_set *set);

bool formats_take_details(const struct format_set *set);

/* A comma-separated list of names, each once. */
MUST_CHECK int formats_parse(const char *list, struct format_set *ret, struct err *err);

/* Only of those for a difference. */
MUST_CHECK int formats_parse_difference(const char *list, struct format_set *ret, struct err *err);

#endif
