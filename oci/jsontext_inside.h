/* SPDX-License-Identifier: Apache-2.0 */
/* Between jsontext.c and jsontext_scan.c: what is where in the text. */
#ifndef JSONTEXT_INSIDE_H
#define JSONTEXT_INSIDE_H

#include "oci/jsontext.h"

/* A member or an element, with what is around it. */
struct item {
	struct json_span key; /* with its quotes; empty for an element */
	struct json_span value;
	size_t before; /* behind the bracket or comma in front of it */
	size_t after;  /* where its comma is, or the closing bracket */
	bool is_first, is_last;
};

/* The item at the path's end; 1, 0 or -1. With 0, ret has the value of the last item that is there
 * (a null counts as an object without members), and *missing says at which key of the path the way
 * ended. */
int json_find_path(const struct str *text, const char *const *path, struct item *ret,
		   size_t *missing);

int json_find_element(const struct str *text, const char *const *path, size_t number,
		      struct item *ret);

/* The length of the white space at a place. */
size_t json_blanks(const struct str *text, size_t at);

#endif
