/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a HotSpot's own tables from a memory source and writes the map of its compiled code.
 * Implemented in hotspot/ without any libc symbol: the agent links it, and so does the host.
 *
 * The JVM goes on running while it is read. Every read is bounded and fault-safe; what does not
 * hold together is skipped and counted, never guessed. No offset is hard-coded: all come from
 * gHotSpotVMStructs and gHotSpotVMTypes (JDK 8 to 25, vmStructs.cpp); but for the list of stubs,
 * which is in neither and has to prove itself (hs_stubs.c). */
#ifndef DFG_HOTSPOT_HOTSPOT_H
#define DFG_HOTSPOT_HOTSPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_span {
	uint64_t low, high; /* [low, high); both 0: unknown */
};

/* Where memory comes from: pread(2) on a /proc/PID/mem descriptor, or anything a test makes up.
 * Returns the bytes read (short at a hole), or a value <= 0. */
struct hs_source {
	int64_t (*read)(void *arg, uint64_t addr, void *buf, size_t len);
	/* The same of n places at once, `len` bytes of each, one piece behind the other in buf.
	 * Returns how many pieces are whole: all in front of the first that is not. NULL: each is
	 * read by itself. */
	size_t (*gather)(void *arg, const uint64_t *addr, size_t n, void *buf, size_t len);
	void *arg;
	/* Address in the target of a symbol exported by its libjvm, 0 when there is none:
	 * hs_elf_symbol, or a test's own. */
	uint64_t (*symbol)(void *arg, const char *name);
	void *symbol_arg;
	/* Where the target has its libjvm, and in it what that writes to (.data, .bss). */
	struct hs_span image, variables;
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

/* The dynamic symbols of an ELF image that is mapped in the target, read where the loader put them
 * (gABI: PT_DYNAMIC; DT_GNU_HASH or DT_HASH): no file is opened, nothing is trusted, all loops are
 * bounded. Both libcs' loaders are understood: glibc relocates DT_SYMTAB and its like in place,
 * musl does not. */
struct hs_elf {
	const struct hs_source *source; /* only read is used */
	uint64_t bias;
	uint64_t symtab, strtab, strsz, gnu_hash, hash;
	struct hs_span image, variables; /* as in hs_source */
};

/* `base` is the address of the ELF header. False: no ELF64 image with a symbol table there. */
bool hs_elf_open(struct hs_elf *elf, const struct hs_source *source, uint64_t base);

/* The same for a libjvm with HotSpot's tables, of which `source` is told where it is. */
bool hs_elf_open_jvm(struct hs_elf *elf, struct hs_source *source, uint64_t base);

/* Fits hs_source.symbol, with the struct hs_elf as its argument. */
uint64_t hs_elf_symbol(void *elf, const char *name);

/* Pages of the target that are kept at hand. In the JVM it is the JVM's memory that they take; what
 * they are too few for is read again, which costs more from outside. */
#if __STDC_HOSTED__
#define HS_PAGES 6144u
#else
#define HS_PAGES 1536u
#endif

/* Working memory of one dump, given by the caller (the agent maps it, the host allocates it). */
#define HS_WORK_BYTES ((7u << 20) + (HS_PAGES << 12))

/* Writes one map line (request.h) for each blob of the code cache: compiled methods, native
 * wrappers, stubs, adapters, interpreter. `work` is HS_WORK_BYTES, 16-byte aligned. */
void hs_dump_map(const struct hs_source *source, const struct hs_sink *sink, void *work,
		 struct hs_result *ret);

/* Writes a snapshot (snapshot.h): the same walk, with what unwinding and inlining need. entries of
 * the result counts CODE records. The sink is given whole records. */
void hs_dump_snapshot(const struct hs_source *source, const struct hs_sink *sink, void *work,
		      struct hs_result *ret);

/* What snapshots of one JVM have said so far, so that the next can be a delta: opaque, in memory
 * that the caller gives and zeroes before the first. Of its pages only those are touched that the
 * JVM's code fills: half a megabyte for 15 000 methods, and as much for what has been named. */
#define HS_STATE_BYTES (5u << 20)

/* The same, remembering in `state`: the first is whole, each later one a delta; where one fails
 * (any status but DFG_DUMP_OK) the next is whole again. Code that the state has no room for is
 * written each time. Where nothing has changed, a delta is a HEAD and an END, and costs a read of
 * each block's header.
 *
 * Classes that came since the one before (JDK 9 and later) have all their methods written: in the
 * next delta where their loader is new, too, else in the first half a second later, when threads
 * are looked at as well. Methods of older classes that have begun to run since are found with
 * `last` only, which goes through all classes and writes those that no snapshot has (JDK 8: all of
 * them). */
void hs_dump_delta(const struct hs_source *source, const struct hs_sink *sink, void *work,
		   void *state, bool last, struct hs_result *ret);

/* The first entry that the JVM's tables lack ("CodeHeap::_memory"), where a dump's status is
 * DFG_DUMP_NO_TABLES or DFG_DUMP_PARTLY. False: none. */
#define HS_MISSING_MAX 96
bool hs_missing(const struct hs_source *source, void *work, char ret[HS_MISSING_MAX]);

/* A boolean flag of the JVM (-XX:+name): its address and value. False where it is not exported. */
bool hs_find_flag(const struct hs_source *source, void *work, const char *name, uint64_t *ret_addr,
		  uint8_t *ret_value);

#endif
