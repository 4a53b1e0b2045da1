/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of compiled code (request.h; perf's jit-interface.txt): what a container wrote. */
#ifndef DFG_JIT_JAVASYM_H
#define DFG_JIT_JAVASYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/calltree.h"
#include "common/err.h"

#define JAVASYM_LINE_MAX  4096
#define JAVASYM_LINES_MAX (2u << 20)
#define JAVASYM_BYTES_MAX (64u << 20)

struct java_symbol {
	uint64_t start, end; /* [start, end) of the part of the code that is this symbol's */
	const char *name;    /* as written: not clean, no NUL at its end */
	size_t len;
	uint32_t index; /* below javasym_count, for what the caller keeps by symbol */
};

struct javasym;

struct javasym *javasym_new(void);
void javasym_free(struct javasym *js);

/* Adds a map. It ends at a trailer, a NUL or after JAVASYM_BYTES_MAX; lines that are too long, have
 * no size or no name, or run over the end of the address space are dropped. Where ranges overlap,
 * the later line wins, and a later map wins over an earlier one. */
void javasym_add(struct javasym *js, const char *text, size_t len);
MUST_CHECK int javasym_read(struct javasym *js, int fd, struct err *err);

/* After the last map, before the first search. */
void javasym_finish(struct javasym *js);

size_t javasym_count(const struct javasym *js);
uint64_t javasym_dropped(const struct javasym *js); /* lines */
bool javasym_find(const struct javasym *js, uint64_t addr, struct java_symbol *ret);

/* request.h's rule of names: with a '.' Java, "Interpreter", all else a stub. */
enum frame_kind javasym_kind(const char *name, size_t len);

#endif
