/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on a profile: what the processors worked for, and the methods of the application that
 * took most of it. Pure. Threads of dfg's own are not in it. */
#ifndef DFG_CALLTREE_VERDICT_H
#define DFG_CALLTREE_VERDICT_H

#include "calltree/view.h"

#define VERDICT_METHODS 5

/* Whose code a Java method is. */
enum code_owner {
	CODE_OWN, /* of none of the others: the application's */
	CODE_LIBRARY,
	CODE_JDK,
	CODE_OWNERS
};
const char *code_owner_name(enum code_owner o);

/* Judges by the package: the JDK's packages and a list of well-known libraries, servers and
 * frameworks (verdict.c). `own` is a prefix that is the application's although it is listed, NULL:
 * none. Parts of the name may be separated by '.' or '/'. */
enum code_owner code_owner_of(const char *method, const char *own);

/* Appends the package that the class of a method "a.b.c.Main.main" proves to be the application's,
 * "a.b."; nothing where it is none, or one of a server or launcher that runs others' code. */
void code_own_package(struct str *out, const char *method);

struct verdict_method {
	char name[320]; /* clean (str.h), cut if longer */
	uint64_t self, total;
	enum code_owner owner;
};

struct verdict {
	uint64_t samples; /* without dfg's own */
	uint64_t busy[BUSY_KINDS];
	size_t method_count;
	struct verdict_method methods[VERDICT_METHODS];
};

/* The first frames of the stacks are threads. The
 * methods are ordered by whose they are, then by total. Left out are those with less than 1 % of
 * the samples, and those that pass 95 % of theirs on to a method that is shown: of a chain of
 * methods that call each other the innermost counts. */
void verdict_make(const struct stacks *s, struct verdict *ret);

/* Makes a verdict of an untrusted process safe to use: texts are clean, numbers in range. */
void verdict_check(struct verdict *v);

#endif
