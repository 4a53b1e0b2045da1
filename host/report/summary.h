/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of a run: some lines of text, or JSON. */
#ifndef DFG_REPORT_SUMMARY_H
#define DFG_REPORT_SUMMARY_H

#include <stddef.h>
#include <stdint.h>

#include "report/formats.h"
#include "report/render.h"
#include "session/session.h"

/* One event: its graphs, and what they say. */
struct summary_event {
	enum event_kind event;
	struct format_set formats;
	struct render_result result;
};

struct summary {
	const struct session *session; /* NULL: several sessions */
	const char *outdir;	       /* of the graphs */
	struct summary_event *events; /* too large for a stack */
	size_t event_count; /* at least 1 */
	uint64_t post_ms;   /* from the end of the recording to the last picture */
};

/* Prints lines of text on stdout. */
void summary_print(const struct summary *s);

/* The same for several recordings that were merged. JSON has the keys that do not belong to one
 * session, and `inputs`. */
void summary_print_merged(const struct summary *s, const struct inputs *in);
void summary_json_merged(const struct summary *s, const struct inputs *in);

/* Prints a JSON object on stdout. */
void summary_json(const struct summary *s);

/* ---- its parts of one event (summary_events.c) ---- */

void summary_print_pauses(const struct pauses *p);
void summary_print_compilations(const struct compilation_list *l);
void summary_print_wall(const struct wall_list *l);

/* The results are owned. */
json_t *summary_pauses_json(const struct pauses *p);
json_t *summary_compilations_json(const struct compilation_list *l);
json_t *summary_wall_json(const struct wall_list *l);

#endif
