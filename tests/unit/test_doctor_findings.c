// SPDX-License-Identifier: Apache-2.0
/* dfg-doctor's findings in their whole text: about engines, containers and their processes. */
#include <jansson.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "common/child.h"
#include "lib/actor.h"
#include "lib/doctorbox.h"
#include "lib/handlesof.h"
#include "setup/daemon.h"

static struct err err;

static void probe_with(const struct probe *p, const struct container *c, const pid_t *pids,
		       size_t n, bool *ret_reachable)
{
	CLEANUP(handles_fini) struct handles processes = handles_of(pids, n);

	probe_container(p, c, &processes, ret_reachable);
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

static void test_engine(void)
{
	char file[] = "/f", program[] = "/l/dfg-hook", none[] = "/l/none";

	put("l/dfg-hook", "");
	check_engine((struct engine_setting){0},
		     HEAD "  note  docker     no hook in its configuration → dfg-trigger sets its "
			  "containers up on demand\n",
		     "an engine without a hook");
	check_engine((struct engine_setting){.file = file, .program = none, .for_all = true},
		     HEAD
		     "  note  docker     /f names /l/none, which is not there → install dfg, or "
		     "take it out of the file\n",
		     "a hook that is not there");
	check_engine((struct engine_setting){.file = file, .program = program},
		     HEAD
		     "  note  docker     containers that ask for it get /l/dfg-hook, by /f; the "
		     "others do not → dfg-trigger sets its containers up on demand\n",
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

/* Checks what is found of a container's mounts; other findings are left out. */
static void check_mounts(const struct container *c, const char *want, const char *advice,
			 const char *name)
{
	const pid_t pids[] = {c->pid};
	bool reachable = true;
	const struct finding *f;

	forget();
	probe_with(&machine, c, pids, 1, &reachable);
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
			  unhooked[] = "none: it was started before the hook, or has lost them";
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
	probe_with(&real, &c, &pid, 1, &reachable);
	is_int((int64_t)found.count, 3, "processes, mounts and isolation are looked at");
	ok(has_prefix(found.list[2].why, start), "a process like this one: %s", found.list[2].why);
	ok(has_suffix(found.list[2].why, " seccomp filter: no obstacle from outside"),
	   "isolation is no obstacle");
	close(real.rootfd);
}

/* A machine on which the hook can work. */
static void put_able(const char *release, const char *caps)
{
	put("proc/sys/kernel/osrelease", release);
	put("proc/self/status", caps);
}

static void check_joined(const struct container *c, bool joined, const char *name)
{
	bool reachable = !joined;

	forget();
	probe_with(&machine, c, &c->pid, 1, &reachable);
	is_int(reachable, joined, "%s", name);
	is_str(found.list[1].advice,
	       joined ? "dfg-trigger sets it up on demand" : "JVMs are read from outside",
	       "its advice says what is done");
}

static void test_join(pid_t pid)
{
	static char id[] = "id1";
	static const char all[] = "Name:\tx\nCapEff:\t000001ffffffffff\n",
			  no_admin[] = "Name:\tx\nCapEff:\t000001ffffdfffff\n";
	struct container c = {.id = id, .pid = pid};

	if (probe_missing_file()) {
		ok(true, "joining # SKIP dfg-hook or the payload is not built");
		return;
	}
	put_able("5.14.0\n", all);
	check_joined(&c, true, "a container without the hook can be joined");
	c.hooked = true;
	put("containers/id1/state.json", "{\"status\": \"skip-config\"}");
	check_joined(&c, false, "one that was skipped on purpose is not");
	put("containers/id1/state.json", "{\"status\": \"error\"}");
	check_joined(&c, true, "one where the hook failed can be");
	take_away("containers/id1/state.json");
	check_joined(&c, true, "so can one whose record is gone");
	c.hooked = false;
	put_able("5.13.0\n", all);
	check_joined(&c, false, "an old kernel cannot join");
	put_able("5.14.0\n", no_admin);
	check_joined(&c, false, "nor can who may not mount");
	c.is_single = true;
	put_able("5.14.0\n", all);
	check_joined(&c, false, "a process in no container is not joined");
	take_away("proc/self/status");
	take_away("proc/sys/kernel/osrelease");
}

/* ---- mounts ---- */

#define PAYLOAD "36 35 0:31 / /dev/dfg ro - squashfs /dev/loop0 ro\n"
#define OUT	"37 35 0:32 / /dev/dfg-out rw - ext4 /dev/loop1 rw\n"
#define CTL	"38 35 0:33 / /dev/dfg-ctl ro - tmpfs tmpfs ro\n"

static void check_has_mounts(const char *mountinfo, bool want, const char *name)
{
	CLEANUP(close_fd) int dirfd = -1;

	put("process/mountinfo", mountinfo);
	dirfd = openat(machine.rootfd, "process", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	is_int(probe_has_mounts(dirfd), want, "%s", name);
}

static void test_has_mounts(void)
{
	check_has_mounts(PAYLOAD OUT CTL, true, "all three mounts make a share");
	check_has_mounts(CTL PAYLOAD OUT, true, "in any order");
	check_has_mounts(OUT CTL, false, "without the payload there is none");
	check_has_mounts(PAYLOAD CTL, false, "without the output there is none");
	check_has_mounts(PAYLOAD OUT, false, "without the control directory there is none");
	check_has_mounts("36 35 0:31 / /x/dev/dfg ro\n" OUT CTL, false,
			 "a mount of that name elsewhere is another");
	check_has_mounts("", false, "without mounts there is none");
	ok(!probe_has_mounts(machine.rootfd), "nor where they cannot be read");
}

static void test_mounted(void)
{
	static const char *const names[] = {"dfg", "dfg-out", "dfg-ctl", NULL};
	struct container c = {.id = (char *)"id1"};
	bool reachable = false;
	struct actor a;

	if (actor_fork(&a)) {
		if (!doctorbox_mounts(names))
			_exit(1);
		actor_play(&a);
	}
	if (actor_wait(&a)) {
		c.pid = a.pid;
		forget();
		probe_with(&machine, &c, &a.pid, 1, &reachable);
		check_found("mounts", FINDING_OK,
			    "/dev/dfg/libdfg-agent.so and the share are there", "",
			    "a container with the mounts needs nothing");
		ok(reachable, "the agent is there");
	} else {
		ok(true, "a container with mounts # SKIP not permitted here");
	}
	actor_end(a.pid);
}

/* A mount at the path below dfg's directory, which is itself below `before`. */
static void check_payload(const char *before, const char *path, bool mounted, const char *name)
{
	CLEANUP(free) char *missing = probe_missing_file();
	CLEANUP(free)
	char *text = xasprintf("36 35 0:31 / %s%s%s ro - squashfs x ro\n", before, top, path);
	CLEANUP(free)
	char *words = mounted ? xasprintf("mounted below %s", top)
			      : xstrdup("there; no container has it mounted yet");

	put("proc/self/mountinfo", text);
	forget();
	probe_payload(&machine);
	if (missing)
		ok(true, "the payload # SKIP it is not built");
	else
		check_found("payload", FINDING_OK, words, "", name);
}

static void test_payload(void)
{
	check_payload("", "/payload/1", true, "a payload that is mounted is found");
	check_payload("", "/payload", false, "it is below its directory");
	check_payload("/x", "/payload/1", false, "and below no other");
	take_away("proc/self/mountinfo");
	forget();
	probe_payload(&machine);
	is_int((int64_t)found.count, 1, "unknown mounts are no obstacle");
}

/* ---- isolation, limits ---- */

/* Checks what is found of a process that has given something up, of the real /proc. */
static void check_isolated(bool (*give_up)(void), const char *words, const char *name)
{
	static char id[] = "id1";
	struct container c = {.id = id};
	struct probe real = machine;
	const struct finding *f;
	bool reachable;
	struct actor a;

	if (actor_fork(&a)) {
		if (!give_up())
			_exit(1);
		actor_play(&a);
	}
	if (!actor_wait(&a)) {
		ok(true, "%s # SKIP not permitted here", name);
		actor_end(a.pid);
		return;
	}
	c.pid = a.pid;
	real.rootfd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	forget();
	probe_with(&real, &c, &a.pid, 1, &reachable);
	f = finding_of("isolation");
	ok(f && f->state == FINDING_OK && strstr(f->why, words), "%s: %s", name,
	   f ? f->why : "nothing");
	close(real.rootfd);
	actor_end(a.pid);
}

static bool give_up_calls(void)
{
	struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {1, allow};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool give_up_users(void)
{
	return unshare(CLONE_NEWUSER) == 0;
}

/* The limit of perf's descriptors, in a child: it cannot be raised again. */
static int probe_limited(void *arg, void *reply, struct err *e)
{
	const pid_t *pids = arg;
	const struct container c = {.id = (char *)"id1", .pid = pids[0]};
	bool reachable;

	(void)e;
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){64, 64});
	forget();
	probe_with(&machine, &c, pids, 2, &reachable);
	snprintf(reply, 512, "%d %s → %s", (int)found.list[0].state, found.list[0].why,
		 found.list[0].advice);
	return 0;
}

static void test_limits(pid_t pid)
{
	pid_t pids[] = {pid, getpid()};
	size_t files = 2 * probe_cpus() + 128; /* and perf's own */
	CLEANUP(free)
	char *want = xasprintf("1 2 with 2 threads: perf needs %zu descriptors, RLIMIT_NOFILE is "
			       "64 → the whole machine is recorded, and cut down; or ulimit -n %zu",
			       files, files);
	const struct container c = {.id = (char *)"id1", .pid = pid};
	CLEANUP(free) char *many = xasprintf("2 with 2 threads; the first is %d", (int)pid);
	char got[512] = "";
	bool reachable;

	if (child_call(probe_limited, pids, got, sizeof(got), 10000, &err) < 0)
		abort();
	is_str(got, want, "a limit that is too low for perf is a note");
	forget();
	probe_with(&machine, &c, pids, 2, &reachable);
	check_found("processes", FINDING_OK, many, "", "threads of all processes are counted");
}

static void test_gone(pid_t pid)
{
	const struct container c = {.pid = pid};
	bool reachable = true;

	forget();
	probe_with(&machine, &c, &pid, 1, &reachable);
	is_int((int64_t)found.count, 1, "of a container that has ended there is one finding");
	is_int(found.list[0].state, FINDING_NO, "nothing can be recorded");
	is_str(found.list[0].advice, "start it again", "with its advice");
	ok(!reachable, "it cannot be reached");
}

int main(void)
{
	pid_t pid;

	doctorbox_make();
	pid = actor_idle();
	test_print();
	test_json();
	test_container(pid);
	test_isolation(pid);
	check_isolated(give_up_calls, "the host's user namespace, a seccomp filter",
		       "a filter of calls is no obstacle");
	check_isolated(give_up_users, "its own user namespace", "nor is a user namespace");
	test_limits(pid);
	test_join(pid);
	test_has_mounts();
	test_mounted();
	test_payload();
	test_helpers();
	test_engine();
	test_restart();
	actor_end(pid);
	test_gone(pid);
	doctorbox_remove();
	return tap_done();
}
