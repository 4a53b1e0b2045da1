// SPDX-License-Identifier: Apache-2.0
/* The text of /proc/PID/cgroup: a container names the cgroups that it makes. */
#include "discover/cgroup.h"

#include "common/str.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(free) char *text = xstrndup((const char *)data, size);
	CLEANUP(free) char *whole = cgroup_own_line(text, "");
	char id[65], name[256];
	bool nested;

	if (cgroup_container_id(text, id, &nested)) {
		CLEANUP(free) char *own = cgroup_own_line(text, id);

		require(strlen(id) == 64 && strspn(id, "0123456789abcdef") == 64);
		require(strstr(text, id) != NULL);
		require(!own || (cgroup_is_below(text, own) && has_prefix(whole, own)));
	}
	if (cgroup_runtime_id(text, name)) {
		CLEANUP(free) char *own = cgroup_own_line(text, name);

		require(name[0] && !strpbrk(name, "/\n") && strstr(text, name));
		require(!own || cgroup_is_below(text, own));
	}
	require(!whole || (cgroup_is_below(text, whole) && !strchr(whole, '\n')));
	return 0;
}
