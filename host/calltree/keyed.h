/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs sorted by key: the one sort of this folder (times, addresses of symbols). */
#ifndef DFG_CALLTREE_KEYED_H
#define DFG_CALLTREE_KEYED_H

#include <stddef.h>
#include <stdint.h>

struct keyed {
	uint64_t key;
	uint64_t value;
};

/* Stable. By the bytes in which keys differ, one after the other (LSD radix sort): addresses in a
 * file, or times of a second, have three or four of them. What is in order is only looked at. */
void keyed_sort(struct keyed *a, size_t n);

/* Number of elements with a key <= `key` (a is sorted): the last such one is the result - 1. */
size_t keyed_upper(const struct keyed *a, size_t n, uint64_t key);

#endif
