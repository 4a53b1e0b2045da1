/* SPDX-License-Identifier: Apache-2.0 */
/* The data in an HTML page: a JSON object that page/data.js unpacks (docs/formats.md, "Page"). */
#ifndef DFG_FORMAT_HTML_H
#define DFG_FORMAT_HTML_H

#include "common/str.h"
#include "format/format.h"

/* Limits for nodes and samples: above them a browser becomes slow and shows no more detail. */
#define PAGE_NODES_MOST	  1000000
#define PAGE_SAMPLES_MOST 2000000

struct page {
	const struct stacks *stacks; /* of a difference, its tree */
	const char *title, *subtitle, *quality;
	const struct profile *details; /* as in struct picture, or NULL */
	const uint32_t *nodes;
	const char *threads; /* as in struct picture */
	bool full;
	const struct difference *difference; /* NULL: one profile */
	const struct picture *picture;	     /* has the verdict; NULL: none */
	const char *unit;		     /* as in struct picture */
	const struct page_link *links;	     /* likewise */
	size_t link_count;
};

/* Appends the object, with places and samples if the page has details. Data above the limits is
 * left out, and "left_out" of the object names it. */
void page_data(struct str *out, const struct page *page);

#endif
