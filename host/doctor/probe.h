/* SPDX-License-Identifier: Apache-2.0 */
/* The questions dfg-doctor asks. Each probe looks and adds its findings; none changes anything,
 * sends a signal, or stops a process. */
#ifndef DFG_DOCTOR_PROBE_H
#define DFG_DOCTOR_PROBE_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/str.h"
#include "discover/container.h"
#include "discover/jvm.h"
#include "doctor/finding.h"
#include "setup/engine.h"

struct probe {
	int rootfd; /* "/", or a test's: what is read from /proc, /sys and /etc is read below */
	const char *root; /* dfg's directory */
	struct findings *f;
};

/* ---- the machine ---- */
void probe_rights(const struct probe *p);
void probe_kernel(const struct probe *p);
void probe_symbols(const struct probe *p); /* the kernel's */
void probe_room(const struct probe *p);

void probe_perf(const struct probe *p);
void probe_events(const struct probe *p);
void probe_buffers(const struct probe *p);

void probe_payload(const struct probe *p);
void probe_engines(const struct probe *p); /* all that are there, or configured */
void probe_engine(const struct probe *p, const struct engine *e, const struct engine_setting *s);

/* Whether the daemon that reads the file (below the root) has to be started again for it to count.
 */
void probe_restart(const struct probe *p, const struct engine *e, const char *file,
		   const struct engine_setting *s);

/* ---- a container, and a JVM in it ---- */

/* `reachable`: whether the agent is in the container, or can be brought there. */
void probe_container(const struct probe *p, const struct container *c, const pid_t *pids,
		     size_t count, bool *ret_reachable);
void probe_jvm(const struct probe *p, bool reachable, const struct jvm *j);

/* Puts what is missing for perf on this machine, if anything is, behind the message of a recording
 * that failed. */
void probe_explain(const char *root, struct err *err);

/* ---- helpers of the probes ---- */

/* Whether dfg's three mounts are in the mount namespace of this process. */
bool probe_has_mounts(int procfd);

/* A file below the root; false where there is none. Appends. */
bool probe_read(const struct probe *p, const char *path, struct str *ret);

/* The number that the file holds; `missing` where there is none. */
long probe_number(const struct probe *p, const char *path, long missing);

/* Whether the capability (CAP_*) is in force. */
bool probe_capable(const struct probe *p, int cap);

/* Whether the kernel is at least this one. */
bool probe_kernel_is(const struct probe *p, int major, int minor);

/* NULL, or the file that this installation lacks to join a container (owned by the caller). */
char *probe_missing_file(void);

/* Processors on line, at least 1. */
size_t probe_cpus(void);

/* Of the stack, with each sample of a dfg-trigger without options. */
unsigned probe_stack_bytes(void);

#endif
