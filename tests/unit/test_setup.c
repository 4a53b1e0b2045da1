// SPDX-License-Identifier: Apache-2.0
/* dfg's part in engines' configurations, put in and taken out, on files as they are found in the
 * world: tests/golden/setup/ENGINE-CASE/before (none: there is no such file) and after. With
 * DFG_GOLDEN_WRITE=1, after is written. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/fs.h"
#include "lib/scratch.h"
#include "lib/tap.h"
#include "setup/change.h"
#include "setup/engine.h"

#define GOLDEN "tests/golden/setup"

static char program[64];
static struct setup setup = {.hook = "/usr/libexec/dfg/dfg-hook",
			     .runtime = "/usr/libexec/dfg/dfg-runtime",
			     .conf = "/etc/dfg/dfg.conf",
			     .program = program};
static struct err err;

static const char *file_of(const struct engine *e)
{
	return e->files[0] ? e->files[0] : "bundle/config.json";
}

/* Returns how many files it changed, or -1. */
static int change_file(const struct engine *e, const char *file, bool install)
{
	struct changes c = {0};
	int rc = e->plan(&setup, install, file, &c, &err);

	if (rc == 0)
		rc = changes_apply(&c, setup.rootfd, &err);
	rc = rc < 0 ? -1 : (int)c.count;
	changes_fini(&c);
	return rc;
}

static int change(const struct engine *e, bool install)
{
	return change_file(e, file_of(e), install);
}

static int count_files(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	int count = 0;

	while (dir && (d = readdir(dir))) {
		CLEANUP(free) char *below = xasprintf("%s/%s", path, d->d_name);

		if (d->d_name[0] != '.')
			count += d->d_type == DT_DIR ? count_files(below) : 1;
	}
	if (dir)
		closedir(dir);
	return count;
}

/* containerd, as far as it is asked: whatever the file says, its configuration is this one; and ctr
 * oci spec. */
static void put_programs(void)
{
	put_text("bin/containerd", 0755,
		 "#!/bin/sh\ncat <<E\nversion = 2\n"
		 "[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc]\n"
		 "  base_runtime_spec = ''\n"
		 "  runtime_type = 'io.containerd.runc.v2'\n"
		 "  [plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc.options]\n"
		 "    Root = ''\nE\n");
	put_text("bin/ctr", 0755,
		 "#!/bin/sh\necho '{\"process\": {\"cwd\": \"/\", \"rlimits\": [1]}, \"linux\": "
		 "{\"seccomp\": {}}}'\n");
}

static void fresh(void)
{
	if (setup.rootfd > 0)
		close(setup.rootfd);
	fs_remove_tree(AT_FDCWD, top);
	if (mkdir(top, 0755) < 0)
		abort();
	setup.rootfd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put_programs();
}

/* What is at the engine's file, or in the only file of its directory. */
static char *written(const struct engine *e)
{
	CLEANUP(free) char *path = NULL;

	if (!has_suffix(file_of(e), "/"))
		return get_text(file_of(e));
	path = xasprintf("%s%s", file_of(e), !strcmp(e->name, "cdi") ? "dfg.json" : "50-dfg.json");
	return get_text(path);
}

static void write_golden(const char *path, const char *text)
{
	FILE *f = getenv("DFG_GOLDEN_WRITE") ? fopen(path, "w") : NULL;

	if (f && (fputs(text, f) < 0 || fclose(f)))
		abort();
}

static void check_case(const char *name)
{
	CLEANUP(free) char *engine = xstrndup(name, strcspn(name, "-"));
	CLEANUP(free) char *before_path = xasprintf(GOLDEN "/%s/before", name);
	CLEANUP(free) char *after_path = xasprintf(GOLDEN "/%s/after", name);
	CLEANUP(free) char *before = get_text_at(before_path);
	CLEANUP(free) char *want = NULL;
	CLEANUP(free) char *after = NULL;
	CLEANUP(free) char *again = NULL;
	CLEANUP(free) char *left = NULL;
	const struct engine *e = engine_find(engine);
	struct engine_setting found = {0};
	struct stat st;
	int files;

	fresh();
	setup.early = has_suffix(name, "-early");
	if (before)
		put_text(file_of(e), 0640, before);
	files = count_files(top);
	ok(change(e, true) > 0, "%s: installed", name);
	after = written(e);
	write_golden(after_path, after);
	want = get_text_at(after_path);
	is_str(after, want, "as it should be");
	if (before && fstatat(setup.rootfd, file_of(e), &st, 0) == 0)
		is_int(st.st_mode & 07777, 0640, "the mode is as it was");
	e->read(setup.rootfd, file_of(e), &found);
	ok(found.program && has_prefix(found.program, "/usr/libexec/dfg/"), "and is found");
	if (strcmp(engine, "docker") != 0)
		is_int(found.early, setup.early, "early or not");
	engine_setting_fini(&found);
	is_int(change(e, true), 0, "a second time: nothing to do");

	setup.hook = "/opt/dfg-hook";
	setup.runtime = "/opt/dfg-runtime";
	ok(change(e, true) > 0, "of another installation");
	setup.hook = "/usr/libexec/dfg/dfg-hook";
	setup.runtime = "/usr/libexec/dfg/dfg-runtime";
	ok(change(e, true) > 0, "and again of this one");
	again = written(e);
	is_str(again, want, "it is there once");

	setup.early = false;
	ok(change(e, false) > 0, "removed");
	left = get_text(has_suffix(file_of(e), "/") ? "none" : file_of(e));
	is_str(left, before, "every byte is as it was");
	is_int(count_files(top), files, "no file is left");
	is_int(change(e, false), 0, "removed again: nothing to do");
}

/* CRI-O, which reads podman's directory, would refuse the file. */
static void check_early_beside_crio(void)
{
	const struct engine *podman = engine_find("podman");

	fresh();
	put_text("usr/bin/crio", 0755, "#!/bin/sh\n");
	setup.early = true;
	ok(change(podman, true) < 0 && strstr(err.msg, "CRI-O is installed"), "podman: %s",
	   err.msg);
	setup.early = false;
	ok(change(podman, true) > 0, "but without --early");
}

static void check_cases(void)
{
	DIR *dir = opendir(GOLDEN);
	struct dirent *d;

	/* The verdict of containerd itself is not available here. */
	setup.force = true;
	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.')
			check_case(d->d_name);
	setup.force = false;
	ok(dir, "there are cases");
	if (dir)
		closedir(dir);
}

/* Others changed the file meanwhile: only our part goes. */
static void check_edited(const char *name, const char *before, const char *edited, const char *want)
{
	const struct engine *e = engine_find(name);
	CLEANUP(free) char *left = NULL;

	fresh();
	if (before)
		put_text(file_of(e), 0644, before);
	if (change(e, true) <= 0)
		abort();
	put_text(file_of(e), 0644, edited);
	ok(change(e, false) > 0, "%s: edited meanwhile", name);
	left = get_text(file_of(e));
	is_str(left, want, "only our part is gone");
}

#define RUNTIME "\"path\": \"/usr/libexec/dfg/dfg-runtime\""

static void test_edited(void)
{
	check_edited("docker", "{\"default-runtime\": \"runc\"}",
		     "{\"debug\":true,\"runtimes\":{\"x\":{\"path\":\"/x\"},\"dfg\":{" RUNTIME
		     "}},\"default-runtime\":\"dfg\"}",
		     "{\"debug\":true,\"runtimes\":{\"x\":{\"path\":\"/x\"}},"
		     "\"default-runtime\":\"runc\"}");
	check_edited("docker", NULL,
		     "{\"runtimes\":{\"dfg\":{" RUNTIME "}},\"default-runtime\":\"crun\",\"a\":1}",
		     "{\"default-runtime\":\"crun\",\"a\":1}");
	setup.force = true;
	check_edited(
		"containerd", "version = 2\n",
		"version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\n"
		"  base_runtime_spec = '/etc/containerd/dfg-base.json' # ours\n"
		"  runtime_type = \"io.containerd.runc.v2\"\n",
		"version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\n"
		"  runtime_type = \"io.containerd.runc.v2\"\n");
	setup.force = false;
}

/* `words`: without the name of the file, which begins the message where it is at fault. */
static void check_refused(const char *name, const char *text, const char *words)
{
	const struct engine *e = engine_find(name);
	CLEANUP(free) char *message = xasprintf("/%s: %s", file_of(e), words);
	CLEANUP(free) char *left = NULL;

	fresh();
	put_text(file_of(e), 0644, text);
	is_int(change(e, true), -1, "%s", text);
	is_str(err.msg, message, "the message says why");
	left = get_text(file_of(e));
	is_str(left, text, "it stays as it was");
}

/* Prints the changes into ret. */
static void print(const struct changes *c, struct str *ret)
{
	CLEANUP(close_fd) int file = memfd_create("stdout", MFD_CLOEXEC);
	CLEANUP(close_fd) int saved = dup(STDOUT_FILENO);

	fflush(stdout);
	dup2(file, STDOUT_FILENO);
	changes_print(c);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	lseek(file, 0, SEEK_SET);
	if (fs_read_all(file, 1 << 20, ret, &err) < 0)
		abort();
}

static void test_print(void)
{
	CLEANUP(str_fini) struct str out = {0};
	struct changes c = {0};

	fresh();
	put_text("e/a", 0644, "1\n2\n");
	put_text("e/b", 0644, "gone");
	ok(change_plan_whole(&c, setup.rootfd, "e/a", "1\n3\n", 0, &err) == 0 &&
		   change_plan_whole(&c, setup.rootfd, "e/b", NULL, 0, &err) == 0 &&
		   change_plan_whole(&c, setup.rootfd, "c/d", "new\n", 0, &err) == 0,
	   "three changes are planned");
	print(&c, &out);
	is_str(out.buf,
	       "--- /e/a\n+++ /e/a\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n"
	       "--- /e/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n\\ No newline at end of file\n"
	       "--- /dev/null\n+++ /c/d\n@@ -0,0 +1 @@\n+new\n",
	       "changes are printed as diff -u does");
	changes_fini(&c);
}

#define UNEXPECTED "has unexpected content: it should be one JSON object"

static void test_refused(void)
{
	const struct engine *docker = engine_find("docker"), *runc = engine_find("runc");

	check_refused("docker", "{\"default-runtime\": \"nvidia\"}",
		      "the default runtime is nvidia, and dfg-runtime runs runc, not another "
		      "wrapper: with --opt-in only docker run --runtime dfg uses it");
	check_refused("docker", "{\"runtimes\": {\"dfg\": {\"path\": \"/x\"}}}",
		      "has a runtime dfg that is not dfg's");
	check_refused("docker", "{\"runtimes\": {\"dfg\": {}}}",
		      "has a runtime dfg that is not dfg's");
	check_refused("docker", "{\"runtimes\": []}", UNEXPECTED);
	check_refused("docker", "{\"runtimes\": {\"dfg\": 1}}", UNEXPECTED);
	check_refused("docker", "{\"debug\": true", UNEXPECTED);
	check_refused("docker", "[1]", UNEXPECTED);
	check_refused("runc", "{\"hooks\": 7}", "unexpected JSON at hooks");
	check_refused("containerd", "root = \"/x\"\n",
		      "is of version 1, which has no base_runtime_spec: move it to version 2");
	fresh();
	put_text(file_of(docker), 0644, "{");
	is_int(change(docker, false), -1, "a file that is no JSON stays at removal, too");
	is_str(err.msg, "/etc/docker/daemon.json: " UNEXPECTED, "the message says why");
	fresh();
	is_int(change(runc, true), -1, "a bundle has to be there");
	is_str(err.msg, "/bundle/config.json: there is no bundle", "the message names it");
	is_int(change(runc, false), 0, "from one that is missing nothing is removed");
	put_text(file_of(engine_find("containerd")), 0644, "version = 2\n[grpc]\n");
	is_int(change(engine_find("containerd"), true), -1, "a dump without the change is refused");
	ok(strstr(err.msg, "no effect"), "the message says so: %s", err.msg);
}

/* Paths come into files as they are. */
static void test_paths(void)
{
	static const struct {
		const char *path, *shown;
	} odd[] = {{"/a\"b/dfg-runtime", "/a\"b/dfg-runtime"},
		   {"/a\\b/dfg-runtime", "/a\\b/dfg-runtime"},
		   {"/a\nb/dfg-runtime", "/a?b/dfg-runtime"},
		   {"/a\xff/dfg-runtime", "/a\xff/dfg-runtime"}};
	static const char *const of_hook[] = {"podman", "cdi"};
	static const char *const names[] = {
		"/usr/share/containers/oci/hooks.d/50-dfg-early.json: a path in it is not UTF-8",
		"/etc/cdi/dfg.json: a path in it is not UTF-8"};
	const char *runtime = setup.runtime, *hook = setup.hook;

	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		CLEANUP(free)
		char *want =
			xasprintf("/etc/docker/daemon.json: %s cannot be written into a JSON file",
				  odd[i].shown);

		fresh();
		setup.runtime = odd[i].path;
		is_int(change(engine_find("docker"), true), -1,
		       "a path that JSON would escape is refused: number %zu", i);
		is_str(err.msg, want, "the message says why");
	}
	setup.runtime = runtime;
	setup.hook = "/\xff/dfg-hook";
	for (size_t i = 0; i < ARRAY_LEN(of_hook); i++) {
		is_int(change(engine_find(of_hook[i]), true), -1,
		       "%s has no paths of other characters", of_hook[i]);
		is_str(err.msg, names[i], "the message says so");
	}
	put_text("bundle/config.json", 0644, "{}");
	is_int(change(engine_find("runc"), true), -1, "nor has a bundle");
	is_str(err.msg, "/bundle/config.json: a path of the hook is not UTF-8",
	       "the message says so");
	setup.hook = hook;
	setup.root = "/\xff";
	is_int(change(engine_find("runc"), true), -1, "nor may dfg's directory have one");
	setup.root = NULL;
}

/* ---- files with a hook ---- */

/* Installs it and removes it: the directory above `left` goes, `left` stays. */
static void check_dirs(const char *engine, const char *gone, const char *left)
{
	const struct engine *e = engine_find(engine);

	fresh();
	ok(change(e, true) > 0 && exists(gone), "%s: its directory is made", engine);
	ok(change(e, false) > 0 && !exists(gone), "and goes with the file");
	ok(exists(left), "the one above stays");
}

static bool json_has(const char *path, const char *words)
{
	CLEANUP(free) char *text = get_text(path);

	return text && strstr(text, words);
}

#define ALWAYS	  "\"always\": true"
#define ANNOTATED "\"^dfg\\\\.io/inject$\": \"^true$\""

static void test_hooks(void)
{
	const struct engine *podman = engine_find("podman"), *cdi = engine_find("cdi");
	struct engine_setting found = {0};

	check_dirs("podman", "usr/share/containers/oci", "usr/share/containers");
	check_dirs("cdi", "etc/cdi", "etc");
	fresh();
	setup.early = true;
	is_int(change_file(podman, "etc/one.json", true), 2, "a file can be named");
	ok(exists("etc/one.json") && exists("etc/50-dfg-early.json"),
	   "the one that makes JVMs early is beside it");
	ok(json_has("etc/one.json", ALWAYS) && json_has("etc/50-dfg-early.json", ALWAYS),
	   "both count for all containers");
	ok(json_has("etc/50-dfg-early.json", "\"--precreate\"") &&
		   json_has("etc/50-dfg-early.json", "\"precreate\"") &&
		   !json_has("etc/50-dfg-early.json", "--asked"),
	   "that one is called before the container is created");
	setup.opt_in = true;
	is_int(change_file(podman, "etc/one.json", true), 2, "both can be for some containers");
	ok(json_has("etc/one.json", ANNOTATED) && json_has("etc/50-dfg-early.json", ANNOTATED),
	   "then they ask for the annotation");
	ok(json_has("etc/50-dfg-early.json", "\"--asked\""), "and the hook is told that it was");
	ok(!json_has("etc/one.json", "--asked"), "where it cannot see it itself");
	setup.opt_in = setup.early = false;
	is_int(change_file(podman, "etc/one.json", true), 2, "without --early that file goes");
	ok(!exists("etc/50-dfg-early.json"), "it is gone");
	is_int(change_file(podman, "etc/one.json", false), 1, "the other is removed");
	ok(exists("etc"), "the directory of a file that was named stays");
	put_text("etc/50-dfg-early.json", 0644, "{}");
	engine_find("podman")->read(setup.rootfd, "etc/", &found);
	ok(!found.early, "without a hook there is none that is early");
	engine_setting_fini(&found);
	is_int(change_file(cdi, "etc/device.json", true), 1, "a device's file can be named, too");
	is_int(change_file(cdi, "etc/device.json", false), 1, "and removed");
	ok(exists("etc"), "without its directory");
}

/* A specification of the administrator's own gets the hook, and config.toml stays. */
static void test_own_spec(void)
{
	static const char conf[] = "version = 2\n[plugins.'io.containerd.grpc.v1.cri'.containerd."
				   "runtimes.runc]\nbase_runtime_spec = \"/etc/own.json\"\n";
	static const char own[] = "{\"process\": {\"rlimits\": [1]}}";
	const struct engine *e = engine_find("containerd");
	CLEANUP(free) char *text = NULL;
	CLEANUP(free) char *spec = NULL;

	fresh();
	put_text(file_of(e), 0644, conf);
	put_text("etc/own.json", 0644, own);
	is_int(change(e, true), 1, "a specification of the administrator's own");
	text = get_text(file_of(e));
	is_str(text, conf, "config.toml is not touched");
	spec = get_text("etc/own.json");
	ok(spec && strstr(spec, "/usr/libexec/dfg/dfg-hook") && strstr(spec, "rlimits"),
	   "it has the hook");
	is_int(change(e, false), 1, "removed");
	free(spec);
	spec = get_text("etc/own.json");
	is_str(spec, own, "it is as it was");
}

static void test_opt_in(void)
{
	const struct engine *e = engine_find("docker");
	struct engine_setting found = {0};
	CLEANUP(free) char *text = NULL;

	fresh();
	put_text(file_of(e), 0644, "{\"default-runtime\": \"nvidia\"}");
	setup.opt_in = true;
	is_int(change(e, true), 1, "opt-in beside another wrapper");
	setup.opt_in = false;
	text = get_text(file_of(e));
	is_str(text, "{\"runtimes\":{\"dfg\":{" RUNTIME "}},\"default-runtime\": \"nvidia\"}",
	       "the default stays");
	e->read(setup.rootfd, file_of(e), &found);
	ok(found.program && !found.for_all, "found, but not for all");
	engine_setting_fini(&found);
}

/* ---- engines ---- */

static void check_setting(const struct engine_setting *s, const char *file, const char *want,
			  bool for_all, const char *name)
{
	is_str(s->program, want, "%s", name);
	is_str(s->file, file, "with its file");
	is_int(s->for_all, for_all, "for all or not");
}

static void test_settings(void)
{
	struct engine_setting s = {0};

	engine_setting_add(&s, "f", NULL, true);
	check_setting(&s, NULL, NULL, false, "a file without a program adds nothing");
	engine_setting_add(&s, "f1", "p1", false);
	check_setting(&s, "/f1", "p1", false, "the first program is kept");
	engine_setting_add(&s, "f2", "p2", false);
	check_setting(&s, "/f1", "p1", false, "another for some containers is not");
	engine_setting_add(&s, "f3", "p3", true);
	check_setting(&s, "/f3", "p3", true, "one for all containers replaces it");
	engine_setting_add(&s, "f4", "p4", true);
	check_setting(&s, "/f3", "p3", true, "and stays");
	engine_setting_add(&s, "f5", NULL, false);
	check_setting(&s, "/f3", "p3", true, "a file without a program takes nothing away");
	engine_setting_fini(&s);
	check_setting(&s, NULL, NULL, false, "a freed setting is empty");
	ok(!s.early, "and not early");
}

static void test_engine_names(void)
{
	static const char *const programs[] = {"usr/bin/podman", "usr/sbin/podman",
					       "usr/local/bin/podman", "usr/local/sbin/podman"};
	const struct engine *podman = engine_find("podman");

	for (size_t i = 0; i < engine_count; i++)
		ok(engine_find(engines[i].name) == &engines[i], "%s is found by its name",
		   engines[i].name);
	ok(!engine_find("none"), "an engine that is not known is not found");
	ok(!engine_find(""), "nor is one without a name");
	fresh();
	ok(!engine_is_present(setup.rootfd, podman), "nothing is installed yet");
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		fresh();
		put_text(programs[i], 0644, "");
		ok(!engine_is_present(setup.rootfd, podman), "/%s is no program", programs[i]);
		put_text(programs[i], 0755, "");
		ok(engine_is_present(setup.rootfd, podman), "/%s is one", programs[i]);
		ok(!engine_is_present(setup.rootfd, engine_find("runc")),
		   "an engine whose program is unknown is not present");
	}
}

/* ---- what is read ---- */

static void check_read(const char *engine, const char *file, const char *text, const char *want,
		       bool for_all, const char *name)
{
	struct engine_setting s = {0};
	CLEANUP(free) char *path = want ? xasprintf("/%s", file) : NULL;

	fresh();
	put_text(file, 0644, text);
	engine_read_setting(setup.rootfd, engine_find(engine), &s);
	if (!s.file)
		engine_find(engine)->read(setup.rootfd, file, &s);
	check_setting(&s, path, want, for_all, name);
	engine_setting_fini(&s);
}

static void test_read(void)
{
	static const char hooks[] = "etc/containers/oci/hooks.d/a.json";
	static const char hooks2[] = "usr/share/containers/oci/hooks.d/a.json";
	static const char docker[] = "etc/docker/daemon.json";

	check_read("runc", "b/config.json",
		   "{\"hooks\":{\"prestart\":[{\"path\":\"/a/dfg-hook\"}]}}", "/a/dfg-hook", true,
		   "a bundle's hook is for all");
	check_read("runc", "b/config.json", "{\"hooks\":{\"prestart\":[{\"path\":\"/a/x\"}]}}",
		   NULL, false, "another hook is none of ours");
	check_read("runc", "b/config.json", "", NULL, false, "an empty bundle has no hook");
	check_read("podman", hooks, "{\"hook\":{\"path\":\"/a/dfg-hook\"}}", "/a/dfg-hook", false,
		   "a hook without a condition is not for all");
	check_read("podman", hooks2,
		   "{\"hook\":{\"path\":\"/a/dfg-hook\"},\"when\":{\"always\":true}}",
		   "/a/dfg-hook", true, "one that is always called is");
	check_read("podman", hooks, "{\"hook\":{\"path\":\"/a/not-dfg-hook\"}}", NULL, false,
		   "a hook whose name only ends alike is not ours");
	check_read("podman", hooks,
		   "{\"hook\":{\"path\":\"/a/dfg-hook\"},\"stages\":[\"precreate\"]}", NULL, false,
		   "the hook that makes JVMs early is not the one");
	check_read("podman", hooks,
		   "{\"hook\":{\"path\":\"/a/dfg-hook\"},\"stages\":[\"x\",\"precreate\"]}",
		   "/a/dfg-hook", false, "the first stage decides");
	check_read("podman", hooks, "", NULL, false, "an empty file has no hook");
	check_read("podman", hooks, "[", NULL, false, "a broken file has no hook");
	check_read("podman", "etc/one.json", "{\"hook\":{\"path\":\"/a/dfg-hook\"}}", "/a/dfg-hook",
		   false, "a file can be named");
	check_read("podman", "etc/one.conf", "{\"hook\":{\"path\":\"/a/dfg-hook\"}}", NULL, false,
		   "its name ends in .json");
	check_read("cdi", "etc/cdi/dfg.json",
		   "{\"devices\":[{\"containerEdits\":{\"hooks\":[{\"path\":\"/a/dfg-hook\"}]}}]}",
		   "/a/dfg-hook", false, "a device is only for containers that ask for it");
	check_read("cdi", "etc/cdi/dfg.json",
		   "{\"devices\":[{\"containerEdits\":{\"hooks\":[{\"path\":\"/x\"},"
		   "{\"path\":\"/a/dfg-hook\"}]}}]}",
		   NULL, false, "its first hook decides");
	check_read("docker", docker, "", NULL, false, "an empty daemon.json has no runtime");
	check_read("docker", docker, "{\"runtimes\":{\"dfg\":{\"path\":\"/a/dfg-runtime\"}}}",
		   "/a/dfg-runtime", false, "a runtime that is not the default is not for all");
	check_read("docker", docker,
		   "{\"runtimes\":{\"dfg\":{\"path\":\"/a/"
		   "dfg-runtime\"}},\"default-runtime\":\"dfg\"}",
		   "/a/dfg-runtime", true, "the default runtime is");
	check_read("docker", docker,
		   "{\"runtimes\":{\"dfg\":{\"path\":\"/a/x\"}},\"default-runtime\":\"dfg\"}", NULL,
		   false, "another program of that name is none of ours");
}

int main(void)
{
	scratch_make();
	snprintf(program, sizeof(program), "%s/bin/containerd", top);
	check_cases();
	check_early_beside_crio();
	test_edited();
	test_print();
	test_refused();
	test_paths();
	test_hooks();
	test_own_spec();
	test_opt_in();
	test_settings();
	test_engine_names();
	test_read();
	scratch_remove();
	return tap_done();
}
