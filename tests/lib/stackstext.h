/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks as text, in the order in which the tree has them. */
#ifndef DFG_LIB_STACKSTEXT_H
#define DFG_LIB_STACKSTEXT_H

#include "calltree/calltree.h"
#include "common/str.h"

/* Adds the stacks from a node on that have samples of their own, each "a;b count" and a newline;
 * `path` is the node's. */
static inline void stacks_text(const struct stacks *s, uint32_t node, const char *path,
			       struct str *out)
{
	if (stacks_node(s, node)->self)
		str_addf(out, "%s %llu\n", path, (unsigned long long)stacks_node(s, node)->self);
	for (uint32_t n = stacks_node(s, node)->first; n; n = stacks_node(s, n)->next) {
		CLEANUP(str_fini) struct str more = {0};

		str_addf(&more, "%s%s%s", path, *path ? ";" : "",
			 stacks_frame(s, stacks_node(s, n)->frame)->name);
		stacks_text(s, n, more.buf, out);
	}
}

#endif
