/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the state that an OCI runtime passes to its hooks (runtime-spec, "State"). The runtime
 * made it, but the annotations come from whoever made the container. */
#ifndef DFG_OCI_STATE_H
#define DFG_OCI_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

#define OCI_STATE_MAX (1u << 20)
#define OCI_ID_MAX    255

struct oci_state {
	char id[OCI_ID_MAX + 1];
	bool stopped;	     /* poststop: pid is 0 */
	pid_t pid;	     /* of the container's first process, in the runtime's pid namespace */
	uint64_t start_time; /* of that process, clock ticks since boot; 0: not told. dfg's own
				key: a runtime passes none, as its container cannot end yet */
	char *bundle;	     /* owned; NULL when absent */
	json_t *annotations; /* owned; an object of strings, or NULL */
};

enum oci_state_result {
	OCI_STATE_OK,
	OCI_STATE_INVALID,
	OCI_STATE_INVALID_ID, /* missing, or unsafe as a directory name */
};

/* Sets err unless OCI_STATE_OK; then ret is empty, except for a valid id. `need_bundle`: refuses a
 * state without bundle, unless stopped. */
enum oci_state_result oci_state_parse(const char *text, size_t len, bool need_bundle,
				      struct oci_state *ret, struct err *err);
void oci_state_fini(struct oci_state *s);

/* [A-Za-z0-9][A-Za-z0-9_.+-]{0,254}: a file name, no option, nothing to quote. */
bool oci_id_valid(const char *id);

/* Absolute, at most 4095 bytes, no control bytes. */
bool oci_path_valid(const char *path);

static inline void cleanup_oci_state_fini(struct oci_state *s)
{
	oci_state_fini(s);
}

#endif
