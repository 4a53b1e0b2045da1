/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's own process as a memory source (hs_source): no pointer of the JVM is dereferenced. */
#ifndef AGENT_JVM_MEMORY_H
#define AGENT_JVM_MEMORY_H

#include "hotspot/hotspot.h"

struct agent_memory {
	int mem;  /* /proc/self/mem, used if `copy` fails; -1: process_vm_readv(2) */
	int copy; /* a file in memory through which memory is copied; -1: none */
	int pid;
	struct hs_elf elf;
	struct hs_source source;
};

/* Finds libjvm and its symbols through the functions of the JavaVM* `vm`. False: this process has
 * no HotSpot, or its memory map cannot be read; call jvm_memory_close all the same. */
bool jvm_memory_open(struct agent_memory *memory, const void *vm);
void jvm_memory_close(struct agent_memory *memory);

/* Sets a boolean flag of the JVM through /proc/self/mem, unless it is set, not boolean or not
 * writable. False: nothing was changed. */
bool jvm_memory_set_flag(const void *vm, const char *flag);

#endif
