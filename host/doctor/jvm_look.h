/* SPDX-License-Identifier: Apache-2.0 */
/* A JVM seen from outside: its flags, from its own tables, and what its libjvm.so has. */
#ifndef DFG_JVM_LOOK_H
#define DFG_JVM_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "dfg/err.h"
#include "jvm.h"

/* id, name: boolean flags of HotSpot 8 to 26 (runtime/globals.hpp and its like); each release has
 * some of them. */
#define JVM_FLAGS(X)                                                                               \
	X(KEEPS_FP, "PreserveFramePointer")                                                        \
	X(DEBUG_INFO, "DebugNonSafepoints")                                                        \
	X(NO_ATTACH, "DisableAttachMechanism")                                                     \
	X(LOADING, "EnableDynamicAgentLoading")                                                    \
	X(FEWER_SIGNALS, "ReduceSignalUsage") /* -Xrs */                                           \
	X(COMPILER, "UseCompiler")	      /* off: -Xint */                                     \
	X(G1, "UseG1GC")                                                                           \
	X(PARALLEL, "UseParallelGC")                                                               \
	X(SERIAL, "UseSerialGC")                                                                   \
	X(CMS, "UseConcMarkSweepGC")                                                               \
	X(Z, "UseZGC")                                                                             \
	X(SHENANDOAH, "UseShenandoahGC")                                                           \
	X(EPSILON, "UseEpsilonGC")

enum jvm_flag {
#define JVM_FLAG_ENUM(id, name) JVM_FLAG_##id,
	JVM_FLAGS(JVM_FLAG_ENUM)
#undef JVM_FLAG_ENUM
		JVM_FLAG_COUNT
};

struct jvm_look {
	bool has_tables;	      /* they were read; flags hold */
	int8_t flags[JVM_FLAG_COUNT]; /* 1, 0; -1: this release has none of that name */
	bool has_file;		      /* libjvm.so could be opened */
	bool has_symtab;	      /* it has a symbol table of all its functions */
	char why[256];		      /* why there are no tables */
};

/* In a child, which is killed after two seconds: a process can make reads of its memory and files
 * wait. Fails when the child did; *ret is whole all the same. */
MUST_CHECK int jvm_look(const struct jvm *j, struct jvm_look *ret, struct err *err);

/* Whether the ELF file has a section of this type (SHT_*). Bounded; false for what is no ELF64. */
bool elf_has_section(int fd, uint32_t type);

#endif
