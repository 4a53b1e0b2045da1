/* SPDX-License-Identifier: Apache-2.0 */
/* Where a Java class has its fields. */
#ifndef HS_FIELDS_H
#define HS_FIELDS_H

#include "hotspot/tables.h"

/* The offset of a field in objects of a class (an InstanceKlass), by its name and descriptor, as
 * the class itself declares it. False: it declares none such. */
bool hs_field_offset(struct hs *hs, uint64_t class, const char *name, const char *descriptor,
		     uint32_t *ret);

#endif
