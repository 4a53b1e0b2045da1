/* SPDX-License-Identifier: Apache-2.0 */
/* What is inside a page: a JSON object that data.js unpacks (docs/formats.md, "Page"). */
#ifndef DFG_FORMAT_PAGE_H
#define DFG_FORMAT_PAGE_H

#include "calltree/difference.h"
#include "common/str.h"
#include "format/draw.h"

/* More than this makes a browser slow, and shows nothing more. */
#define PAGE_NODES_MOST	  1000000
#define PAGE_SAMPLES_MOST 2000000

struct page {
	const struct stacks *stacks; /* of the difference, its tree */
	const char *title, *subtitle, *quality;
	const struct profile *details; /* of struct picture, or NULL */
	const uint32_t *nodes;
	const struct difference *difference; /* NULL: one profile */
};

/* The stacks with their places and samples where there are details; else as they are. What
 * is too much is left out, and the object says so. */
void page_data(struct str *out, const struct page *page);

#endif
