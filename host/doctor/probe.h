/* SPDX-License-Identifier: Apache-2.0 */
/* The probes of dfg-doctor. Each adds its findings; none changes anything, sends a signal, or stops
 * a process. */
#ifndef DFG_DOCTOR_PROBE_H
#define DFG_DOCTOR_PROBE_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/str.h"
#include "dfg/compiler.h"
#include "discover/container.h"
#include "discover/jvm.h"
#include "setup/engine.h"

/* ---- findings: one line each, under headings ---- */

enum finding_state {
	FINDING_OK,   /* works */
	FINDING_NOTE, /* works less well, or in another way */
	FINDING_NO,   /* is needed, is missing, and nothing replaces it */
};

struct finding {
	enum finding_state state;
	const char *about; /* "machine", "engines", "container", "jvm"; scripts select by it and by
			      `what`, which is one word, too (docs/formats.md) */
	pid_t pid;	   /* of the JVM, host; else 0 */
	char *heading;
	const char *what;
	char *why;    /* the state in words */
	char *advice; /* what to do, or what dfg does instead; may be "" */
};

struct findings {
	struct finding *list;
	size_t count, cap;
	const char *about; /* of the next ones, with pid and heading */
	pid_t pid;
	char *heading;
};

/* Sets the subject of the next findings, and their heading. */
void findings_about(struct findings *f, const char *about, pid_t pid, const char *heading, ...)
	PRINTF_LIKE(4, 5);

/* Adds one, after a findings_about. `what` must be static. Texts are sanitised: they may quote
 * containers. */
void finding_add(struct findings *f, enum finding_state state, const char *what, const char *advice,
		 const char *why, ...) PRINTF_LIKE(5, 6);

/* The worst state. */
enum finding_state findings_worst(const struct findings *f);

/* Prints lines for a person on stdout. */
void findings_print(const struct findings *f);

/* Makes an array of objects. */
struct json_t *findings_json(const struct findings *f);

void findings_fini(struct findings *f);

/* ---- probes ---- */

struct probe {
	int rootfd;	  /* "/", or a test's: /proc, /sys and /etc are read below it */
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
void probe_walks(const struct probe *p); /* stacks in the kernel */
void probe_buffers(const struct probe *p);

void probe_payload(const struct probe *p);
void probe_engines(const struct probe *p); /* all that are installed or configured */
void probe_engine(const struct probe *p, const struct engine *e, const struct engine_setting *s);

/* Reports an engine's daemon that has to be restarted before a change of the file (below the root)
 * takes effect. */
void probe_restart(const struct probe *p, const struct engine *e, const char *file,
		   const struct engine_setting *s);

void probe_budgets(const struct probe *p); /* what a container may cost */

/* ---- a container, and a JVM in it ---- */

/* *ret_reachable: true if the agent is in the container, or can be brought there. */
void probe_container(const struct probe *p, const struct container *c,
		     const struct handles *processes, bool *ret_reachable);
void probe_jvm(const struct probe *p, bool reachable, const struct jvm *j);

/* Events, by the symbols of its libjvm.so. `release`: of the JDK, 0: unknown; `refills`: stubs
 * refill threads' buffers (SNAP_REFILLS). */
void probe_libjvm(const struct probe *p, const struct jvm *j, long release, bool refills);

/* Appends what perf lacks on this machine, if anything, to the error of a failed recording. */
void probe_explain(const char *root, struct err *err);

/* ---- helpers of the probes ---- */

/* True if the mount namespace of the process has dfg's three mounts. */
bool probe_has_mounts(int procfd);

/* Appends a file below the root; false if it cannot be read. */
bool probe_read(const struct probe *p, const char *path, struct str *ret);

/* The number in a file; `missing` if there is none. */
long probe_number(const struct probe *p, const char *path, long missing);

/* True if the capability (CAP_*) is effective. */
bool probe_capable(const struct probe *p, int cap);

/* True if the kernel has at least this version. */
bool probe_kernel_is(const struct probe *p, int major, int minor);

/* The file that this installation lacks to join a container, owned by the caller; NULL: none. */
char *probe_missing_file(void);

/* Online processors, at least 1. */
size_t probe_cpus(void);

/* Bytes of the stack that dfg-trigger without options copies with each sample. */
unsigned probe_stack_bytes(void);

#endif
