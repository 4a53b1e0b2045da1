/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a file of each of some processes in a jail (jail.h): one child for all of them. A process
 * at whose file it crashes or hangs, as a file system of the container's own (FUSE) can make it, is
 * passed over, and another child goes on. */
#ifndef DFG_DISCOVER_LOOK_H
#define DFG_DISCOVER_LOOK_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/str.h"

#define LOOK_MAX    64		 /* processes at once */
#define LOOK_ANSWER (256u << 10) /* bytes about one */

struct look {
	const char *file; /* of the process's directory */
	/* In the jail: reads it, writes at most LOOK_ANSWER bytes, returns their number. */
	size_t (*read)(int fd, char *answer);
	int ms; /* for a child at most */
};

struct look_answer {
	enum {
		LOOK_LEFT, /* the deadline came before it */
		LOOK_DONE,
		LOOK_FAILED, /* passed over */
	} state;
	struct str text; /* what the child says, which may have been taken over; else empty */
	struct err why;	 /* LOOK_FAILED */
};

/* Fills ret[n], n <= LOOK_MAX, until the deadline (clock_ms); of a descriptor -1, and of a file
 * that cannot be opened, with an empty text. Fails if no child can look; what is left has that
 * state then. Released by look_fini in both cases. */
MUST_CHECK int look_at(const struct look *l, const int *procfds, size_t n, uint64_t deadline,
		       struct look_answer *ret, struct err *err);
void look_fini(struct look_answer *all, size_t n);

#endif
