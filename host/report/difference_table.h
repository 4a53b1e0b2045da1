/* SPDX-License-Identifier: Apache-2.0 */
/* What dfg-diff tells: lines for a person, or JSON for a program (docs/formats.md), on stdout. */
#ifndef DFG_REPORT_DIFFERENCE_TABLE_H
#define DFG_REPORT_DIFFERENCE_TABLE_H

#include "report/compare.h"

void difference_table_print(const struct inputs *in, const struct compare_options *o,
			    const struct compare_result *r);
void difference_table_json(const struct inputs *in, const struct compare_options *o,
			   const struct compare_result *r);

#endif
