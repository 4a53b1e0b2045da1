/* SPDX-License-Identifier: Apache-2.0 */
/* The classes of the JVM's operations (VM_Operation, runtime/vmOperations.hpp), by the address that
 * an object of the class begins with. The file is untrusted. */
#ifndef DFG_PROBE_OPERATIONS_H
#define DFG_PROBE_OPERATIONS_H

#include <stdbool.h>
#include <stdint.h>

#define OPERATIONS_MAX	   128u /* JDK 25 has 84 */
#define OPERATION_NAME_MAX 56u	/* with its NUL; longer ones are cut */

struct operations {
	uint64_t shift; /* address + shift = address as linked */
	/* Deoptimization::_trap_reason_name, char *[], as linked; 0: none. */
	uint64_t trap_reasons;
	uint32_t count, pad;
	struct {
		uint64_t at;		       /* as linked */
		char name[OPERATION_NAME_MAX]; /* "G1CollectForAllocation": not clean */
	} list[OPERATIONS_MAX];
};

/* fd, of libjvm or its debug file, stays the caller's. None where it is no ELF file with a
 * .symtab. */
void operations_find(int fd, struct operations *ret);

/* The name of the class of an object that begins so; NULL: it is none of them. */
const char *operations_name(const struct operations *o, uint64_t begin);

/* False for the operations that count as a collection without a cause: the JVM still has that of
 * the collection before. G1's remark and cleanup do (G1ConcurrentMark, JDK 8 to 27). */
bool operations_has_cause(const char *name);

#endif
