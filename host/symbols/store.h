/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of a recording, which do not change: of mapped files, of the kernel, of JVMs. All
 * threads that read the recording share them; a file is loaded on its first use. */
#ifndef DFG_SYMBOLS_STORE_H
#define DFG_SYMBOLS_STORE_H

#include "jit/code_history.h"
#include "jit/perf_map.h"
#include "session/recording.h"
#include "symbols/elfsym.h"
#include "symbols/kernel.h"

struct sources;

/* The compiled code of a JVM. */
struct jvm_code {
	struct perf_map *map;	   /* of maps in text; may be empty */
	struct snapfile *snapshot; /* NULL: there is none */
};

/* The recording is borrowed and must stay. */
struct sources *sources_new(const struct recording *in);
void sources_free(struct sources *s);

const struct recording *sources_input(const struct sources *s);

/* NULL: there is no copy of kallsyms. */
const struct kallsyms *sources_kallsyms(const struct sources *s);

/* Paths of one file share a copy: the number of the first one that has this one's. */
size_t sources_file(const struct sources *s, size_t number);

/* The symbols of a file by its number in the recording; NULL: it cannot be read, or there were too
 * many in the files before it (ELF_FUNCS_ALL). */
const struct elfsym *sources_elf(struct sources *s, size_t number);

/* Files of whose symbols some are missing, since there were too many. */
size_t sources_cut(const struct sources *s);

/* JVMs with code have numbers from 1 on; 0: the process has none. */
size_t sources_jvm_count(const struct sources *s);
uint32_t sources_jvm(const struct sources *s, pid_t pid);
const struct jvm_code *sources_code(struct sources *s, uint32_t jvm);

/* Java's name of a thread, from the snapshots. Borrowed, not clean, no NUL at its end; NULL: it has
 * none. */
const char *sources_thread_name(struct sources *s, pid_t pid, pid_t tid, size_t *ret_len);

static inline void cleanup_sources_free(struct sources **s)
{
	sources_free(*s);
}

#endif
