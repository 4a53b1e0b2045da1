/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the other programs of this installation. */
#ifndef DFG_COMMON_INSTALL_H
#define DFG_COMMON_INSTALL_H

/* Path of a file in libexec: in ../libexec of the running program's directory if that exists (a
 * build tree), else in DFG_LIBEXECDIR. Owned by the caller. */
char *install_path(const char *name);

#endif
