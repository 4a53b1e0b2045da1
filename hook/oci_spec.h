/* SPDX-License-Identifier: Apache-2.0 */
/* Adds a hook to the text of a config.json. Pure.
 *
 * All else stays byte for byte as it was: engines write numbers and keys that a JSON library would
 * not give back unchanged (2^64-1 as a limit). */
#ifndef HOOK_OCI_SPEC_H
#define HOOK_OCI_SPEC_H

#include <stddef.h>

#include "dfg/err.h"
#include "dfg/str.h"

/* Appends to `ret` the text with the JSON object `hook` at the end of hooks.createRuntime and
 * hooks.poststop, each unless an entry with the same "path" is there; `path` is that path as a JSON
 * string with its quotes. Returns 1 when something was added, 0 when all was there (ret is
 * untouched), -1 when the text is not what it should be. */
MUST_CHECK int oci_spec_add_hook(const char *text, size_t len, const char *hook, const char *path,
				 struct str *ret, struct err *err);

#endif
