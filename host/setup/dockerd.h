/* SPDX-License-Identifier: Apache-2.0 */
/* The Docker daemon that reads a configuration file: what it does, and what it is told. */
#ifndef DFG_SETUP_DOCKERD_H
#define DFG_SETUP_DOCKERD_H

#include <stdbool.h>

#include "setup/engine.h"

/* Files are below the root. */

/* Whether it was given a runtime on its command line, too: Docker refuses a file that says the same
 * again, and would not start any more. Then err says so. */
bool dockerd_has_flags(const char *file, struct err *err);

/* The names of the containers, running or not, that were made with this runtime: "web, db". NULL:
 * none, or nobody to ask. Owned by the caller. */
char *dockerd_containers_of(const struct setup *s, const char *file, const char *runtime);

/* Makes it read the file again (SIGHUP; containers do not notice), and waits until `runtime` is its
 * default (NULL: nothing to wait for). Tells what came of it. */
void dockerd_reload(const struct setup *s, const char *file, const char *runtime);

#endif
