/* SPDX-License-Identifier: Apache-2.0 */
/* Function symbols of the kernel, its modules and its BPF programs. */
#ifndef DFG_SYMBOLS_KERNEL_H
#define DFG_SYMBOLS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct kernel_symbol {
	uint64_t start, end; /* [start, end) */
	const char *name;    /* no NUL at its end */
	size_t len;
};

/* The functions in a copy of /proc/kallsyms. Threads may share it. */
struct kallsyms;

/* Maps at most 64 MiB of the file; fd stays the caller's. Malformed lines are skipped. Without
 * CAP_SYSLOG all addresses are 0 (kptr_restrict), which gives no symbols. */
MUST_CHECK struct kallsyms *kallsyms_open(int fd, struct err *err);
void kallsyms_close(struct kallsyms *ks);

/* These functions, and code that is loaded and unloaded during the recording. */
struct kernel;

/* The text is borrowed and must stay; NULL: none. */
struct kernel *kernel_new(const struct kallsyms *text);
void kernel_free(struct kernel *k);

/* A KSYMBOL record. Such a symbol takes precedence over those of the text. */
void kernel_add(struct kernel *k, uint64_t addr, uint32_t len, const char *name);
void kernel_remove(struct kernel *k, uint64_t addr);

bool kernel_find(const struct kernel *k, uint64_t addr, struct kernel_symbol *ret);

#endif
