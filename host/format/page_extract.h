/* SPDX-License-Identifier: Apache-2.0 */
/* What of the stacks a page tells: which nodes, and in what order places are numbered. */
#ifndef DFG_FORMAT_PAGE_EXTRACT_H
#define DFG_FORMAT_PAGE_EXTRACT_H

#include "format/layout.h"
#include "format/page.h"

struct page_extract {
	const struct stacks *stacks;   /* the page's own, or with places those of its details */
	const struct samples *samples; /* NULL: none are told */
	struct layout layout;	       /* the nodes that are told, in preorder */
	uint32_t *number;	       /* by node: which of these it is, or is below */
	uint32_t *places;	       /* the frames in use, by name, kind, file and line */
	size_t place_count;
	uint32_t *place;     /* by frame: where in these it is */
	struct str left_out; /* JSON texts, divided by commas */
};

void page_extract_make(struct page_extract *e, const struct page *page);
void page_extract_fini(struct page_extract *e);

#endif
