/* SPDX-License-Identifier: Apache-2.0 */
/* The JVM's flags (runtime/flags/jvmFlag.hpp; JDK 8: runtime/globals.hpp). */
#ifndef HS_FLAGS_H
#define HS_FLAGS_H

#include "hotspot/tables.h"

/* hs_find_flag, for tables that are read already. */
bool hs_flag(struct hs *hs, const char *name, uint64_t *ret_addr, uint8_t *ret_value);

#endif
