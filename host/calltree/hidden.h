/* SPDX-License-Identifier: Apache-2.0 */
/* Names of hidden classes, which lambdas and method handles get. */
#ifndef DFG_CALLTREE_HIDDEN_H
#define DFG_CALLTREE_HIDDEN_H

#include "common/str.h"

/* Appends a Java method's name without what differs from one run of a program to the next: the
 * hidden class's address and the number of a lambda among all of the JVM. "A$$Lambda$14/7582.run"
 * (JDK 8), "A$$Lambda$14.0x7f12.run" (17), "A$$Lambda.0x7f12.run" (21): "A$$Lambda.run". */
void hidden_name(struct str *out, const char *name, size_t len);

#endif
