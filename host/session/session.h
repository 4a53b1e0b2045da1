/* SPDX-License-Identifier: Apache-2.0 */
/* The session directory: what the privileged half hands over to the pure one, and all that is
 * needed to draw again, anywhere and without root. Format: docs/formats.md.
 *
 *	session.json   this structure
 *	perf.data      what perf recorded
 *	perf.log       what perf said
 *	kallsyms       the kernel's symbols at that time
 *	maps/<name>    maps of compiled code, as the JVMs or the host's reader wrote them
 *	elf/<name>     the executables and libraries that were mapped */
#ifndef DFG_SESSION_SESSION_H
#define DFG_SESSION_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

struct session_jvm {
	pid_t pid;	  /* host pid */
	pid_t nspid;	  /* pid in the container */
	uid_t uid;	  /* as the host sees it */
	char version[64]; /* JAVA_VERSION of its release file, "" unknown */
	char source[8];	  /* "agent", "host", "map" (its own) or "none" */
	char note[512];	  /* why that source, or why nothing; "" if there is nothing to say */
	uint32_t methods; /* pieces of code in its snapshots */
	uint32_t skipped; /* code that could not be named */
	bool keeps_fp;	  /* -XX:+PreserveFramePointer */
	bool hangs;	  /* its first snapshot took too long: not tried again (not written) */
	uint32_t dump_us; /* the first snapshot, inside the JVM or the reader */
	uint32_t snapshots;
	uint64_t watch_us; /* processor time of all snapshots but the first */
};

struct session_map {
	pid_t pid;
	int order; /* rises with time */
	char *name;
	int fd; /* once opened to be read (not written) */
};

struct session_elf {
	uint64_t root;	  /* inode of the mount namespace */
	const char *path; /* as mapped; owned by the session */
	char *name;	  /* file in elf/ */
	char *debug;	  /* file in elf/ with the symbols of its separate debug file; NULL: none */
	int fd, debug_fd; /* once opened to be read, -1: none (not written) */
};

/* A thread of a JVM: what its own snapshots call it, and what perf does. */
struct session_thread {
	pid_t pid, tid; /* host */
	pid_t nstid;	/* in the JVM's pid namespace */
};

struct session_process {
	pid_t pid;
	uint64_t root;
	bool files_hang; /* copying its files took too long: not tried again (not written) */
};

struct session {
	char *dir;
	int dirfd, mapsfd, elffd;

	char *container_id, *container_name; /* name: the engine's, or the one in its pod */
	char *pod, *namespace;		     /* Kubernetes'; "": in none */
	char *host;			     /* that it ran on; "" not known */
	char *label;	      /* as people know it: "web", "shop/web-1/app" (not written) */
	char *started;	      /* ISO 8601, UTC */
	unsigned frequency;   /* Hz */
	double duration;      /* seconds recorded */
	bool whole_machine;   /* perf.data holds all processes: only `processes` count */
	unsigned stack_bytes; /* of the stack copied with each sample; 0: frame pointers */

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
};

/* Makes a new directory `dir` (0700), which must not exist. */
MUST_CHECK int session_create(const char *dir, struct session *ret, struct err *err);

/* Opens a directory with a session.json. Its content is checked: names are plain file names. */
MUST_CHECK int session_open(const char *dir, struct session *ret, struct err *err);

/* Says what was recorded, and makes the label. */
void session_set_container(struct session *s, const char *id, const char *name, const char *pod,
			   const char *namespace, const char *host);

/* (Re)writes session.json. */
MUST_CHECK int session_write(const struct session *s, struct err *err);
void session_fini(struct session *s);

/* Gives a file of one session to another, which is on the same file system: one file, two names. */
MUST_CHECK int session_share(const struct session *from, const struct session *to, const char *name,
			     struct err *err);

/* A new empty file for the next snapshots of pid, registered in the session. */
MUST_CHECK int session_add_map(struct session *s, pid_t pid, struct err *err);

/* Registers a file of maps/ as a process's map; once. */
void session_register_map(struct session *s, pid_t pid, const char *name);

/* Takes back the map of pid that was added last (its snapshot failed). */
void session_drop_map(struct session *s, pid_t pid);

struct session_process *session_find_process(const struct session *s, pid_t pid);
struct session_process *session_add_process(struct session *s, pid_t pid, uint64_t root);
void session_add_thread(struct session *s, pid_t pid, pid_t tid, pid_t nstid);

/* A file that is known already stays as it is. debug may be NULL. */
void session_add_elf(struct session *s, uint64_t root, const char *path, const char *name,
		     const char *debug);

#endif
