/* SPDX-License-Identifier: Apache-2.0 */
/* podman's stage precreate (oci-hooks(5)): the specification comes on stdin and goes on to the
 * runtime as it is on stdout. */
#ifndef HOOK_PRECREATE_H
#define HOOK_PRECREATE_H

#include "hook/options.h"

/* Passes it on, with early flags for JVMs (oci_spec.h) where dfg.conf and the container's
 * annotations do not keep dfg out; unchanged whenever something is not as it should be. The exit
 * status: not 0 only when the specification could not be passed on whole. */
int hook_precreate(const struct hook_options *options);

#endif
