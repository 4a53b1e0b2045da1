/* SPDX-License-Identifier: Apache-2.0 */
/* Moves flat tables (tables.h) into those of a walker in the kernel, which reads them meanwhile.
 * Who fills them needs no right but the open maps. */
#ifndef DFG_BPF_SHARE_H
#define DFG_BPF_SHARE_H

#include "bpf/tables.h"

/* Entries of each table. */
struct flat_rooms {
	uint32_t of[FLAT_TABLES];
};

/* Bytes of a table with its rooms. */
size_t flat_table_bytes(const struct flat_rooms *rooms, enum flat_table which);

/* Values of the kernel's array that so many entries take: of some a pair (struct flat_pair) is one.
 */
uint32_t flat_values(enum flat_table which, uint32_t entries);

/* True if a table is filled once: the rows of files and what leads to them. A container's later
 * walkers share those of its first one. */
static inline bool flat_is_filled_once(enum flat_table which)
{
	return which == FLAT_BLOCKS || which == FLAT_SPOTS || which == FLAT_ROWS;
}

/* The room that these tables need, with some to grow. */
void flat_rooms_for(const struct flat_tables *t, struct flat_rooms *ret);

uint64_t flat_rooms_bytes(const struct flat_rooms *rooms);

/* Moves the tables into the kernel's, which have these rooms and whose descriptors stay the
 * caller's; what is filled once is copied, unless the kernel has it already (`filled`). From then
 * on each change is one of the kernel's. */
MUST_CHECK int flat_share(struct flat_tables *t, const int maps[static FLAT_TABLES],
			  const struct flat_rooms *rooms, bool filled, struct err *err);

/* Copies the tables out of the kernel's, which stay as they are, into memory of their own. */
void flat_unshare(struct flat_tables *t);

/* Adds an entry, which is to be set, to a table. If the kernel's has no room for it, the tables are
 * unshared. */
void *flat_add_entry(struct flat_tables *t, enum flat_table which);

/* Adds entries of zeros to a table; the tables are unshared. Returns the number of the first. */
uint32_t flat_extend(struct flat_tables *t, enum flat_table which, size_t more);

#endif
