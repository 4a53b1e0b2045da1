// SPDX-License-Identifier: Apache-2.0
#include "discover/cgroup.h"

#include "common/str.h"
#include "lib/tap.h"

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static void is_id(const char *cgroup, const char *want, const char *name)
{
	char id[65] = "";

	is_int(cgroup_container_id(cgroup, id), want != NULL, "%s", name);
	is_str(id, want ? want : "", "%s", name);
}

static void is_runtime_id(const char *cgroup, const char *want, const char *name)
{
	char id[256] = "";

	is_int(cgroup_runtime_id(cgroup, id), want != NULL, "%s", name);
	if (want)
		is_str(id, want, "%s", name);
}

static void test_runtime_id(void)
{
	CLEANUP(free) char *longest = xasprintf("0::/%0255d\n", 7);
	CLEANUP(free) char *too_long = xasprintf("0::/%0256d\n", 7);

	is_runtime_id("0::/web\n", "web", "runc in the root cgroup");
	is_runtime_id("0::/user.slice/user-0.slice/web\n", "web", "runc beside a session");
	is_runtime_id("0::/user.slice/my.web-1_a", "my.web-1_a", "no newline at the end");
	is_runtime_id("0::/system.slice/runc-web.scope\n", "web", "runc by systemd");
	is_runtime_id("0::/system.slice/crun-web.scope\n", "web", "crun by systemd");
	is_runtime_id("0::/system.slice/runc-.scope\n", NULL, "a scope of runc without an id");
	is_runtime_id("0::/runc-web\n", "runc-web", "an id that begins like a scope of runc");
	is_runtime_id("9:memory:/web\n0::/user.slice/session-1.scope\n", "web",
		      "cgroup v1 beside the session's scope in v2");
	is_runtime_id("9:memory:/a/web\n8:pids:/b\n", "web", "the longest path, not the last");
	is_runtime_id("9:memory:/b\n8:pids:/a/web\n", "web", "the longest path, not the first");
	is_runtime_id("0::/\n", NULL, "the root cgroup");
	is_runtime_id("0::/user.slice/session-1.scope\n", NULL, "a session");
	is_runtime_id("0::/system.slice/web.service\n", NULL, "a service");
	is_runtime_id("0::/user.slice\n", NULL, "a slice");
	is_runtime_id("0::/system.slice/a.mount\n", NULL, "a mount");
	is_runtime_id("0::/system.slice/a.socket\n", NULL, "a socket");
	is_runtime_id("garbage\n", NULL, "garbage");
	is_runtime_id("", NULL, "empty");
	is_runtime_id(longest, strrchr(strtok(longest, "\n"), '/') + 1, "255 bytes");
	is_runtime_id(too_long, NULL, "256 bytes");
}

static void own(const char *cgroup, const char *want, const char *name)
{
	char *line = cgroup_own_line(cgroup);

	is_str(line, want, "%s", name);
	free(line);
}

int main(void)
{
	test_runtime_id();
	is_id("0::/\n", NULL, "the root cgroup is no container");
	is_id("0::/user.slice/session-1.scope\n", NULL, "a session is no container");
	is_id("5:memory:/docker/" ID "\n", ID, "Docker on cgroup v1");
	is_id("0::/system.slice/docker-" ID ".scope\n", ID, "Docker under systemd");
	is_id("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope\n", ID,
	      "containerd in Kubernetes");
	is_id("0::/machine.slice/libpod-" ID ".scope/container\n", ID, "podman");
	is_id("0::/docker/" ID "/docker/" ID2 "\n", ID2, "docker in docker: the inner one");
	is_id("0::/docker/" ID "0\n", NULL, "65 hex digits are no id");
	is_id("0::/docker/0123456789ABCDEF" ID "\n", ID, "upper case ends a run");
	is_id("0::/docker/" ID, ID, "without a newline at the end");
	is_id("", NULL, "empty");

	own("0::/\n", NULL, "root: nothing of its own");
	own("12:pids:/demo\n1:name=systemd:/\n0::/\n", "pids:/demo", "v1 controller");
	own("12:pids:/a\n3:memory:/a/longer\n0::/\n", "memory:/a/longer", "the longest path");
	own("0::/x\n", ":/x", "v2");
	own("garbage\n", NULL, "garbage");

	ok(cgroup_is_below("3:memory:/demo\n0::/\n", "memory:/demo"), "the same cgroup");
	ok(cgroup_is_below("3:memory:/demo/child\n", "memory:/demo"), "a cgroup below");
	ok(!cgroup_is_below("3:memory:/demo2\n", "memory:/demo"), "a name that only begins alike");
	ok(!cgroup_is_below("3:cpu:/demo\n", "memory:/demo"), "another controller");
	ok(!cgroup_is_below("", "memory:/demo"), "empty");
	return tap_done();
}
