/* SPDX-License-Identifier: Apache-2.0 */
/* Reader of perf.data files: the records of a recording, in the order of time.
 *
 * Reads the seekable format "PERFILE2" of this machine's byte order, as `perf record` writes it
 * (linux tools/perf/Documentation/perf.data-file-format.txt, include/uapi/linux/perf_event.h,
 * Linux 6.18). What a record says is borrowed from the file's mapping, valid until perfdata_close.
 */
#ifndef DFG_PERF_PERFDATA_H
#define DFG_PERF_PERFDATA_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/err.h"
#include "dfg/bytes.h"

#define PERFDATA_REGS_MAX 64 /* bits of a register mask */

/* A recorded sample, any sample_type. */
struct perf_sample {
	uint64_t ip;
	uint16_t cpumode; /* PERF_RECORD_MISC_KERNEL, _USER … */
	uint64_t period;
	uint32_t cpu;
	uint64_t addr;
	uint64_t chain_len;
	const uint8_t *chain; /* chain_len u64, maybe not aligned; NULL: recorded without */
	uint32_t max_stack;   /* limit of entries this was recorded with */

	/* For an unwinder: registers in the order of the bits of user_regs_mask (enum
	 * perf_event_x86_regs and the like), and what was copied of the stack, from the stack
	 * pointer upwards. stack_dyn bytes of stack_len are what the kernel could copy. */
	uint64_t user_regs_abi; /* PERF_SAMPLE_REGS_ABI_*, 0: none */
	uint64_t user_regs_mask;
	const uint8_t *user_regs;		    /* one u64 for each bit */
	uint64_t stack_len, stack_dyn, stack_limit; /* stack_limit: what was asked for */
	const uint8_t *stack;

	/* User frames as they were walked when the sample was taken (perfwrite.h), one u64 for
	 * each, maybe not aligned; NULL: it was recorded otherwise. */
	const uint8_t *walked;
	size_t walked_count;
	bool walked_cut;

	bool named; /* it is of a further event (perfwrite.h), which its period counts */
	/* The name of what it is about, of the first event a class for whose object a method was
	 * selected: without a NUL, not clean. */
	uint32_t flags;			  /* PERFWRITE_OUTSIDE … */
	uint64_t holder, asker;		  /* times of samples with PERFWRITE_HOLDER; 0: none */
	uint64_t heap_before, heap_after; /* bytes; both 0: not known */
	const char *name;
	size_t name_len;
};

struct perf_mmap {
	uint64_t start, len, pgoff;
	uint32_t prot; /* PROT_*, 0 when not recorded */
	bool exec;     /* holds code */
	const char *path;
	size_t build_id_len; /* 0: not recorded */
	const uint8_t *build_id;
};

struct perf_comm {
	const char *name;
	bool exec;
};

struct perf_fork {
	pid_t ppid, ptid;
	bool exec; /* made up by perf for a process that was there already: copies nothing */
};

/* The code that a number in walked frames stands for (perfwrite.h). */
struct perf_code {
	uint32_t number, compile_id;
	uint64_t start;
};

struct perf_ksymbol {
	uint64_t addr;
	uint32_t len;
	bool gone;
	const char *name;
};

/* perf 6.1 and later reports the samples that the kernel dropped twice: by the kernel's records
 * among the others, and by its own at the end (LOST_SAMPLES, by reading the events). */
struct perf_lost {
	uint64_t samples;
	bool at_end;
};

/* One record. type is PERF_RECORD_SAMPLE, _MMAP (also for MMAP2), _COMM, _FORK, _EXIT, _LOST (also
 * for LOST_SAMPLES), _KSYMBOL or PERFWRITE_CODE; others are not returned. */
struct perf_record {
	uint32_t type;
	pid_t pid, tid; /* -1: unknown, or the kernel's */
	uint64_t time;	/* ns of the recording's clock; 0: from before the recording */
	uint32_t event; /* index of the attribute it belongs to */
	union {
		struct perf_sample sample;
		struct perf_mmap mmap;
		struct perf_comm comm;
		struct perf_fork fork;
		struct perf_ksymbol ksymbol;
		struct perf_code code;
		struct perf_lost lost;
	};
};

struct perfdata;

/* Opens a recording; fd stays the caller's and may be closed. Fails on what is no perf.data, comes
 * from a machine of the other byte order, from a pipe, or is compressed (perf record -z). */
MUST_CHECK struct perfdata *perfdata_open(int fd, struct err *err);

void perfdata_close(struct perfdata *pd);

/* The next record: true, or false at the end. Records that contradict themselves are passed over
 * and counted in perfdata_cut.
 *
 * The order is that of time as far as the recording is in rounds, as perf writes it: neither memory
 * nor mapped pages grow with its length. One without rounds is sorted as a whole, for 16 bytes a
 * record. */
bool perfdata_next(struct perfdata *pd, struct perf_record *ret);

/* The bytes of the record that perfdata_next has returned last, with its header; borrowed as it. */
const uint8_t *perfdata_bytes(const struct perfdata *pd, size_t *ret_len);

/* True if its times are CLOCK_MONOTONIC's (perf record -k mono). */
bool perfdata_is_monotonic(const struct perfdata *pd);

/* Starts again with the first record. */
void perfdata_rewind(struct perfdata *pd);

/* Bytes of all its records, and of those that perfdata_next has passed. */
uint64_t perfdata_size(const struct perfdata *pd);
uint64_t perfdata_passed(const struct perfdata *pd);

/* About how many samples `bytes` of a recording are, each with so much of its stack copied: what
 * else is in one, a chain above all, is some 400 bytes in recordings of JVMs. */
static inline uint64_t perfdata_samples_about(uint64_t bytes, uint32_t stack_bytes)
{
	return bytes / (400u + (uint64_t)stack_bytes);
}

/* The copy of the stack that each sample was to have. */
uint32_t perfdata_stack_bytes(const struct perfdata *pd);

/* Bytes of the recording that were not used: after the last whole record, and records that
 * contradict themselves, as far as perfdata_next has come. */
uint64_t perfdata_cut(const struct perfdata *pd);

/* True if the table of build ids that perf writes at its end (HEADER_BUILD_ID) names this file, but
 * never with this id: then a copy of the file with this id is another version of it. */
bool perfdata_other_build(const struct perfdata *pd, const char *path, const uint8_t *id,
			  size_t len);

static inline void cleanup_perfdata_close(struct perfdata **pd)
{
	perfdata_close(*pd);
}

#endif
