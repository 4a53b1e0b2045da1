// SPDX-License-Identifier: Apache-2.0
/* A container of a recording run: its processes, its session, and the directory of its results. How
 * containers are found is in test_record_find. */
#include "record/target.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "common/clock.h"
#include "common/fs.h"
#include "lib/actor.h"
#include "lib/hookrecord.h"
#include "lib/laterjvm.h"
#include "lib/scratch.h"
#include "lib/tap.h"

static char *root;
static struct err err;

static unsigned mode_of(const char *path)
{
	struct stat st = {0};

	return stat(path, &st) < 0 ? 0 : st.st_mode & 07777;
}

/* The container shop-ID with this process. */
static struct container container_of(const char *id, pid_t pid)
{
	struct engine_names names = {0};
	struct containers found = {0};
	struct container ret;

	hookrecord_put(id, pid, "");
	if (containers_find(root, id, &found, &err) != CONTAINER_FOUND || found.count != 1)
		abort();
	ret = found.list[0];
	free(found.list);
	snprintf(names.name, sizeof(names.name), "shop-%s", id);
	container_set_names(&ret, &names);
	return ret;
}

static struct record_config config_of(const char *output)
{
	return (struct record_config){
		.root = root, .frequency = 99, .duration = 30, .output = output};
}

/* ---- processes ---- */

static void test_look(void)
{
	struct container c = container_of("look", actor_idle());
	pid_t pid = c.pid;
	struct target t;

	target_init(&t, &c);
	ok(!c.id, "a target takes its container over");
	is_str(t.container.label, "shop-look", "it has it");
	is_int(t.session.dirfd, -1, "there is no session yet");
	target_look(&t, deadline_after(60000));
	ok(t.processes.count == 1 && t.processes.list[0].pid == pid,
	   "it has the container's process");
	is_int(t.jvms.count, 0, "which is no JVM");
	ok(!target_keeps_fp(&t), "without a JVM, frame pointers are not relied on");
	target_fini(&t);

	c = container_of("look", pid);
	target_init(&t, &c);
	actor_end(pid);
	target_look(&t, deadline_after(60000));
	is_int(t.processes.count, 0, "of a container that has ended no process is found");
	is_int(t.jvms.count, 0, "and no JVM");
	target_fini(&t);
}

static void test_keeps_fp(void)
{
	struct session_jvm kept[] = {{.keeps_fp = true}, {.keeps_fp = true}};
	struct session_jvm mixed[] = {{.keeps_fp = true}, {.keeps_fp = false}};
	struct target t = {.jvms = {.count = 2}, .session = {.jvms = kept, .jvm_count = 2}};

	is_int(target_keeps_fp(&t), true, "both JVMs keep frame pointers");
	t.session.jvms = mixed;
	is_int(target_keeps_fp(&t), false, "one does not");
	t.session.jvms = kept;
	t.jvms.count = 3;
	is_int(target_keeps_fp(&t), false, "one has no snapshot");
	t.jvms.count = 0;
	t.session.jvm_count = 0;
	is_int(target_keeps_fp(&t), false, "there is none");
}

/* ---- directories ---- */

/* Makes the directory of the results, and a session in it. */
static int prepare(struct target *t, const struct record_config *c, bool below)
{
	if (target_make_results(&t->container, c, below, &t->outdir, &err) < 0)
		return -1;
	return target_prepare(t, c, &err);
}

static void test_prepare(void)
{
	CLEANUP(free) char *out = path_of("out"), *dir = path_of("out/session");
	CLEANUP(free)
	char *again = xasprintf("there is a session in %s already; give another --output", out);
	struct container c = container_of("web", actor_idle());
	struct record_config config = config_of(out);
	pid_t pid = c.pid;
	struct target t;

	setenv("DFG_HOST", "db1", 1);
	umask(0);
	target_init(&t, &c);
	is_int(prepare(&t, &config, false), 0, "an output directory is made");
	is_str(t.outdir.path, out, "a single target has it for itself");
	ok(t.has_session, "there is a session");
	is_str(t.session.dir, dir, "in it");
	is_int(mode_of(out), 0755, "the user's directory can be entered by others");
	is_int(mode_of(dir), 0700, "the session cannot");
	is_int(t.session.frequency, 99, "the session has the frequency");
	is_str(t.session.host, "db1", "the session has the host of DFG_HOST");
	is_str(t.session.container_id, "web", "the session has the container");
	is_str(t.session.namespace, "", "a namespace without a pod is containerd's");
	ok(strlen(t.session.started) == 20 && t.session.started[4] == '-' &&
		   t.session.started[10] == 'T' && t.session.started[19] == 'Z',
	   "the session has the time: %s", t.session.started);
	t.session.started[0] = '1';
	target_mark_start(&t, clock_us());
	ok(t.session.started[0] == '2', "  which becomes that of the recording: %s",
	   t.session.started);
	target_fini(&t);

	c = container_of("web", pid);
	target_init(&t, &c);
	is_int(prepare(&t, &config, false), -1, "a directory with a session is refused");
	ok(!strncmp(err.msg, again, strlen(again)), "the message says what to do: %s", err.msg);
	ok(!t.has_session, "the target has no session");
	ok(exists("out/session"), "the other session is kept");
	target_fini(&t);
	actor_end(pid);
}

static void test_host(void)
{
	struct container c = container_of("host", actor_idle());
	CLEANUP(free) char *out = path_of("host"), *more = path_of("host/more");
	struct record_config config = config_of(out);
	pid_t pid = c.pid;
	struct utsname here;
	struct target t;

	setenv("DFG_HOST", "", 1);
	uname(&here);
	target_init(&t, &c);
	is_int(prepare(&t, &config, false), 0, "a session is made");
	is_str(t.session.host, here.nodename, "without DFG_HOST it is this machine");
	target_discard_results(&t.outdir);
	ok(!exists("host"), "an empty directory is removed with its session");
	target_fini(&t);

	c = container_of("host", pid);
	target_init(&t, &c);
	is_int(prepare(&t, &config, false), 0, "a session is made again");
	close(open(more, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	target_discard_results(&t.outdir);
	ok(!exists("host/session"), "a discarded session is removed");
	ok(exists("host/more"), "other files of its directory are kept");
	target_discard_results(&t.outdir);
	ok(exists("host/more"), "also when nothing is left to discard");
	target_fini(&t);
	actor_end(pid);
}

/* Each of several containers has a directory below the configured one. */
static void test_several(void)
{
	struct container c = container_of("one", actor_idle());
	CLEANUP(free) char *out = path_of("several"), *below = path_of("several/shop-one");
	CLEANUP(free) char *link = path_of("link");
	CLEANUP(outdir_close) struct outdir made = {0};
	struct record_config config = config_of(out);
	struct outdir none = {0};
	pid_t pid = c.pid;
	struct target t;

	target_init(&t, &c);
	if (mkdir(out, 0755) < 0 || mkdir(below, 0755) < 0 || symlink(out, link) < 0)
		abort();
	is_int(prepare(&t, &config, true), 0, "directories may be there");
	is_str(t.outdir.path, below, "it is below --output, by its name");
	ok(exists("several/shop-one/session"), "with a session in it");
	is_int(mode_of(below), 0755, "others can enter it");
	config.output = link;
	is_int(target_make_results(&t.container, &config, true, &made, &err), 0,
	       "a path may have links");
	is_str(made.path, below, "the user's own links are followed");
	config.output = "/proc/none";
	is_int(target_make_results(&t.container, &config, false, &none, &err), -1,
	       "a directory that cannot be made is an error");
	is_str(err.msg, "/proc/none: make directory none: No such file or directory",
	       "the message names it");
	is_int(target_make_results(&t.container, &config, true, &none, &err), -1,
	       "so it is below one");
	is_str(err.msg, "/proc/none/shop-one: make directory none: No such file or directory",
	       "the message names that of the container");
	target_fini(&t);
	actor_end(pid);
}

/* A directory that has a session already. */
static void test_force(void)
{
	struct container c = container_of("old", actor_idle());
	CLEANUP(free) char *out = path_of("old"), *other = path_of("other");
	struct record_config config = config_of(out);
	struct target first, t;
	pid_t pid = c.pid;

	target_init(&first, &c);
	if (prepare(&first, &config, false) < 0 || session_write(&first.session, &err) < 0)
		abort();
	put_text("old/session/perf.data", 0600, "old");
	c = container_of("old", pid);
	target_init(&t, &c);
	is_int(prepare(&t, &config, false), -1, "a session that is there is not replaced");
	ok(err.code == EEXIST && strstr(err.msg, "or --force to replace it"),
	   "the message says how it can be: %s", err.msg);
	outdir_close(&t.outdir);
	config.force = true;
	is_int(prepare(&t, &config, false), -1, "one that is being recorded never is");
	ok(strstr(err.msg, "another dfg records into session"), "which is said: %s", err.msg);
	is_int(err.code, EEXIST, "so that nobody discards it");
	outdir_close(&t.outdir);
	target_fini(&first);
	is_int(prepare(&t, &config, false), 0, "with --force another one is");
	ok(!exists("old/session/perf.data"), "nothing of it is in the new one");
	target_fini(&t);

	config.output = other;
	put_text("other/session/mine", 0600, "kept");
	c = container_of("old", pid);
	target_init(&t, &c);
	is_int(prepare(&t, &config, false), -1, "a directory that is no session is not");
	ok(err.code == EEXIST && exists("other/session/mine"), "it stays as it is");
	target_fini(&t);
	actor_end(pid);
}

static void test_default_directory(void)
{
	CLEANUP(free) char *graphs = xasprintf("%s/containers/web/graphs/", root);
	CLEANUP(free) char *name = xasprintf("%s/by-name/shop-web", root);
	CLEANUP(free) char *by_name = xasprintf("%s/by-name", root);
	CLEANUP(outdir_close) struct outdir other = {0};
	struct container c = container_of("web", actor_idle());
	struct record_config config = config_of(NULL);
	pid_t pid = c.pid;
	char to[64] = "";
	struct target t;
	const char *stamp;

	target_init(&t, &c);
	is_int(prepare(&t, &config, true), 0, "without --output a directory is chosen");
	ok(!strncmp(t.outdir.path, graphs, strlen(graphs)),
	   "it is among the container's results: %s", t.outdir.path);
	stamp = t.outdir.path + strlen(graphs);
	ok(strlen(stamp) == 16 && stamp[8] == 'T' && stamp[15] == 'Z' &&
		   strspn(stamp, "0123456789") == 8,
	   "it is named after the time, also where there are several containers: %s", stamp);
	is_int(mode_of(t.outdir.path), 0700, "others cannot enter it");
	is_int(readlink(name, to, sizeof(to) - 1), 17, "the container has a link by its name");
	is_str(to, "../containers/web", "which leads to its directory");
	is_int(mode_of(by_name), 0700, "the names are for root only");
	ok(target_make_results(&t.container, &config, false, &other, &err) == 0 &&
		   strcmp(other.path, t.outdir.path),
	   "another run has another one");
	target_fini(&t);
	actor_end(pid);
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

/* Old results are removed below dfg's own directory only. */
static void test_keep(void)
{
	CLEANUP(free) char *out = path_of("kept");
	struct record_config c = {.root = root, .output = out, .keep = {.count = 1}};
	struct outdir dir[4] = {0};

	for (size_t i = 0; i < ARRAY_LEN(dir); i++) {
		c.output = i < 2 ? out : NULL;
		if (target_new_graphs(&c, "kept", &dir[i], &err) < 0)
			abort();
	}
	ok(access(dir[0].path, F_OK) == 0 && access(dir[1].path, F_OK) == 0,
	   "those of --output stay");
	ok(access(dir[2].path, F_OK) < 0 && access(dir[3].path, F_OK) == 0,
	   "of dfg's own the last stays");
	c.keep.count = 0;
	outdir_close(&dir[2]);
	ok(target_new_graphs(&c, "kept", &dir[2], &err) == 0 && access(dir[3].path, F_OK) == 0,
	   "without a limit all stay");
	for (size_t i = 0; i < ARRAY_LEN(dir); i++)
		outdir_close(&dir[i]);
}

/* ---- while it records ---- */

static void test_refresh(void)
{
	struct container c = container_of("refresh", actor_idle());
	CLEANUP(free) char *out = path_of("refresh");
	struct record_config config = config_of(out);
	pid_t pid = c.pid;
	struct target t;

	target_init(&t, &c);
	target_look(&t, deadline_after(60000));
	if (prepare(&t, &config, false) < 0)
		abort();
	is_int(target_copy_files(&t, deadline_after(60000), &err), 0, "files are copied");
	target_refresh(&t, deadline_after(60000));
	ok(exists("refresh/session/elf/vdso"), "the vdso is one of them");
	ok(exists("refresh/session/kallsyms"), "the kernel's symbols are, too");
	is_int(t.session.process_count, 1, "the process is known to the session");
	target_refresh(&t, deadline_after(60000));
	is_int(t.processes.count, 1, "a refreshed target has the same process");
	is_int(t.session.process_count, 1, "once");
	actor_end(pid);
	target_refresh(&t, deadline_after(60000));
	is_int(t.processes.count, 1, "a target that has ended keeps what is known");
	target_fini(&t);
}

/* A JVM starts in a target while it is recorded. */
static void test_new_jvm(void)
{
	struct later l = later_jvm();
	struct container c = container_of("new", l.pid);
	CLEANUP(free) char *out = path_of("new");
	struct record_config config = config_of(out);
	struct target t;
	int procfd;

	target_init(&t, &c);
	target_look(&t, deadline_after(60000));
	if (prepare(&t, &config, false) < 0)
		abort();
	is_int(t.jvms.count, 0, "a target has no JVM");
	target_refresh(&t, deadline_after(60000));
	is_int(t.jvms.count, 0, "nor when it is looked at again");
	later_become(&l);
	target_refresh(&t, deadline_after(60000));
	if (is_int(t.jvms.count, 1, "a JVM that started since is found"))
		is_int(t.jvms.list[0].pid, l.pid, "with its pid");
	procfd = t.jvms.list[0].procfd;
	target_refresh(&t, deadline_after(60000));
	is_int(t.jvms.count, 1, "a JVM that is known is not found again");
	is_int(t.jvms.list[0].procfd, procfd, "it has the descriptor that it had");
	ok(faccessat(procfd, "stat", F_OK, 0) == 0, "which is still open");
	target_fini(&t);
	actor_end(l.pid);
}

int main(void)
{
	scratch_make();
	root = path_of("root");
	test_look();
	test_keeps_fp();
	test_prepare();
	test_host();
	test_several();
	test_force();
	test_default_directory();
	test_same_second();
	test_keep();
	test_refresh();
	test_new_jvm();
	free(root);
	scratch_remove();
	return tap_done();
}
