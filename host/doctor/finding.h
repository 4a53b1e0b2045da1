/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of dfg-doctor: one line each, under headings. */
#ifndef DFG_DOCTOR_FINDING_H
#define DFG_DOCTOR_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "dfg/compiler.h"

enum finding_state {
	FINDING_OK,   /* works */
	FINDING_NOTE, /* works less well, or in another way */
	FINDING_NO,   /* is needed, is missing, and nothing replaces it */
};

struct finding {
	enum finding_state state;
	const char *about; /* "machine", "engines", "container", "jvm"; scripts select by it and by
			      `what`, which is one word, too (docs/formats.md) */
	pid_t pid;	   /* of the JVM, host; else 0 */
	char *heading;
	const char *what;
	char *why;    /* the state in words */
	char *advice; /* what to do, or what dfg does instead; may be "" */
};

struct findings {
	struct finding *list;
	size_t count, cap;
	const char *about; /* of the next ones, with pid and heading */
	pid_t pid;
	char *heading;
};

/* Sets the subject of the next findings, and their heading. */
void findings_about(struct findings *f, const char *about, pid_t pid, const char *heading, ...)
	PRINTF_LIKE(4, 5);

/* Adds one, after a findings_about. `what` must be static. Texts are sanitised: they may quote
 * containers. */
void finding_add(struct findings *f, enum finding_state state, const char *what, const char *advice,
		 const char *why, ...) PRINTF_LIKE(5, 6);

/* The worst state. */
enum finding_state findings_worst(const struct findings *f);

/* Prints lines for a person on stdout. */
void findings_print(const struct findings *f);

/* Makes an array of objects. */
struct json_t *findings_json(const struct findings *f);

void findings_fini(struct findings *f);

#endif
