/* SPDX-License-Identifier: Apache-2.0 */
/* Names as the map writes them (request.h). */
#ifndef HS_NAME_H
#define HS_NAME_H

#include "hotspot/tables.h"

/* package.Class.method of a Method*. buf has DFG_NAME_MAX + 1 bytes. Returns the length, 0 when
 * what is there does not hold together. */
size_t hs_name_method(struct hs *hs, uint64_t method, char *buf);

/* A number that stands for a Method* and for what leads from it to its names: another method in the
 * same place has another one, unless its class is another, too. 0: it cannot be read. */
uint64_t hs_name_print(struct hs *hs, uint64_t method);

/* The name of the source file of a Method*, at most cap bytes of it. 0: none. */
size_t hs_name_file(struct hs *hs, uint64_t method, char *buf, size_t cap);

/* The text of a Symbol at an index of a ConstantPool*, at most cap bytes of it. 0: none. */
size_t hs_name_pool_text(struct hs *hs, uint64_t pool, uint64_t index, char *buf, size_t cap);

/* A number that stands for the name of a Klass*; 0 where it cannot be read. */
uint32_t hs_name_hash(struct hs *hs, uint64_t klass);

/* The VM's own text for a blob, with '_' for '.'. Same buffer, same return. */
size_t hs_name_blob(const char *text, char *buf);

#endif
