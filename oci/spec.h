/* SPDX-License-Identifier: Apache-2.0 */
/* dfg's hook in the text of an OCI specification (config.json). Pure; the text is changed in place,
 * and nothing else of it (jsontext.h). Part of hook/, used by what puts the hook into engines. */
#ifndef DFG_OCI_SPEC_H
#define DFG_OCI_SPEC_H

#include <stdbool.h>

#include "common/err.h"
#include "common/str.h"

/* The hook as a JSON object, for hooks.* of a specification and for hooks.d. `root`: dfg's
 * directory where it is not the usual one, else NULL. Owned by the caller. */
char *oci_spec_hook(const char *program, const char *root);

/* Puts the hook at the end of hooks.createRuntime and hooks.poststop, each unless an entry with the
 * same program is there. Returns 1 when something was added, 0 when all was there, -1 when the text
 * is not what it should be. */
MUST_CHECK int oci_spec_add_hook(struct str *text, const char *program, const char *root,
				 struct err *err);

/* Takes all entries out whose program is a dfg-hook, at any stage, with the lists that are empty
 * then. Returns 1 when something was taken out, 0 when nothing was there, -1. */
MUST_CHECK int oci_spec_remove_hook(struct str *text, struct err *err);

/* The program of the first entry that is a dfg-hook, or NULL. Owned by the caller. */
char *oci_spec_find_hook(const struct str *text);

/* Switches DebugNonSafepoints on in JVMs from their start: puts the flags (JDK 8 and later know
 * them) into process.env's JAVA_TOOL_OPTIONS, behind what the container has there. One that speaks
 * of the flag itself stays as it is, as does a text without process. Returns 1 when something was
 * put in, 0, or -1. */
MUST_CHECK int oci_spec_add_early(struct str *text, struct err *err);

/* Takes them out again. Returns 1, 0 when they are not there, -1. */
MUST_CHECK int oci_spec_remove_early(struct str *text, struct err *err);
bool oci_spec_is_early(const struct str *text);

#endif
