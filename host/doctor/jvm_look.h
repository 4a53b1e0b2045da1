/* SPDX-License-Identifier: Apache-2.0 */
/* A JVM seen from outside: its flags, from its own tables, and the symbols of its libjvm.so. */
#ifndef DFG_DOCTOR_JVM_LOOK_H
#define DFG_DOCTOR_JVM_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "discover/jvm.h"

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
	char why[256];		      /* why there are no tables */
};

/* In a child, which is killed after two seconds: a process can make reads of its memory wait. Fails
 * when the child did; *ret is whole all the same. */
MUST_CHECK int jvm_look(const struct jvm *j, struct jvm_look *ret, struct err *err);

enum jvm_symbols {
	JVM_SYMBOLS_UNKNOWN, /* libjvm.so could not be opened */
	JVM_SYMBOLS_NONE,    /* it is stripped */
	JVM_SYMBOLS_DEBUG,   /* in a separate debug file, in the container or on the host */
	JVM_SYMBOLS_OWN,     /* in its symbol table */
};

/* In a child too: files can make it wait. */
enum jvm_symbols jvm_symbols(const struct jvm *j);

#endif
