// SPDX-License-Identifier: Apache-2.0
/* dfg-doctor's probes on a machine made of files. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/proc.h"
#include "doctor/probe.h"
#include "doctor/stack_depth.h"
#include "lib/tap.h"

static struct findings found;
static struct probe machine = {.root = "/nonexistent/dfg", .f = &found};
static char top[] = "/tmp/dfg-doctor.XXXXXX";
static struct err err;

/* A file of the machine, with the directories above it. */
static void put(const char *path, const char *text)
{
	CLEANUP(free) char *dir = xasprintf("%s/%.*s", top, (int)(strrchr(path, '/') - path), path);
	CLEANUP(close_fd) int fd = fs_make_dirs(dir, 0755, &err);

	if (fs_replace_file(fd, strrchr(path, '/') + 1, 0755, text, strlen(text), &err) < 0)
		abort();
}

static void take_away(const char *path)
{
	unlinkat(machine.rootfd, path, 0);
}

static void forget(void)
{
	findings_fini(&found);
	findings_about(&found, "machine", 0, "this machine");
}

static const struct finding *finding_of(const char *what)
{
	for (size_t i = 0; i < found.count; i++)
		if (!strcmp(found.list[i].what, what))
			return &found.list[i];
	return NULL;
}

/* True if the probe finds `what` in this state, with these words. */
static void finds(void (*probe)(const struct probe *), const char *what, enum finding_state state,
		  const char *words)
{
	const struct finding *f;

	forget();
	probe(&machine);
	f = finding_of(what);
	ok(f && f->state == state && strstr(f->why, words), "%s: %d, \"%s\"", what, (int)state,
	   words);
	if (f && (f->state != state || !strstr(f->why, words)))
		printf("#  got: %d, \"%s\"\n", (int)f->state, f->why);
}

static void test_kernel(void)
{
	forget();
	probe_kernel(&machine);
	is_int((int64_t)found.count, 0, "there is no finding about what cannot be seen");
	put("proc/sys/kernel/osrelease", "4.19.0-27-amd64\n");
	finds(probe_kernel, "kernel", FINDING_NO, "Linux 4.19.0-27-amd64: no openat2");
	put("proc/sys/kernel/osrelease", "5.10.0\n");
	finds(probe_kernel, "kernel", FINDING_NOTE, "5.14");
	put("proc/sys/kernel/osrelease", "6.1.0-40-amd64\n");
	finds(probe_kernel, "kernel", FINDING_OK, "Linux 6.1.0-40-amd64");
	ok(!finding_of("ptrace"), "no Yama");
	put("proc/sys/kernel/yama/ptrace_scope", "3\n");
	finds(probe_kernel, "ptrace", FINDING_NOTE, "ptrace_scope 3");
}

static void test_rights(void)
{
	if (geteuid() != 0) {
		finds(probe_rights, "rights", FINDING_NO, "not root");
		return;
	}
	put("proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n");
	finds(probe_rights, "rights", FINDING_OK, "all capabilities");
	put("proc/self/status", "Name:\tx\nCapEff:\t000001ffffdfffff\n");
	finds(probe_rights, "rights", FINDING_NOTE, "without CAP_SYS_ADMIN");
	put("proc/self/status", "Name:\tx\nCapEff:\t00000000a80425fb\n");
	finds(probe_rights, "rights", FINDING_NO, "without CAP_SYS_PTRACE");
	put("proc/sys/kernel/perf_event_mlock_kb", "516\n");
	finds(probe_buffers, "buffers", FINDING_NO, "516 is less than");
	put("proc/sys/kernel/perf_event_mlock_kb", "8192\n");
	finds(probe_buffers, "buffers", FINDING_OK, "8192");
}

static void test_symbols(void)
{
	finds(probe_symbols, "symbols", FINDING_NOTE, "no /proc/kallsyms");
	put("proc/sys/kernel/kptr_restrict", "2\n");
	put("proc/kallsyms", "0000000000000000 T _stext\n0000000000000000 T _text\n");
	finds(probe_symbols, "symbols", FINDING_NOTE, "(kptr_restrict 2)");
	put("proc/kallsyms", "0000000000000000 A fixed\nffffffff81000000 T _stext\n");
	finds(probe_symbols, "symbols", FINDING_OK, "kallsyms");
}

static void test_room(void)
{
	finds(probe_room, "room", FINDING_OK, "free in /nonexistent/dfg");
	machine.root = "/proc/dfg";
	finds(probe_room, "room", FINDING_NO, "0 MiB free");
	machine.root = "/nonexistent/dfg";
}

#define RUNTIMES                                                                                   \
	"{\"runtimes\": {\"other\": {\"path\": \"/x\"}, \"dfg\": {\"path\": \"/l/dfg-runtime\"}}"

static void test_engines(void)
{
	forget();
	probe_engines(&machine);
	is_int((int64_t)found.count, 0, "no engine");
	put("usr/sbin/dockerd", "");
	finds(probe_engines, "docker", FINDING_NOTE, "no hook");
	put("etc/docker/daemon.json", "{broken");
	finds(probe_engines, "docker", FINDING_NOTE, "no hook");
	put("etc/docker/daemon.json", "[1]");
	finds(probe_engines, "docker", FINDING_NOTE, "no hook");
	put("etc/docker/daemon.json", RUNTIMES "}");
	finds(probe_engines, "docker", FINDING_NOTE, "/l/dfg-runtime, which is not there");
	put("l/dfg-runtime", "");
	finds(probe_engines, "docker", FINDING_NOTE, "containers that ask for it");
	put("etc/docker/daemon.json", RUNTIMES ", \"default-runtime\": \"other\"}");
	finds(probe_engines, "docker", FINDING_NOTE, "containers that ask for it");
	put("etc/docker/daemon.json", RUNTIMES ", \"default-runtime\": \"dfg\"}");
	finds(probe_engines, "docker", FINDING_OK, "/l/dfg-runtime, by /etc/docker/daemon.json");

	put("usr/bin/podman", "");
	put("etc/containers/oci/hooks.d/a.json", "{\"hook\": {\"path\": \"/l/other\"}}");
	put("etc/containers/oci/hooks.d/b.conf", "{\"hook\": {\"path\": \"/l/dfg-hook\"}}");
	finds(probe_engines, "podman", FINDING_NOTE, "no hook");
	put("l/dfg-hook", "");
	put("etc/containers/oci/hooks.d/dfg.json",
	    "{\"hook\": {\"path\": \"/l/dfg-hook\"}, \"when\": {\"always\": true}}");
	finds(probe_engines, "podman", FINDING_OK, "hooks.d/dfg.json");
	ok(!finding_of("cri-o"), "nothing of an engine that is not installed");

	put("usr/bin/containerd", "");
	put("etc/containerd/config.toml",
	    "version = 2\n# base_runtime_spec = \"/etc/spec.json\"\n");
	put("etc/spec.json",
	    "{\"hooks\": {\"prestart\": [{\"path\": \"/x\"}, {\"path\": \"/l/dfg-hook\"}]}}");
	finds(probe_engines, "containerd", FINDING_NOTE, "no hook");
	put("etc/containerd/config.toml",
	    "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\n"
	    "  base_runtime_spec = '/etc/spec.json'\n");
	finds(probe_engines, "containerd", FINDING_OK, "by /etc/spec.json");
	take_away("etc/spec.json");
	finds(probe_engines, "containerd", FINDING_NOTE, "no hook");
}

static void test_stack_pointer(void)
{
	uint64_t sp = 1;

	ok(stack_pointer_parse("202 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffee7c70b30 0x7f7830cf5f16\n",
			       &sp) &&
		   sp == 0x7ffee7c70b30,
	   "a system call");
	ok(stack_pointer_parse("-1 0x7ffee7c70b38 0x7f7830cf5f16\n", &sp) && sp == 0x7ffee7c70b38,
	   "blocked elsewhere");
	ok(!stack_pointer_parse("running\n", &sp), "running");
	ok(!stack_pointer_parse("", &sp) && !stack_pointer_parse(" ", &sp) &&
		   !stack_pointer_parse("0x1 0x2", &sp) && !stack_pointer_parse("1 0x 0x2", &sp),
	   "garbage");
}

static void test_depths(void)
{
	CLEANUP(close_fd) int procfd = -1;
	struct stack_depths d = {0};
	int hold[2];
	pid_t pid;

	if (pipe(hold) < 0)
		abort();
	pid = fork();
	if (pid == 0) {
		char deep[100000];

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		memset(deep, 1, sizeof(deep));
		for (;;)
			(void)!read(hold[0], deep, sizeof(deep));
	}
	procfd = proc_open(pid, &err);
	for (int i = 0; i < 200 && !d.asleep; i++) {
		sleep_ms(10);
		if (stack_depths_read(procfd, 65536, &d, &err) < 0)
			break;
	}
	is_int((int64_t)d.threads, 1, "a thread");
	if (geteuid() == 0) {
		is_int((int64_t)d.asleep, 1, "asleep");
		is_int((int64_t)d.deeper, 1, "deep");
		ok(d.deepest > 100000 && d.deepest < 1 << 20, "%d bytes", (int)d.deepest);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ok(stack_depths_read(procfd, 0, &d, &err) < 0, "gone");
	close(hold[0]);
	close(hold[1]);
}

static int pause_always(void *arg)
{
	for (;;)
		pause();
	return arg != NULL;
}

/* Two stacks in one mapping: what lies above was never touched. */
static void test_merged_stacks(void)
{
	char *map = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CLEANUP(close_fd) int procfd = -1;
	struct stack_depths d = {0};
	pid_t pid = clone(pause_always, map + (1 << 19), SIGCHLD, NULL);

	procfd = proc_open(pid, &err);
	for (int i = 0; i < 200 && !d.asleep && stack_depths_read(procfd, 65536, &d, &err) == 0;
	     i++)
		sleep_ms(10);
	if (geteuid() == 0) {
		is_int((int64_t)d.asleep, 1, "a stack in the middle of a mapping");
		ok(d.deepest > 0 && d.deepest <= 16384, "  ends there: %d bytes", (int)d.deepest);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	munmap(map, 1 << 20);
}

static void test_findings(void)
{
	json_t *all, *one;

	forget();
	finding_add(&found, FINDING_OK, "a", "", "well");
	is_int(findings_worst(&found), FINDING_OK, "all well");
	findings_about(&found, "jvm", 7, "JVM 7");
	finding_add(&found, FINDING_NOTE, "b", "do \"so\"", "of\033[31m %d", 1);
	is_int(findings_worst(&found), FINDING_NOTE, "a note");
	all = findings_json(&found);
	one = json_array_get(all, 1);
	is_str(json_string_value(json_object_get(one, "about")), "jvm", "what about");
	is_int(json_integer_value(json_object_get(one, "pid")), 7, "which");
	is_str(json_string_value(json_object_get(one, "state")), "note", "state");
	is_str(json_string_value(json_object_get(one, "why")), "of?[31m 1", "cleaned");
	is_str(json_string_value(json_object_get(one, "advice")), "do \"so\"", "advice");
	ok(!json_object_get(json_array_get(all, 0), "pid"), "the machine has no pid");
	json_decref(all);
	findings_fini(&found);
}

/* As in a container with a seccomp filter; there is no way back. */
static void test_refused(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	struct err why;

	err_set(&why, 0, "perf recorded nothing");
	if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(perf_event_open), 0) < 0 ||
	    seccomp_load(filter) < 0)
		abort();
	seccomp_release(filter);
	finds(probe_events, "events", FINDING_NO, "refuses perf_event_open(2)");
	is_int((int64_t)found.count, 1, "then there is no finding about stacks and counters");
	probe_explain("/nonexistent", &why);
	ok(has_prefix(why.msg, "perf recorded nothing; "), "explained: %s", why.msg);
	findings_fini(&found);
}

int main(void)
{
	if (!mkdtemp(top))
		abort();
	machine.rootfd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_kernel();
	test_rights();
	test_symbols();
	test_room();
	test_engines();
	test_stack_pointer();
	test_depths();
	test_merged_stacks();
	test_findings();
	test_refused();
	fs_remove_tree(AT_FDCWD, top);
	return tap_done();
}
