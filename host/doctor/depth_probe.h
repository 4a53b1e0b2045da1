/* SPDX-License-Identifier: Apache-2.0 */
/* How deep the stacks of a process's threads are at this moment. Of a thread that sleeps in a
 * system call the kernel tells the stack pointer (/proc/PID/task/TID/syscall, proc(5)). Its stack
 * ends where the mapping does, or before: since glibc 2.42 the guard between two stacks is no
 * mapping of its own, but its pages were never touched (/proc/PID/pagemap). Threads that run are
 * not asked: that would mean to stop them. */
#ifndef DFG_DOCTOR_DEPTH_PROBE_H
#define DFG_DOCTOR_DEPTH_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct depths {
	size_t threads;
	size_t asleep;	  /* of them, those that are known */
	size_t deeper;	  /* of these, those that use more than was asked about */
	uint64_t deepest; /* bytes */
};

MUST_CHECK int depths_of(int procfd, uint64_t bytes, struct depths *ret, struct err *err);

/* The stack pointer in the text of .../syscall: the last number but one. False for "running". */
bool parse_stack_pointer(const char *text, uint64_t *ret);

#endif
