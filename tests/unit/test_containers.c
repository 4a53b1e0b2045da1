// SPDX-License-Identifier: Apache-2.0
/* Containers among real processes: in cgroups and pid namespaces of their own, below processes that
 * look like an engine's monitor. */
#include "discover/container.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/fs.h"
#include "common/proc.h"
#include "lib/actor.h"
#include "lib/scratch.h"
#include "lib/tap.h"

#define HEX4(c) c c c c c c c c c c c c c c c c
#define ID	HEX4("dfc1")
#define INNER	HEX4("dfc2")

static char *cgroups; /* a directory of ours in a hierarchy; NULL: none can be made */
static struct err err;

/* ---- processes ---- */

static void enter_cgroup(const char *below)
{
	CLEANUP(free) char *path = xasprintf("%s/%s/cgroup.procs", cgroups, below);
	CLEANUP(close_fd) int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "0", 1) != 1)
		_exit(1);
}

static const char *make_cgroup(const char *below)
{
	CLEANUP(free) char *path = xasprintf("%s/%s", cgroups, below);

	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		abort();
	return below;
}

static pid_t spawn(const char *cgroup, bool pid_namespace)
{
	struct actor a;

	if (actor_clone(&a, pid_namespace ? CLONE_NEWPID : 0)) {
		if (cgroup)
			enter_cgroup(cgroup);
		actor_play(&a);
	}
	return actor_wait(&a) ? a.pid : -1;
}

/* This program by the name of a monitor: starts a process in a cgroup and prints its pid. */
static int monitor(const char *name)
{
	const char *cgroup = getenv("DFG_TEST_CGROUP"), *cwd = getenv("DFG_TEST_CWD");
	pid_t pid;

	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	cgroups = getenv("DFG_TEST_CGROUPS");
	if (cwd && chdir(cwd) < 0)
		return 1;
	pid = spawn(cgroup, false);
	printf("%d\n", (int)pid);
	fflush(stdout);
	for (;;)
		pause();
}

struct monitored {
	pid_t monitor, pid;
};

static struct monitored start_monitor(const char *const *argv, const char *cgroup, const char *cwd)
{
	struct monitored m = {0};
	int out[2], pid;
	FILE *f;

	if (pipe(out) < 0)
		abort();
	m.monitor = fork();
	if (m.monitor == 0) {
		dup2(out[1], STDOUT_FILENO);
		close(out[0]);
		close(out[1]);
		unsetenv("DFG_TEST_CGROUP");
		setenv("DFG_TEST_MONITOR", argv[0], 1);
		if (cgroups)
			setenv("DFG_TEST_CGROUPS", cgroups, 1);
		if (cgroup)
			setenv("DFG_TEST_CGROUP", cgroup, 1);
		if (cwd)
			setenv("DFG_TEST_CWD", cwd, 1);
		execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
		_exit(1);
	}
	close(out[1]);
	f = fdopen(out[0], "r");
	if (!f || fscanf(f, "%d", &pid) != 1)
		abort();
	m.pid = pid;
	fclose(f);
	return m;
}

static void end_monitor(struct monitored m)
{
	kill(m.pid, SIGKILL);
	actor_end(m.monitor);
}

static uint64_t start_of(pid_t pid)
{
	CLEANUP(handle_close) struct handle p = {.procfd = -1};

	return handle_open(pid, &p, NULL) < 0 ? 0 : p.start;
}

static const struct container *find(const struct containers *c, const char *id)
{
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->list[i].id, id))
			return &c->list[i];
	return NULL;
}

static struct containers list(void)
{
	struct containers c = {0};

	if (containers_list(top, &c, &err) < 0)
		abort();
	return c;
}

/* True if these are the container's processes, in any order. */
static bool has_pids(const struct container *c, const pid_t *want, size_t n)
{
	CLEANUP(handles_fini) struct handles list = {0};
	size_t found = 0;

	if (container_processes(c, &list, &err) < 0)
		return false;
	for (size_t i = 0; i < list.count; i++)
		for (size_t k = 0; k < n; k++)
			found += list.list[i].pid == want[k] && handle_is_alive(&list.list[i]);
	if (list.count != n)
		printf("# %zu processes\n", list.count);
	return list.count == n && found == n;
}

/* ---- the hook's records ---- */

static void put_record(const char *id, pid_t pid, const char *boot, uint64_t started)
{
	CLEANUP(free) char *path = xasprintf("containers/%s/state.json", id);
	CLEANUP(free)
	char *text = xasprintf("{\"pid\":%d,\"boot_id\":\"%s\",\"start_time\":%llu,"
			       "\"annotations\":{\"nerdctl/name\":\"shop-%s\"}}",
			       (int)pid, boot, (unsigned long long)started, id);

	put_text(path, 0600, text);
}

static void test_records(void)
{
	static const char *const stale[] = {"boot", "start", "gone", ".hidden", "none", "broken"};
	CLEANUP(containers_fini) struct containers c = {0};
	pid_t pid = spawn(NULL, false);
	CLEANUP(close_fd) int procfd = proc_open(pid, &err);
	const struct container *web;
	char boot[37];
	uint64_t ticks;

	c = list();
	ok(!find(&c, "web"), "without a record there is no container");
	containers_fini(&c);
	if (proc_boot_id(boot, &err) < 0 || proc_start_time(procfd, &ticks, &err) < 0)
		abort();
	put_record("web", pid, boot, ticks);
	put_record("boot", pid, "another boot", ticks);
	put_record("start", pid, boot, ticks + 1);
	put_record("gone", 4194304, boot, ticks);
	put_record(".hidden", pid, boot, ticks);
	put_text("containers/broken/state.json", 0600, "{");
	put_text("containers/none/other", 0600, "{}");
	c = list();
	web = find(&c, "web");
	if (ok(web != NULL, "a record of a running process is a container")) {
		is_int(web->pid, pid, "it has the process");
		ok(web->hooked, "it is known that the hook has a record of it");
		is_str(web->name, "web", "without an engine's monitor it is called by its id");
		is_str(web->label, "web", "also on the command line");
		ok(web->is_forged, "its annotations claim another name: case 87");
		is_str(web->pod, "", "it is in no pod");
		ok(!web->is_pause && !web->is_single, "it is an ordinary one");
		ok(has_pids(web, &pid, 1), "without a cgroup of its own it is one process");
	}
	for (size_t i = 0; i < sizeof(stale) / sizeof(*stale); i++)
		ok(!find(&c, stale[i]), "the record \"%s\" is of no running container", stale[i]);
	actor_end(pid);
	containers_fini(&c);
	c = list();
	ok(!find(&c, "web"), "a container that has ended is not listed");
}

static void test_init_record(void)
{
	CLEANUP(containers_fini) struct containers c = {0};
	CLEANUP(close_fd) int procfd = proc_open(1, &err);
	char boot[37];
	uint64_t ticks;

	if (proc_boot_id(boot, &err) < 0 || proc_start_time(procfd, &ticks, &err) < 0)
		return;
	put_record("init", 1, boot, ticks);
	c = list();
	ok(!find(&c, "init"), "a record that names process 1 is no container");
}

static void test_of_pid(void)
{
	pid_t pid = spawn(NULL, false), other = spawn(NULL, false);
	CLEANUP(free) char *id = xasprintf("pid-%d", (int)other);
	CLEANUP(free) char *name = xasprintf("process %d", (int)other);
	CLEANUP(close_fd) int procfd = proc_open(pid, &err);
	struct container c = {0};
	char boot[37];
	uint64_t ticks;

	if (proc_boot_id(boot, &err) < 0 || proc_start_time(procfd, &ticks, &err) < 0)
		abort();
	put_record("web", pid, boot, ticks);
	is_int(container_of_pid(top, pid, &c, &err), 0,
	       "a process of a recorded container is found");
	is_str(c.id, "web", "in its container");
	ok(!c.is_single, "which is not the process alone");
	container_fini(&c);
	is_int(container_of_pid(top, other, &c, &err), 0, "a process in no container is found");
	is_str(c.id, id, "it has an id of its own");
	is_str(c.name, name, "it is called by its pid");
	is_str(c.label, name, "also on the command line");
	is_int(c.pid, other, "it has its pid");
	ok(c.is_single, "it stands for itself");
	ok(has_pids(&c, &other, 1), "it is its only process");
	container_fini(&c);
	actor_end(pid);
	actor_end(other);
	is_int(container_of_pid(top, other, &c, &err), -1, "a process that has ended is not found");
	c = (struct container){.pid = other, .start = start_of(other)};
	ok(!has_pids(&c, &other, 1), "nor has it processes");
}

/* ---- namespaces and cgroups ---- */

static void test_namespace(void)
{
	pid_t pid = spawn(NULL, true);
	struct container c = {.id = (char *)"x", .label = (char *)"x", .pid = pid};

	if (pid < 0) {
		ok(true, "a pid namespace # SKIP it is not permitted here");
		return;
	}
	c.start = start_of(pid);
	ok(has_pids(&c, &pid, 1), "a pid namespace without a cgroup has its processes");
	c.start++;
	ok(!has_pids(&c, &pid, 1), "a later process of the same pid is not the container's");
	actor_end(pid);
}

static void test_cgroup(void)
{
	CLEANUP(containers_fini) struct containers c = {0}, one = {0};
	pid_t pids[] = {spawn(make_cgroup(ID), false), spawn(ID, false),
			spawn(make_cgroup(ID "/below"), false)};
	pid_t inner = spawn(make_cgroup("docker-" INNER ".scope"), false);
	const struct container *at;
	struct container of = {0};

	c = list();
	at = find(&c, ID);
	if (ok(at != NULL, "a cgroup named by 64 digits is a container")) {
		ok(at->pid == pids[0] || at->pid == pids[1] || at->pid == pids[2],
		   "it has one of its processes");
		is_str(at->name, ID, "without an engine it is called by its id");
		ok(!at->hooked, "the hook has no record of it");
		ok(has_pids(at, pids, 3), "its processes are those in the cgroup and below");
	}
	at = find(&c, INNER);
	ok(at && at->pid == inner && has_pids(at, &inner, 1), "each container has its own");
	is_int(container_of_pid(top, pids[2], &of, &err), 0, "a process of it is found");
	is_str(of.id, ID, "in its container");
	container_fini(&of);
	is_int(containers_find(top, ID, &one, &err), CONTAINER_FOUND, "it is found by its id");
	is_int(one.count, 1, "and nothing else");
	containers_fini(&one);
	is_int(containers_find(top, "dfc1dfc1", &one, &err), CONTAINER_FOUND,
	       "it is found by the beginning of its id");
	containers_fini(&one);
	is_int(containers_find(top, "nobody", &one, &err), CONTAINER_NONE, "another name is not");
	is_str(err.msg, "no running container \"nobody\"; see dfg-trigger --list",
	       "the message says what to do");
	for (size_t i = 0; i < 3; i++)
		actor_end(pids[i]);
	actor_end(inner);
}

/* In a child: 0 if the container has only its process, before and after dfg leaves its cgroup. */
static int leave_shared(pid_t pid)
{
	CLEANUP(containers_fini) struct containers c = {0};
	const struct container *at;

	enter_cgroup("dfg-shared");
	c = list();
	at = find(&c, "shared");
	if (!at || !has_pids(at, &pid, 1))
		return 1;
	enter_cgroup(ID);
	return !has_pids(at, &pid, 1);
}

/* dfg moves processes of its own into cgroups of their own while it records. */
static void test_shared(void)
{
	pid_t pid = spawn(make_cgroup("dfg-shared"), false), other = spawn("dfg-shared", false);
	char boot[37];
	pid_t child;
	int status;

	if (proc_boot_id(boot, &err) < 0)
		abort();
	put_record("shared", pid, boot, start_of(pid));
	make_cgroup(ID);
	child = fork();
	if (child == 0)
		_exit(leave_shared(pid));
	ok(waitpid(child, &status, 0) == child && status == 0,
	   "a container that shared dfg's cgroup has no more processes when dfg has left it");
	actor_end(pid);
	actor_end(other);
}

/* Case 88: an init that has moved into a cgroup below, as systemd does. */
static void test_sub_cgroup(void)
{
	pid_t pids[] = {spawn(make_cgroup(ID "/below"), false), spawn(ID, false)};
	CLEANUP(containers_fini) struct containers c = list();
	const struct container *at = find(&c, ID);

	ok(at && at->pid == pids[0], "a container whose init is in a cgroup below is found");
	ok(at && has_pids(at, pids, 2), "its processes are those of its whole cgroup");
	actor_end(pids[0]);
	actor_end(pids[1]);
}

/* Case 89: a container that calls a cgroup of its own like another container. */
static void test_forged(void)
{
	pid_t forger = spawn(make_cgroup(ID), false);
	pid_t forged = spawn(make_cgroup(ID "/" INNER), false);
	pid_t real = spawn(make_cgroup("docker-" INNER ".scope"), false);
	CLEANUP(containers_fini) struct containers c = list();
	const struct container *at = find(&c, INNER);
	struct container of = {0};

	ok(at && at->pid == real, "a cgroup below a container's does not stand for another one");
	ok(at && has_pids(at, &real, 1), "whose processes are its own");
	is_int(container_of_pid(top, forged, &of, &err), 0, "the process there is found");
	is_str(of.id, ID, "in the container that it runs in");
	container_fini(&of);
	containers_fini(&c);
	actor_end(real);
	c = list();
	at = find(&c, INNER);
	ok(at && at->pid == forged, "alone it is a container in a container");
	is_int(container_of_pid(top, forged, &of, &err), 0, "its process is found");
	is_str(of.id, INNER, "in the inner one");
	container_fini(&of);
	actor_end(forged);
	actor_end(forger);
}

/* Case 89: a container without an engine does the same, before the other one starts. */
static void test_forged_by_runtime(void)
{
	static const char *const shim[] = {"containerd-shim", "-namespace", "build", NULL};
	CLEANUP(free) char *cwd = path_of("bundles/first");
	struct monitored real;
	pid_t forged;
	CLEANUP(containers_fini) struct containers c = {0};
	const struct container *at;

	put_text("bundles/first/config.json", 0644, "{}");
	make_cgroup("dfg-web");
	forged = spawn(make_cgroup("dfg-web/" INNER), false);
	c = list();
	at = find(&c, INNER);
	ok(at && at->pid == forged, "a cgroup with an id stands for it while nothing else does");
	containers_fini(&c);
	real = start_monitor(shim, "docker-" INNER ".scope", cwd);
	c = list();
	at = find(&c, INNER);
	ok(at && at->pid == real.pid,
	   "a process with an engine's monitor takes its id back: case 89");
	end_monitor(real);
	actor_end(forged);
}

static void test_component(void)
{
	CLEANUP(containers_fini) struct containers found = {0};
	pid_t pid = spawn(make_cgroup("dfg-web"), false), init;
	CLEANUP(containers_fini) struct containers c = list();

	ok(!find(&c, "dfg-web"), "a cgroup with a name is no container by itself");
	if (is_int(containers_find(top, "dfg-web", &found, &err), CONTAINER_FOUND,
		   "it is one if it is asked for")) {
		is_int(found.count, 1, "it is the only one");
		is_str(found.list[0].id, "dfg-web", "the name is its id");
		is_str(found.list[0].label, "dfg-web", "and its label");
		is_int(found.list[0].pid, pid, "it has its process");
		containers_fini(&found);
	}
	is_int(containers_find(top, "dfg-we", &found, &err), CONTAINER_NONE,
	       "the beginning of the name is not enough");
	is_int(containers_find(top, "fg-web", &found, &err), CONTAINER_NONE, "nor is its end");
	is_int(containers_find(top, "", &found, &err), CONTAINER_NONE, "nor is nothing");
	is_int(containers_find(top, "/dfg-web", &found, &err), CONTAINER_NONE, "nor is a path");
	actor_end(pid);
	init = spawn("dfg-web", true);
	containers_fini(&c);
	c = list();
	ok(find(&c, "dfg-web") != NULL, "the first process of a pid namespace makes it one");
	actor_end(init);
	init = spawn(make_cgroup("dfg web"), true);
	containers_fini(&c);
	c = list();
	ok(!find(&c, "dfg web"), "but not by what is no name");
	actor_end(init);
}

/* ---- an engine's monitor ---- */

static bool shim_id(const char *const *argv, const char *cgroup, char ret[static 256])
{
	struct monitored m = start_monitor(argv, cgroup, NULL);
	bool found = engine_shim_id(m.pid, ret);

	end_monitor(m);
	return found;
}

static void test_shim_id(void)
{
	static const struct {
		const char *argv[8];
		const char *want, *check;
	} rows[] = {
		{{"containerd-shim", "-namespace", "shop", "-id", "web"},
		 "web",
		 "the id of a containerd shim's container is in its arguments"},
		{{"containerd-shim", "-id=web"}, "web", "also after an equals sign"},
		{{"containerd-shim", "-id", "a b"}, NULL, "what is no name is no id"},
		{{"containerd-shim", "-namespace", "shop"}, NULL, "a shim without an id has none"},
		{{"conmon", "-id", "web"}, NULL, "conmon's containers have ids of their own"},
		{{"bash", "-id", "web"}, NULL, "another program has no container"},
	};
	char id[256] = "untouched";

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		strcpy(id, "untouched");
		is_int(shim_id(rows[i].argv, "dfg-names", id), rows[i].want != NULL, "%s",
		       rows[i].check);
		is_str(id, rows[i].want ? rows[i].want : "untouched", "it is what is returned");
	}
	ok(!shim_id(rows[0].argv, NULL, id), "a process in the shim's own cgroup is the runtime's");
	ok(!engine_shim_id(1, id), "process 1 has no shim");
	ok(!engine_shim_id(4194304, id), "nor has one that does not exist");
}

static struct engine_reader reader = ENGINE_READER_EMPTY;

/* Names of the process below a monitor: "name pod namespace", "pause" and "forged". */
static void names(const char *const *argv, const char *cgroup, const char *cwd, const char *id,
		  const char *want, const char *check)
{
	struct monitored m = start_monitor(argv, cgroup, cwd);
	CLEANUP(free) char *got = NULL;
	struct engine_names n;

	engine_names_find(&reader, m.pid, id, &n);
	got = xasprintf("%s %s %s%s%s", n.name, n.pod, n.namespace, n.is_pause ? " pause" : "",
			n.is_forged ? " forged" : "");
	is_str(got, want, "%s", check);
	end_monitor(m);
}

#define KUBERNETES_KEYS                                                                            \
	"\"io.kubernetes.cri.container-name\":\"app\",\"io.kubernetes.cri.sandbox-name\":"         \
	"\"web-1\",\"io.kubernetes.cri.sandbox-namespace\":\"prod\""

#define KUBERNETES                                                                                 \
	"{\"annotations\":{" KUBERNETES_KEYS "},\"process\":{\"rlimits\":[18446744073709551615]}}"

static void test_containerd(void)
{
	static const char *const shim[] = {"containerd-shim", "-namespace", "k8s.io", NULL};
	static const char *const other[] = {"containerd-shim", "-namespace", "build", NULL};
	static const char *const odd[] = {"containerd-shim", "-namespace", "a b", NULL};
	CLEANUP(free) char *cwd = path_of("bundles/first");
	CLEANUP(free) char *link = path_of("bundles/link");

	put_text("bundles/first/config.json", 0644, "{}");
	put_text("bundles/app/config.json", 0644, KUBERNETES);
	put_text("bundles/nerdctl/config.json", 0644,
		 "{\"annotations\":{\"nerdctl/name\":\"web\",\"nerdctl/namespace\":\"build\"}}");
	put_text("bundles/both/config.json", 0644,
		 "{\"annotations\":{\"nerdctl/name\":\"web\"," KUBERNETES_KEYS "}}");
	put_text("bundles/open/config.json", 0646, KUBERNETES);
	put_text("bundles/broken/config.json", 0644, "{");
	if (symlink("app", link) < 0)
		abort();
	names(shim, "dfg-names", cwd, "app", "app web-1 prod",
	      "names in Kubernetes come from the annotations of the bundle");
	names(shim, "dfg-names", cwd, "first", "  k8s.io",
	      "a bundle without annotations leaves containerd's namespace");
	names(shim, "dfg-names", cwd, "none", "  k8s.io", "so does a bundle that is missing");
	names(shim, "dfg-names", cwd, "broken", "  k8s.io", "and one that is no JSON");
	names(shim, "dfg-names", cwd, "open", "  k8s.io", "and one that everyone can write");
	names(shim, "dfg-names", cwd, "link", "  k8s.io", "and one that is a link");
	names(other, "dfg-names", cwd, "app", "  build forged",
	      "another namespace is not the CRI's: case 87");
	names(other, "dfg-names", cwd, "nerdctl", "web  build", "nerdctl has its own key");
	names(shim, "dfg-names", cwd, "nerdctl", "web  k8s.io forged",
	      "in the CRI's namespace, too, where the namespace is another: case 87");
	names(shim, "dfg-names", cwd, "both", "app web-1 prod forged",
	      "a pod's container is not named by nerdctl's key: case 87");
	names(odd, "dfg-names", cwd, "first", "  ", "what is no name is no namespace");
	names(shim, "dfg-names", cwd, "../first", "  ", "an id that is a path has no names");
	names(shim, NULL, cwd, "app", "  ",
	      "a monitor in the container's own cgroup was started by the container");
}

static void put_docker(const char *id, const char *mounts, const char *known)
{
	CLEANUP(free) char *bundle = xasprintf("bundles/%s/config.json", id);
	CLEANUP(free) char *data = xasprintf("data/containers/%s/config.v2.json", id);

	put_text(bundle, 0644, mounts);
	put_text(data, 0600, known);
}

static char *mount_of(const char *to, const char *from)
{
	return xasprintf("{\"mounts\":[{\"destination\":\"/proc\"},{\"source\":\"x\"},"
			 "{\"destination\":\"%s\",\"source\":\"%s%s\"}]}",
			 to, top, from);
}

static void test_docker(void)
{
	static const char *const shim[] = {"containerd-shim", "-namespace", "moby", NULL};
	CLEANUP(free) char *cwd = path_of("bundles/first");
	CLEANUP(free) char *own = mount_of("/etc/hostname", "/data/containers/d1/hostname");
	CLEANUP(free) char *shared = mount_of("/etc/hostname", "/data/containers/d1/hostname");
	CLEANUP(free) char *elsewhere = mount_of("/etc/hosts", "/data/containers/d3/hostname");
	CLEANUP(free) char *other = mount_of("/etc/hostname", "/data/containers/d4/hosts");
	CLEANUP(free)
	char *twice =
		mount_of("/etc/hostname", "/containers/web/../../data/containers/d1/hostname");
	CLEANUP(free) char *outside = mount_of("/etc/hostname", "/data/hostname");
	const char *pod = "{\"Name\":\"/k8s_POD_p_n_uid_0\",\"Config\":{\"Labels\":{"
			  "\"io.kubernetes.pod.name\":\"p\"}}}";
	const char *labels = "{\"Name\":\"/x\",\"Config\":{\"Labels\":{\"io.kubernetes.pod.name\":"
			     "\"p\",\"io.kubernetes.pod.namespace\":\"n\","
			     "\"io.kubernetes.docker.type\":\"podsandbox\"}}}";

	put_docker("d1", own, "{\"Name\":\"/web\"}");
	put_docker("d2", shared, pod);
	put_docker("d7", own, labels);
	put_docker("d8", own, "{\"Name\":\"/k8s_app_p_n_uid\"}");
	put_docker("d3", elsewhere, "{\"Name\":\"/web\"}");
	put_docker("d4", other, "{\"Name\":\"/web\"}");
	put_docker("d5", twice, "{\"Name\":\"five\"}");
	put_docker("d6", outside, "{\"Name\":\"/web\"}");
	names(shim, "dfg-names", cwd, "d1", "web  ", "Docker's name is in its own directory");
	names(shim, "dfg-names", cwd, "d2", " p n pause",
	      "a container in another's network has its own, in the kubelet's form");
	names(shim, "dfg-names", cwd, "d7", "x   forged",
	      "labels, which are an image's, do not count: case 87");
	names(shim, "dfg-names", cwd, "d8", "k8s_app_p_n_uid  ",
	      "a name of another form is a name");
	names(shim, "dfg-names", cwd, "d3", "  moby", "another mount does not tell the directory");
	names(shim, "dfg-names", cwd, "d4", "  moby", "nor does another file");
	names(shim, "dfg-names", cwd, "d5", "five  ", "the last part of the path counts");
	names(shim, "dfg-names", cwd, "d6", "  moby", "a path without containers/ does not count");
}

static void test_podman(void)
{
	CLEANUP(free) char *bundle = path_of("storage/p1/userdata");
	CLEANUP(free) char *cri = path_of("cri/c1/userdata");
	const char *conmon[] = {"conmon",	  "-n",	    "first", "-b", bundle,
				"--exit-command", "podman", NULL};
	const char *posing[] = {"conmon",	  "-n",	    "k8s_app_web-1_prod_uid_0",
				"--exit-command", "podman", NULL};
	const char *no_bundle[] = {"conmon", "-n", "first", NULL};
	const char *crio[] = {"conmon", "-n", "k8s_app_web-1_prod_uid_0", "-b", cri, NULL};
	const char *sandbox[] = {"conmon", "-n", "k8s_POD_web-1_prod_uid_0", NULL};

	put_text("storage/p1/userdata/config.json", 0644, "{}");
	put_text("storage/containers.json", 0600,
		 "[{\"id\":\"p0\",\"names\":[\"zero\"]},"
		 "{\"id\":\"p1\",\"names\":[\"second\",\"b\"]},{}]");
	put_text("cri/c1/userdata/config.json", 0644,
		 "{\"annotations\":{\"io.kubernetes.cri-o.ContainerType\":\"sandbox\"}}");
	names(conmon, "dfg-names", NULL, "p1", "second  ", "podman's list has the latest name");
	names(conmon, "dfg-names", NULL, "p2", "first  ",
	      "a container that is not in it has conmon's");
	names(no_bundle, "dfg-names", NULL, "p1", "first  ",
	      "so has one whose monitor names no bundle");
	names(crio, "dfg-names", NULL, "c1", "app web-1 prod forged",
	      "CRI-O's are conmon's, whatever the pod's annotations say: case 87");
	names(sandbox, "dfg-names", NULL, "c1", " web-1 prod pause", "also those of its sandbox");
	names(posing, "dfg-names", NULL, "p1", "k8s_app_web-1_prod_uid_0  ",
	      "podman's containers are in no pod of Kubernetes: case 87");
}

static bool parse(const char *text)
{
	CLEANUP(close_fd) int fd = memfd_create("file", MFD_CLOEXEC);
	struct engine_facts f;

	return write(fd, text, strlen(text)) > 0 && lseek(fd, 0, SEEK_SET) == 0 &&
	       engine_reader_parse(&reader, ENGINE_DOCKER, "id", fd, &f);
}

/* The child that parses ends: as it would if a file had taken it over. */
static void test_reader(void)
{
	CLEANUP(close_fd) int big = memfd_create("big", MFD_CLOEXEC);
	struct engine_facts f = {.name = "untouched"};
	pid_t first;

	engine_reader_stop(&reader);
	ok(parse("{}"), "a file is parsed");
	first = reader.child.pid;
	ok(parse("[]") && !parse("{") && parse("{}"), "so are others");
	is_int(reader.child.pid, first, "by the same child");
	{
		CLEANUP(close_fd) int procfd = proc_open(first, &err);
		CLEANUP(str_fini) struct str status = {0};

		if (fs_read_file(procfd, "status", 1 << 16, &status, &err) < 0)
			abort();
		ok(strstr(status.buf, "\nSeccomp:\t2\n") &&
			   strstr(status.buf, "\nCapEff:\t0000000000000000\n"),
		   "which has no capability and few system calls");
		ok(geteuid() != 0 || !strstr(status.buf, "\nUid:\t0\t"), "nor is it root");
	}
	for (int i = 0; i < 3; i++) {
		kill(reader.child.pid, SIGKILL);
		ok(!parse("{}"), "a file whose child is killed is not parsed");
		ok(parse("{}"), "the next one is, by another child");
	}
	ok(reader.child.pid != first, "which has another pid");
	kill(reader.child.pid, SIGKILL);
	ok(!parse("{}") && !parse("{}"), "after the fourth no other one is started");
	engine_reader_stop(&reader);
	ok(ftruncate(big, ENGINE_FILE_MAX + 1) == 0 &&
		   !engine_reader_parse(&reader, ENGINE_DOCKER, "id", big, &f),
	   "a file that is too large is not parsed");
	is_str(f.name, "untouched", "nothing is returned for it");
	engine_reader_stop(&reader);
}

/* The list has names and ids of a shim's containers, which are in no cgroup of 64 digits. */
static void test_list_of_shim(void)
{
	static const char *const shim[] = {
		"containerd-shim", "-namespace", "blue", "-id", "web", NULL};
	CLEANUP(free) char *cwd = path_of("bundles/first");
	struct monitored m = start_monitor(shim, make_cgroup("dfg-shim"), cwd);
	struct monitored n = start_monitor(shim, make_cgroup("dfg-shim2"), cwd);
	CLEANUP(containers_fini) struct containers c = list();
	const struct container *at = find(&c, "web");
	size_t count = 0;

	for (size_t i = 0; i < c.count; i++)
		count += !strcmp(c.list[i].id, "web");
	if (ok(at != NULL, "a shim's container is listed")) {
		is_str(at->namespace, "blue", "with its namespace");
		ok(at->pid == m.pid || at->pid == n.pid, "with its process");
	}
	is_int(count, 1, "the same id in the same namespace is listed once");
	end_monitor(m);
	end_monitor(n);
}

static void make_cgroups(void)
{
	static const char *const hierarchies[] = {"", "/freezer", "/pids", "/unified"};

	for (size_t i = 0; i < sizeof(hierarchies) / sizeof(*hierarchies) && !cgroups; i++) {
		CLEANUP(free)
		/* Longer than the paths of other hierarchies: the longest counts. */
		char *path = xasprintf("/sys/fs/cgroup%s/dfg-test.%0150d", hierarchies[i],
				       (int)getpid());
		CLEANUP(free) char *procs = xasprintf("%s/cgroup.procs", path);

		if (mkdir(path, 0755) < 0)
			continue;
		if (access(procs, W_OK) == 0)
			cgroups = xstrdup(path);
		else
			rmdir(path);
	}
}

static void remove_cgroups(void)
{
	static const char *const made[] = {
		ID "/below", ID "/" INNER, "dfg-web/" INNER, ID,	 "docker-" INNER ".scope",
		"dfg-web",   "dfg web",	   "dfg-names",	     "dfg-shim", "dfg-shim2",
		""};

	for (size_t i = 0; cgroups && i < sizeof(made) / sizeof(*made); i++) {
		CLEANUP(free) char *path = xasprintf("%s/%s", cgroups, made[i]);

		/* A process that was killed leaves its cgroup when it is reaped by another. */
		for (int k = 0; rmdir(path) < 0 && errno == EBUSY && k < 500; k++)
			usleep(10000);
	}
	free(cgroups);
}

int main(void)
{
	if (getenv("DFG_TEST_MONITOR"))
		return monitor(getenv("DFG_TEST_MONITOR"));
	scratch_make();
	close(STDIN_FILENO); /* so that 0 is a descriptor as any other */
	test_records();
	test_init_record();
	test_of_pid();
	test_namespace();
	test_reader();
	if (geteuid() == 0)
		make_cgroups();
	if (cgroups) {
		test_cgroup();
		test_shared();
		test_sub_cgroup();
		test_forged();
		test_forged_by_runtime();
		test_component();
		make_cgroup("dfg-names");
		test_shim_id();
		test_containerd();
		test_docker();
		test_podman();
		test_list_of_shim();
	} else {
		ok(true, "containers in cgroups # SKIP no cgroup can be made here");
	}
	engine_reader_stop(&reader);
	remove_cgroups();
	scratch_remove();
	return tap_done();
}
