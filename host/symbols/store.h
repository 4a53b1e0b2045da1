/* SPDX-License-Identifier: Apache-2.0 */
/* What lies beside a recording and does not change: the symbols of mapped files, the code of JVMs,
 * the names of their threads. All readers of its parts share it; each file is loaded by the first
 * that asks for it. */
#ifndef DFG_SYMBOLS_STORE_H
#define DFG_SYMBOLS_STORE_H

#include "jit/javasym.h"
#include "jit/snapfile.h"
#include "jit/threadnames.h"
#include "session/recording.h"
#include "symbols/elfsym.h"
#include "symbols/kernel.h"

struct sources;

/* A JVM's code, at one or more points in time. */
struct jvm_code {
	struct javasym *map;	   /* of maps in text */
	struct snapfile *snapshot; /* NULL: there is none */
};

/* The input is borrowed and must stay. */
struct sources *sources_new(const struct recording *in);
void sources_free(struct sources *s);

const struct recording *sources_input(const struct sources *s);
const struct threadnames *sources_threads(const struct sources *s);

/* NULL: there is no copy of them. */
const struct kallsyms *sources_kallsyms(const struct sources *s);

/* The symbols of a file, by its number in the input; NULL: it cannot be read. */
const struct elfsym *sources_elf(struct sources *s, size_t number);

/* The JVMs of which there is code have numbers from 1 on; 0: there is none. */
size_t sources_jvm_count(const struct sources *s);
uint32_t sources_jvm(const struct sources *s, pid_t pid);
const struct jvm_code *sources_code(struct sources *s, uint32_t jvm);

static inline void cleanup_sources_free(struct sources **s)
{
	sources_free(*s);
}

#endif
