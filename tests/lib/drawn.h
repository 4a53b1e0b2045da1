/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of host/draw: stacks from folded text, and what is drawn of them as a text. */
#ifndef DFG_LIB_DRAWN_H
#define DFG_LIB_DRAWN_H

#include <sys/mman.h>

#include "common/fs.h"
#include "format/format.h"

static inline struct stacks *stacks_of(const char *folded)
{
	struct stacks *s = stacks_new();

	fold_read(s, folded, strlen(folded), NULL);
	stacks_sort(s);
	return s;
}

/* Returns the output of a writer; "" when it failed. Owned by the caller. */
static inline char *drawn_text(int fd)
{
	struct str text = {0};
	struct err err;

	str_adds(&text, "");
	if (lseek(fd, 0, SEEK_SET) != 0 || fs_read_all(fd, (size_t)1 << 30, &text, &err) < 0)
		str_clear(&text);
	return text.buf;
}

static inline char *drawn_folded(const struct stacks *s)
{
	CLEANUP(close_fd) int fd = memfd_create("folded", MFD_CLOEXEC);
	struct err err;

	return draw_folded(s, fd, &err) == 0 ? drawn_text(fd) : xstrdup("");
}

static inline char *drawn_svg(const struct stacks *s, const struct picture *p)
{
	CLEANUP(close_fd) int fd = memfd_create("svg", MFD_CLOEXEC);
	struct err err;

	return draw_svg(s, p, fd, &err) == 0 ? drawn_text(fd) : xstrdup("");
}

#endif
