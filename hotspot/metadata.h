/* SPDX-License-Identifier: Apache-2.0 */
/* Names and line numbers of methods, and fields of classes (oops/method.hpp, oops/constMethod.hpp,
 * oops/constantPool.hpp, oops/fieldInfo.hpp). Names are as in a map (dfg/request.h). */
#ifndef HS_METADATA_H
#define HS_METADATA_H

#include "hotspot/tables.h"

/* Writes package.Class.method of a Method*. buf has DFG_NAME_MAX + 1 bytes. Returns the length, 0
 * if the memory holds no valid method. */
size_t hs_method_name(struct hs *hs, uint64_t method, char *buf);

/* Hashes a Method* and what leads from it to its name, so that another method at the same address
 * differs. 0: it cannot be read. */
uint64_t hs_method_fingerprint(struct hs *hs, uint64_t method);

/* Writes at most cap bytes of the source file's name. Returns the length, 0: none. */
size_t hs_method_file(struct hs *hs, uint64_t method, char *buf, size_t cap);

/* Returns the line of a bytecode; bci -1 is the entry. `base` as in hs_stream. 0: unknown. */
int32_t hs_method_line(struct hs *hs, uint64_t method, int32_t bci, uint8_t base);

/* Hashes the name of a Klass*; 0: it cannot be read. */
uint32_t hs_class_fingerprint(struct hs *hs, uint64_t klass);

/* True if it is the name of a Klass*, as a/b/C. */
bool hs_class_is(struct hs *hs, uint64_t klass, const char *name);

/* Finds the offset of a field that a class (an InstanceKlass) itself declares. */
bool hs_field_offset(struct hs *hs, uint64_t class, const char *name, const char *descriptor,
		     uint32_t *ret);

/* Copies the VM's name of a blob, with '_' for '.'. Same buffer and return as hs_method_name. */
size_t hs_blob_name(const char *text, char *buf);

#endif
