/* SPDX-License-Identifier: Apache-2.0 */
/* Functions in the text of /proc/kallsyms. The kernel's own lines are in the order of their
 * addresses (it bisects them itself: linux 6.1, kernel/kallsyms.c, get_symbol_pos), so they are
 * searched where they stand; those of modules and of BPF are behind them in no order. */
#ifndef DFG_SYMBOLS_KALLSYMS_H
#define DFG_SYMBOLS_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_symbol {
	uint64_t start, end; /* [start, end) */
	const char *name;
	size_t len;
};

struct kallsyms {
	const char *text;
	size_t own;	      /* bytes of the kernel's own lines */
	struct keyed *others; /* sorted: address -> offset of the line */
	size_t len, count, cap;
};

/* The text must stay there. Lines that are none are passed over. */
void kallsyms_init(struct kallsyms *ks, const char *text, size_t len);
void kallsyms_fini(struct kallsyms *ks);

/* The text has no sizes: a function goes to the next one, but over the end of a module at most to
 * the page behind. */
bool kallsyms_find(const struct kallsyms *ks, uint64_t addr, struct kernel_symbol *ret);

#endif
