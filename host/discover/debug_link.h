/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the separate debug files of mapped libraries and programs where distributions put them
 * (GDB's manual, "Separate Debug Files"), first in the container, then on the host. Files are
 * parsed by a child in a jail (jail.h). */
#ifndef DFG_DISCOVER_DEBUG_LINK_H
#define DFG_DISCOVER_DEBUG_LINK_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define DEBUG_LINKS_MAX 64 /* files that are read at once */
#define DEBUG_ROOT	"/usr/lib/debug"
#define DEBUG_PATHS_MAX 4

/* The reference of an ELF file to its separate debug file. */
struct debug_link {
	bool whole; /* it has its symbols itself and needs none */
	uint8_t id_len;
	uint8_t id[32]; /* build id */
	char name[64];	/* .gnu_debuglink, a plain file name; "" none */
	uint32_t crc;	/* of that file */
};

/* Fills ret[n] (n <= DEBUG_LINKS_MAX), with 0 for a descriptor that is -1 or no ELF file. */
MUST_CHECK int debug_links_read(const int *fds, size_t n, struct debug_link *ret, struct err *err);

/* Paths at which the debug file of an ELF file may be, in order. */
struct debug_paths {
	char *path[DEBUG_PATHS_MAX];
	size_t n;
};

/* On the host only below DEBUG_ROOT, since the container chose the path. */
void debug_paths_of(const char *path, const struct debug_link *l, bool host,
		    struct debug_paths *ret);
void debug_paths_fini(struct debug_paths *p);

/* Opens a regular file of a root directory for reading. A descriptor, or -1. */
MUST_CHECK int debug_path_open(int rootfd, const char *path);

/* Opens the first file that exists at a path of the debug file of `path` (as mapped), without
 * checking that it matches. A descriptor, or -1. */
MUST_CHECK int debug_file_open(const char *path, const struct debug_link *l, int rootfd);

/* Opens the debug file of the file of a link, which a process has mapped as `path`, if that has no
 * symbols of its own and the other one has symbols and the same build id. A descriptor, or -1. */
MUST_CHECK int debug_symbols_open(const char *path, const struct debug_link *own, int procfd);

/* NULL: it is no ELF file of 64 bits for such a machine. The descriptor stays the caller's. */
Elf *debug_elf_open(int fd);

#endif
