/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs sorted by key: the one sort of this folder (times, addresses of symbols). */
#ifndef DFG_KEYED_H
#define DFG_KEYED_H

#include <stddef.h>
#include <stdint.h>

struct keyed {
	uint64_t key;
	uint64_t value;
};

/* Stable. Runs that are in order already are found and merged: what a kernel or a linker wrote
 * sorted, or as a few sorted parts, costs little more than reading it. */
void keyed_sort(struct keyed *a, size_t n);

/* Number of elements with a key <= `key` (a is sorted): the last such one is the result - 1. */
size_t keyed_upper(const struct keyed *a, size_t n, uint64_t key);

#endif
