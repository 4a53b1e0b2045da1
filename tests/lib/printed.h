/* SPDX-License-Identifier: Apache-2.0 */
/* Catches the text that a function writes on stdout or stderr. */
#ifndef DFG_LIB_PRINTED_H
#define DFG_LIB_PRINTED_H

#include <stdio.h>

#include "lib/drawn.h"

/* The text that `stream`, of that descriptor, gets from now on until caught. */
struct catcher {
	FILE *stream;
	int fd, before, text;
};

static inline struct catcher catch_begin(FILE *stream, int fd)
{
	struct catcher c = {.stream = stream, .fd = fd};

	fflush(stream);
	c.text = memfd_create("caught", MFD_CLOEXEC);
	c.before = dup(fd);
	if (c.text < 0 || c.before < 0 || dup2(c.text, fd) < 0)
		abort();
	return c;
}

/* Owned by the caller. */
static inline char *caught(struct catcher *c)
{
	char *ret;

	fflush(c->stream);
	if (dup2(c->before, c->fd) < 0)
		abort();
	ret = drawn_text(c->text);
	close(c->before);
	close(c->text);
	return ret;
}

/* Owned by the caller. */
static inline char *printed_by(void (*fn)(const void *arg), const void *arg)
{
	struct catcher c = catch_begin(stdout, STDOUT_FILENO);

	fn(arg);
	return caught(&c);
}

#endif
