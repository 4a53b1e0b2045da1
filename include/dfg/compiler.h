/* SPDX-License-Identifier: Apache-2.0 */
/* Compiler attributes and the ownership idiom.
 *
 * An owned variable is declared with CLEANUP and initialised at its declaration; TAKE_FD
 * and TAKE_PTR move a value out of its scope. A returned `const char *` is borrowed, a `char *`
 * owned. */
#ifndef DFG_COMPILER_H
#define DFG_COMPILER_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(f)	  __attribute__((cleanup(cleanup_##f)))
#define MUST_CHECK	  __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define NORETURN	  __attribute__((noreturn))
#define ARRAY_LEN(a)	  (sizeof(a) / sizeof(*(a)))

#define TAKE_FD(fd)                                                                                \
	__extension__({                                                                            \
		int taken_fd = (fd);                                                               \
		(fd) = -1;                                                                         \
		taken_fd;                                                                          \
	})
#define TAKE_PTR(p)                                                                                \
	__extension__({                                                                            \
		__typeof__(p) taken_ptr = (p);                                                     \
		(p) = NULL;                                                                        \
		taken_ptr;                                                                         \
	})

static inline void cleanup_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

#endif
