/* SPDX-License-Identifier: Apache-2.0 */
/* Names of symbols: selects one of several at an address, and makes it readable. */
#ifndef DFG_ELF_NAMES_H
#define DFG_ELF_NAMES_H

#include <stdbool.h>

#include "common/str.h"

#define SYMNAME_SHOWN	512  /* bytes of a name that are shown */
#define SYMNAME_MANGLED 2048 /* a longer name is not demangled: bounds the demangler's stack */

struct symbol_rank {
	const char *name;
	uint64_t size;
	bool typed; /* known to be a function */
	bool weak, global;
};

/* True if b is the better name for an address than a, by the rules of perf
 * (linux 6.1 tools/perf/util/symbol.c, choose_best_symbol): has a size, is typed, is not weak, is
 * global, has fewer leading underscores, is longer. */
bool symname_better(const struct symbol_rank *a, const struct symbol_rank *b);

/* Appends the name for display: without a version ("@GLIBC_2.2.5"), C++ demangled without
 * parameters as perf does, then symname_add_clean. */
void symname_add(struct str *out, const char *name, size_t len);

/* Appends text from outside as a frame name: str_add_clean, ';' as ':', at most SYMNAME_SHOWN
 * bytes. An empty one becomes "?". */
void symname_add_clean(struct str *out, const char *name, size_t len);

/* Appends a class that the JVM calls "java/lang/String", "[[B" or "A$$Lambda+0x7f12", cleaned, as
 * dfg names it: "java.lang.String", "byte[][]", "A$$Lambda.0x7f12". A number that a recorder has
 * added to a hidden class is left out; "A$$Lambda$14/7582" (JDK 8 to 14) stays. */
void symname_add_class(struct str *out, const char *name, size_t len);

/* Returns the part of a path after its last '/', borrowed; *ret_len excludes " (deleted)". */
const char *symname_base(const char *path, size_t *ret_len);

#endif
