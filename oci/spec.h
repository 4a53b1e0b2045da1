/* SPDX-License-Identifier: Apache-2.0 */
/* dfg's entries in the text of an OCI specification (config.json). The functions change the text in
 * place, and nothing else of it (jsontext.h). They return 1 when they changed it, 0 when there was
 * nothing to change, -1 with err when the text is no such specification. */
#ifndef DFG_OCI_SPEC_H
#define DFG_OCI_SPEC_H

#include <stdbool.h>

#include "common/err.h"
#include "common/str.h"

/* The hook as a JSON object, for hooks.* of a specification and for hooks.d. `root`: dfg's root
 * directory if it is not the default, else NULL. Owned by the caller; NULL: a path is not UTF-8. */
char *oci_spec_hook(const char *program, const char *root);

/* Appends the hook to hooks.createRuntime and hooks.poststop, unless they have an entry with the
 * same program. */
MUST_CHECK int oci_spec_add_hook(struct str *text, const char *program, const char *root,
				 struct err *err);

/* Removes all entries whose program is a dfg-hook, at any stage, and lists that become empty. */
MUST_CHECK int oci_spec_remove_hook(struct str *text, struct err *err);

/* The program of the first entry that is a dfg-hook, or NULL. Owned by the caller. */
char *oci_spec_find_hook(const struct str *text);

/* Enables DebugNonSafepoints in JVMs from their start: appends the flags (known to JDK 8 and later)
 * to JAVA_TOOL_OPTIONS in process.env. A variable that names the flag already stays as it is, as
 * does a text without process. */
MUST_CHECK int oci_spec_add_early(struct str *text, struct err *err);
MUST_CHECK int oci_spec_remove_early(struct str *text, struct err *err);
bool oci_spec_is_early(const struct str *text);

#endif
