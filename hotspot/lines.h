/* SPDX-License-Identifier: Apache-2.0 */
/* Line numbers of a method (oops/constMethod.hpp, oops/method.hpp: the compressed table behind the
 * bytecodes). */
#ifndef HS_LINES_H
#define HS_LINES_H

#include "hotspot/tables.h"

/* The line of a place in a Method*; bci -1 is where it is entered. `base` is the stream's
 * (hs_stream.h). 0: unknown. */
int32_t hs_line(struct hs *hs, uint64_t method, int32_t bci, uint8_t base);

#endif
