/* SPDX-License-Identifier: Apache-2.0 */
/* The two parts of the agent's thread: it waits for events (events.c) and serves requests (dump.c).
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent-jni/request.h"

/* ---- events.c: an eventfd, written by loads and by the signal handler, and an inotify watch ----
 */

struct events {
	int wakeup;  /* eventfd */
	int inotify; /* -1: the control directory is not watched */
	int signal;  /* 0: none was free */
};

enum event_set {
	EVENT_WAKEUP = 1, /* a load or the signal */
	EVENT_FILE = 2,	  /* our request file was written */
	EVENT_LOST = 4,	  /* the eventfd is gone: other code closed it */
};

/* Creates the eventfd. A negative errno on failure. */
int events_init(struct events *events);
void events_fini(struct events *events);

/* Wakes the thread. Safe in a signal handler and harmless in a forked child. */
void events_wake(const struct events *events);

/* Watches the control directory if it exists and is not watched yet. */
void events_watch(struct events *events, const char *dir);

/* Installs a handler for a real-time signal that is neither handled nor ignored and not in
 * `blocked` (bit n-1 is signal n): `wanted` (0: any) if it is free, else the first free one of 36
 * to 61. The handler is process-wide and stays. */
void events_install_signal(struct events *events, int wanted, uint64_t blocked);

/* Returns and clears the value sent with the last signal (sigqueue(3)); 0: none. */
uint32_t events_signal_value(void);

/* Waits for events: a set of enum event_set, 0 after `ms` milliseconds (-1: no limit). `name` is
 * the request file. */
unsigned events_wait(struct events *events, const char *name, int ms);

/* ---- dump.c: serves one request; used by the agent's thread only ------------------------------
 */

/* Opens the output file, writes the map or the snapshot, and the trailer. vm is the JavaVM*,
 * since_us the time of the wake-up. False: the file could not be opened, so there is no answer. */
bool dump_serve(const struct request *request, const void *vm, uint64_t since_us);

/* Frees the dump cache when its time is over. Returns the milliseconds until then, -1: there is no
 * cache. */
int dump_cache_expire(void);

/* Reads <ctl>/request.<pid>. Returns 1 and the request (dir unset), 0 if there is none or it is
 * malformed, -1 if the directory does not exist. */
int dump_read_request(const char *ctl, int pid, struct request *ret);

#endif
