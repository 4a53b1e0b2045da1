/* SPDX-License-Identifier: Apache-2.0 */
/* One line per event on stderr: "program: text". Progress lines are silenced by log_quiet. */
#ifndef DFG_COMMON_LOG_H
#define DFG_COMMON_LOG_H

#include <stdbool.h>

#include "dfg/compiler.h"

void log_init(const char *program);
void log_quiet(bool quiet);

void log_error(const char *fmt, ...) PRINTF_LIKE(1, 2); /* always */
void log_warn(const char *fmt, ...) PRINTF_LIKE(1, 2);	/* always, prefixed with "warning: " */
void log_info(const char *fmt, ...) PRINTF_LIKE(1, 2);	/* unless quiet */

/* Writes a line that the next one replaces if stderr is a terminal; else nothing. An empty text
 * clears it. */
void log_progress(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* Out of memory ends the program, with the status set here (default 1; the hook sets 0). */
void log_set_oom_status(int status);
NORETURN void die_oom(void);

#endif
