/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of pprof_read: the tables of a profile that its samples refer to. */
#ifndef DFG_FORMAT_PPROF_TABLES_H
#define DFG_FORMAT_PPROF_TABLES_H

#include "calltree/calltree.h"
#include "common/err.h"
#include "common/table.h"
#include "format/protobuf.h"

/* Messages with ids. */
struct pprof_table {
	struct bytes *messages;
	size_t count, cap;
	struct keyed *ids; /* id -> index, sorted */
	size_t id_cap;
};

struct pprof_type {
	struct bytes type, unit;
};

struct pprof_tables {
	struct bytes *texts;
	size_t text_count, text_cap;
	struct pprof_table mappings, locations, functions;
	struct pprof_type *types; /* of a sample's values */
	size_t type_count, type_cap;
	struct pprof_type period_type;
	uint64_t period;
	struct bytes default_type;
	uint32_t *frames; /* of all locations, each its innermost first */
	size_t frame_count, frame_cap;
	size_t *begins; /* of each location in `frames`, and the end of the last */
};

/* The frames are made in s. To be released with pprof_tables_fini, also after a failure. */
MUST_CHECK int pprof_tables_read(struct pprof_tables *t, struct bytes profile, struct stacks *s,
				 struct err *err);
void pprof_tables_fini(struct pprof_tables *t);

/* Frames of the location with this id, innermost first; none where there is no such. */
const uint32_t *pprof_location(const struct pprof_tables *t, uint64_t id, size_t *ret_count);

/* Empty where there is no such text. */
struct bytes pprof_text(const struct pprof_tables *t, uint64_t number);

/* The first field of this number; 0 and empty where there is none. */
struct pb_field pprof_field(struct bytes message, unsigned number);

/* The text that the first field of this number refers to. */
struct bytes pprof_field_text(const struct pprof_tables *t, struct bytes message, unsigned number);

static inline bool bytes_are(struct bytes b, const char *text)
{
	return b.len == strlen(text) && memcmp(b.p, text, b.len) == 0;
}

#endif
