/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a HotSpot's own tables from a memory source and writes the map of its compiled code.
 * Implemented in hotspot/ without any libc symbol: the agent links it, and so does the host.
 *
 * The JVM goes on running while it is read. Every read is bounded and fault-safe; what does not
 * hold together is skipped and counted, never guessed. No offset is hard-coded: all come from
 * gHotSpotVMStructs and gHotSpotVMTypes (JDK 8 to 25, vmStructs.cpp). */
#ifndef DFG_HOTSPOT_H
#define DFG_HOTSPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where memory comes from: pread(2) on a /proc/PID/mem descriptor, or anything a test makes up.
 * Returns the bytes read (short at a hole), or a value <= 0. */
struct hs_source {
	int64_t (*read)(void *arg, uint64_t addr, void *buf, size_t len);
	void *arg;
	/* Address in the target of a symbol exported by its libjvm, 0 when there is none. */
	uint64_t (*symbol)(void *arg, const char *name);
	void *symbol_arg;
};

/* Where the map goes: false stops the dump (no room). Called with whole lines only. */
struct hs_sink {
	bool (*write)(void *arg, const char *text, size_t len);
	void *arg;
};

struct hs_result {
	int status; /* enum dfg_dump_status of request.h */
	uint32_t entries;
	uint32_t skipped;
	uint64_t bytes;
};

/* Working memory of one dump, given by the caller (the agent maps it, the host allocates it). */
#define HS_WORK_BYTES (4u << 20)

/* Writes one map line (request.h) for each blob of the code cache: compiled methods, native
 * wrappers, stubs, adapters, interpreter. `work` is HS_WORK_BYTES, 16-byte aligned. */
void hs_dump_map(const struct hs_source *source, const struct hs_sink *sink, void *work,
		 struct hs_result *ret);

#endif
