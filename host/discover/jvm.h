/* SPDX-License-Identifier: Apache-2.0 */
/* The JVMs among a container's processes. */
#ifndef DFG_DISCOVER_JVM_H
#define DFG_DISCOVER_JVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "discover/runtime.h"

struct jvm {
	pid_t pid; /* host */
	int procfd;
	pid_t nspid;
	uid_t uid;
	gid_t gid;
	char version[64]; /* of the release file beside libjvm, cleaned; "" when not to be had */
	char vendor[64];  /* of the same file, JDK 9 and later */
	enum runtime runtime;
};

struct jvms {
	struct jvm *list;
	size_t count;
	size_t cap;
};

/* Whether a mapped path is HotSpot's library, also when the file has been replaced since. */
bool jvm_is_library(const char *path);

/* Those of the processes that run Java, native images of it, too. Processes that end meanwhile are
 * passed over. */
void jvms_find(const pid_t *pids, size_t count, struct jvms *ret);
void jvms_fini(struct jvms *j);

#endif
