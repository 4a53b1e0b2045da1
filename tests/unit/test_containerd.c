// SPDX-License-Identifier: Apache-2.0
/* dfg's specification in containerd's config.toml. A script plays containerd: its dump is the file
 * itself, after the lines that this test gives. */
#include <fcntl.h>
#include <sys/stat.h>

#include "common/fs.h"
#include "lib/tap.h"
#include "setup/change.h"
#include "setup/engine.h"

#define FILE_PATH "etc/containerd/config.toml"
#define SPEC	  "/etc/containerd/dfg-base.json"
#define V2	  "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes."
#define V3	  "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes."
#define RUNC	  "io.containerd.runc.v2"

static char top[] = "/tmp/dfg-containerd-test.XXXXXX";
static char program[64];
static struct setup setup = {
	.hook = "/l/dfg-hook", .conf = "/etc/dfg/dfg.conf", .program = program};
static struct err err;

static void put(const char *path, mode_t mode, const char *text)
{
	CLEANUP(free) char *dir = xasprintf("%s/%.*s", top, (int)(strrchr(path, '/') - path), path);
	CLEANUP(close_fd) int fd = fs_make_dirs(dir, 0755, &err);

	if (fs_replace_file(fd, strrchr(path, '/') + 1, mode, text, strlen(text), &err) < 0)
		abort();
}

/* Its text, owned; NULL: there is none. */
static char *get(const char *path)
{
	struct str s = {0};

	if (fs_read_file(setup.rootfd, path, 1 << 20, &s, &err) == 0)
		return s.buf ? s.buf : xstrdup("");
	str_fini(&s);
	return NULL;
}

/* containerd runs these lines of a shell before it prints the file, which is $2. */
static void play(const char *lines)
{
	CLEANUP(free) char *script = xasprintf("#!/bin/sh\n%scat \"$2\"\n", lines);

	put("bin/containerd", 0755, script);
	put("bin/ctr", 0755,
	    "#!/bin/sh\necho '{\"process\": {\"cwd\": \"/\", \"rlimits\": [1]}, \"linux\": "
	    "{\"seccomp\": {}}}'\n");
}

/* Returns how many files it changed, or -1. */
static int change(bool install)
{
	struct changes c = {0};
	int rc = engine_find("containerd")->plan(&setup, install, FILE_PATH, &c, &err);

	if (rc == 0)
		rc = changes_apply(&c, setup.rootfd, &err);
	rc = rc < 0 ? -1 : (int)c.count;
	changes_fini(&c);
	return rc;
}

/* The file after installation; removal restores it. */
static void check_added(const char *before, const char *after, const char *name)
{
	CLEANUP(free) char *got = NULL;
	CLEANUP(free) char *left = NULL;

	put(FILE_PATH, 0644, before);
	is_int(change(true), 3, "%s: a specification, the file, its copy", name);
	got = get(FILE_PATH);
	is_str(got, after, "the file is as it should be");
	is_int(change(true), 0, "a second time there is nothing to do");
	ok(change(false) > 0, "it is removed");
	left = get(FILE_PATH);
	is_str(left, before, "every byte is as it was");
	free(left);
	left = get(&SPEC[1]);
	ok(!left, "the specification is gone");
}

static void test_handlers(void)
{
	play("");
	check_added("version = 2\n" V2 "runc]\n  base_runtime_spec = \"\"\n",
		    "version = 2\n" V2 "runc]\n  base_runtime_spec = \"" SPEC "\"\n",
		    "the handler runc may have no type");
	check_added("version = 3\n" V3 "runc]\n  base_runtime_spec = ''\n",
		    "version = 3\n" V3 "runc]\n  base_runtime_spec = \"" SPEC "\"\n",
		    "the plugin has another name since containerd 2");
	check_added("version = 2\n" V2 "runc]\n  base_runtime_spec = \"\"\n" V2
		    "crun]\n  runtime_type = \"" RUNC "\"\n  base_runtime_spec = \"\"\n",
		    "version = 2\n" V2 "runc]\n  base_runtime_spec = \"" SPEC "\"\n" V2
		    "crun]\n  runtime_type = \"" RUNC "\"\n  base_runtime_spec = \"" SPEC "\"\n",
		    "each handler of its shim for runc gets it");
	check_added(
		"version = 2\n" V2 "runc]\n  base_runtime_spec = \"\"\n" V2
		"kata]\n  runtime_type = \"io.containerd.kata.v2\"\n  base_runtime_spec = \"\"\n" V2
		"other]\n  base_runtime_spec = \"\"\n",
		"version = 2\n" V2 "runc]\n  base_runtime_spec = \"" SPEC "\"\n" V2
		"kata]\n  runtime_type = \"io.containerd.kata.v2\"\n  base_runtime_spec = \"\"\n" V2
		"other]\n  base_runtime_spec = \"\"\n",
		"handlers of virtual machines and of unknown type do not");
	play("echo \"imports = ['$2']\"\n");
	check_added("version = 2\n" V2 "runc]\n  base_runtime_spec = \"\"\n",
		    "version = 2\n" V2 "runc]\n  base_runtime_spec = \"" SPEC "\"\n",
		    "the name of the file in its own dump may differ");
}

static void check_refused(const char *lines, const char *text, const char *want, const char *name)
{
	CLEANUP(free) char *left = NULL;

	play(lines);
	put(FILE_PATH, 0644, text);
	is_int(change(true), -1, "%s", name);
	is_str(err.msg, want, "the message says why");
	left = get(FILE_PATH);
	is_str(left, text, "the file stays as it was");
}

#define PLAIN "version = 2\n" V2 "runc]\n  base_runtime_spec = \"\"\n"

static void test_refused(void)
{
	check_refused("exit 1\n", PLAIN,
		      "containerd config dump fails, so the effect of a change is unknown; "
		      "--program FILE, or --force",
		      "a containerd that cannot be asked is refused");
	check_refused("grep -q dfg-base \"$2\" && exit 1\n", PLAIN,
		      "containerd would not accept the change of /" FILE_PATH,
		      "a change that containerd refuses is refused");
	check_refused("grep -q dfg-base \"$2\" && echo x = 2 || echo x = 1\n", PLAIN,
		      "the change of /" FILE_PATH " would change more than it should: \"x = 2\"; "
		      "put base_runtime_spec there by hand",
		      "a change of another line is refused");
	check_refused("grep -q dfg-base \"$2\" && echo more\n", PLAIN,
		      "the change of /" FILE_PATH " would change more than it should: \"more\"; "
		      "put base_runtime_spec there by hand",
		      "a line more is refused");
	check_refused("grep -v base_runtime \"$2\"; exit\n", PLAIN,
		      "the change of /" FILE_PATH
		      " would have no effect: another file overrides it",
		      "a change without effect is refused");
	check_refused("", "[grpc]\n",
		      "/" FILE_PATH ": is of version 1, which has no base_runtime_spec: move it to "
		      "version 2",
		      "a file without a version is of version 1");
	setup.force = true;
	play("exit 1\n");
	put(FILE_PATH, 0644, PLAIN);
	is_int(change(true), 3, "with --force the dump does not count");
	is_int(change(false), 3, "nor does it at removal");
	setup.force = false;
}

/* Two handlers share a specification of the administrator's, which gets the hook once. */
static void test_shared(void)
{
	static const char text[] =
		"version = 2\n" V2 "runc]\n  base_runtime_spec = \"/etc/own.json\"\n" V2
		"crun]\n  runtime_type = \"" RUNC "\"\n  base_runtime_spec = \"/etc/own.json\"\n";
	struct engine_setting found = {0};
	CLEANUP(free) char *left = NULL;

	play("");
	put(FILE_PATH, 0644, text);
	put("etc/own.json", 0644, "{}");
	is_int(change(true), 1, "a shared specification is changed once");
	engine_read_setting(setup.rootfd, engine_find("containerd"), &found);
	is_str(found.program, "/l/dfg-hook", "the hook is found in it");
	is_str(found.file, "/etc/own.json", "with the file that has it");
	engine_setting_fini(&found);
	is_int(change(false), 1, "it is restored once");
	left = get("etc/own.json");
	is_str(left, "{}", "every byte is as it was");
}

int main(void)
{
	if (!mkdtemp(top))
		abort();
	setup.rootfd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(program, sizeof(program), "%s/bin/containerd", top);
	test_handlers();
	test_refused();
	test_shared();
	fs_remove_tree(AT_FDCWD, top);
	return tap_done();
}
