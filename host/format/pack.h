/* SPDX-License-Identifier: Apache-2.0 */
/* Long lists of numbers as text: unsigned LEB128 in base64 (RFC 4648). Of the forms tried for a
 * page it is the smallest that a browser reads without a library; JSON's own arrays take twice
 * the room and four times as long. */
#ifndef DFG_FORMAT_PACK_H
#define DFG_FORMAT_PACK_H

#include "common/str.h"

void pack_number(struct str *bytes, uint64_t n);

/* Small whatever the sign: 0, -1, 1, -2, … become 0, 1, 2, 3, … */
void pack_signed(struct str *bytes, int64_t n);

/* The bytes in base64. */
void pack_text(struct str *out, const struct str *bytes);

#endif
