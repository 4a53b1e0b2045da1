/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a process that will soon need much of it. */
#ifndef DFG_COMMON_HEAP_H
#define DFG_COMMON_HEAP_H

#include <stddef.h>

/* The next `bytes` of malloc come from one piece of huge pages, where the kernel has them: a page
 * that is met for the first time costs 2 us, one of 512 in a huge page a fifth of it. Nothing is
 * given back until the end, and all threads share it. A wish: nothing fails without. */
void heap_expect(size_t bytes);

#endif
