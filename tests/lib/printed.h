/* SPDX-License-Identifier: Apache-2.0 */
/* Catches the text that a function writes on stdout. */
#ifndef DFG_LIB_PRINTED_H
#define DFG_LIB_PRINTED_H

#include "lib/drawn.h"

/* Owned by the caller. */
static inline char *printed_by(void (*fn)(const void *arg), const void *arg)
{
	CLEANUP(close_fd) int fd = memfd_create("stdout", MFD_CLOEXEC);
	CLEANUP(close_fd) int before = -1;

	fflush(stdout);
	before = dup(STDOUT_FILENO);
	if (fd < 0 || before < 0 || dup2(fd, STDOUT_FILENO) < 0)
		abort();
	fn(arg);
	fflush(stdout);
	if (dup2(before, STDOUT_FILENO) < 0)
		abort();
	return drawn_text(fd);
}

#endif
