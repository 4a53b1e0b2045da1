/* SPDX-License-Identifier: Apache-2.0 */
/* Depths of the stacks of a process's threads at this moment. Of a thread that sleeps in a system
 * call the kernel reports the stack pointer (/proc/PID/task/TID/syscall, proc(5)). Its stack ends
 * at the end of the mapping or before: since glibc 2.42 the guard between two stacks is no mapping
 * of its own, but its pages were never touched (/proc/PID/pagemap). Running threads are skipped:
 * they would have to be stopped. A child in a jail (jail.h) looks at the numbers and paths that the
 * process has chosen, for five seconds at most. */
#ifndef DFG_DOCTOR_STACK_DEPTH_H
#define DFG_DOCTOR_STACK_DEPTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct stack_depths {
	size_t threads;
	size_t asleep;	  /* of them, those whose depth is known */
	size_t deeper;	  /* of these, those that use more than `bytes` */
	uint64_t deepest; /* bytes */
};

MUST_CHECK int stack_depths_read(int procfd, uint64_t bytes, struct stack_depths *ret,
				 struct err *err);

/* Parses the text of .../syscall: the stack pointer is the last number but one. False for
 * "running". */
bool stack_pointer_parse(const char *text, uint64_t *ret);

#endif
