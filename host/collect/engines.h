/* SPDX-License-Identifier: Apache-2.0 */
/* The names that engines give their containers. */
#ifndef DFG_ENGINES_H
#define DFG_ENGINES_H

#include <stddef.h>

struct engine_name {
	char *id;
	char *name;
	const char *engine; /* "docker", "podman" */
};

/* Asks every engine that is installed and answers within 3 s; one that does not is passed over.
 * Freed with engine_names_free. */
size_t engine_names(struct engine_name **ret);
void engine_names_free(struct engine_name *names, size_t count);

#endif
