/* SPDX-License-Identifier: Apache-2.0 */
/* Writer of perf.data files, for a recorder that is not perf. Each event has two attributes
 * (perf_event.h). The first two are of the processor's time: one is the kernel's own, whose records
 * are written as they are, one is that of samples whose stack was walked while they were taken.
 *
 * A walked sample is one of PERF_COUNT_SW_BPF_OUTPUT with IDENTIFIER, IP, TID, TIME, CALLCHAIN,
 * which has the part in the kernel, and RAW: PERFWRITE_WHOLE or PERFWRITE_CUT (u32), and a u64 for
 * each user frame, innermost first: kind << 60, and of kind 1 the number of a code << 32 and the
 * offset in it, of kind 2 the id of a method, else the address (enum unwind_kind). What a number
 * stands for an earlier sample of the same event has said, whose RAW is PERFWRITE_CODE, the number,
 * its compile id (u32), and the address where it was (u64). Other tools see samples with unknown
 * data.
 *
 * Each further event has two such attributes more, with PERIOD: what a sample stands for, in bytes
 * or whatever the event counts. RAW begins with PERFWRITE_NAMED_…, the length of a name (u32),
 * flags (u32) and the name, filled up to whole words; the frames follow, or with
 * PERFWRITE_NAMED_COPY, which is of the first of the two (PERF_COUNT_SW_DUMMY), none: it has
 * REGS_USER and STACK_USER. A walked sample of the first event has such a RAW, without PERIOD, if
 * its innermost frame is a stub that selects a method: its name is the class of the object. */
#ifndef DFG_PERF_PERFWRITE_H
#define DFG_PERF_PERFWRITE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/proc.h"

#define PERFWRITE_WHOLE	      0x6b6c6177u /* "walk": the stack up to the thread's first function */
#define PERFWRITE_CUT	      0x636c6177u /* there are more frames */
#define PERFWRITE_NAMED_WHOLE 0x6b6c776eu /* the same, with a name */
#define PERFWRITE_NAMED_CUT   0x6374756eu
#define PERFWRITE_NAMED_COPY  0x79706f63u
#define PERFWRITE_CODE	      0x65646f63u /* no sample; also the type that the reader gives it */

/* Flags: an object in no thread's buffer (TLAB), one with regions of its own; the stack of another
 * thread, which samples after it name by its time: such times (u64) are before the name. */
#define PERFWRITE_OUTSIDE	  1u
#define PERFWRITE_HUMONGOUS	  2u
#define PERFWRITE_HOLDER	  4u
#define PERFWRITE_ENTIRE	  8u   /* all frames of that stack are wanted */
#define PERFWRITE_HELD		  16u  /* there is `holder` */
#define PERFWRITE_ASKED		  32u  /* there is `asker`, after it */
#define PERFWRITE_WAITED	  64u  /* of a safepoint: until all threads had stopped */
#define PERFWRITE_STOPPED	  128u /* the rest of it */
#define PERFWRITE_LEVEL(n)	  (((n)&7u) << 8) /* of compiled code: 1 to 3 C1, 4 C2 */
#define PERFWRITE_LEVEL_OF(flags) ((flags) >> 8 & 7u)
#define PERFWRITE_DISCARDED	  4096u /* the method's code is not entered any more: counts 0 */
#define PERFWRITE_HEAP		  8192u /* there are `heap_before` and `heap_after`, after both */

#define PERFWRITE_WAIT 16384u /* of the wall clock: one wait, whole */

/* Threads from this number on are virtual ones of the JVM: linux/threads.h, PID_MAX_LIMIT. */
#define PERFWRITE_VIRTUAL (1u << 30)

#define PERFWRITE_STACK 31744u /* most bytes of a stack that samples of further events copy */

#define PERFWRITE_FRAME_KIND(word) ((unsigned)((word) >> 60))
#define PERFWRITE_VALUE(word)	   ((word) & (~0ull >> 4))
#define PERFWRITE_NUMBERS	   (1u << 22) /* codes in a file */

/* The rest of a sample of a further event, or of one of the first that has a name. */
struct sample_detail {
	unsigned event;
	uint64_t amount; /* not of the first event */
	/* Times of earlier samples with PERFWRITE_HOLDER, 0: none: of the thread that was waited
	 * for, of the thread whose stack this sample has instead of its own. */
	uint64_t holder, asker;
	uint64_t heap_before, heap_after; /* bytes, around a collection; both 0: not known */
	uint32_t flags; /* PERFWRITE_OUTSIDE …, without those of the members above */
	const char *name;
	size_t name_len;
	/* Of a stack that was not walked, in the order of the first attributes' registers; else
	 * NULL. */
	const uint64_t *regs;
	const uint8_t *stack;
	size_t stack_len;
};

struct walked_sample {
	pid_t pid, tid;
	uint64_t time;
	uint64_t ip; /* 0: in the kernel, the first of `kernel` */
	bool cut;
	const uint64_t *frames; /* as above */
	size_t frame_count;
	const uint64_t *kernel; /* innermost first; marks among them are left out */
	size_t kernel_count;
	const struct sample_detail *detail; /* NULL: of the first event, without a name */
};

struct perf_writer;

/* Begins a file of so many events, with the attributes of the first, which have
 * PERF_SAMPLE_IDENTIFIER and sample_id_all, and its ids. The descriptor stays the caller's; it is
 * at the end of what the writer has written only after a flush. */
MUST_CHECK int perf_writer_open(int fd, const struct perf_event_attr *attr, const uint64_t *ids,
				size_t id_count, unsigned events, struct perf_writer **ret,
				struct err *err);
void perf_writer_free(struct perf_writer *w); /* NULL is fine */

/* The functions below keep the first failure; perf_writer_flush returns it. */
void perf_writer_record(struct perf_writer *w, const struct perf_event_header *h);
void perf_writer_walked(struct perf_writer *w, const struct walked_sample *s);
void perf_writer_code(struct perf_writer *w, const struct walked_sample *of, uint32_t number,
		      uint64_t start, uint32_t compile_id);

/* Write what was there when the recording began: a thread's name, executable memory. */
void perf_writer_comm(struct perf_writer *w, pid_t pid, pid_t tid, const char *name);
void perf_writer_map(struct perf_writer *w, pid_t pid, const struct proc_map *m);

/* Counts samples of a process that are lost. */
void perf_writer_lost(struct perf_writer *w, pid_t pid, uint64_t samples);

/* All records from here on are later than those before the mark before. */
void perf_writer_round(struct perf_writer *w);

/* Writes what is there. */
MUST_CHECK int perf_writer_flush(struct perf_writer *w, struct err *err);

/* After a child with the same writer has written to the file, and flushed. */
MUST_CHECK int perf_writer_resume(struct perf_writer *w, struct err *err);

/* Bytes of the file. */
uint64_t perf_writer_size(const struct perf_writer *w);

/* Flushes, and writes into the head how much it is. */
MUST_CHECK int perf_writer_end(struct perf_writer *w, struct err *err);

#endif
