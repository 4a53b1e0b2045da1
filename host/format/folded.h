/* SPDX-License-Identifier: Apache-2.0 */
/* Reader of folded text, ours and other tools' (docs/formats.md). draw_folded writes it. */
#ifndef DFG_FORMAT_FOLDED_H
#define DFG_FORMAT_FOLDED_H

#include "calltree/calltree.h"

/* Adds every line "frame;frame count". Names are cleaned (str.h). The first frame is a FRAME_ROOT;
 * a suffix gives the kind of the others; without one it is frame_kind_of_text.
 * Returns the number of lines left out: without a frame, without a count, or with one that brings
 * the sum of all above 2^53 (what JavaScript counts exactly). Empty lines are nothing at all. */
uint64_t fold_read(struct stacks *s, const char *text, size_t len);

/* The same, and adds the samples of what was read to *samples. */
uint64_t fold_read_counted(struct stacks *s, const char *text, size_t len, uint64_t *samples);

#endif
