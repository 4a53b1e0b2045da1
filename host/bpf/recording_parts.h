/* SPDX-License-Identifier: Apache-2.0 */
/* Between the parts of a recording: recording.c, which is in the caller, and those of its process.
 */
#ifndef DFG_BPF_RECORDING_PARTS_H
#define DFG_BPF_RECORDING_PARTS_H

#include "bpf/builder.h"
#include "bpf/recorder.h"
#include "bpf/recording.h"
#include "common/table.h"
#include "perf/perfwrite.h"
#include "probe/operations.h"

enum said { SAID_RECORDS, SAID_FAILED, SAID_SWITCHED, SAID_DISABLED, SAID_ENDED };

/* To the process: with the file in which it is to go on, or a builder's socket. */
enum wanted { WANTED_END, WANTED_SWITCH, WANTED_MORE };
struct recording_wish {
	enum wanted wanted;
	size_t target, count; /* of WANTED_MORE */
	pid_t pids[KERNEL_RECORDING_MORE];
};

/* From the process. */
struct word {
	enum said said;
	bool full;
	uint64_t began; /* CLOCK_MONOTONIC, ns; SAID_RECORDS */
	uint64_t end;	/* SAID_DISABLED: events after it do not count */
	struct err err; /* SAID_FAILED; SAID_ENDED: why it ended by itself, or no message */
};

struct recording_job {
	const struct kernel_recording_config *config;
	int control;
	struct kernel_counts *counts; /* by target, shared with the caller */
};

/* The child's function (child_fork); `arg` is a struct recording_job. */
int recording_serve(void *arg);

/* ---- in the process ---- */

#define RECORDING_STOPPING 16u
#define RECORDING_ASKED	   64u

struct followed {
	pid_t pid;
	size_t target;
	bool ended;
	struct flat_process tables;   /* FLAT_NO_WALKER: none */
	struct stack_probes *probes;  /* of its events; NULL: none */
	struct stack_probes *virtual; /* of its virtual threads, likewise */
	struct stack_probes *code;    /* of the code that it makes, likewise */
	/* The last samples while its JVM waited for its threads to stop, one of each thread. */
	struct {
		uint64_t time;
		uint32_t tid;
	} stopping[RECORDING_STOPPING];
	/* The last method of each hash that the builder was asked for, and its sample's time. */
	struct {
		uint64_t id, time;
	} asked[RECORDING_ASKED];
	struct operations *operations; /* of its JVM; NULL: not needed */
	bool probed;		       /* once at least */
	/* ns: walks from then on, until it was known again, went by wrong tables; 0: none did. */
	uint64_t forgotten, known;
	bool changes; /* mapped files of the program: it is not looked at again */
};

/* Processes of a target. */
struct family {
	size_t followed, alive, walkers;
	uint64_t bytes; /* of all its walkers' tables */
};

/* A builder: of one target, with a walker whose tables it fills. */
struct builder_link {
	int sock; /* -1: it is no longer heard */
	size_t target;
	uint32_t walker; /* its latest */
	unsigned words;
	uint64_t turn; /* deadline of its turn to build; 0: it has not begun */
	bool ready;
};

struct recorded {
	const struct kernel_recording_config *config;
	int control, fd;
	struct stack_recorder *recorder;
	struct perf_writer *writer;
	struct builder_link *builders;
	size_t builder_count, builder_cap;
	struct family *families; /* by target */
	struct followed *processes;
	size_t count, cap, left;
	struct hash_table index;
	/* By walker: for each of its codes the number by which the file has explained it; 0: not
	 * yet. */
	uint32_t *numbers[FLAT_WALKERS];
	size_t targets[FLAT_WALKERS]; /* whose they are */
	uint32_t number_count;
	/* Codes that the last sample was the first one in, of which no snapshot had come, with
	 * MADE_KEEP. */
	uint64_t fresh[BUILDER_QUESTION_IDS];
	uint32_t fresh_count;
	uint64_t *frames;
	struct wall_clock *clock;	       /* NULL: not wanted */
	struct virtual_threads *virtual;       /* with the clock */
	uint64_t began, end;		       /* of events, CLOCK_MONOTONIC, ns; 0: no end */
	struct kernel_counts *counts, *shared; /* of this file; as the caller sees them */
	struct err failed;
};

/* recording_processes.c: who is looked at, by what the kernel's records say. */
struct followed *recording_find(const struct recorded *r, pid_t pid);
/* Finds whose samples are counted; processes that have ended since, too. */
struct kernel_counts *recording_counts(const struct recorded *r, pid_t pid);
MUST_CHECK int recording_add(struct recorded *r, pid_t pid, size_t target, struct err *err);
void recording_follow(struct recorded *r, const struct perf_event_header *h);

/* True if its walks at a time went by the tables of another program. */
bool recording_is_wrong(const struct followed *p, uint64_t time);

/* recording_builders.c. The first tables are waited for; those of builders that are late come while
 * it records. */
void recording_take_builder(struct recorded *r, int sock, size_t target);
/* Has the next builders begin, few at a time: each keeps what it builds until it has a walker. */
void recording_begin_builders(struct recorded *r);
void recording_wait_builders(struct recorded *r);
void recording_hear_builder(struct recorded *r, struct builder_link *b);

/* Copies a sample's frames, with the file's numbers of codes. False: it lacks one. */
bool recording_number(struct recorded *r, const struct walked_sample *s,
		      const struct flat_sample *f, const uint64_t *frames);

/* Asks a process's builder for the interpreted methods of a walk that its tables lack, and has it
 * keep the codes that the sample was the first one in. */
void recording_ask(struct recorded *r, struct followed *p, const struct flat_sample *f,
		   const uint64_t *frames);

/* recording_serve.c: writes a walked sample, whose detail may be NULL. */
void recording_write(struct recorded *r, const struct flat_sample *f, const uint64_t *frames,
		     const struct sample_detail *detail);

/* recording_clock.c: the wall clock. What a thread did, by its times, gets the stack with which it
 * began to wait, or that of the sample in which it ran. */
struct wall_clock;
void recording_clock_begin(struct recorded *r);
void recording_clock_stack(struct recorded *r, const struct flat_sample *f, const uint64_t *frames,
			   const struct stack_event *e);
void recording_clock_ran(struct recorded *r, const struct flat_sample *f, const uint64_t *frames);
void recording_clock_times(void *arg, const struct flat_thread *t); /* of a stack_handler */
/* Writes what is waited for still, before the file ends. */
void recording_clock_flush(struct recorded *r);
void recording_clock_end(struct recorded *r);

/* recording_virtual.c: virtual threads, for the wall clock. */
void recording_virtual_begin(struct recorded *r);
void recording_virtual_end(struct recorded *r);

/* Forgets which names the file has. */
void recording_virtual_forget(struct recorded *r);

/* Follows no virtual threads any more where that costs too much. To be called often. */
void recording_virtual_bound(struct recorded *r);

/* Has the sample of a virtual thread be that one's, whose name (not clean; none: NULL, 0) the file
 * has, then. */
void recording_name_virtual(struct recorded *r, struct flat_sample *f, const char *name,
			    size_t len);

/* Takes the stack with which one begins to wait, or what one has waited. */
void recording_unmounted(struct recorded *r, const struct flat_sample *f, const uint64_t *frames,
			 const struct stack_event *e);
void recording_virtual_waits(void *arg, uint64_t thread, uint64_t since, uint64_t time);

/* Writes the names of the threads of these processes, and, in a jail, their executable mappings:
 * they were there before what comes then. `fd` is the writer's. */
MUST_CHECK int recording_list(struct perf_writer *w, int fd, uint64_t max_bytes, const pid_t *pids,
			      size_t n, struct err *err);

#endif
