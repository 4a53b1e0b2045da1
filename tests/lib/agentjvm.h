/* SPDX-License-Identifier: Apache-2.0 */
/* hssnap.h's HotSpot in this process, as the library that it has mapped, and a JavaVM of it: where
 * the agent's sources are included. */
#ifndef DFG_LIB_AGENTJVM_H
#define DFG_LIB_AGENTJVM_H

#include <stdio.h>
#include <unistd.h>

#include "agent-jni/sys.h"
#include "lib/fakelibjvm.h"
#include "lib/hssnap.h"

#define AGENTJVM_LOW   (IMAGE_BASE - FAKEJVM_HEAD)
#define AGENTJVM_BYTES (FAKEJVM_HEAD + IMAGE_BYTES)

static struct snap_image agentjvm_image;

/* A JavaVM: a pointer to a table of functions, after three reserved words. */
static struct {
	void **table;
	void *functions[8];
} agentjvm_vm;

/* Writes the library to a file and maps it. */
static inline void agentjvm_map(const char *path, enum image_release release)
{
	struct fakejvm_head head;
	int fd = sys_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	long at;

	snap_image_build(&agentjvm_image, release);
	fakejvm_head_make(&agentjvm_image.im, &head);
	sys_pwrite(fd, &head, sizeof(head), 0);
	sys_pwrite(fd, agentjvm_image.im.mem, IMAGE_BYTES, FAKEJVM_HEAD);
	at = sys_call6(__NR_mmap, (long)AGENTJVM_LOW, AGENTJVM_BYTES, SYS_PROT_RW,
		       0x100002 /* MAP_FIXED_NOREPLACE | MAP_PRIVATE */, fd, 0);
	if (at != (long)AGENTJVM_LOW)
		abort();
	sys_close(fd);
	agentjvm_vm.table = agentjvm_vm.functions;
	for (unsigned i = 0; i < 8; i++)
		agentjvm_vm.functions[i] = i < 3 ? NULL : (void *)(uintptr_t)(IMAGE_BASE + i);
}

static inline void agentjvm_unmap(void)
{
	sys_unmap((void *)(uintptr_t)AGENTJVM_LOW, AGENTJVM_BYTES);
}

#endif
