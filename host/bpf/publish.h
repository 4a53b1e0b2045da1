/* SPDX-License-Identifier: Apache-2.0 */
/* Copies flat tables (tables.h) into those of a walker in the kernel, which reads them meanwhile.
 * Who fills them needs no right but the open maps. */
#ifndef DFG_BPF_PUBLISH_H
#define DFG_BPF_PUBLISH_H

#include "bpf/tables.h"

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
	FLAT_TABLES,
};

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

struct flat_published;

/* Maps the kernel's tables, whose descriptors stay the caller's. `filled`: those that are filled
 * once have their entries already. */
MUST_CHECK int flat_publish_open(const int maps[static FLAT_TABLES], const struct flat_rooms *rooms,
				 bool filled, struct flat_published **ret, struct err *err);
void flat_publish_close(struct flat_published *p); /* NULL is fine */

static inline void cleanup_flat_publish_close(struct flat_published **p)
{
	flat_publish_close(*p);
}

/* Copies what has changed in the tables since the last call. A walk that meets it half-made ends at
 * it. Fails with ENOSPC when there is no more room; what was published stays. */
MUST_CHECK int flat_publish(struct flat_published *p, const struct flat_tables *t, struct err *err);

#endif
