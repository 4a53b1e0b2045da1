/* SPDX-License-Identifier: Apache-2.0 */
/* Where the other programs of this installation are. */
#ifndef DFG_COMMON_INSTALL_H
#define DFG_COMMON_INSTALL_H

/* Path of a file in libexec: beside an uninstalled program (../libexec of its own directory, if
 * that is there), else DFG_LIBEXECDIR of the build. Owned by the caller. */
char *install_path(const char *name);

#endif
