/* SPDX-License-Identifier: Apache-2.0 */
/* What a finished run tells: a few lines for a person, or JSON for a program. */
#ifndef DFG_REPORT_SUMMARY_H
#define DFG_REPORT_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

#include "report/formats.h"
#include "report/render.h"
#include "session/session.h"

struct summary {
	const struct session *session; /* NULL: several */
	const struct format_set *formats;
	const char *outdir; /* of the graphs */
	const struct render_result *result;
	uint64_t post_ms; /* from the end of the recording to the last picture */
};

/* Lines for a person, on stdout. */
void summary_print(const struct summary *s);

/* The same of several recordings together; there is no session. As JSON it has the keys that are
 * not of one session, and `inputs`. */
void summary_print_merged(const struct summary *s, const struct inputs *in);
void summary_json_merged(const struct summary *s, const struct inputs *in);

/* One object: the one summary, or {"recordings": [...]} for several (design.md section 5). The
 * parts are made with summary_json, in order, and written by summary_json_end. */
struct json_t;
struct json_t *summary_json(const struct summary *s);
void summary_json_end(struct json_t **parts, size_t count);

#endif
