/* SPDX-License-Identifier: Apache-2.0 */
/* What runs Java in a process, told by what is mapped there. */
#ifndef DFG_DISCOVER_RUNTIME_H
#define DFG_DISCOVER_RUNTIME_H

#include <stdbool.h>

enum runtime {
	RUNTIME_NONE,
	RUNTIME_HOTSPOT,      /* libjvm.so, or a JVM that looks like it */
	RUNTIME_OPENJ9,	      /* libj9vm29.so and its like; it has a libjvm.so, too */
	RUNTIME_NATIVE_IMAGE, /* GraalVM's: a program with the section .svm_heap */
};

/* *ret_libjvm: its path as mapped, malloc'd; NULL without one. */
enum runtime runtime_of(int procfd, char **ret_libjvm);

/* Why there is no snapshot of such a process; NULL: there can be one. */
const char *runtime_note(enum runtime r);

/* Whether a 64-bit ELF file has a section of this name (at most 15 bytes). The file is foreign:
 * reads are bounded. */
bool runtime_has_section(int fd, const char *name);

#endif
