// SPDX-License-Identifier: Apache-2.0
#include "discover/container.h"
#include "lib/tap.h"

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static void is_id(const char *cgroup, const char *want, const char *name)
{
	char id[65] = "";

	is_int(cgroup_container_id(cgroup, id), want != NULL, "%s", name);
	is_str(id, want ? want : "", "%s", name);
}

static void own(const char *cgroup, const char *want, const char *name)
{
	char *line = cgroup_own_line(cgroup);

	is_str(line, want, "%s", name);
	free(line);
}

int main(void)
{
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
