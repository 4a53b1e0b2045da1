// SPDX-License-Identifier: Apache-2.0
/* dfg's specification in containerd's config.toml. A script plays containerd: its dump is the file
 * itself, after the lines that this test gives. */
#include <fcntl.h>
#include <sys/stat.h>

#include "common/fs.h"
#include "lib/scratch.h"
#include "lib/tap.h"
#include "oci/spec.h"
#include "setup/change.h"
#include "setup/engine.h"

#define FILE_PATH "etc/containerd/config.toml"
#define SPEC	  "/etc/containerd/dfg-base.json"
#define V2	  "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes."
#define V3	  "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes."
#define RUNC	  "io.containerd.runc.v2"

static char program[64];
static struct setup setup = {
	.hook = "/l/dfg-hook", .conf = "/etc/dfg/dfg.conf", .program = program};
static struct err err;

/* containerd runs these lines of a shell before it prints the file, which is $2. */
static void play(const char *lines)
{
	CLEANUP(free) char *script = xasprintf("#!/bin/sh\n%scat \"$2\"\n", lines);

	put_text("bin/containerd", 0755, script);
	put_text("bin/ctr", 0755,
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

	put_text(FILE_PATH, 0644, before);
	is_int(change(true), 3, "%s: a specification, the file, its copy", name);
	got = get_text(FILE_PATH);
	is_str(got, after, "the file is as it should be");
	is_int(change(true), 0, "a second time there is nothing to do");
	ok(change(false) > 0, "it is removed");
	left = get_text(FILE_PATH);
	is_str(left, before, "every byte is as it was");
	free(left);
	left = get_text(&SPEC[1]);
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

/* ---- tables that are no handlers ---- */

/* A file that is a handler's but for one key of its header, beside runc's. */
static void check_other(const char *header, const char *name)
{
	CLEANUP(free)
	char *before = xasprintf("version = 2\n" V2 "runc]\n  base_runtime_spec = \"\"\n%s\n"
				 "  base_runtime_spec = \"\"\n",
				 header);
	CLEANUP(free)
	char *after = xasprintf("version = 2\n" V2 "runc]\n  base_runtime_spec = \"" SPEC "\"\n%s\n"
				"  base_runtime_spec = \"\"\n",
				header);

	check_added(before, after, name);
}

static void test_others(void)
{
	play("");
	check_other("[other.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]",
		    "a table of no plugin is no handler");
	check_other("[plugins.\"io.containerd.grpc.v1.other\".containerd.runtimes.runc]",
		    "nor is one of another plugin");
	check_other("[plugins.\"io.containerd.grpc.v1.cri\".registry.runtimes.runc]",
		    "nor is one of its registries");
	check_other("[plugins.\"io.containerd.grpc.v1.cri\".containerd.other.runc]",
		    "nor is one of its other settings");
	check_other("[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes]",
		    "nor is the table above");
	check_other("[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.crun.options]\n"
		    "  runtime_type = \"" RUNC "\"",
		    "nor is one below");
}

/* ---- runc's handler where the file has none ---- */

#define OURS(text) "# dfg-setup: begin\n" text "# dfg-setup: end\n"
#define DUMPED                                                                                     \
	"  base_runtime_spec = \"" SPEC "\"\n  runtime_type = '" RUNC "'\n"                        \
	"  [plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc.options]\n"               \
	"    Root = ''\n"

/* containerd has these handlers, whatever the file says; with ours it has the part of the file. */
static void play_dump(const char *version, const char *plugin)
{
	CLEANUP(free)
	char *lines =
		xasprintf("cat <<E\nversion = %s\n"
			  "[plugins.'%s'.containerd.runtimes.crun]\n  runtime_type = '" RUNC "'\n"
			  "[plugins.'%s'.containerd.runtimes.runc]\n  runtime_type = '" RUNC "'\n"
			  "  [plugins.'%s'.containerd.runtimes.runc.options]\n    Root = ''\n"
			  "[plugins.'%s'.registry]\n  x = 1\nE\nexit\n",
			  version, plugin, plugin, plugin, plugin);

	play(lines);
}

/* With --force, since containerd's own verdict is not to be had. */
static void check_block(const char *before, const char *after, int changes, const char *name)
{
	CLEANUP(free) char *got = NULL;
	CLEANUP(free) char *left = NULL;

	if (before)
		put_text(FILE_PATH, 0644, before);
	else
		unlinkat(setup.rootfd, FILE_PATH, 0);
	setup.force = true;
	is_int(change(true), changes, "%s", name);
	got = get_text(FILE_PATH);
	is_str(got, after, "the handler is added");
	is_int(change(true), 0, "a second time there is nothing to do");
	ok(change(false) > 0, "it is removed");
	left = get_text(FILE_PATH);
	is_str(left, before, "every byte is as it was");
	setup.force = false;
}

#define HEADER "[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.runc]\n"

static void test_block(void)
{
	play_dump("2", "io.containerd.grpc.v1.cri");
	check_block("version = 2\n[grpc]\n", "version = 2\n[grpc]\n" OURS(HEADER DUMPED), 2,
		    "the whole table and those below are containerd's own");
	check_block("version = 2\n[grpc]", "version = 2\n[grpc]\n" OURS(HEADER DUMPED), 3,
		    "a last line may have no end");
	check_block("version = 2\n" V2 "crun]\n  runtime_type = \"" RUNC "\"\n",
		    "version = 2\n" V2 "crun]\n  base_runtime_spec = \"" SPEC
		    "\"\n  runtime_type = \"" RUNC "\"\n" OURS(HEADER DUMPED),
		    2, "another handler gets its line, too");
	check_block(NULL, "version = 2\n" OURS(HEADER DUMPED), 2,
		    "a file that is missing has containerd's version");
	play_dump("3", "io.containerd.cri.v1.runtime");
	check_block("version = 2\n[grpc]\n",
		    "version = 2\n[grpc]\n" OURS(V2 "runc]\n  base_runtime_spec = \"" SPEC
						    "\"\n  runtime_type = \"" RUNC "\"\n"),
		    2, "a dump of another version cannot be copied");
	play("exit 1\n");
	check_block("version = 3\n[grpc]\n",
		    "version = 3\n[grpc]\n" OURS("[plugins.\"io.containerd.cri.v1.runtime\""
						 ".containerd.runtimes.runc]\n"
						 "  base_runtime_spec = \"" SPEC
						 "\"\n  runtime_type = \"" RUNC "\"\n"),
		    2, "without a dump the plugin is the one of the version");
	check_block(NULL,
		    "version = 2\n" OURS(V2 "runc]\n  base_runtime_spec = \"" SPEC
					    "\"\n  runtime_type = \"" RUNC "\"\n"),
		    2, "version 2 is known to all");
}

/* Others changed the file meanwhile: each handler has its earlier value again. */
static void test_earlier(void)
{
	static const char before[] =
		"version = 2\n" V2 "runc]\n  base_runtime_spec = \"\"\n" V2
		"crun]\n  runtime_type = \"" RUNC "\"\n" V2 "other]\n  runtime_type = \"" RUNC
		"\"\n  base_runtime_spec = ''\n";
	CLEANUP(free) char *with = NULL;
	CLEANUP(free) char *edited = NULL;
	CLEANUP(free) char *want = xasprintf("%s[more]\n", before);
	CLEANUP(free) char *left = NULL;
	char *quotes;

	play("exit 1\n");
	setup.force = true;
	put_text(FILE_PATH, 0644, before);
	is_int(change(true), 3, "three handlers get the specification");
	with = get_text(FILE_PATH);
	edited = xasprintf("%s[more]\n", with);
	put_text(FILE_PATH, 0644, edited);
	ok(change(false) > 0, "it is removed from a file that was edited");
	left = get_text(FILE_PATH);
	quotes = strstr(want, "''"); /* as it is written, which means the same */
	memcpy(quotes, "\"\"", 2);
	is_str(left, want, "what was empty is empty, what was missing is missing");
	setup.force = false;
}

/* ---- the specification ---- */

static void check_spec(const char *ctr, const char *want, const char *message, const char *name)
{
	CLEANUP(free) char *script = xasprintf("#!/bin/sh\n%s", ctr);
	struct changes c = {0};

	play("");
	put_text("bin/ctr", 0755, script);
	put_text(FILE_PATH, 0644, "version = 2\n" V2 "runc]\n  base_runtime_spec = \"\"\n");
	is_int(engine_find("containerd")->plan(&setup, true, FILE_PATH, &c, &err), want ? 0 : -1,
	       "%s", name);
	if (want) {
		is_str(c.list[0].path, &SPEC[1], "the specification is written first");
		is_str(c.list[0].then.buf, want, "it is ctr's without what CRI drops");
	} else {
		CLEANUP(free)
		char *words =
			xasprintf("%.*s%s", *message == '/' ? (int)strlen(top) : 0, top, message);

		is_str(err.msg, words, "the message says why");
	}
	changes_fini(&c);
}

static void test_spec(void)
{
	CLEANUP(free) char *hook = oci_spec_hook(setup.hook, NULL);
	CLEANUP(free)
	char *want = xasprintf("{\"hooks\":{\"createRuntime\":[%s],\"poststop\":[%s]},"
			       "\"process\":{\"cwd\":\"/\"},\"linux\":{\"x\":1}}\n",
			       hook, hook);

	check_spec("echo '{\"process\":{\"cwd\":\"/\",\"rlimits\":[1],\"apparmorProfile\":\"x\"},"
		   "\"linux\":{\"seccomp\":{},\"x\":1}}'\n",
		   want, NULL, "limits, AppArmor and seccomp are left to CRI");
	check_spec("echo x\n", NULL, "the output of ctr oci spec is not understood",
		   "a specification that is none is refused");
	check_spec("exit 3\n", NULL, "/bin/ctr ended with status 3", "a ctr that fails is refused");
	check_spec("echo '{\"hooks\":1}'\n", NULL, "unexpected JSON at hooks",
		   "so are hooks of another kind");
}

/* A specification that containerd finds by itself is none of the administrator's. */
static void test_relative(void)
{
	play("");
	put_text(FILE_PATH, 0644, "version = 2\n" V2 "runc]\n  base_runtime_spec = \"own.json\"\n");
	is_int(change(true), 0, "a specification that is not absolute stays as it is");
	is_int(change(false), 0, "there is nothing to remove");
}

/* ---- refused ---- */

static void check_refused(const char *lines, const char *text, const char *want, const char *name)
{
	CLEANUP(free) char *left = NULL;

	play(lines);
	put_text(FILE_PATH, 0644, text);
	is_int(change(true), -1, "%s", name);
	is_str(err.msg, want, "the message says why");
	left = get_text(FILE_PATH);
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
	check_refused("", "version = 100\n" V2 "runc]\n",
		      "/" FILE_PATH ": is of version 1, which has no base_runtime_spec: move it to "
		      "version 2",
		      "a version that cannot be is no version");
#define MORE(line)                                                                                 \
	"the change of /" FILE_PATH " would change more than it should: \"" line "\"; put "        \
	"base_runtime_spec there by hand"
#define IF_OURS(with, without) "grep -q dfg-base \"$2\" && echo '" with "' || echo '" without "'\n"
	check_refused(IF_OURS("base_runtime_spec = \"" SPEC "\"", "x = 1"), PLAIN,
		      MORE("base_runtime_spec = \"" SPEC "\""),
		      "a specification where there was something else is refused");
	check_refused(IF_OURS("base_runtime_spec = \"" SPEC "x\"", "base_runtime_spec = \"\""),
		      PLAIN, MORE("base_runtime_spec = \"" SPEC "x\""),
		      "so is another specification");
	check_refused(IF_OURS("base_runtime_spec = \"/etc/containerd/dfg-base.jso_\"",
			      "base_runtime_spec = \"\""),
		      PLAIN, MORE("base_runtime_spec = \"/etc/containerd/dfg-base.jso_\""),
		      "also one of the same length");
	check_refused(IF_OURS("x = 1", "base_runtime_spec = \"\""), PLAIN, MORE("x = 1"),
		      "something else where there was a specification is refused");
	check_refused(IF_OURS("x = 1", "imports = []"), PLAIN, MORE("x = 1"),
		      "something else in place of the imports is refused");
	check_refused(IF_OURS("imports = []", "x = 1"), PLAIN, MORE("imports = []"),
		      "so are imports in place of something else");
	check_refused(IF_OURS("x = 12", "x = 1"), PLAIN, MORE("x = 12"),
		      "a line that became longer is refused");
	setup.force = true;
	play("exit 1\n");
	put_text(FILE_PATH, 0644, PLAIN);
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
	put_text(FILE_PATH, 0644, text);
	put_text("etc/own.json", 0644, "{}");
	is_int(change(true), 1, "a shared specification is changed once");
	engine_read_setting(setup.rootfd, engine_find("containerd"), &found);
	is_str(found.program, "/l/dfg-hook", "the hook is found in it");
	is_str(found.file, "/etc/own.json", "with the file that has it");
	engine_setting_fini(&found);
	is_int(change(false), 1, "it is restored once");
	left = get_text("etc/own.json");
	is_str(left, "{}", "every byte is as it was");
}

int main(void)
{
	scratch_make();
	setup.rootfd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(program, sizeof(program), "%s/bin/containerd", top);
	test_handlers();
	test_others();
	test_block();
	test_earlier();
	test_spec();
	test_relative();
	test_refused();
	test_shared();
	scratch_remove();
	return tap_done();
}
