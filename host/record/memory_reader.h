/* SPDX-License-Identifier: Apache-2.0 */
/* Takes snapshots of a JVM from outside, by a confined child (jvm_memory.h) that has a time limit.
 */
#ifndef DFG_RECORD_MEMORY_READER_H
#define DFG_RECORD_MEMORY_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "discover/jvm.h"
#include "discover/jvm_memory.h"
#include "hotspot/hotspot.h"

struct memory_reader;

/* Size of the file at most: the sandbox reads no more (SNAPFILE_BYTES_MAX). */
#define MEMORY_READER_BYTES JVM_MEMORY_WRITES

struct memory_reader_options {
	int to; /* file to which snapshots are appended; -1: none are taken */
	bool debug_info;
	int asks;  /* socket of who asks for codes (bpf/made.h), which the child answers between two
		      commands; -1: nobody does */
	int turns; /* for snapshots that go through all classes (common/turns.h); -1: they do not
		      wait */
	bool spare; /* keeps no memory after a snapshot: a delta takes twice as long */
};

/* Starts the child: it has the JVM's memory, the file to be written and no other descriptor or
 * right (jvm_memory_confine), and ends with the caller. With `debug_info` it first sets
 * -XX:+DebugNonSafepoints, best effort: one byte of the JVM's data that only its compilers read
 * (opto/compile.cpp, c1_Compilation.cpp). Code compiled from then on maps each instruction to its
 * inlined method, not only each call. `j` must stay valid. Fails with ETIMEDOUT as
 * memory_reader_dump does. */
MUST_CHECK int memory_reader_open(const struct jvm *j, const struct memory_reader_options *o,
				  struct memory_reader **ret, struct err *err);
void memory_reader_close(struct memory_reader *r); /* NULL is fine */

/* Writes a snapshot: the first is whole, later ones are deltas, but whole again after one that
 * failed. `named`: see hs_dump_delta. *ret_cpu_us: processor time it cost. Fails with ENOSPC where
 * `to` is full, with EFBIG where the snapshot would have more than `room` bytes, with ETIMEDOUT
 * where the memory does not answer within 10 s, in which the child has a processor or sleeps (the
 * reader can only be closed then), and with code 0 where nothing could be read. */
MUST_CHECK int memory_reader_dump(struct memory_reader *r, bool named, uint64_t room,
				  struct hs_result *ret, uint64_t *ret_cpu_us, struct err *err);

/* Has the child look for code that is made or freed, every 20 ms, until it has found some
 * (memory_reader_noticed) or gets another command. It counts what has happened since it was started
 * or has last found some. Best effort: where it cannot look, it finds nothing. */
void memory_reader_watch(struct memory_reader *r);

/* Readable once the watch has found something, or the child has ended. */
int memory_reader_fd(const struct memory_reader *r);

/* True once for each watch that has found something. */
bool memory_reader_noticed(struct memory_reader *r);

/* True if it has set DebugNonSafepoints, which was not set before. */
bool memory_reader_switched(const struct memory_reader *r);

/* Names what the JVM's tables lacked in the last snapshot or failure (hs_missing); "": nothing. */
const char *memory_reader_missing(const struct memory_reader *r);

#endif
