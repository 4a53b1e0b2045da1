/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DFG_SETUP_DIFF_H
#define DFG_SETUP_DIFF_H

#include "common/str.h"

/* The change of a text file, as diff -u writes it: one part, from the first line that differs to
 * the last, with three lines around it. `path` is below the root; NULL: no such file. To stdout. */
void diff_print(const char *path, const struct str *before, const struct str *after);

#endif
