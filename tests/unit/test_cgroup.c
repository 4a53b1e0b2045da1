// SPDX-License-Identifier: Apache-2.0
#include "discover/cgroup.h"

#include "common/str.h"
#include "lib/tap.h"

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static void is_id(const char *cgroup, const char *want, const char *name)
{
	char id[65] = "";
	bool nested;

	is_int(cgroup_container_id(cgroup, id, &nested), want != NULL, "%s", name);
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
	is_runtime_id("1:cpu:/web\n0::/system.slice/runc-.scope\n", "web",
		      "a scope without an id takes nothing from another line");
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

static void is_path(const char *cgroup, const char *controller, const char *want, bool want_v1,
		    const char *name)
{
	bool v1;
	CLEANUP(free) char *path = cgroup_path(cgroup, "web", controller, &v1);

	is_str(path ? path : "", want, "%s", name);
	is_int(v1, want_v1, "%s: its version", name);
}

static void test_paths(void)
{
	is_path("0::/a/web\n", "cpu", "/a/web", false, "v2");
	is_path("0::/a/web/own\n", "cpu", "/a/web", false, "below it is the container's own");
	is_path("5:cpuset:/x\n4:cpuacct,cpu:/y\n0::/z\n", "cpu", "/y", true, "v1, of two");
	is_path("4:cpuacct,cpu:/y\n0::/z\n", "cpuacct", "/y", true, "the first of two");
	is_path("5:cpuset:/x\n0::/z\n", "cpu", "/z", false, "a longer name is another");
	is_path("4:cpu:/y\n0::/z\n", NULL, "/z", false, "v2 beside v1");
	is_path("4:cpu:/\n0::/z\n", "cpu", "", true, "the root has no path");
	is_path("4:memory:/y\n", "cpu", "", false, "neither");
}

static void own_of(const char *cgroup, const char *id, const char *want, const char *name)
{
	char *line = cgroup_own_line(cgroup, id);

	is_str(line, want, "%s", name);
	free(line);
}

static void own(const char *cgroup, const char *want, const char *name)
{
	own_of(cgroup, ID, want, name);
}

static void test_nested(void)
{
	static const struct {
		const char *cgroup;
		bool nested;
	} t[] = {
		{"0::/docker/" ID "\n", false},
		{"0::/docker/" ID "/docker/" ID2 "\n", true},
		{"0::/docker/" ID "/x/" ID "\n", false},
		{"4:cpu:/" ID "\n3:pids:/" ID2 "\n", false},
		{"4:cpu:/" ID "/" ID2 "\n3:pids:/" ID "/" ID2 "\n", true},
		{"0::/\n", false},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		bool nested = !t[i].nested;
		char id[65];

		(void)cgroup_container_id(t[i].cgroup, id, &nested);
		is_int(nested, t[i].nested, "nested or not: %s", t[i].cgroup);
	}
}

/* Cases 88 and 89: a container makes cgroups below its own, of any name. */
static void test_below(void)
{
	own_of("0::/docker/" ID "/init.scope\n", ID, ":/docker/" ID, "systemd in Docker");
	own_of("0::/system.slice/docker-" ID ".scope/system.slice/app.service\n", ID,
	       ":/system.slice/docker-" ID ".scope", "a service of it, under systemd");
	own_of("0::/kubepods/pod1/" ID "/" ID2 "\n", ID, ":/kubepods/pod1/" ID,
	       "one that is named after another container");
	own_of("0::/kubepods/pod1/" ID "/" ID "/x\n", ID, ":/kubepods/pod1/" ID,
	       "one that is named after itself");
	own_of("0::/k.slice:cri-containerd:" ID "/a\n", ID, ":/k.slice:cri-containerd:" ID,
	       "containerd told of a systemd path");
	own_of("0::/machine.slice/libpod-payload-" ID "/a\n", ID,
	       ":/machine.slice/libpod-payload-" ID, "podman with split cgroups");
	own_of("4:cpu:/web/init.scope\n", "web", "cpu:/web", "runc's own name");
	own_of("4:cpu:/system.slice/runc-web.scope/a\n", "web", "cpu:/system.slice/runc-web.scope",
	       "the same under systemd");
	own_of("4:cpu:/cobweb/a\n", "web", "cpu:/cobweb/a", "the end of another word");
	own_of("4:cpu:/webs/a\n", "web", "cpu:/webs/a", "the beginning of another word");
	own_of("4:cpu:/a/b\n", "", "cpu:/a/b", "a container without an id");
	own_of("4:cpu:/.scope/b\n", ".scope", "cpu:/.scope", "an id that is a suffix");
}

int main(void)
{
	test_runtime_id();
	test_paths();
	test_below();
	test_nested();
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
	is_id("0::/docker/" ID "/below\n1::/x\n", ID, "a cgroup below a container's");
	is_id("1::/docker/" ID "\n0::/\n", ID, "another hierarchy's root");
	is_id("0::/a" ID "\n", NULL, "a digit more in front");
	is_id("0::/g" ID "g\n", ID, "letters that are no digits");

	own("0::/\n", NULL, "root: nothing of its own");
	own("12:pids:/demo\n1:name=systemd:/\n0::/\n", "pids:/demo", "v1 controller");
	own("12:pids:/a\n3:memory:/a/longer\n0::/\n", "memory:/a/longer", "the longest path");
	own("0::/x\n", ":/x", "v2");
	own("garbage\n", NULL, "garbage");
	own("1:a:/x\n2:b:/y\n", "a:/x", "the first of two of the same length");
	own("garbage\n1:a\n2:b:/y", "b:/y", "lines of another form are passed over");
	own("3:a:b:/x:y\n", "a:b:/x:y", "a path may have the sign between fields");

	ok(cgroup_is_below("3:memory:/demo\n0::/\n", "memory:/demo"), "the same cgroup");
	ok(cgroup_is_below("3:memory:/demo/child\n", "memory:/demo"), "a cgroup below");
	ok(!cgroup_is_below("3:memory:/demo2\n", "memory:/demo"), "a name that only begins alike");
	ok(!cgroup_is_below("3:cpu:/demo\n", "memory:/demo"), "another controller");
	ok(!cgroup_is_below("", "memory:/demo"), "empty");
	ok(!cgroup_is_below("3:memory:/dem\n", "memory:/demo"), "the beginning of its name");
	ok(!cgroup_is_below("3:memory:/\n", "memory:/demo"), "the one above");
	ok(cgroup_is_below("1:cpu:/x\n3:memory:/demo", "memory:/demo"), "in the last line");
	return tap_done();
}
