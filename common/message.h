/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with open files between processes (unix(7), SCM_RIGHTS), over a socket that keeps the
 * boundaries of messages. A wait goes on after a signal. */
#ifndef DFG_COMMON_MESSAGE_H
#define DFG_COMMON_MESSAGE_H

#include <stddef.h>
#include <sys/types.h>

#define MESSAGE_FILES 250 /* at most, of one; the kernel takes 253 (SCM_MAX_FD, net/scm.h) */

/* Sends bytes and files, which stay the caller's. `flags` are those of sendmsg. Returns 0, or -1
 * with errno. */
int message_send(int sock, const void *p, size_t len, const int *fds, size_t n, int flags);

/* Receives at most `len` bytes and `max` files, which are the caller's then. Returns the number of
 * bytes, 0 at the end, or -1 with errno; EMFILE: more files came, or too many are open, and none is
 * kept. */
ssize_t message_receive(int sock, void *p, size_t len, int *fds, size_t max, size_t *ret_n);

#endif
