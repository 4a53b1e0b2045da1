/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of JIT-compiled code in perf's text format (request.h; linux tools/perf/Documentation/
 * jit-interface.txt), as a container wrote them. */
#ifndef DFG_JIT_PERF_MAP_H
#define DFG_JIT_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/calltree.h"
#include "common/str.h"
#include "jit/code_history.h"

#define PERF_MAP_LINE_MAX  4096
#define PERF_MAP_LINES_MAX (2u << 20)
#define PERF_MAP_BYTES_MAX (64u << 20)

struct perf_map_symbol {
	uint64_t start, end; /* the part of its range that no later line covers */
	const char *name;    /* as written: not clean, no NUL at its end */
	size_t len;
};

struct perf_map;

struct perf_map *perf_map_new(void);
void perf_map_free(struct perf_map *pm);

/* Adds a file. It ends at a trailer, a NUL or after PERF_MAP_BYTES_MAX. Lines that are too long,
 * have no size or no name, or extend beyond the address space are dropped. Where ranges overlap,
 * the later line wins, also over lines of an earlier file. */
MUST_CHECK int perf_map_read(struct perf_map *pm, int fd, struct err *err);

/* To be called after the last file, before the first search. */
void perf_map_finish(struct perf_map *pm);

bool perf_map_find(const struct perf_map *pm, uint64_t addr, struct perf_map_symbol *ret);

/* Appends the lines as they were written, in clean names. */
void perf_map_lines(const struct perf_map *pm, struct str *ret);

/* request.h's rule of names: with a '.' Java, "Interpreter", all else a stub. */
enum frame_kind perf_map_kind(const char *name, size_t len);

/* Appends the latest code of a history as such a map, in the order of addresses. It has neither
 * time nor inlining: a compiled method is one line, and where codes occupied the same addresses one
 * after the other, the last one counts. */
void perf_map_text(const struct snapfile *sf, struct str *ret);

#endif
