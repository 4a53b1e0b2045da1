// SPDX-License-Identifier: Apache-2.0
/* dfg-doctor's findings in their whole text: about engines, containers and their processes. */
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/fs.h"
#include "common/proc.h"
#include "doctor/probe.h"
#include "doctor/stack_depth.h"
#include "lib/tap.h"
#include "setup/daemon.h"

static struct findings found;
static char top[] = "/tmp/dfg-findings.XXXXXX";
static struct probe machine = {.root = top, .f = &found};
static struct err err;

/* A file of the machine, with the directories above it. */
static void put(const char *path, const char *text)
{
	CLEANUP(free) char *dir = xasprintf("%s/%.*s", top, (int)(strrchr(path, '/') - path), path);
	CLEANUP(close_fd) int fd = fs_make_dirs(dir, 0755, &err);

	if (fs_replace_file(fd, strrchr(path, '/') + 1, 0755, text, strlen(text), &err) < 0)
		abort();
}

static void forget(void)
{
	findings_fini(&found);
	findings_about(&found, "machine", 0, "this machine");
}

/* The findings as findings_print prints them. Owned. */
static char *printed(void)
{
	CLEANUP(close_fd) int file = memfd_create("stdout", MFD_CLOEXEC);
	CLEANUP(close_fd) int saved = dup(STDOUT_FILENO);
	struct str ret = {0};

	str_adds(&ret, "");
	fflush(stdout);
	dup2(file, STDOUT_FILENO);
	findings_print(&found);
	dup2(saved, STDOUT_FILENO);
	lseek(file, 0, SEEK_SET);
	if (fs_read_all(file, 1 << 20, &ret, &err) < 0)
		abort();
	return ret.buf;
}

static void check_printed(const char *want, const char *name)
{
	CLEANUP(free) char *got = printed();

	is_str(got, want, "%s", name);
}

static void test_print(void)
{
	findings_fini(&found);
	check_printed("", "nothing is printed of no findings");
	forget();
	check_printed("", "nor of a heading without findings");
	finding_add(&found, FINDING_OK, "a", "", "well");
	finding_add(&found, FINDING_NOTE, "long-word-here", "do it", "so so");
	findings_about(&found, "jvm", 5, "JVM %d", 5);
	finding_add(&found, FINDING_NO, "c", "give up", "%s\n", "bad");
	finding_add(&found, FINDING_OK, "d", "", "%s", "");
	check_printed("this machine\n"
		      "  ok    a          well\n"
		      "  note  long-word-here so so → do it\n"
		      "\n"
		      "JVM 5\n"
		      "  no    c          bad? → give up\n"
		      "  ok    d          \n",
		      "each heading is printed once, a blank line before the second");
	is_int(findings_worst(&found), FINDING_NO, "the worst counts, wherever it is");
	is_int(found.list[1].pid, 0, "a finding about the machine has no pid");
	is_int(found.list[2].pid, 5, "one about a JVM has its pid");
	is_str(found.list[3].about, "jvm", "the subject stays until the next");
	findings_fini(&found);
	is_int((int64_t)found.count, 0, "freed findings are empty");
	is_int(findings_worst(&found), FINDING_OK, "nothing is well");
}

static void check_json(size_t i, const char *want)
{
	json_t *all = findings_json(&found);
	CLEANUP(free) char *got = json_dumps(json_array_get(all, i), JSON_COMPACT);

	is_str(got, want, "finding %zu as JSON", i);
	json_decref(all);
}

static void test_json(void)
{
	forget();
	finding_add(&found, FINDING_NO, "a", "x", "y");
	findings_about(&found, "jvm", 5, "JVM 5");
	finding_add(&found, FINDING_OK, "b", "", "z");
	check_json(0, "{\"about\":\"machine\",\"what\":\"a\",\"state\":\"no\",\"why\":\"y\","
		      "\"advice\":\"x\"}");
	check_json(1, "{\"about\":\"jvm\",\"what\":\"b\",\"state\":\"ok\",\"why\":\"z\","
		      "\"advice\":\"\",\"pid\":5}");
}

/* ---- helpers ---- */

static void check_number(const char *text, long want, const char *name)
{
	put("proc/number", text);
	is_int(probe_number(&machine, "proc/number", 7), want, "%s", name);
}

static void check_version(const char *text, bool want, const char *name)
{
	put("proc/sys/kernel/osrelease", text);
	is_int(probe_kernel_is(&machine, 5, 14), want, "%s", name);
}

static void check_capable(const char *text, int cap, bool want, const char *name)
{
	put("proc/self/status", text);
	is_int(probe_capable(&machine, cap), want, "%s", name);
}

static void test_helpers(void)
{
	is_int(probe_number(&machine, "proc/none", 7), 7, "a missing file has the usual number");
	check_number("3\n", 3, "a number is read");
	check_number("-1\n", -1, "a negative number is read");
	check_number("0\n", 0, "0 is a number");
	check_number("x\n", 7, "a word is none");
	check_number("", 7, "nor is an empty file");
	ok(!probe_kernel_is(&machine, 0, 0), "an unknown kernel is of no version");
	check_version("5.14.0\n", true, "the same version is enough");
	check_version("5.13.9\n", false, "one before it is not");
	check_version("5.15\n", true, "one after it is");
	check_version("6.1.0-40-amd64\n", true, "so is a later one with a lower second number");
	check_version("4.19.0\n", false, "an earlier one with a higher second number is not");
	check_version("5\n", false, "a version has two numbers");
	ok(!probe_capable(&machine, 0), "without a status there is no capability");
	check_capable("Name:\tx\n", 0, false, "nor without its line");
	check_capable("Name:\tx\nCapEff:\t0000000000000001\n", 0, true,
		      "the first bit is CAP_CHOWN");
	check_capable("Name:\tx\nCapEff:\t0000000000000001\n", 1, false, "and no other");
	check_capable("Name:\tx\nCapEff:\t0000000000200000\n", CAP_SYS_ADMIN, true,
		      "bit 21 is CAP_SYS_ADMIN");
	check_capable("Name:\tx\nCapEff:\tffffffffffdfffff\n", CAP_SYS_ADMIN, false,
		      "all others are not");
	ok(probe_cpus() >= 1, "there is a processor");
	ok(probe_stack_bytes() >= 1024, "a part of the stack is copied");
}

/* ---- engines ---- */

static void check_engine(struct engine_setting s, const char *want, const char *name)
{
	const struct engine e = {.name = "docker"};

	forget();
	probe_engine(&machine, &e, &s);
	check_printed(want, name);
}

#define HEAD "this machine\n"

static void test_engine(void)
{
	char file[] = "/f", program[] = "/l/dfg-hook", none[] = "/l/none";

	put("l/dfg-hook", "");
	check_engine((struct engine_setting){0},
		     HEAD "  note  docker     no hook in its configuration → dfg-trigger joins its "
			  "containers when needed\n",
		     "an engine without a hook");
	check_engine((struct engine_setting){.file = file, .program = none, .for_all = true},
		     HEAD
		     "  note  docker     /f names /l/none, which is not there → install dfg, or "
		     "take it out of the file\n",
		     "a hook that is not there");
	check_engine((struct engine_setting){.file = file, .program = program},
		     HEAD
		     "  note  docker     containers that ask for it get /l/dfg-hook, by /f; the "
		     "others do not → dfg-trigger joins its containers when needed\n",
		     "a hook for some containers");
	check_engine((struct engine_setting){.file = file, .program = program, .for_all = true},
		     HEAD "  ok    docker     new containers get /l/dfg-hook, by /f\n",
		     "a hook for all containers");
	check_engine(
		(struct engine_setting){
			.file = file, .program = program, .for_all = true, .early = true},
		HEAD "  ok    docker     new containers get /l/dfg-hook, by /f; JVMs have "
		     "DebugNonSafepoints from their start\n",
		"an early hook for all containers");
}

/* This process plays the daemon, which reads its configuration only at its start. */
static void test_restart(void)
{
	static char usual[64], other[64];
	const struct daemon_kind kind = {"dfg-test-doctor", {"--config"}, usual};
	const struct engine e = {.name = "playd", .reads_once = &kind}, without = {.name = "x"};
	const struct timespec before[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	struct engine_setting s = {.file = other};
	CLEANUP(free) char *want = NULL;
	CLEANUP(free) char *want_other = NULL;

	snprintf(usual, sizeof(usual), "etc/dfg-doctor-%d.toml", (int)getpid());
	snprintf(other, sizeof(other), "/etc/dfg-spec-%d.json", (int)getpid());
	want = xasprintf(HEAD
			 "  note  restart    playd (%d) is older than the change of /%s, which "
			 "does not count yet → restart it when it suits you; containers keep "
			 "running\n",
			 (int)getpid(), usual);
	want_other = xasprintf(HEAD "  note  restart    playd (%d) is older than the change of %s, "
				    "which does not count yet → restart it when it suits you; "
				    "containers keep running\n",
			       (int)getpid(), other);
	put(usual, "");
	put(other + 1, "");
	forget();
	probe_restart(&machine, &e, usual, &s);
	check_printed("", "a daemon that does not run needs no restart");
	prctl(PR_SET_NAME, kind.program);
	probe_restart(&machine, &without, usual, &s);
	check_printed("", "nor does an engine that reads its file again");
	probe_restart(&machine, &e, usual, &s);
	check_printed(want, "a file that was changed since the start counts once");
	utimensat(machine.rootfd, usual, before, 0);
	forget();
	probe_restart(&machine, &e, usual, &s);
	check_printed(want_other, "so does the file that it names");
	s.file = NULL;
	forget();
	probe_restart(&machine, &e, usual, &s);
	check_printed("", "a daemon whose files are older needs no restart");
}

/* ---- containers ---- */

/* What is found of a container's mounts; other findings are left out. */
static void check_mounts(const struct container *c, const char *want, const char *advice,
			 const char *name)
{
	const pid_t pids[] = {c->pid};
	bool reachable = true;
	const struct finding *f;

	forget();
	probe_container(&machine, c, pids, 1, &reachable);
	f = found.count > 1 ? &found.list[1] : NULL;
	is_str(f ? f->why : NULL, want, "%s", name);
	is_str(f ? f->advice : NULL, advice, "with its advice");
	is_int(reachable, false, "the agent cannot be brought there");
	is_int((int64_t)found.count, 2, "a machine without /proc/self has no isolation");
}

static void test_container(pid_t pid)
{
	static char id[] = "id1";
	struct container c = {.id = id, .pid = pid, .is_single = true};
	static const char outside[] = "JVMs are read from outside",
			  unhooked[] = "none: it was started without dfg's hook, or has lost them";
	CLEANUP(free) char *words = xasprintf("1 with 1 thread; the first is %d", (int)pid);

	/* No capabilities, so that nothing can be joined. */

	check_mounts(&c, "none: the process is in no container", outside, "a process alone");
	is_str(found.list[0].why, words, "its threads are counted");
	is_int(found.list[0].state, FINDING_OK, "they are few enough");
	c.is_single = false;
	check_mounts(&c, unhooked, outside, "a container without the hook");
	put("containers/id1/state.json", "{\"status\": \"skip-config\", \"detail\": \"off\"}");
	check_mounts(&c, unhooked, outside, "a record of another process does not count");
	c.hooked = true;
	check_mounts(&c, "none: skip-config: off", outside, "the hook's record says why");
	put("containers/id1/state.json", "{\"status\": \"error\"}");
	check_mounts(&c, "none: error", outside, "a record may have no details");
	put("containers/id1/state.json", "{\"status\": \"error\", \"detail\": \"\"}");
	check_mounts(&c, "none: error", outside, "or an empty one");
	put("containers/id1/state.json", "{\"status\": \"mounted\"}");
	check_mounts(&c, unhooked, outside, "mounts that are gone since");
	put("containers/id1/state.json", "{}");
	check_mounts(&c, unhooked, outside, "a record without a status says nothing");
	put("containers/id1/state.json", "{");
	check_mounts(&c, unhooked, outside, "nor does a broken one");
	put("containers/id1/state.json", "");
	check_mounts(&c, unhooked, outside, "nor does an empty one");
	put("containers/id1/state.json", "{\"status\": 1}");
	check_mounts(&c, unhooked, outside, "nor does a number");
}

static void test_isolation(pid_t pid)
{
	static char id[] = "id1";
	const struct container c = {.id = id, .pid = pid};
	struct probe real = {
		.rootfd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), .root = top, .f = &found};
	CLEANUP(free)
	char *start = xasprintf("uid %u, the host's user namespace, ", (unsigned)geteuid());
	bool reachable;

	forget();
	probe_container(&real, &c, &pid, 1, &reachable);
	is_int((int64_t)found.count, 3, "processes, mounts and isolation are looked at");
	ok(has_prefix(found.list[2].why, start), "a process like this one: %s", found.list[2].why);
	ok(has_suffix(found.list[2].why, " seccomp filter: no obstacle from outside"),
	   "isolation is no obstacle");
	close(real.rootfd);
}

static void test_gone(pid_t pid)
{
	const struct container c = {.pid = pid};
	bool reachable = true;

	forget();
	probe_container(&machine, &c, &pid, 1, &reachable);
	is_int((int64_t)found.count, 1, "of a container that has ended there is one finding");
	is_int(found.list[0].state, FINDING_NO, "nothing can be recorded");
	is_str(found.list[0].advice, "start it again", "with its advice");
	ok(!reachable, "it cannot be reached");
}

/* ---- JVMs ---- */

static void check_found(const char *what, enum finding_state state, const char *want)
{
	for (size_t i = 0; i < found.count; i++) {
		if (strcmp(found.list[i].what, what) != 0)
			continue;
		is_int(found.list[i].state, state, "the state of %s", what);
		is_str(found.list[i].why, want, "and its words");
		return;
	}
	ok(false, "there is a finding about %s", what);
}

/* A process that has no tables, libjvm.so or agent. */
static void test_jvm(pid_t pid)
{
	struct jvm j = {.pid = pid, .nspid = 7, .uid = 8, .version = "21.0.1", .vendor = "Acme"};
	CLEANUP(close_fd) int procfd = proc_open(pid, &err);
	CLEANUP(free) char *heading = xasprintf("JVM %d (7 inside, uid 8)", (int)pid);

	j.procfd = procfd;
	forget();
	probe_jvm(&machine, true, &j);
	is_str(found.list[0].heading, heading, "the heading has both pids and the user");
	is_int(found.list[0].pid, pid, "findings have the host's pid");
	is_str(found.list[0].about, "jvm", "they are about a JVM");
	check_found("java", FINDING_OK, "21.0.1, Acme");
	check_found("libjvm", FINDING_NOTE, "libjvm.so cannot be opened");
	check_found("source", FINDING_NO, "neither agent nor reader: Java code will have no names");
	j.vendor[0] = '\0';
	forget();
	probe_jvm(&machine, false, &j);
	check_found("java", FINDING_OK, "21.0.1");
	j.version[0] = '\0';
	forget();
	probe_jvm(&machine, false, &j);
	check_found("java", FINDING_OK, "of unknown version");
}

/* ---- stack pointers ---- */

static void test_stack_pointers(void)
{
	static const struct {
		const char *text;
		bool good;
		uint64_t want;
		const char *name;
	} t[] = {
		{"0 0x1 0x2 0x3\n", true, 2, "the last number but one"},
		{"-1 0xab 0xcd\n", true, 0xab, "of three fields the second"},
		{"1 0x10 ", true, 0x10, "the last may be empty"},
		{"0x1 0x2\n", false, 0, "two fields are too few"},
		{"1 10 0x2\n", false, 0, "a number has its prefix"},
		{"1 0x 0x2\n", false, 0, "and digits"},
		{"1 0xg 0x2\n", false, 0, "hexadecimal ones"},
		{"running\n", false, 0, "a running thread has none"},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		uint64_t got = 0;

		is_int(stack_pointer_parse(t[i].text, &got), t[i].good, "%s", t[i].name);
		is_int((int64_t)got, (int64_t)t[i].want, "and its value");
	}
}

int main(void)
{
	pid_t pid;

	if (!mkdtemp(top))
		abort();
	machine.rootfd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	test_print();
	test_json();
	test_container(pid);
	test_isolation(pid);
	test_jvm(pid);
	test_helpers();
	test_engine();
	test_restart();
	test_stack_pointers();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	test_gone(pid);
	findings_fini(&found);
	fs_remove_tree(AT_FDCWD, top);
	return tap_done();
}
