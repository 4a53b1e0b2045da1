/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the fields of a bundle's config.json that the hook needs. The engine made its structure,
 * but annotations and the host name are texts of whoever made the container. */
#ifndef DFG_OCI_CONFIG_H
#define DFG_OCI_CONFIG_H

#include <jansson.h>
#include <stddef.h>

#include "common/err.h"

#define OCI_CONFIG_MAX (8u << 20)

/* All strings owned; NULL when absent. */
struct oci_config {
	char *root; /* absolute: a relative root.path is below the bundle */
	char *mount_label;
	char *hostname;
	char *cgroups_path;
	json_t *annotations;
};

MUST_CHECK int oci_config_parse(const char *text, size_t len, const char *bundle,
				struct oci_config *ret, struct err *err);

/* Reads <bundle>/config.json: a regular file of root or of the caller, no symbolic link. */
MUST_CHECK int oci_config_load(const char *bundle, struct oci_config *ret, struct err *err);
void oci_config_fini(struct oci_config *c);

static inline void cleanup_oci_config_fini(struct oci_config *c)
{
	oci_config_fini(c);
}

#endif
