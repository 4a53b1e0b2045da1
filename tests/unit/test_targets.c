// SPDX-License-Identifier: Apache-2.0
/* The targets of a recording run: real processes, and the directories of their results. */
#include "record/targets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "common/fs.h"
#include "common/proc.h"
#include "lib/tap.h"
#include "record/perf.h"

static char top[] = "/tmp/dfg-targets.XXXXXX";
static char *root;
static struct err err;

static char *path_of(const char *name)
{
	return xasprintf("%s/%s", top, name);
}

static bool exists(const char *name)
{
	CLEANUP(free) char *path = path_of(name);

	return access(path, F_OK) == 0;
}

static unsigned mode_of(const char *path)
{
	struct stat st = {0};

	return stat(path, &st) < 0 ? 0 : st.st_mode & 07777;
}

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Writes the hook's record of a container whose only process is pid. */
static void put_record(const char *id, pid_t pid)
{
	CLEANUP(close_fd) int procfd = proc_open(pid, &err);
	CLEANUP(free) char *dir = xasprintf("%s/containers/%s", root, id), *text = NULL;
	CLEANUP(close_fd) int fd = fs_make_dirs(dir, 0700, &err);
	uint64_t ticks;
	char boot[37];

	if (proc_start_time(procfd, &ticks, &err) < 0 || proc_boot_id(boot, &err) < 0)
		abort();
	text = xasprintf("{\"pid\":%d,\"boot_id\":\"%s\",\"start_time\":%llu,\"annotations\":{"
			 "\"nerdctl/name\":\"shop-%s\"}}",
			 (int)pid, boot, (unsigned long long)ticks, id);
	if (fs_replace_file(fd, "state.json", 0600, text, strlen(text), &err) < 0)
		abort();
}

static struct record_config config_of(char *const *names, size_t count)
{
	return (struct record_config){
		.root = root, .names = names, .name_count = count, .frequency = 99, .duration = 30};
}

/* ---- finding ---- */

static void test_find(void)
{
	pid_t pids[] = {sleeper(), sleeper()};
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
		ok(!t.list[0].has_session && !t.list[0].outdir, "none has a directory yet");
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
	pid_t pid = sleeper();
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

/* ---- directories ---- */

static void test_prepare(void)
{
	CLEANUP(free) char *out = path_of("out"), *dir = path_of("out/session");
	CLEANUP(free)
	char *again = xasprintf("there is a session in %s already; give another --output", out);
	pid_t pid = sleeper();
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
	is_str(at->outdir, out, "a single target has it for itself");
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
	pid_t pid = sleeper();
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
	pid_t pids[] = {sleeper(), sleeper()};
	CLEANUP(free) char *out = path_of("several"), *below = path_of("several/shop-one");
	char *names[] = {(char *)"one", (char *)"two"};
	struct record_config c = config_of(names, 2);
	struct targets t;

	put_record("one", pids[0]);
	put_record("two", pids[1]);
	c.output = out;
	if (targets_find(&c, &t, &err) != RECORD_OK)
		abort();
	is_int(targets_prepare(&t, &c, &err), 0, "directories of several targets are made");
	is_str(t.list[0].outdir, below, "each has one below --output, by its name");
	ok(exists("several/shop-one/session") && exists("several/shop-two/session"),
	   "with a session in each");
	is_int(mode_of(below), 0755, "others can enter it");
	targets_fini(&t);

	c.name_count = 1;
	c.output = "/proc/none";
	if (targets_find(&c, &t, &err) != RECORD_OK)
		abort();
	is_int(targets_prepare(&t, &c, &err), -1, "a directory that cannot be made is an error");
	is_str(err.msg, "make /proc/none: No such file or directory", "the message names it");
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
	pid_t pid = sleeper();
	struct targets t;
	const char *stamp;

	put_record("web", pid);
	if (targets_find(&c, &t, &err) != RECORD_OK)
		abort();
	is_int(targets_prepare(&t, &c, &err), 0, "without --output a directory is chosen");
	ok(!strncmp(t.list[0].outdir, graphs, strlen(graphs)),
	   "it is among the container's results: %s", t.list[0].outdir);
	stamp = t.list[0].outdir + strlen(graphs);
	ok(strlen(stamp) == 16 && stamp[8] == 'T' && stamp[15] == 'Z' &&
		   strspn(stamp, "0123456789") == 8,
	   "it is named after the time: %s", stamp);
	is_int(mode_of(t.list[0].outdir), 0700, "others cannot enter it");
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
	CLEANUP(free) char *first = target_new_graphs(&c, "web", &err);
	char *last = NULL;
	size_t seen = 0;

	ok(first && !strncmp(first, out, strlen(out)), "graphs have a directory in --output");
	for (int i = 0; i < 150; i++) {
		char *next = target_new_graphs(&c, "web", &err);

		seen += next && strlen(next) > strlen(first) && next[strlen(first)] == '-';
		free(last);
		last = next;
	}
	ok(seen > 0, "later ones of the same second have a number: %zu", seen);
	free(last);
	c.output = "/proc/none";
	ok(!target_new_graphs(&c, "web", &err), "a directory that cannot be made is an error");
	c = (struct record_config){.root = "/proc/none"};
	ok(!target_new_graphs(&c, "web", &err), "also where it is chosen");
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
	pid_t pid = sleeper();
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

int main(void)
{
	if (!mkdtemp(top))
		abort();
	root = path_of("root");
	test_find();
	test_not_found();
	test_prepare();
	test_host();
	test_several();
	test_default_directory();
	test_same_second();
	test_stack_bytes();
	test_refresh();
	free(root);
	fs_remove_tree(AT_FDCWD, top);
	return tap_done();
}
