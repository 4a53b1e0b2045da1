/* SPDX-License-Identifier: Apache-2.0 */
/* The session directory: the hand-over from the privileged half to the unprivileged one. It has all
 * that is needed to draw again, anywhere and without root. Format: docs/formats.md.
 *
 *	session.json   this structure
 *	perf.data      the recording
 *	perf.log       messages of perf
 *	kallsyms       the kernel's symbols at that time
 *	maps/<name>    maps of compiled code, as the JVMs or the host's reader wrote them
 *	elf/<name>     the executables and libraries that were mapped
 *	tree           the profile (format/tree.h), once the recording is removed: session_strip
 *	tree-alloc     that of another event than the processor's time */
#ifndef DFG_SESSION_SESSION_H
#define DFG_SESSION_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/outdir.h"
#include "common/str.h"
#include "common/table.h"

/* The way a JVM's compiled code was read. */
enum jvm_source {
	JVM_SOURCE_UNKNOWN, /* not read yet, or a word that this version does not know */
	JVM_SOURCE_NONE,
	JVM_SOURCE_AGENT,
	JVM_SOURCE_HOST, /* by the host's reader of its memory */
	JVM_SOURCE_MAP,	 /* the perf map that the JVM writes itself */
};

/* The note of a JVM that is read from outside since nothing else was wanted: no complaint. */
#define JVM_NOTE_NO_AGENT "no agent is resident in the JVM"

struct session_jvm {
	pid_t pid;	  /* host pid */
	pid_t nspid;	  /* pid in the container */
	uid_t uid;	  /* as the host sees it */
	char version[64]; /* JAVA_VERSION of its release file, "" unknown */
	enum jvm_source source;
	char note[512];	  /* reason for that source, or for none; may be "" */
	uint32_t methods; /* pieces of code in its snapshots */
	uint32_t skipped; /* code that could not be named */
	bool keeps_fp;	  /* -XX:+PreserveFramePointer */
	bool switched;	  /* dfg set its DebugNonSafepoints from outside, for good */
	bool hangs;	  /* its first snapshot timed out: not tried again (not written) */
	bool warned;	  /* that it has no snapshot (not written) */
	uint32_t dump_us; /* the first snapshot, inside the JVM or the reader */
	uint32_t snapshots;
	uint64_t watch_us; /* CPU time of all snapshots but the first */
};

/* The name of a map that an agent dumped for the format perf-map begins with it. */
#define AGENT_MAP "agent-"

struct session_map {
	pid_t pid;
	int order; /* rises with time */
	char *name;
	int fd; /* once opened to be read (not written) */
};

/* Such a map names no frame. */
static inline bool session_map_is_dump(const struct session_map *m)
{
	return m->name && has_prefix(m->name, AGENT_MAP);
}

struct session_elf {
	uint64_t root;	  /* inode of the mount namespace */
	const char *path; /* as mapped; owned by the session */
	char *name;	  /* file in elf/ */
	char *debug;	  /* file in elf/ with the symbols of its separate debug file; NULL: none */
	int fd, debug_fd; /* once opened to be read, -1: none (not written) */
};

/* A thread of a JVM: perf's ids, and the id in the JVM's own snapshots. */
struct session_thread {
	pid_t pid, tid; /* host */
	pid_t nstid;	/* in the JVM's pid namespace */
};

struct session_process {
	pid_t pid;
	uint64_t root;
	bool files_hang; /* or crash their reader: not tried again (not written) */
};

/* Something that is missing, since it was more than a container may cost. */
struct session_cut {
	const char *budget; /* static; NULL: read from session.json (not written) */
	char *text;	    /* for people */
};

/* Figures of the processors over the recording, by the operating system. Below 0: not known. */
struct session_cpu {
	double used;		  /* processors, by the container's control group */
	double limit;		  /* processors, of that group or one above it; 0: none */
	double processors;	  /* of the machine */
	double throttled_periods; /* share of the limit's periods */
	double throttled_seconds; /* of all its threads */
	double steal;		  /* share of the machine's time that went to other guests */
	double pressure;	  /* share of the time in which a thread waited for a processor */
};

#define SESSION_CPU_UNKNOWN ((struct session_cpu){-1, -1, -1, -1, -1, -1, -1})

/* Makes figures that cannot be, of an untrusted source, unknown. */
void session_cpu_check(struct session_cpu *cpu);

/* The events that can be recorded; the numbers are those of perf.data (perf/perfwrite.h). */
enum session_event {
	SESSION_CPU,
	SESSION_ALLOC,
	SESSION_LOCK,
	SESSION_SAFEPOINT,
	SESSION_COMPILE,
	SESSION_DEOPT,
	SESSION_PERF, /* any event of perf: perf_event */
	SESSION_WALL,
	SESSION_EVENTS
};

struct session {
	char *dir; /* for messages, and to open it again */
	int dirfd, mapsfd, elffd;

	char *container_id, *container_name; /* name: the engine's, or the one in its pod */
	char *pod, *namespace;		     /* Kubernetes'; "": in none */
	char *host;			     /* name of the machine; "" not known */
	char *label;			     /* container_label (not written) */
	char *started;			     /* ISO 8601, UTC */
	uint64_t began_us;		     /* the same, CLOCK_MONOTONIC; 0: not known */
	unsigned events;		     /* bit for each enum session_event */
	char *perf_event;		     /* "page-faults", for SESSION_PERF; else NULL */
	unsigned frequency;		     /* Hz */
	double duration;		     /* seconds recorded */
	bool whole_machine;	 /* perf.data has all processes; only `processes` count */
	unsigned stack_bytes;	 /* stack copied with each sample; 0: frame pointers */
	bool in_kernel;		 /* not perf's: stacks were walked, or copied where that failed */
	uint64_t walked, copied; /* samples then */
	struct session_cpu cpu;
	char *failure; /* "perf ended with status 255 after 3.8 s"; NULL: it recorded all the time
			*/

	struct session_jvm *jvms;
	size_t jvm_count, jvm_cap;
	struct session_map *maps;
	size_t map_count, map_cap;
	struct session_elf *elfs;
	size_t elf_count, elf_cap;
	struct session_process *processes;
	size_t process_count, process_cap;
	struct session_thread *threads;
	size_t thread_count, thread_cap;
	struct session_cut *cuts;
	size_t cut_count, cut_cap;
	/* Find the elements of three lists (not written). */
	struct hash_table elf_index, process_index, thread_index;
};

#define SESSION_DIR "session" /* in the directory of a recording's results */

/* Makes a new directory for it, which must not exist. It is locked (flock, shared) until the
 * session and the children started since have ended: nobody removes it meanwhile. */
MUST_CHECK int session_create(const struct outdir *in, const char *name, struct session *ret,
			      struct err *err);

/* Removes a directory with a session.json in which nobody records. */
MUST_CHECK int session_remove(int dirfd, const char *name, struct err *err);

/* True while somebody records into the open directory of a session. */
bool session_is_recorded(int dirfd);

/* Opens a directory with a session.json, or one that holds such a directory as "session". The
 * content is checked: names are plain file names. */
MUST_CHECK int session_open(const char *dir, struct session *ret, struct err *err);

/* The same for the text of a session.json, into an empty session (descriptors -1), which the caller
 * releases, also after a failure. Pure. */
MUST_CHECK int session_parse(struct session *s, const char *text, size_t len, struct err *err);

/* "web", or in a pod "shop/web-1/app": used in messages, titles, graphs and on the command line.
 * pod and namespace are "" where there is none. Owned. */
char *container_label(const char *namespace, const char *pod, const char *name);

/* The recorder's name: "bpf", in the kernel, or "perf". */
#define RECORDER_BPF "bpf"
static inline const char *session_recorder_name(const struct session *s)
{
	return s->in_kernel ? RECORDER_BPF : "perf";
}

/* The word for it in session.json. */
const char *jvm_source_name(enum jvm_source source);

/* Records which container was recorded, and builds the label. */
void session_set_container(struct session *s, const char *id, const char *name, const char *pod,
			   const char *namespace, const char *host);

/* The file with the profile of an event. */
const char *session_tree(enum session_event event);

/* Removes the recording, whose profiles (session_tree) must be there: with the stacks' memory go
 * the snapshots, the copies of files and the kernel's addresses. The session's lists of these are
 * empty then, and session.json is rewritten. */
MUST_CHECK int session_strip(struct session *s, struct err *err);

/* The name of an event: "alloc"; of any of perf "perf". */
const char *session_event_name(enum session_event event);

/* The event of a name, in whatever letters: SESSION_PERF for one that is none of the others. */
enum session_event session_event_named(const char *name);

/* The same, with perf's name of its event. */
const char *session_event_of(const struct session *s, enum session_event event);

/* (Re)writes session.json. */
MUST_CHECK int session_write(const struct session *s, struct err *err);
void session_fini(struct session *s);

/* Creates and registers a file for the next snapshots of pid. Returns its descriptor. */
MUST_CHECK int session_add_map(struct session *s, pid_t pid, struct err *err);

/* Registers a file of maps/ as a process's map; once. */
void session_register_map(struct session *s, pid_t pid, const char *name);

/* Removes the map of pid that was added last (its snapshot failed). */
void session_drop_map(struct session *s, pid_t pid);

struct session_process *session_find_process(const struct session *s, pid_t pid);
struct session_process *session_add_process(struct session *s, pid_t pid, uint64_t root);
void session_add_thread(struct session *s, pid_t pid, pid_t tid, pid_t nstid);

/* NULL: the path is not known. Valid until the next one is added. */
struct session_elf *session_find_elf(const struct session *s, uint64_t root, const char *path);

/* Adds a file unless its path is known. debug may be NULL; it is added to a known file without one.
 */
void session_add_elf(struct session *s, uint64_t root, const char *path, const char *name,
		     const char *debug);

/* Says what is missing because of a budget, whose name is static. A later text replaces an earlier
 * one of the same budget. */
void session_set_cut(struct session *s, const char *budget, const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
