/* SPDX-License-Identifier: Apache-2.0 */
/* The C++ demangler of libiberty, made safe for names from outside. A file of its own, since that
 * library's header has its own idea of xrealloc. */
#ifndef DFG_ELF_DEMANGLE_H
#define DFG_ELF_DEMANGLE_H

#include <stddef.h>

/* Writes at most `size` bytes (no NUL) of the readable form, without parameters. Returns its
 * length, 0 when the name is no C++ name. The name should be at most some thousand bytes: the
 * demangler takes stack in proportion. */
size_t demangle_cxx(const char *name, char *buf, size_t size);

#endif
