/* SPDX-License-Identifier: Apache-2.0 */
/* The two things a person asks first: which function, and which way there. */
#ifndef DFG_REPORT_HOTTEST_H
#define DFG_REPORT_HOTTEST_H

#include "report/render.h"

/* Fills leaf, leaf_self, path and path_self of the result. */
void hottest_find(const struct stacks *s, struct render_result *ret);

#endif
