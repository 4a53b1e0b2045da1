/* SPDX-License-Identifier: Apache-2.0 */
/* What wakes the agent's thread: its eventfd, written by a load and by the signal handler, and the
 * inotify watch of the control directory. Nothing else; a time limit is the wait's own. */
#ifndef AGENT_WAKE_H
#define AGENT_WAKE_H

#include <stdbool.h>
#include <stdint.h>

struct wake {
	int event;   /* eventfd */
	int inotify; /* -1: the directory is not watched */
	int signal;  /* 0: none was free */
};

enum wake_reason {
	WAKE_EVENT = 1, /* load or signal */
	WAKE_FILE = 2,	/* our request file was put in place */
	WAKE_LOST = 4,	/* the eventfd is gone: someone closed descriptors that are not his */
};

/* Makes the eventfd. A negative errno on failure. */
int wake_init(struct wake *wake);
void wake_fini(struct wake *wake);

/* Wakes the thread; safe in a signal handler, and harmless in a forked child. */
void wake_up(const struct wake *wake);

/* Watches a directory, if it is there and not watched yet. */
void wake_watch(struct wake *wake, const char *dir);

/* Takes a real-time signal that nobody handles or ignores and that is not in the set `blocked`
 * (bit n-1 is signal n): `wanted` (0: none) if it is free, else the first of 36 to 61 that is.
 * Handled from now on, for the whole process. */
void wake_take_signal(struct wake *wake, int wanted, uint64_t blocked);

/* The value that came with the last signal since the last call (sigqueue(3)), 0: none. */
uint32_t wake_signal_value(void);

/* Sleeps until there is something to do: a set of enum wake_reason; 0 when `ms` (-1: no limit) have
 * passed, too. `name` is the request file. */
unsigned wake_wait(struct wake *wake, const char *name, int ms);

#endif
