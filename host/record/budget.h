/* SPDX-License-Identifier: Apache-2.0 */
/* Limits what one container may cost a recording: a table that dfg-doctor prints. Each is several
 * times what real containers need, so that only broken and hostile ones meet it. What a limit cuts
 * is named in the session (session_set_cut). Limits of processor time and memory are those of the
 * sandboxes (common/jail.h). */
#ifndef DFG_RECORD_BUDGET_H
#define DFG_RECORD_BUDGET_H

#include <stdint.h>

#include "common/str.h"
#include "session/session.h"

enum budget {
	BUDGET_FILE_BYTES,
	BUDGET_CODE_BYTES,
	BUDGET_PERF_MAP_BYTES,
	BUDGET_PERF_MAPS,
	BUDGET_PROCESSES,
	BUDGET_PATHS,
	BUDGET_SYMBOLS,
	BUDGET_JVMS,
	BUDGET_STEPS,
	BUDGET_COPY_MS,
	BUDGET_TABLES_BYTES,
	BUDGET_FOLLOWED,
	BUDGET_COUNT,
};

/* The word for it, in JSON and as the key of session_set_cut. */
const char *budget_name(enum budget b);

/* Describes what it limits. */
const char *budget_about(enum budget b);

/* The limit, in the unit of its name. */
uint64_t budget_max(enum budget b);

/* Appends the limit with its unit, "512 MiB". */
void budget_text(enum budget b, struct str *out);

/* Divides `bytes` between copied files and compiled code. */
void budget_set_bytes(uint64_t bytes);

/* Notes in the session that the limit cut `n` of something, "mapped files are not copied"; nothing
 * if n is 0. */
void budget_cut(enum budget b, struct session *s, uint64_t n, const char *what);

/* Changes one limit. */
void budget_set(enum budget b, uint64_t max);

/* Bytes that files in this directory may still grow by: what is left of the limit, and at most a
 * quarter of what the disk has beyond a gigabyte or a sixteenth of its size, so that several
 * containers at once do not fill it. */
uint64_t budget_room(enum budget b, int dirfd);

/* The same, divided between the files that are in it: each may grow by so much at the same time. */
uint64_t budget_share(enum budget b, int dirfd);

#endif
