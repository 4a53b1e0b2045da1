/* SPDX-License-Identifier: Apache-2.0 */
/* The worker of a container: a process that does everything which the container can slow down,
 * crash or fill: it finds the JVMs, polls them, copies files and draws. The coordinator (run.h) has
 * one for each container of a run, gives all of them the same order, and waits for their replies up
 * to a deadline. It parses nothing that a container wrote, and a worker that fails or is late is
 * killed and costs its own container only. */
#ifndef DFG_RECORD_WORKER_H
#define DFG_RECORD_WORKER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/recording.h"
#include "common/child.h"
#include "common/control_group.h"
#include "common/err.h"
#include "common/outdir.h"
#include "record/config.h"
#include "record/target.h"

#define WORKER_DATA 512

/* The result of a worker's task. */
struct worker_product {
	int fd; /* a file for the coordinator; -1: none */
	uint8_t data[WORKER_DATA];
};

/* A task of the command, called in the worker once the target is recorded: it draws. `arg` points
 * to memory as it was when the worker was started. */
typedef int worker_task(struct target *t, void *arg, struct worker_product *ret, struct err *err);

enum worker_command {
	WORKER_LOOK,	/* finds processes and JVMs */
	WORKER_PREPARE, /* makes the session in outdir, starts the pollers */
	WORKER_COPY,	/* forgets processes that have ended and replies, then copies files */
	WORKER_FOLLOW,	/* `looks`: finds JVMs that were started; starts pollers and builders */
	WORKER_WINDOW,	/* of a recording in windows: takes snapshots, writes the session */
	WORKER_END,	/* takes the last snapshots, writes the session */
	WORKER_TASK,
};

struct worker_order {
	enum worker_command command;
	uint64_t deadline; /* clock_ms(), for its waits */
	uint64_t began_us; /* clock_us() at the begin of the recording */
	uint64_t us;	   /* recorded */
	uint64_t ended;	   /* clock_ms() at the end of the recording */
	unsigned stack_bytes;
	size_t jvms;		      /* of all workers, when they looked */
	bool looks;		      /* of WORKER_FOLLOW */
	bool in_kernel;		      /* recorded by the kernel's recorder; or is to be */
	struct kernel_counts samples; /* then: its own */
	char failure[256];	      /* of the recorder, while it recorded; "": none */
	char outdir[4096];	      /* its path; set by worker_order */
	worker_task *task;
	void *arg;
};

struct worker {
	struct container container;
	size_t name;	      /* index of the name that stands for it */
	struct outdir outdir; /* of the results, once they have a directory */
	int shared; /* directory of files that the run's sessions share; borrowed; or -1 */
	struct child child;
	struct control_group group;
	int socket;
	bool busy;	   /* has not replied yet */
	uint64_t deadline; /* clock_ms(), for its reply */
	struct err failed; /* the reason why it has ended; "": it has not */
	bool settled;	   /* that it has failed is known to the run */
	/* From its replies. */
	size_t jvms;
	bool keeps_fp;	    /* all JVMs keep frame pointers */
	bool jvm_ended;	    /* a poller of it has ended */
	bool jvm_late;	    /* a JVM has no tables yet */
	bool process_ended; /* a process, since WORKER_LOOK, before WORKER_COPY */
	uint64_t snapshot_bytes;
	pid_t *pids;
	size_t pid_count;
	int sessionfd; /* directory of the session, or -1 */
	int tables;    /* socket of its builder (bpf/builder.h), or -1 */
	struct worker_product product;
	/* Programs that its container had begun at the last WORKER_FOLLOW, and how often that is
	 * still to be repeated: a program is a JVM only after some time. */
	uint64_t execs;
	unsigned looks;
};

/* Starts the worker of a container, which it takes over, also after a failure. The worker works
 * with the configuration as it is now, and ends with the caller. `turns`: the run's
 * (common/turns.h). */
MUST_CHECK int worker_start(struct container *container, const struct record_config *c, int turns,
			    struct worker *ret, struct err *err);

/* Gives it an order, unless it has failed; it has to reply by the deadline (clock_ms). */
void worker_order(struct worker *w, const struct worker_order *o, uint64_t deadline);

/* Waits until at most `busy` have not replied. Those that have not at their deadline, or 1 s after
 * *stop has changed (NULL: it does not), fail. */
void workers_wait(struct worker *list, size_t count, size_t busy,
		  const volatile sig_atomic_t *stop);

/* Receives the replies that have come. True: there was one. */
bool workers_receive(struct worker *list, size_t count);

bool worker_has_failed(const struct worker *w);

/* Kills it, with all its children; the reason is kept. */
void worker_fail(struct worker *w, const struct err *why);

/* Ends and releases it. What it has recorded stays. */
void worker_fini(struct worker *w);

#endif
