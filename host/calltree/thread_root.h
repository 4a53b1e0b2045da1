/* SPDX-License-Identifier: Apache-2.0 */
/* The outer end of a stack: pools of threads, and the frames that start a thread. */
#ifndef DFG_CALLTREE_THREAD_ROOT_H
#define DFG_CALLTREE_THREAD_ROOT_H

#include <stdbool.h>

#include "calltree/frames.h"

/* Appends the name of a thread's pool: a number at the end of the name, also in brackets, is
 * replaced by "*". All other numbers stay: "http-nio-8443-exec-2" becomes "http-nio-8443-exec-*",
 * "C1_CompilerThread0" "C1_CompilerThread*". A number after a dot is no thread's ("python3.11", an
 * address). A name without such a number is its own pool. */
void thread_add_pool(struct str *out, const char *name, size_t len);

/* The frame that stands for those that start a thread. */
#define THREAD_START "[thread start]"

/* True for the functions and methods between a thread's root and its own code: of the C library,
 * of HotSpot, and of the JDK's and Tomcat's thread pools. They are the same in all threads. */
bool thread_is_start(const struct frame *f);

#endif
