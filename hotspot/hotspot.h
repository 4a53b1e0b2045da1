/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a HotSpot's own tables from a memory source and writes a map or a snapshot of its compiled
 * code. Uses no libc symbol: both the agent and the host link it.
 *
 * The JVM keeps running meanwhile. Every read is bounded and fault-safe; inconsistent data is
 * skipped and counted, never guessed. No offset is hard-coded: all come from gHotSpotVMStructs and
 * gHotSpotVMTypes (JDK 8 to 25, vmStructs.cpp), except those of the list of stubs, which neither
 * describes and which is verified instead (stubs.c). */
#ifndef DFG_HOTSPOT_HOTSPOT_H
#define DFG_HOTSPOT_HOTSPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_span {
	uint64_t low, high; /* [low, high); both 0: unknown */
};

/* The target's memory. */
struct hs_source {
	/* Returns the bytes read (fewer at a hole), or a value <= 0. */
	int64_t (*read)(void *arg, uint64_t addr, void *buf, size_t len);
	/* Reads `len` bytes at each of n addresses into buf, one piece after the other. Returns the
	 * number of whole pieces before the first incomplete one. NULL: `read` is used. */
	size_t (*gather)(void *arg, const uint64_t *addr, size_t n, void *buf, size_t len);
	void *arg;
	/* Returns the address of a symbol that libjvm exports, 0: none (hs_elf_symbol). */
	uint64_t (*symbol)(void *arg, const char *name);
	void *symbol_arg;
	/* libjvm in the target, and its writable part (.data, .bss). */
	struct hs_span image, variables;
};

/* Receives whole lines of a map, or whole records of a snapshot; false stops the dump. */
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

/* The dynamic symbols of an ELF image mapped in the target (gABI: PT_DYNAMIC; DT_GNU_HASH or
 * DT_HASH), without opening its file. glibc relocates DT_SYMTAB and similar entries in place, musl
 * does not; both work. */
struct hs_elf {
	const struct hs_source *source; /* only `read` is used */
	uint64_t bias;
	uint64_t symtab, strtab, strsz, gnu_hash, hash;
	struct hs_span image, variables; /* as in hs_source */
};

/* Opens the image of a libjvm whose ELF header is at `base`, and sets source->image and variables.
 * False: no ELF64 image with HotSpot's tables there. */
bool hs_elf_open_jvm(struct hs_elf *elf, struct hs_source *source, uint64_t base);

/* An hs_source.symbol; its argument is the struct hs_elf. */
uint64_t hs_elf_symbol(void *elf, const char *name);

/* Pages of the page cache: fewer inside the JVM, whose memory they take, more outside, where a read
 * costs more. */
#if __STDC_HOSTED__
#define HS_PAGES 6144u
#else
#define HS_PAGES 1536u
#endif

/* Working memory of one dump, 16-byte aligned, allocated by the caller. */
#define HS_WORK_BYTES ((7u << 20) + (HS_PAGES << 12))

/* Writes one map line (request.h) for each blob of the code cache: compiled methods, native
 * wrappers, stubs, adapters, interpreter. */
void hs_dump_map(const struct hs_source *source, const struct hs_sink *sink, void *work,
		 struct hs_result *ret);

/* Writes a snapshot (snapshot.h). `entries` of the result counts CODE records. */
void hs_dump_snapshot(const struct hs_source *source, const struct hs_sink *sink, void *work,
		      struct hs_result *ret);

/* The state between the snapshots of a JVM that makes deltas possible: opaque memory, allocated and
 * zeroed by the caller. A dump touches only the pages it fills: half a megabyte for 15 000 methods,
 * and the same again for the methods written. */
#define HS_STATE_BYTES (5u << 20)

/* Writes a snapshot and updates `state`: the first is whole, each later one a delta; after a
 * failure (any status but DFG_DUMP_OK) the next is whole again. Code that the state has no room for
 * is written each time. A delta without changes is a HEAD and an END, and costs a read of each
 * block's header.
 *
 * All methods of new classes are written (JDK 9 and later): in the next delta if their loader is
 * new, too, else in the first delta half a second later, which also has thread names. Methods of
 * older classes that have begun to run are found with `named` only, which walks all classes and
 * writes the methods that no snapshot has (JDK 8: all of them). */
void hs_dump_delta(const struct hs_source *source, const struct hs_sink *sink, void *work,
		   void *state, bool named, struct hs_result *ret);

/* On the host only: writes a delta with nothing but what is at these n addresses: codes that have
 * just been made, with their METHODs if `named`, and methods, which the next delta has as
 * SNAP_ASKED. What else has changed, it does not say. `state`, of the same JVM, or zeroed, stays as
 * it is for later deltas, but for these methods and for what never changes. */
void hs_dump_codes(const struct hs_source *source, const struct hs_sink *sink, void *work,
		   void *state, bool named, const uint64_t *at, size_t n, struct hs_result *ret);

/* On the host only: the next delta has the codes at these n addresses, as they are now, as
 * SNAP_ASKED_CODE, with their methods. `state` as above. */
void hs_keep_codes(const struct hs_source *source, void *work, void *state, const uint64_t *at,
		   size_t n);

/* On the host only: the next delta says that classes were unloaded at this time (SNAP_UNLOADED). */
void hs_unloaded(void *state, uint64_t time);

/* Places that change when code is made or freed: the CodeHeaps, with their ends and free lists. */
struct hs_watch {
	uint32_t count, bytes; /* CodeHeaps, and of each */
	uint64_t heap[16];
};

/* False: the JVM has no code yet, or its tables lack something. */
bool hs_watch_find(const struct hs_source *source, void *work, struct hs_watch *ret);

/* Hashes what is there now; another hash: code has been made or freed. 0: it cannot be read. */
uint64_t hs_watch_read(const struct hs_source *source, const struct hs_watch *w);

/* Finds the first entry that the JVM's tables lack ("CodeHeap::_memory"), after a dump with
 * DFG_DUMP_NO_TABLES or DFG_DUMP_PARTLY. False: none. */
#define HS_MISSING_MAX 96
bool hs_missing(const struct hs_source *source, void *work, char ret[HS_MISSING_MAX]);

/* Reads a boolean flag of the JVM (-XX:+name). False: it is not exported. */
bool hs_find_flag(const struct hs_source *source, void *work, const char *name, uint64_t *ret_addr,
		  uint8_t *ret_value);

#endif
