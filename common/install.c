// SPDX-License-Identifier: Apache-2.0
#include "common/install.h"

#include "common/str.h"

/* The parent of the running program's directory. */
static char *prefix_of_self(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	for (int up = 0; n > 0 && up < 2; up++) {
		const char *slash = memrchr(path, '/', (size_t)n);

		n = slash ? slash - path : 0;
	}
	return n > 0 ? xstrndup(path, (size_t)n) : NULL;
}

char *install_path(const char *name)
{
	CLEANUP(free) char *prefix = prefix_of_self();
	CLEANUP(free) char *beside = prefix ? xasprintf("%s/libexec/%s", prefix, name) : NULL;

	if (beside && access(beside, R_OK) == 0)
		return TAKE_PTR(beside);
	return xasprintf("%s/%s", DFG_LIBEXECDIR, name);
}
