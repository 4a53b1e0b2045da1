/* SPDX-License-Identifier: Apache-2.0 */
/* The output file of a snapshot: records from offset 0, and the trailer behind SNAP_END.
 *
 * The file may turn out too small at any byte. Each write takes room for an end and a trailer along
 * behind what it writes, so that they always fit behind the last record of the write before. */
#ifndef AGENT_RECORDS_H
#define AGENT_RECORDS_H

#include "agent-jni/writer.h"

#define RECORDS_CHUNK (64u << 10)
#define RECORDS_TAIL  256u /* SNAP_END and a trailer */

/* A place between two records, and what is in front of it. */
struct records_mark {
	uint64_t at;
	uint32_t codes, methods;
};

struct records {
	int fd;
	bool full;		  /* a write failed: nothing more is written but the end */
	bool room;		  /* there is a tail behind `safe` */
	uint64_t at;		  /* file offset of buf[0] */
	uint64_t reach;		  /* the file has been written to up to here */
	size_t used;		  /* bytes in buf */
	struct records_mark now;  /* behind the last whole record */
	struct records_mark safe; /* the same of what is in the file */
	uint8_t buf[RECORDS_CHUNK + RECORDS_TAIL];
};

/* The descriptor stays the caller's. */
void records_init(struct records *r, int fd);

/* One whole record (dfg/snapshot.h). Fits hs_sink. False: no room. */
bool records_write(void *records, const char *record, size_t len);

/* Writes what is buffered, SNAP_END too where the records are cut or `ended` says that it is
 * missing, and the trailer. False: there is no room even for that. */
bool records_end(struct records *r, const struct trailer *trailer, bool ended);

#endif
