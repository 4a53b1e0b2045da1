/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's own process as a memory source: nothing of the JVM is ever dereferenced. */
#ifndef AGENT_SELF_H
#define AGENT_SELF_H

#include "hotspot/hotspot.h"

struct self {
	int mem;    /* /proc/self/mem, where there is no copy; -1: process_vm_readv(2) */
	int pieces; /* the copy, a file in memory; -1: none */
	int pid;
	struct hs_elf elf;
	struct hs_source source;
};

/* `vm` is the JavaVM*: its functions are libjvm's, which leads to libjvm's symbols. False: this
 * process has no HotSpot, or its memory map cannot be read; self_close all the same. */
bool self_open(struct self *self, const void *vm);
void self_close(struct self *self);

/* Switches a boolean flag of the JVM on, through /proc/self/mem: what is not writable, or not a
 * boolean, is left alone. False: nothing was changed. */
bool self_switch_on(const void *vm, const char *flag);

#endif
