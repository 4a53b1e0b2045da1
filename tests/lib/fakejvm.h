/* SPDX-License-Identifier: Apache-2.0 */
/* A process that has the HotSpot of hssnap.h in its memory, as the library libjvm.so that it has
 * mapped: what reads a JVM from outside finds everything there, and no JDK is needed. */
#ifndef DFG_LIB_FAKEJVM_H
#define DFG_LIB_FAKEJVM_H

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fs.h"
#include "common/proc.h"
#include "common/str.h"
#include "discover/jvm.h"
#include "lib/actor.h"
#include "lib/fakelibjvm.h"
#include "lib/hssnap.h"

/* Writes the library to a file. */
static inline void fakejvm_library(const struct image *im, const char *path)
{
	CLEANUP(close_fd) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	struct fakejvm_head head;

	fakejvm_head_make(im, &head);
	if (pwrite(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    pwrite(fd, im->mem, IMAGE_BYTES, FAKEJVM_HEAD) != IMAGE_BYTES)
		abort();
}

/* In the child: maps the library. */
static inline void fakejvm_map(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (mmap((void *)(uintptr_t)(IMAGE_BASE - FAKEJVM_HEAD), FAKEJVM_HEAD + IMAGE_BYTES,
		 PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd,
		 0) == MAP_FAILED)
		_exit(1);
	close(fd);
}

/* Waits until the child has become one. */
static inline struct jvm fakejvm_wait(struct actor *a)
{

	if (!actor_wait(a))
		abort();
	return (struct jvm){.pid = a->pid,
			    .nspid = a->pid,
			    .uid = geteuid(),
			    .gid = getegid(),
			    .procfd = proc_open(a->pid, NULL),
			    .version = "17",
			    .runtime = RUNTIME_HOTSPOT};
}

/* Starts the process; `path`, NULL for none, is the library, whose name should be libjvm.so. */
static inline struct jvm fakejvm_start(const char *path)
{
	struct actor a;

	if (actor_fork(&a)) {
		if (path)
			fakejvm_map(path);
		actor_play(&a);
	}
	return fakejvm_wait(&a);
}

static inline void fakejvm_end(struct jvm *j)
{
	actor_end(j->pid);
	cleanup_close_fd(&j->procfd);
	j->procfd = -1;
}

#endif
