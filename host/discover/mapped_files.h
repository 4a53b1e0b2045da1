/* SPDX-License-Identifier: Apache-2.0 */
/* The files that processes have mapped executable, and the vdso. A process chooses their paths and
 * their number: a child in a jail reads its maps (look.h), and what it says is checked here. */
#ifndef DFG_DISCOVER_MAPPED_FILES_H
#define DFG_DISCOVER_MAPPED_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "discover/look.h"

struct file_mapping {
	uint64_t start, end;
	const char *path; /* as the kernel writes it: absolute, without ".."; or "[vdso]" */
};

/* Looks at the maps of these processes: look_at, with `ms` for a child. */
MUST_CHECK int mapped_files_read(const int *procfds, size_t n, int ms, uint64_t deadline,
				 struct look_answer *ret, struct err *err);

/* Finds the next file of an answer, in the order of addresses; of mappings of one file that follow
 * each other it is the first. *at begins with 0. The path is the answer's. */
bool mapped_file_next(const struct look_answer *a, size_t *at, struct file_mapping *ret);

/* The number of files that the answer has no room for. */
uint32_t mapped_files_cut(const struct look_answer *a);

/* Opens the mapped file itself, whatever its path leads to by now, through map_files (proc(5);
 * reading its links needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE). Only regular files,
 * never a device. A descriptor, or -1. */
MUST_CHECK int mapped_file_open(int procfd, const struct file_mapping *f, struct stat *st);

#endif
