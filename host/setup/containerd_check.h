/* SPDX-License-Identifier: Apache-2.0 */
/* containerd, asked what it makes of a configuration. */
#ifndef DFG_SETUP_CONTAINERD_CHECK_H
#define DFG_SETUP_CONTAINERD_CHECK_H

#include "setup/engine.h"

/* Its whole configuration with this text as config.toml (NULL: without one), in TOML of its newest
 * format; NULL when it cannot be asked, or does not like the text. Owned by the caller. */
char *containerd_dump(const struct setup *s, const char *text);

/* Appends the specification that its containers begin with. */
MUST_CHECK int containerd_spec(const struct setup *s, struct str *ret, struct err *err);

/* Whether the planned change of `file` does what it should and nothing else: with it, the dump is
 * what it was, but that some base_runtime_spec are `spec` now. */
MUST_CHECK int containerd_check(const struct setup *s, const struct changes *c, const char *file,
				const char *before, const char *spec, struct err *err);

#endif
