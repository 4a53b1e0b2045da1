/* SPDX-License-Identifier: Apache-2.0 */
/* The data in an HTML page: a JSON object that page/data.js unpacks (docs/formats.md, "Page"). */
#ifndef DFG_FORMAT_HTML_H
#define DFG_FORMAT_HTML_H

#include "common/str.h"
#include "format/format.h"
#include "format/layout.h"

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

/* Chooses and numbers what a page has of its stacks: as many nodes as a browser can draw. */
struct page_extract {
	const struct stacks *stacks;   /* the page's own, or with places those of its details */
	const struct samples *samples; /* NULL: left out */
	struct layout layout;	       /* the nodes that are written, in preorder */
	uint32_t *number; /* by node: its box in the layout, or that of its nearest ancestor */
	uint32_t *places; /* the frames in use, by name, kind, file and line */
	size_t place_count;
	uint32_t *place;     /* by frame: its index in `places` */
	struct str left_out; /* JSON texts, separated by commas */
};

void page_extract_make(struct page_extract *e, const struct page *page);
void page_extract_fini(struct page_extract *e);

#endif
