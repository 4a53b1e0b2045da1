/* SPDX-License-Identifier: Apache-2.0 */
/* The two files that write and read trees (tree.h): tree.c the call tree and its samples,
 * tree_lists.c what the profile has beside them. */
#ifndef DFG_FORMAT_TREE_PARTS_H
#define DFG_FORMAT_TREE_PARTS_H

#include "common/str.h"
#include "dfg/bytes.h"
#include "format/text.h"
#include "format/tree.h"

static inline void add_u16(struct str *out, size_t n)
{
	uint16_t v = (uint16_t)n;

	str_add(out, &v, sizeof(v));
}

static inline void add_u32(struct str *out, size_t n)
{
	uint32_t v = (uint32_t)n;

	str_add(out, &v, sizeof(v));
}

static inline void add_u64(struct str *out, uint64_t v)
{
	str_add(out, &v, sizeof(v));
}

static inline size_t shorten(size_t len)
{
	return len > UINT16_MAX ? UINT16_MAX : len;
}

static inline void add_text(struct str *out, const char *text)
{
	size_t len = shorten(strlen(text));

	add_u16(out, len);
	str_add(out, text, len);
}

/* Reads a text into *ret, clean. Returns ret->buf or ""; NULL: the bytes end before it does. */
const char *tree_text(struct bytes *b, struct str *ret);

void tree_write_lists(struct out *o, const struct profile *p);

/* Adds the lists to a profile; `nodes`: by node of the tree, that of the profile's stacks. False:
 * they are not well-formed. */
MUST_CHECK bool tree_read_lists(struct bytes *b, const struct tree_head *head,
				const uint32_t *nodes, struct profile *to);

#endif
