/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the flat tables (flat_tables.h) from a JVM's snapshot, from the call frame information of
 * mapped files, and from a process's mappings.
 *
 * The tables only grow, and what has been added stays where it is; only the pages and methods of a
 * process change. What does not fit is left out, so that the program leaves it to the stack copy.
 *
 * Once they are shared with the kernel (share.h) they are changed under the program's eyes: what
 * is new is complete before it can be found, what has gone is found no more before it is changed. A
 * walk that meets something half-made ends there.
 */
#ifndef DFG_BPF_TABLES_H
#define DFG_BPF_TABLES_H

#include "elf/elf_tables.h"
#include "jit/code_history.h"
#include "kernel/flat_tables.h"

enum flat_table {
	FLAT_DIR,
	FLAT_PAGES,
	FLAT_CODES,
	FLAT_RANGES,
	FLAT_MAPPINGS,
	FLAT_BLOCKS,
	FLAT_SPOTS,
	FLAT_ROWS,
	FLAT_METHODS,
	FLAT_FOUND,
	FLAT_TABLES,
};

/* Arrays by the names that flat_tables.h has for their entries. */
struct flat_tables {
	union {
		struct {
			uint32_t *dir;
			struct flat_page *pages;
			struct flat_code *codes;
			struct flat_range *ranges;
			struct flat_mapping *mappings;
			uint32_t *blocks;
			struct flat_spot *spots;
			struct flat_row *rows;
			uint64_t *methods;
			uint64_t *found; /* by the programs, once they have the tables */
		};
		void *list[FLAT_TABLES];
	};
	size_t count[FLAT_TABLES], cap[FLAT_TABLES];
	uint16_t *row_places; /* hash table of the rows' numbers; 0: free */
	bool shared;	      /* those that are not filled once are the kernel's, mapped */
};

struct flat_tables *flat_tables_new(void);
void flat_tables_free(struct flat_tables *t);

static inline void cleanup_flat_tables_free(struct flat_tables **t)
{
	flat_tables_free(*t);
}

/* Adds a process with the code and the methods of a JVM's latest snapshot. Fails if the snapshot
 * contradicts itself. */
MUST_CHECK int flat_add_process(struct flat_tables *t, const struct snapfile *sf,
				struct flat_process *ret, struct err *err);

/* Takes over the changes of later snapshots, from where those before ended. Where one of them has
 * all code and methods they replace those of the process. Code that stays keeps its number, and no
 * number is used again. `made`: they are of code that has just been made, and no snapshot has come
 * of it (FLAT_MADE). Fails if the code cache has moved. */
MUST_CHECK int flat_update_process(struct flat_tables *t, const struct snapfile *sf, bool made,
				   const struct flat_process *p, struct err *err);

/* True if the code that a walked stack goes through is what the history has there around its time,
 * and nothing else, but for code with the same frame. Code may have been replaced before the
 * tables were: then the walk is not to be believed. To be asked when a snapshot has been taken
 * after it. */
bool flat_is_current(const struct flat_tables *t, const struct snapfile *sf,
		     const struct flat_sample *s, const uint64_t *frames);

/* The part of a file in the tables. */
struct flat_file {
	struct elfsegs segments;
	uint32_t low, blocks, block_count; /* as in struct flat_mapping */
};

/* Adds the rows of an ELF file; fd stays the caller's. Without a table of functions in it
 * (.eh_frame_hdr) all of it is left to the stack copy. Fails if it is no ELF file of this machine.
 */
MUST_CHECK int flat_add_file(struct flat_tables *t, int fd, struct flat_file *ret, struct err *err);
void flat_file_fini(struct flat_file *f);

/* Frees the rows of files, which the kernel has, and no file is added any more. How many they are
 * stays. */
void flat_forget_rows(struct flat_tables *t);

/* Adds executable memory of the process whose mappings are added last, above all that it has. `f`:
 * the mapped file, at offset `pgoff`; NULL: none, so that frame pointers are all there is. */
void flat_add_mapping(struct flat_tables *t, struct flat_process *p, uint64_t start, uint64_t end,
		      uint64_t pgoff, const struct flat_file *f);

#endif
