// SPDX-License-Identifier: Apache-2.0
/* dfg-doctor's probes on a machine made of files. */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "lib/doctorbox.h"
#include "record/budget.h"
#include "record/perf.h"

static void check_kernel(const char *release, enum finding_state state, const char *why)
{
	CLEANUP(free) char *text = xasprintf("%s\n", release);

	put("proc/sys/kernel/osrelease", text);
	finds(probe_kernel, "kernel", state, why);
}

static void test_kernel(void)
{
	static const struct {
		const char *release;
		enum finding_state state;
		const char *why;
	} row[] = {
		{"4.19.0-27-amd64", FINDING_NO, "Linux 4.19.0-27-amd64: no openat2"},
		{"5.5.19", FINDING_NO, "Linux 5.5.19: no openat2"},
		{"5.6.0", FINDING_NOTE, "Linux 5.6.0: the hook's mounts need 5.14"},
		{"5.13.0", FINDING_NOTE, "Linux 5.13.0: the hook's mounts need 5.14"},
		{"5.14.0", FINDING_OK, "Linux 5.14.0"},
		{"6.1.0-40-amd64", FINDING_OK, "Linux 6.1.0-40-amd64"},
	};

	forget();
	probe_kernel(&machine);
	is_int((int64_t)found.count, 0, "there is no finding about what cannot be seen");
	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		check_kernel(row[i].release, row[i].state, row[i].why);
	ok(!finding_of("ptrace"), "no Yama");
	put("proc/sys/kernel/yama/ptrace_scope", "2\n");
	finds(probe_kernel, "kernel", FINDING_OK, "Linux 6.1.0-40-amd64");
	ok(!finding_of("ptrace"), "root may read memory where users may not");
	put("proc/sys/kernel/yama/ptrace_scope", "3\n");
	finds(probe_kernel, "ptrace", FINDING_NOTE, "ptrace_scope 3");
}

static void check_rights(const char *caps, enum finding_state state, const char *why)
{
	CLEANUP(free) char *text = xasprintf("Name:\tx\nCapEff:\t%s\nCapBnd:\t0\n", caps);

	put("proc/self/status", text);
	if (geteuid() != 0)
		finds(probe_rights, "rights", FINDING_NO, "not root");
	else
		finds(probe_rights, "rights", state, why);
}

static void test_rights(void)
{
	CLEANUP(free) char *ns = path_of("proc/self/ns");
	CLEANUP(free) char *pid = xasprintf("%s/pid", ns);
	struct stat st;

	check_rights("000001ffffffffff", FINDING_OK, "root, with all capabilities needed");
	check_rights("0000000000280080", FINDING_OK, "root, with all capabilities needed");
	check_rights("000001ffffdfffff", FINDING_NOTE, "without CAP_SYS_ADMIN");
	check_rights("000001ffffffff7f", FINDING_NOTE, "CAP_SETUID: no mounts");
	check_rights("00000000a80425fb", FINDING_NO, "without CAP_SYS_PTRACE");
	ok(!finding_of("pids"), "an unknown pid namespace is no finding");
	if (mkdir(ns, 0755) < 0 || symlink("/proc/self/ns/pid", pid) < 0 ||
	    stat("/proc/self/ns/pid", &st) < 0)
		abort();
	forget();
	probe_rights(&machine);
	/* The number of the first one, include/linux/proc_ns.h */
	is_int(finding_of("pids") != NULL, st.st_ino != 0xEFFFFFFC,
	       "there is one where it is not the host's");
	unlink(pid);
	put("proc/self/ns/pid", "");
	finds(probe_rights, "pids", FINDING_NOTE, "other containers are not seen");
}

static void check_symbols(const char *kallsyms, enum finding_state state, const char *why)
{
	put("proc/kallsyms", kallsyms);
	finds(probe_symbols, "symbols", state, why);
}

static void test_symbols(void)
{
	finds(probe_symbols, "symbols", FINDING_NOTE, "no /proc/kallsyms");
	put("proc/sys/kernel/kptr_restrict", "2\n");
	check_symbols("", FINDING_NOTE, "no /proc/kallsyms");
	check_symbols("0000000000000000 T _stext\n0000000000000000 T _text\n", FINDING_NOTE,
		      "(kptr_restrict 2)");
	check_symbols("0000000000000000 A fixed\nffffffff81000000 T _stext\n", FINDING_OK,
		      "kallsyms (kptr_restrict 2)");
	check_symbols("ffffffff81000000 T _stext\n0000000000000000 A fixed\n", FINDING_OK,
		      "kallsyms");
	check_symbols("0000000000000000 A a\n0000000000000000 A b\n0000000000000000 A c\n"
		      "0000000000000001 T d",
		      FINDING_OK, "kallsyms");
	take_away("proc/sys/kernel/kptr_restrict");
	check_symbols("0 T _stext\n", FINDING_NOTE, "(kptr_restrict 0)");
}

/* ---- room ---- */

static char *size_words(uint64_t bytes)
{
	double mib = (double)bytes / (1 << 20);

	return mib < 1024 ? xasprintf("%.0f MiB", mib) : xasprintf("%.1f GiB", mib / 1024);
}

/* A file system of this size. */
static void check_size(uint64_t kib, enum finding_state state, const char *name)
{
	CLEANUP(free) char *options = xasprintf("size=%lluk", (unsigned long long)kib);
	uint64_t samples = (uint64_t)probe_cpus() * PERF_FREQUENCY * PERF_SECONDS;
	CLEANUP(free) char *most = size_words(samples * (probe_stack_bytes() + 1024));
	CLEANUP(free) char *is = size_words(kib << 10);
	CLEANUP(free) char *want = NULL;

	if (mount("tmpfs", top, "tmpfs", 0, options) < 0)
		abort();
	want = state == FINDING_NO
		       ? xasprintf("%s free in %s", is, top)
		       : xasprintf("%s free in %s; with all processors busy 30 s take %s", is, top,
				   most);
	forget();
	probe_room(&machine);
	check_found("disk", state, want,
		    state == FINDING_NO	    ? "free some, or choose another directory with --root"
		    : state == FINDING_NOTE ? "record shorter, or with --stack 16384"
					    : "",
		    name);
	umount(top);
}

static void test_sizes(void)
{
	uint64_t most = (uint64_t)probe_cpus() * PERF_FREQUENCY * PERF_SECONDS *
			(probe_stack_bytes() + 1024);
	uint64_t enough = (most + 4095) / 4096 * 4;

	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		ok(true, "file systems of all sizes # SKIP not permitted here");
		return;
	}
	machine.root = top;
	check_size((64 << 10) - 4, FINDING_NO, "less than 64 MiB are too few");
	check_size(64 << 10, FINDING_NOTE, "64 MiB are enough for a short recording");
	check_size(enough - 4, FINDING_NOTE, "a page less than a whole recording is not enough");
	check_size(enough, FINDING_OK, "a whole recording has room");
	check_size((enough + (1 << 20)) & ~3ull, FINDING_OK, "a large file system has GiB");
	machine.root = "/nonexistent/dfg";
}

static void check_room(const char *root, enum finding_state state, const char *words)
{
	machine.root = root;
	finds(probe_room, "disk", state, words);
	machine.root = "/nonexistent/dfg";
}

static void test_room(void)
{
	check_room("/nonexistent/dfg", FINDING_OK, "free in /nonexistent/dfg");
	check_room("/proc/dfg", FINDING_NO, "0 MiB free");
	check_room("/proc/self/stat/dfg", FINDING_NO,
		   "/proc/self/stat/dfg cannot be read: Not a directory");
	check_room("nonexistent", FINDING_NO, "nonexistent cannot be read: No such file");
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
	forget();
	probe_engines(&machine);
	ok(!finding_of("cdi"), "a device that is not described is no finding");
	put("etc/cdi/dfg.json",
	    "{\"devices\":[{\"containerEdits\":{\"hooks\":[{\"path\":\"/l/dfg-hook\"}]}}]}");
	finds(probe_engines, "cdi", FINDING_NOTE, "containers that ask for it get /l/dfg-hook");
	ok(!finding_of("runc"), "bundles are not looked for");
	take_away("etc/spec.json");
	finds(probe_engines, "containerd", FINDING_NOTE, "no hook");
}

static void test_budgets(void)
{
	finds(probe_budgets, "files", FINDING_OK, "with symbols: at most 512 MiB");
	finds(probe_budgets, "jvms", FINDING_OK, "JVMs that are read at once: at most 64");
	finds(probe_budgets, "copying", FINDING_OK, "copying files, each time: at most 10 s");
	forget();
	probe_budgets(&machine);
	is_int((int64_t)found.count, BUDGET_COUNT, "each budget is a finding");
}

int main(void)
{
	doctorbox_make();
	machine.root = "/nonexistent/dfg";
	test_kernel();
	test_rights();
	test_symbols();
	test_room();
	test_sizes();
	test_engines();
	test_budgets();
	doctorbox_remove();
	return tap_done();
}
