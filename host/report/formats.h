/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of a profile or of the difference of two. */
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
	const char *name; /* for -f */
	const char *file; /* name of the file that is written */
	bool details;	  /* draws picture.details */
	int (*draw)(const struct stacks *s, const struct picture *p, int fd, struct err *err);
	/* Not NULL: the format is made from the sessions, not from the profile. */
	int (*draw_inputs)(const struct inputs *in, int fd, struct err *err);
	/* The same for a difference; NULL: differences cannot be drawn. */
	const char *difference_file;
	int (*draw_difference)(const struct difference *d, const struct difference_picture *p,
			       int fd, struct err *err);
};

struct format_set {
	const struct format *list[FORMATS_MAX];
	size_t count;
	const char *stem;  /* of the files' names, instead of "flame"; NULL: none */
	const char *event; /* after the stem: "alloc"; NULL: none */
	/* Directory of format_tree, and its file; NULL: that of the others, "flame.tree". */
	const struct outdir *tree_dir;
	const char *tree;
	/* As in struct picture. */
	const struct page_link *links;
	size_t link_count;
};

/* The profile itself, which the user does not choose: what --replay of a session without recording
 * reads (session_strip). */
extern const struct format format_tree;

/* Returns the name of a format's file: "flame.svg", or with a stem "web-20261121T095020Z.svg".
 * Owned. */
char *formats_file(const struct format_set *set, const struct format *f);

/* Returns the format of that name, which must exist. */
const struct format *formats_get(const char *name);

/* Adds a format, which must exist, unless the set has it. */
void formats_add(const char *name, struct format_set *set);

/* Removes the formats that are not made from a profile. */
void formats_remove_of_inputs(struct format_set *set);

/* Fails if a format cannot be made from any of the inputs. */
MUST_CHECK int formats_check(const struct format_set *set, const struct inputs *in,
			     struct err *err);

bool formats_include(const struct format_set *set, const char *name);
bool formats_take_details(const struct format_set *set);

/* Parses a comma-separated list of names; a name that comes twice counts once. */
MUST_CHECK int formats_parse(const char *list, struct format_set *ret, struct err *err);

/* The same for formats that can draw differences. */
MUST_CHECK int formats_parse_difference(const char *list, struct format_set *ret, struct err *err);

#endif
