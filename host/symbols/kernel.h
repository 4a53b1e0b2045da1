/* SPDX-License-Identifier: Apache-2.0 */
/* Function symbols of the kernel, its modules and its BPF programs. */
#ifndef DFG_SYMBOLS_KERNEL_H
#define DFG_SYMBOLS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "symbols/kallsyms.h"

struct kernsym;

/* A copy of the text of /proc/kallsyms, at most 64 MiB: mapped, fd stays the caller's. Lines that
 * are none are passed over; without CAP_SYSLOG all addresses are 0 (kptr_restrict), which gives no
 * symbols. */
MUST_CHECK struct kernsym *kernsym_open(int fd, struct err *err);
struct kernsym *kernsym_of(const char *text, size_t len); /* must stay there; NULL, 0: none */
void kernsym_close(struct kernsym *ks);

/* A KSYMBOL record: code that came, or went, while recording. It goes before those of the text. */
void kernsym_add(struct kernsym *ks, uint64_t addr, uint32_t len, const char *name);
void kernsym_remove(struct kernsym *ks, uint64_t addr);

bool kernsym_find(const struct kernsym *ks, uint64_t addr, struct kernel_symbol *ret);

#endif
