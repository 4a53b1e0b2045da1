/* SPDX-License-Identifier: Apache-2.0 */
/* Copies flat tables (tables.h) into the kernel's, which the program reads meanwhile. The kernel
 * has one of each for all containers; a container has a part of each, and its tables' numbers are
 * moved by where its part begins. Who fills a part needs no right but the open maps, which are of
 * all parts. */
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
	FLAT_ROWS,
	FLAT_METHODS,
	FLAT_TABLES,
};

/* The part of each table: [base, base + room), in entries. */
struct flat_part {
	uint32_t base[FLAT_TABLES], room[FLAT_TABLES];
};

/* Bytes from one entry to the next. */
size_t flat_stride(enum flat_table which);

/* The room that these tables need, with some to grow. */
void flat_part_for(const struct flat_tables *t, struct flat_part *ret);

/* True if nobody would want more: a builder may have been taken over. */
bool flat_part_is_sane(const struct flat_part *p);

/* Places the parts after one another; *ret: the entries of each table. Fails where there are more
 * than numbers. */
MUST_CHECK int flat_parts_place(struct flat_part *parts, size_t count, uint32_t ret[FLAT_TABLES],
				struct err *err);

struct flat_published;

/* Maps the part of the kernel's tables, whose descriptors stay the caller's. */
MUST_CHECK int flat_publish_open(const int maps[static FLAT_TABLES], const struct flat_part *part,
				 struct flat_published **ret, struct err *err);
void flat_publish_close(struct flat_published *p); /* NULL is fine */

static inline void cleanup_flat_publish_close(struct flat_published **p)
{
	flat_publish_close(*p);
}

/* Copies what has changed in the tables since the last call. A walk that meets it half-made ends at
 * it. Fails with ENOSPC when there is no more room; what was published stays. */
MUST_CHECK int flat_publish(struct flat_published *p, const struct flat_tables *t, struct err *err);

/* The process as the kernel knows it. */
struct flat_process flat_publish_process(const struct flat_published *p,
					 const struct flat_process *of);

#endif
