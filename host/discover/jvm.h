/* SPDX-License-Identifier: Apache-2.0 */
/* The JVMs among a container's processes, and what else runs Java: found by the files that a
 * process has mapped. */
#ifndef DFG_DISCOVER_JVM_H
#define DFG_DISCOVER_JVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "discover/handle.h"

/* The kind of program that runs Java. */
enum runtime {
	RUNTIME_NONE,
	RUNTIME_HOTSPOT,      /* has libjvm.so */
	RUNTIME_OPENJ9,	      /* has libj9vm29.so, and a libjvm.so, too */
	RUNTIME_NATIVE_IMAGE, /* GraalVM's: a program with the section .svm_heap */
};

struct jvm {
	pid_t pid; /* host */
	int procfd;
	pid_t nspid;
	uid_t uid;
	gid_t gid;
	char version[64]; /* in the release file beside libjvm, sanitised; "" if unknown */
	char vendor[64];  /* in the same file, JDK 9 and later */
	enum runtime runtime;
};

struct jvms {
	struct jvm *list;
	size_t count;
	size_t cap;
};

/* True for the mapped path of HotSpot's library, also when the file has been replaced since. */
bool jvm_is_library(const char *path);

/* Time in ms for such a search for which a user waits; a JVM takes about 1. */
#define JVMS_MS 10000

/* Adds the processes that run Java, including native images, to `found`, which begins empty; it
 * does not look again at those that are there. Processes that end meanwhile are skipped, and so are
 * files that hang. Ends within a second of the deadline (clock_ms): processes that it has not
 * looked at by then are not found. */
void jvms_find(const struct handles *p, uint64_t deadline, struct jvms *found);
bool jvms_have(const struct jvms *j, pid_t pid);
void jvms_fini(struct jvms *j);

/* Reason why such a process has no snapshot; NULL: it can have one. */
const char *runtime_note(enum runtime r);

/* True if a 64-bit ELF file has a section of this name (at most 15 bytes). The file is the
 * container's: reads are bounded. */
bool jvm_file_has_section(int fd, const char *name);

#endif
