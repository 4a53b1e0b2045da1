/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the build that a test program is of, wherever both are. */
#ifndef DFG_LIB_BUILT_H
#define DFG_LIB_BUILT_H

#include <string.h>
#include <unistd.h>

#include "common/str.h"

/* The path of a built file: "payload/dfg-inject". The caller frees it. */
__attribute__((unused)) static char *built(const char *name)
{
	char self[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		abort();
	/* The program is <build>/tests/test_x.t. */
	self[len] = '\0';
	for (int i = 0; i < 2; i++)
		*strrchr(self, '/') = '\0';
	return xasprintf("%s/%s", self, name);
}

#endif
