// SPDX-License-Identifier: Apache-2.0
/* The targets of a recording run: real processes, and the directories of their results. */
#include "record/targets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "common/fs.h"
#include "common/proc.h"
#include "lib/actor.h"
#include "lib/hookrecord.h"
#include "lib/scratch.h"
#include "lib/tap.h"
#include "record/perf.h"

static char *root;
static struct err err;

static unsigned mode_of(const char *path)
{
	struct stat st = {0};

	return stat(path, &st) < 0 ? 0 : st.st_mode & 07777;
}

/* A process that maps a file called libjvm.so when it gets a byte, and then sends one. */
struct later {
	pid_t pid;
	int to, from;
};

static struct later later_jvm(void)
{
	CLEANUP(free) char *path = path_of("libjvm.so");
	int to[2], from[2], fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	struct later l;
	char byte;

	if (fd < 0 || write(fd, "x", 1) != 1 || pipe2(to, O_CLOEXEC) < 0 ||
	    pipe2(from, O_CLOEXEC) < 0)
		abort();
	l = (struct later){.pid = fork(), .to = to[1], .from = from[0]};
	if (l.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(to[0], &byte, 1) != 1 ||
		    mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
		    write(from[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(fd);
	close(to[0]);
	close(from[1]);
	return l;
}

static void become_jvm(struct later *l)
{
	char byte;

	if (write(l->to, "", 1) != 1 || read(l->from, &byte, 1) != 1)
		abort();
	close(l->to);
	close(l->from);
}

static void end(pid_t pid)
{
	actor_end(pid);
}

static void put_record(const char *id, pid_t pid)
{
	CLEANUP(free) char *name = xasprintf("\"nerdctl/name\":\"shop-%s\"", id);

	hookrecord_put(id, pid, name);
}

static struct record_config config_of(char *const *names, size_t count)
{
	return (struct record_config){
		.root = root, .names = names, .name_count = count, .frequency = 99, .duration = 30};
}

/* ---- finding ---- */

static void test_find(void)
{
	pid_t pids[] = {actor_idle(), actor_idle()};
	CLEANUP(free) char *first = xasprintf("%d", (int)pids[0]);
	CLEANUP(free) char *second = xasprintf("%d", (int)pids[1]);
	char *names[] = {first, second, first}, *web[] = {(char *)"web", (char *)"shop-web"};
	struct record_config c = config_of(names, 3);
	CLEANUP(free) pid_t *all = NULL;
	size_t count = 0;
	struct targets t;

	c.by_pid = true;
	is_int(targets_find(&c, &t, &err), RECORD_OK, "processes are found by their pids");
	if (is_int(t.count, 2, "each is one target, however often it is named")) {
		is_int(t.list[0].container.pid, pids[0], "they are in order");
		is_int(t.list[0].pid_count, 1, "each has its process");
		is_int(t.list[0].jvms.count, 0, "none is a JVM");
		ok(!t.list[0].may_lack_jvm, "which should have been one");
		ok(!t.list[0].has_session && !t.list[0].outdir.path, "none has a directory yet");
		targets_pids(&t, &all, &count);
		ok(count == 2 && all[0] == pids[0] && all[1] == pids[1],
		   "perf is given all their processes");
	}
	targets_fini(&t);
	is_int(t.count, 0, "after the release there is none");

	put_record("web", pids[0]);
	c = config_of(web, 2);
	is_int(targets_find(&c, &t, &err), RECORD_OK, "a container is found by id and by name");
	is_int(t.count, 1, "it is one target");
	is_str(t.list[0].container.label, "shop-web", "it is the one that was named");
	targets_fini(&t);
	end(pids[0]);
	end(pids[1]);
}

static void test_not_found(void)
{
	pid_t pid = actor_idle();
	CLEANUP(free) char *text = xasprintf("%d", (int)pid);
	char *names[] = {text, (char *)"4194304"}, *word[] = {(char *)"nobody"};
	struct record_config c = config_of(names, 2);
	struct targets t;

	c.by_pid = true;
	is_int(targets_find(&c, &t, &err), RECORD_NO_CONTAINER, "each pid has to exist");
	is_int(t.count, 1, "those before it are released by the caller");
	targets_fini(&t);
	c.names = word;
	c.name_count = 1;
	is_int(targets_find(&c, &t, &err), RECORD_NO_CONTAINER, "a word is no pid");
	targets_fini(&t);
	c.by_pid = false;
	is_int(targets_find(&c, &t, &err), RECORD_NO_CONTAINER, "another name is not found");
	is_str(err.msg, "no running container \"nobody\"; see dfg-trigger --list",
	       "the message says what to do");
	targets_fini(&t);
	c.name_count = 0;
	is_int(targets_find(&c, &t, &err), RECORD_NO_CONTAINER, "no name is no container");
	is_str(err.msg, "the container ended before its processes could be read",
	       "the message of a container without processes");
	is_int(err.code, 0, "which is no error of the system's");
	targets_fini(&t);
	end(pid);
}

#define POD(name)                                                                                  \
	"\"io.kubernetes.pod.name\":\"pod\",\"io.kubernetes.pod.namespace\":\"ns\","               \
	"\"io.kubernetes.container.name\":\"" name "\""

static void check_pod(size_t jvms)
{
	char *names[] = {(char *)"ns/pod"};
	struct record_config c = config_of(names, 1);
	struct targets t;
	size_t found = 0;

	is_int(targets_find(&c, &t, &err), RECORD_OK, "a pod with %zu JVMs is found", jvms);
	if (is_int(t.count, 2, "each of its containers is a target"))
		for (size_t i = 0; i < 2; i++) {
			found += t.list[i].jvms.count;
			is_int(t.list[i].may_lack_jvm, jvms > 0,
			       "that it may lack a JVM is as it should be");
		}
	is_int(found, jvms, "its JVMs are found");
	targets_fini(&t);
}

static void test_pod(void)
{
	struct later a = later_jvm(), b = later_jvm();

	hookrecord_put("pod-a", a.pid, POD("a"));
	hookrecord_put("pod-b", b.pid, POD("b"));
	check_pod(0);
	become_jvm(&b);
	check_pod(1);
	become_jvm(&a);
	check_pod(2);
	end(a.pid);
	end(b.pid);
}

/* Other containers with JVMs may run on this machine. */
static void test_all(void)
{
	struct record_config c = {.root = root, .all = true};
	struct later with = later_jvm();
	pid_t without = actor_idle();
	size_t mine = 0, lacking = 0;
	struct targets t;

	put_record("with", with.pid);
	put_record("without", without);
	become_jvm(&with);
	is_int(targets_find(&c, &t, &err), RECORD_OK, "all containers with a JVM are found");
	for (size_t i = 0; i < t.count; i++) {
		mine += !strcmp(t.list[i].container.id, "with");
		lacking += t.list[i].jvms.count == 0;
	}
	is_int(mine, 1, "this one is among them, once");
	is_int(lacking, 0, "those without a JVM are not");
	targets_fini(&t);
	end(with.pid);
	end(without);
	if (targets_find(&c, &t, &err) != RECORD_OK)
		is_str(err.msg, "no container with a JVM runs on this host",
		       "the message where there is none");
	targets_fini(&t);
}

/* ---- directories ---- */

static void test_prepare(void)
{
	CLEANUP(free) char *out = path_of("out"), *dir = path_of("out/session");
	CLEANUP(free)
	char *again = xasprintf("there is a session in %s already; give another --output", out);
	pid_t pid = actor_idle();
	char *names[] = {(char *)"web"};
	struct record_config c = config_of(names, 1);
	struct target *at;
	struct targets t;

	put_record("web", pid);
	setenv("DFG_HOST", "db1", 1);
	umask(0);
	c.output = out;
	if (targets_find(&c, &t, &err) != RECORD_OK)
		abort();
	at = t.list;
	is_int(targets_prepare(&t, &c, &err), 0, "an output directory is made");
	is_str(at->outdir.path, out, "a single target has it for itself");
	ok(at->has_session, "there is a session");
	is_str(at->session.dir, dir, "in it");
	is_int(mode_of(out), 0755, "the user's directory can be entered by others");
	is_int(mode_of(dir), 0700, "the session cannot");
	is_int(at->session.frequency, 99, "the session has the frequency");
	is_str(at->session.host, "db1", "the session has the host of DFG_HOST");
	is_str(at->session.container_id, "web", "the session has the container");
	is_str(at->session.namespace, "", "a namespace without a pod is containerd's");
	ok(strlen(at->session.started) == 20 && at->session.started[4] == '-' &&
		   at->session.started[10] == 'T' && at->session.started[19] == 'Z',
	   "the session has the time: %s", at->session.started);
	targets_fini(&t);

	if (targets_find(&c, &t, &err) != RECORD_OK)
		abort();
	is_int(targets_prepare(&t, &c, &err), -1, "a directory with a session is refused");
	ok(!strncmp(err.msg, again, strlen(again)), "the message says what to do: %s", err.msg);
	ok(!t.list[0].has_session, "the target has no session");
	target_discard(t.list);
	ok(exists("out/session"), "the other session is kept");
	targets_fini(&t);
	end(pid);
}

static void test_host(void)
{
	pid_t pid = actor_idle();
	CLEANUP(free) char *text = xasprintf("%d", (int)pid), *out = path_of("host");
	CLEANUP(free) char *more = path_of("host/more");
	char *names[] = {text};
	struct record_config c = config_of(names, 1);
	struct utsname here;
	struct targets t;

	c.by_pid = true;
	c.output = out;
	setenv("DFG_HOST", "", 1);
	uname(&here);
	if (targets_find(&c, &t, &err) != RECORD_OK || targets_prepare(&t, &c, &err) < 0)
		abort();
	is_str(t.list[0].session.host, here.nodename, "without DFG_HOST it is this machine");
	target_discard(t.list);
	ok(!exists("host"), "an empty directory is removed with its session");
	targets_fini(&t);

	if (targets_find(&c, &t, &err) != RECORD_OK || targets_prepare(&t, &c, &err) < 0)
		abort();
	close(open(more, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	target_discard(t.list);
	ok(!exists("host/session"), "a discarded session is removed");
	ok(exists("host/more"), "other files of its directory are kept");
	targets_fini(&t);
	end(pid);
}

static void test_several(void)
{
	pid_t pids[] = {actor_idle(), actor_idle()};
	CLEANUP(free) char *out = path_of("several"), *below = path_of("several/shop-one");
	char *names[] = {(char *)"one", (char *)"two"};
	struct record_config c = config_of(names, 2);
	struct targets t;

	put_record("one", pids[0]);
	put_record("two", pids[1]);
	c.output = out;
	if (mkdir(out, 0755) < 0 || mkdir(below, 0755) < 0 ||
	    targets_find(&c, &t, &err) != RECORD_OK)
		abort();
	is_int(targets_prepare(&t, &c, &err), 0,
	       "directories of several targets are made, but for one that is there");
	is_str(t.list[0].outdir.path, below, "each has one below --output, by its name");
	ok(exists("several/shop-one/session") && exists("several/shop-two/session"),
	   "with a session in each");
	is_int(mode_of(below), 0755, "others can enter it");
	targets_fini(&t);

	c.name_count = 1;
	c.output = "/proc/none";
	if (targets_find(&c, &t, &err) != RECORD_OK)
		abort();
	is_int(targets_prepare(&t, &c, &err), -1, "a directory that cannot be made is an error");
	is_str(err.msg, "/proc/none: make directory none: No such file or directory",
	       "the message names it");
	targets_fini(&t);
	c.name_count = 2;
	if (targets_find(&c, &t, &err) != RECORD_OK)
		abort();
	is_int(targets_prepare(&t, &c, &err), -1, "so it is for several containers");
	is_str(err.msg, "/proc/none/shop-one: make directory none: No such file or directory",
	       "the message names that of the first");
	targets_fini(&t);
	end(pids[0]);
	end(pids[1]);
}

static void test_default_directory(void)
{
	CLEANUP(free) char *graphs = xasprintf("%s/containers/web/graphs/", root);
	CLEANUP(free) char *name = xasprintf("%s/by-name/shop-web", root);
	CLEANUP(free) char *by_name = xasprintf("%s/by-name", root);
	char *names[] = {(char *)"web"}, to[64] = "";
	struct record_config c = config_of(names, 1);
	pid_t pid = actor_idle();
	struct targets t;
	const char *stamp;

	put_record("web", pid);
	if (targets_find(&c, &t, &err) != RECORD_OK)
		abort();
	is_int(targets_prepare(&t, &c, &err), 0, "without --output a directory is chosen");
	ok(!strncmp(t.list[0].outdir.path, graphs, strlen(graphs)),
	   "it is among the container's results: %s", t.list[0].outdir.path);
	stamp = t.list[0].outdir.path + strlen(graphs);
	ok(strlen(stamp) == 16 && stamp[8] == 'T' && stamp[15] == 'Z' &&
		   strspn(stamp, "0123456789") == 8,
	   "it is named after the time: %s", stamp);
	is_int(mode_of(t.list[0].outdir.path), 0700, "others cannot enter it");
	is_int(readlink(name, to, sizeof(to) - 1), 17, "the container has a link by its name");
	is_str(to, "../containers/web", "which leads to its directory");
	is_int(mode_of(by_name), 0700, "the names are for root only");
	target_discard(t.list);
	targets_fini(&t);
	end(pid);
}

/* Runs that begin in the same second have directories of their own. */
static void test_same_second(void)
{
	CLEANUP(free) char *out = path_of("graphs");
	struct record_config c = {.root = root, .output = out};
	CLEANUP(outdir_close) struct outdir first = {0};
	size_t seen = 0;

	if (target_new_graphs(&c, "web", &first, &err) < 0)
		abort();
	ok(!strncmp(first.path, out, strlen(out)), "graphs have a directory in --output");
	for (int i = 0; i < 150; i++) {
		CLEANUP(outdir_close) struct outdir next = {0};

		seen += target_new_graphs(&c, "web", &next, &err) == 0 &&
			strlen(next.path) > strlen(first.path) &&
			next.path[strlen(first.path)] == '-';
	}
	ok(seen > 0, "later ones of the same second have a number: %zu", seen);
	c.output = "/proc/none";
	is_int(target_new_graphs(&c, "web", &first, &err), -1,
	       "a directory that cannot be made is an error");
	c = (struct record_config){.root = "/proc/none"};
	is_int(target_new_graphs(&c, "web", &first, &err), -1, "also where it is chosen");
}

/* ---- the size of stack copies ---- */

static void test_stack_bytes(void)
{
	struct session_jvm kept[] = {{.keeps_fp = true}, {.keeps_fp = true}};
	struct session_jvm mixed[] = {{.keeps_fp = true}, {.keeps_fp = false}};
	struct target target = {.jvms = {.count = 2}, .session = {.jvms = kept, .jvm_count = 2}};
	struct targets t = {.list = &target, .count = 1}, none = {0};
	struct record_config c = {.frequency = 99, .duration = 1, .stack_bytes = 1024};

	is_int(targets_stack_bytes(&t, &c), 0, "JVMs that keep frame pointers need no copies");
	target.session.jvms = mixed;
	is_int(targets_stack_bytes(&t, &c), 1024, "one that does not needs them");
	target.session.jvms = kept;
	target.jvms.count = 3;
	is_int(targets_stack_bytes(&t, &c), 1024, "so does one without a snapshot");
	is_int(targets_stack_bytes(&none, &c), 1024, "so do processes without a JVM");
	target.jvms.count = 2;
	c.unwind = RECORD_UNWIND_VM;
	is_int(targets_stack_bytes(&t, &c), 1024, "--unwind vm copies in any case");
	c.unwind = RECORD_UNWIND_FP;
	is_int(targets_stack_bytes(&none, &c), 0, "--unwind fp never does");
	c = (struct record_config){.frequency = 1, .duration = 1};
	is_int(targets_stack_bytes(&none, &c), perf_stack_bytes(1, 1, 1),
	       "without --stack a short recording has the largest copies");
	c = (struct record_config){.frequency = 100000, .duration = 86400};
	is_int(targets_stack_bytes(&none, &c), perf_stack_bytes(1, 100000, 86400),
	       "and a long one the smallest");
}

/* ---- while it records ---- */

static void test_refresh(void)
{
	pid_t pid = actor_idle();
	CLEANUP(free) char *text = xasprintf("%d", (int)pid), *out = path_of("refresh");
	char *names[] = {text};
	struct record_config c = config_of(names, 1);
	struct targets t;

	c.by_pid = true;
	c.output = out;
	if (targets_find(&c, &t, &err) != RECORD_OK || targets_prepare(&t, &c, &err) < 0)
		abort();
	is_int(targets_copy_files(&t, &err), 0, "files are copied");
	ok(exists("refresh/session/elf/vdso"), "the vdso is one of them");
	ok(exists("refresh/session/kallsyms"), "the kernel's symbols are, too");
	is_int(t.list[0].session.process_count, 1, "the process is known to the session");
	target_refresh(t.list);
	is_int(t.list[0].pid_count, 1, "a refreshed target has the same process");
	is_int(t.list[0].session.process_count, 1, "once");
	end(pid);
	target_refresh(t.list);
	is_int(t.list[0].pid_count, 1, "a target that has ended keeps what is known");
	target_discard(t.list);
	targets_fini(&t);
}

/* Two targets; a JVM starts in the first while they are recorded. */
static void test_new_jvm(void)
{
	struct later l = later_jvm(), other = later_jvm();
	CLEANUP(free) char *one = xasprintf("%d", (int)l.pid), *out = path_of("new");
	CLEANUP(free) char *two = xasprintf("%d", (int)other.pid);
	char *names[] = {one, two};
	struct record_config c = config_of(names, 2);
	struct stat a = {0}, b = {0};
	struct targets t;

	c.by_pid = true;
	c.output = out;
	become_jvm(&other);
	if (targets_find(&c, &t, &err) != RECORD_OK || targets_prepare(&t, &c, &err) < 0)
		abort();
	is_int(targets_copy_files(&t, &err), 0, "files of both are copied");
	ok(fstatat(t.list[0].session.dirfd, "kallsyms", &a, 0) == 0 &&
		   fstatat(t.list[1].session.dirfd, "kallsyms", &b, 0) == 0 && a.st_ino == b.st_ino,
	   "both sessions have the same symbols of the kernel");
	is_int(t.list[1].session.process_count, 1, "the second session has its process");
	is_int(t.list[0].jvms.count, 0, "the first target has no JVM");
	target_refresh(&t.list[0]);
	is_int(t.list[0].jvms.count, 0, "nor when it is looked at again");
	become_jvm(&l);
	target_refresh(&t.list[0]);
	if (is_int(t.list[0].jvms.count, 1, "a JVM that started since is found"))
		is_int(t.list[0].jvms.list[0].pid, l.pid, "with its pid");
	target_refresh(&t.list[0]);
	target_refresh(&t.list[1]);
	is_int(t.list[0].jvms.count, 1, "it is found once");
	is_int(t.list[1].jvms.count, 1, "a JVM that was known is not found again");
	ok(faccessat(t.list[1].jvms.list[0].procfd, "stat", F_OK, 0) == 0,
	   "its descriptor is still open");
	is_int(targets_copy_files(&t, &err), -1, "the kernel's symbols are not copied twice");
	target_discard(&t.list[0]);
	target_discard(&t.list[1]);
	targets_fini(&t);
	end(l.pid);
	end(other.pid);
}

int main(void)
{
	scratch_make();
	root = path_of("root");
	test_find();
	test_not_found();
	test_pod();
	test_all();
	test_prepare();
	test_host();
	test_several();
	test_default_directory();
	test_same_second();
	test_stack_bytes();
	test_refresh();
	test_new_jvm();
	free(root);
	scratch_remove();
	return tap_done();
}
